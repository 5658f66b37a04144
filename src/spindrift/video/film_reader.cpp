// Films are decoded by ffmpeg in a process of its own, as a sequence of PPM pictures. ffprobe is asked before whether
// all frames have one size, since ffmpeg would crop later ones in silence. Playlists and other formats that name
// further files are not accepted.
#include "spindrift/base/error.h"
#include "spindrift/base/memory.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/ffmpeg_process.h"
#include "spindrift/io/srgb.h"
#include "spindrift/video/video.h"

#include <array>
#include <filesystem>

namespace spindrift {

namespace {

constexpr int kLargestFilmEdge = 16384; // [pixels]

// Options of ffmpeg and ffprobe that keep them to this one file.
std::vector<std::string> careful_command(const std::string& program)
{
    return {program,
            "-hide_banner",
            "-loglevel",
            "error",
            "-protocol_whitelist",
            "file",
            "-format_whitelist",
            "mov,mp4,matroska,webm,avi,h264,mpegts"};
}

void limit(const FfmpegProcess& process, const std::string& path)
{
    constexpr size_t kMemory = size_t(4) << 30;
    std::error_code ignored;
    const auto size = std::filesystem::file_size(path, ignored);
    process.limit(kMemory, 60 + static_cast<unsigned>(std::min<uintmax_t>(size >> 18, 100000)));
}

void expect_frames_of_one_size(const std::string& path)
{
    std::vector<std::string> command = careful_command("ffprobe");
    for (const char* word : {"-select_streams", "v:0", "-show_entries", "frame=width,height", "-of", "csv=p=0"})
        command.emplace_back(word);
    command.push_back("file:" + path);
    FfmpegProcess probe(command, FfmpegProcess::Data::from_it);
    limit(probe, path);
    std::pair<int, int> first;
    std::string line;
    int number = 0;
    for (uint8_t byte = 0; probe.receive(&byte, 1) == 1;) {
        if (byte != '\n') {
            line += static_cast<char>(byte);
            if (line.size() > 100) line.clear(); // further data about a frame
            continue;
        }
        std::pair<int, int> size;
        if (std::sscanf(line.c_str(), "%d,%d", &size.first, &size.second) == 2) {
            if (++number == 1) first = size;
            if (size != first)
                bad_input("{}: frame {} is {} x {} pixels, but earlier ones are {} x {}", path, number, size.first,
                          size.second, first.first, first.second);
        }
        line.clear();
    }
}

std::vector<std::string> decoding_command(const std::string& path)
{
    std::vector<std::string> command = careful_command("ffmpeg");
    const auto add = [&command](std::initializer_list<std::string> words) { command.insert(command.end(), words); };
    add({"-nostdin", "-xerror", "-err_detect", "explode", "-threads", "2"});
    add({"-i", "file:" + path, "-map", "0:v:0", "-an", "-sn", "-dn", "-fps_mode", "passthrough"});
    add({"-sws_flags", "accurate_rnd+full_chroma_int", "-f", "image2pipe", "-c:v", "ppm", "-pix_fmt", "rgb24",
         "pipe:1"});
    return command;
}

class FilmReader {
  public:
    explicit FilmReader(const std::string& path)
        : path_(path), ffmpeg_(decoding_command(path), FfmpegProcess::Data::from_it)
    {
        limit(ffmpeg_, path);
        for (size_t i = 0; i < 256; ++i) linear_[i] = linear_from_srgb(static_cast<float>(i) / 255);
    }

    // Nothing at the end of the film.
    std::optional<Image> next(bool wanted)
    {
        const std::optional<std::pair<int, int>> size = read_size();
        if (!size) return {};
        ++count_;
        const auto [width, height] = *size;
        if (width <= 0 || height <= 0 || width > kLargestFilmEdge || height > kLargestFilmEdge)
            bad_input("{}: frame {} has {} x {} pixels; the largest edge is {}", path_, count_, width, height,
                      kLargestFilmEdge);
        bytes_.resize(size_t(3) * width * height);
        if (ffmpeg_.receive(bytes_.data(), bytes_.size()) != bytes_.size()) damaged();
        Image image(wanted ? width : 0, wanted ? height : 0);
        for (size_t i = 0; i < image.pixels.size(); ++i)
            image.pixels[i] = {linear_[bytes_[3 * i]], linear_[bytes_[3 * i + 1]], linear_[bytes_[3 * i + 2]]};
        return image;
    }
    int count() const { return count_; }

    // Throws Error(bad_input) if the film is damaged.
    void expect_end()
    {
        if (!ffmpeg_.finish()) damaged();
    }

  private:
    [[noreturn]] void damaged()
    {
        ffmpeg_.finish();
        std::string line = ffmpeg_.last_error_line();
        if (line.empty()) line = "it ended, or took too much time or memory";
        if (count_ <= 1) bad_input("{} cannot be read as a film: ffmpeg: {}", path_, line);
        bad_input("{} is damaged after frame {}: ffmpeg: {}; cut it there: ffmpeg -i {} -frames:v {} shorter.mp4",
                  path_, count_ - 1, line, path_, count_ - 1);
    }

    // "P6\n<width> <height>\n255\n"
    std::optional<std::pair<int, int>> read_size()
    {
        std::string head;
        for (int lines = 0; lines < 3;) {
            uint8_t byte = 0;
            if (ffmpeg_.receive(&byte, 1) != 1) {
                if (head.empty()) return {};
                damaged();
            }
            head += static_cast<char>(byte);
            lines += byte == '\n';
            if (head.size() > 40) damaged();
        }
        int width = 0, height = 0;
        if (std::sscanf(head.c_str(), "P6\n%d %d\n255\n", &width, &height) != 2) damaged();
        return std::pair{width, height};
    }

    std::string path_;
    FfmpegProcess ffmpeg_;
    std::array<float, 256> linear_ = {};
    std::vector<uint8_t> bytes_;
    int count_ = 0;
};

} // namespace

bool is_film(const std::string& path)
{
    constexpr std::array<const char*, 7> kEndings = {".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".ts"};
    const std::string ending = std::filesystem::path(path).extension().string();
    return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end();
}

std::vector<Image> read_film(const std::string& path, const std::optional<FrameRange>& frames)
{
    if (!std::filesystem::exists(path)) bad_input("there is no film {}", path);
    if (!file_exists(path)) bad_input("{} is not a plain file; a film cannot be read from a pipe or a folder", path);
    if (frames && frames->first < 1) bad_input("{}: the frames of a film are counted from 1", path);
    expect_frames_of_one_size(path);
    FilmReader film(path);
    std::vector<Image> images;
    while (!frames || film.count() < frames->last) {
        const int number = film.count() + 1;
        const bool wanted = !frames || (number >= frames->first && (number - frames->first) % frames->step == 0);
        std::optional<Image> image = film.next(wanted);
        if (!image) {
            film.expect_end();
            if (film.count() == 0) bad_input("{} has no frames", path);
            if (frames)
                bad_input("{} ends after frame {}, and frames {} to {} are wanted", path, film.count(), frames->first,
                          frames->last);
            break;
        }
        if (!wanted) continue;
        images.push_back(std::move(*image));
        expect_video_fits(path, images.front().width, images.front().height, 3, images.size());
    }
    return images;
}

} // namespace spindrift
