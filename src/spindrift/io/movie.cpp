// write_movie(): decodes pictures and pipes them to ffmpeg as raw video. Any format that read_image() supports can be
// used, frame numbers may have gaps, and damaged pictures are named.
#include "spindrift/base/error.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/ffmpeg_process.h"
#include "spindrift/io/image.h"

#include <thread>

namespace spindrift {

namespace {

// yuv420p halves the chroma resolution, so both sizes must be even: repeats an odd edge.
Image evened(const Image& image)
{
    Image even((image.width + 1) / 2 * 2, (image.height + 1) / 2 * 2);
    for (int y = 0; y < even.height; ++y)
        for (int x = 0; x < even.width; ++x)
            even.at(x, y) = image.at(std::min(x, image.width - 1), std::min(y, image.height - 1));
    return even;
}

std::vector<std::string> ffmpeg_command(const Image& first, int fps, const std::string& output)
{
    std::vector<std::string> command = {"ffmpeg", "-hide_banner", "-nostdin", "-loglevel", "error", "-y"};
    const auto add = [&command](std::initializer_list<std::string> words) { command.insert(command.end(), words); };
    add({"-f", "rawvideo", "-pix_fmt", "rgb24", "-video_size", fmt::format("{}x{}", first.width, first.height)});
    add({"-framerate", std::to_string(fps), "-i", "pipe:0", "-an"});
    // Players assume BT.709 for H.264; ffmpeg's default conversion is BT.601.
    add({"-vf", "scale=out_color_matrix=bt709:out_range=tv:flags=accurate_rnd+full_chroma_int,format=yuv420p"});
    add({"-c:v", "libx264", "-preset", "medium", "-crf", "18"});
    add({"-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "iec61966-2-1", "-color_range", "tv"});
    // Reproducible: no time or program version in the file. Index first, so that browsers start playback at once.
    add({"-fflags", "+bitexact", "-flags:v", "+bitexact", "-movflags", "+faststart", "-f", "mp4", "file:" + output});
    return command;
}

} // namespace

void write_movie(const std::string& path, const std::vector<std::string>& pictures, int fps)
{
    if (pictures.empty()) fail("cannot write {}: there are no pictures", path);
    if (fps <= 0) bad_input("{}: {} frames per second is not possible", path, fps);
    const Image first = read_image(pictures.front());
    write_atomically(path, [&](const std::string& temporary) {
        FfmpegProcess ffmpeg(ffmpeg_command(evened(first), fps, temporary), FfmpegProcess::Data::to_it);
        bool taken = true;
        for (size_t i = 0; i < pictures.size() && taken; ++i) {
            const Image picture = i == 0 ? first : read_image(pictures[i]);
            if (picture.width != first.width || picture.height != first.height)
                fail("{} is {} x {} pixels but the first picture of the movie is {} x {}", pictures[i], picture.width,
                     picture.height, first.width, first.height);
            taken = ffmpeg.send(srgb_bytes(evened(picture)));
        }
        if (!ffmpeg.finish() || !taken) fail("cannot write {}: ffmpeg: {}", path, ffmpeg.last_error_line());
    });
}

double memory_of_encoder(int width, int height, int pictures)
{
    // x264 looks 40 pictures ahead and holds one per thread, with three threads per two cores. It stores each picture
    // in several sizes, plus the residual to be coded.
    constexpr double kProgram = 5.4e7, kBytesPerPixel = 5.5;
    const double threads = 1.5 * std::max(1u, std::thread::hardware_concurrency());
    return kProgram + kBytesPerPixel * width * height * std::min<double>(pictures, 42 + threads);
}

} // namespace spindrift
