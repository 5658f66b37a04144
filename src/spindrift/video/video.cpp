#include "spindrift/video/video.h"

#include "spindrift/base/error.h"
#include "spindrift/base/memory.h"
#include "spindrift/base/parallel.h"

namespace spindrift {

namespace {

constexpr const char* kGuideName = "guide";

bool is_color(const std::string& name)
{
    return name == "R" || name == "G" || name == "B" || name == "A" || name == "Y";
}

// A picture with all its channels, if it has others than colours.
std::optional<Raster> read_channel_frame(const std::string& path, std::vector<std::string>& names)
{
    const ChannelImage picture = read_channels(path);
    const auto wanted = [](const ChannelImage::Channel& c) { return c.name != kGuideName; };
    names.clear();
    bool colors = true;
    for (const ChannelImage::Channel& c : picture.channels)
        if (wanted(c)) names.push_back(c.name), colors &= is_color(c.name);
    if (names.empty()) bad_input("{} has no channel besides \"{}\"", path, kGuideName);
    const ChannelImage::Channel* guide = picture.find(kGuideName);
    if (colors && !guide) return {};
    if (colors) std::erase(names, "A");
    Raster frame(picture.width, picture.height, static_cast<int>(names.size()));
    for (size_t c = 0; c < names.size(); ++c) {
        const std::vector<float>& values = picture.find(names[c])->values;
        for (size_t i = 0; i < values.size(); ++i) frame.values[i * names.size() + c] = values[i];
    }
    if (guide) frame.guide = guide->values;
    return frame;
}

// Red, green and blue, then everything else.
Raster read_all_channels(const std::string& path, std::vector<std::string>& names)
{
    const Image colors = read_image(path);
    const ChannelImage picture = read_channels(path);
    const bool grey = picture.find("Y") != nullptr;
    const auto is_part = [grey](const std::string& name) {
        return grey ? name == "Y" : name == "R" || name == "G" || name == "B";
    };
    if (std::ranges::count_if(picture.channels, [&](const auto& c) { return is_part(c.name); }) != (grey ? 1 : 3) ||
        !is_part(picture.channels.front().name))
        bad_input("{} has no colours, which are channels R, G and B, or Y; name three of its {} channels so", path,
                  picture.channels.size());
    std::vector<const ChannelImage::Channel*> others;
    names = {"R", "G", "B"};
    for (const ChannelImage::Channel& c : picture.channels)
        if (!is_part(c.name) && c.name != kGuideName) others.push_back(&c), names.push_back(c.name);
    Raster frame(picture.width, picture.height, static_cast<int>(names.size()));
    const ChannelImage::Channel* opacity = path.ends_with(".exr") ? picture.find("A") : nullptr;
    for (size_t i = 0; i < frame.pixels(); ++i) {
        float* out = &frame.values[i * names.size()];
        // EXR has colours that are multiplied with the opacity.
        const float share = opacity && opacity->values[i] > 0 ? opacity->values[i] : 1;
        for (int c = 0; c < 3; ++c) out[c] = colors.pixels[i][c] / share;
        for (size_t c = 0; c < others.size(); ++c) out[3 + c] = others[c]->values[i];
    }
    if (const ChannelImage::Channel* guide = picture.find(kGuideName)) frame.guide = guide->values;
    return frame;
}

Raster read_frame(const std::string& path, ChannelsRead channels, std::vector<std::string>& names)
{
    names.clear();
    try {
        if (channels == ChannelsRead::all) return read_all_channels(path, names);
        if (path.ends_with(".exr"))
            if (std::optional<Raster> frame = read_channel_frame(path, names)) return std::move(*frame);
        names.clear();
        return frame_of(read_image(path));
    } catch (const Error& error) {
        bad_input("{}", error.what()); // the user named the file
    }
}

void expect_frame(const std::string& path, const Raster& frame, const Raster& first)
{
    if (frame.width != first.width || frame.height != first.height)
        bad_input("{} is {} x {} pixels, but the first frame of the video is {} x {}; scale all frames to one size",
                  path, frame.width, frame.height, first.width, first.height);
    if (frame.channels != first.channels || frame.guide.empty() != first.guide.empty())
        bad_input("{} has {} channels{}, but the first frame of the video has {}{}", path, frame.channels,
                  frame.guide.empty() ? "" : " and a guide", first.channels, first.guide.empty() ? "" : " and a guide");
    const auto finite = [](const std::vector<float>& values) {
        return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
    };
    if (!finite(frame.values) || !finite(frame.guide)) bad_input("{} has pixels that are not finite numbers", path);
}

Video read_sequence(const std::string& pattern, const std::optional<FrameRange>& wanted, ChannelsRead channels)
{
    const std::vector<int> found = frames_on_disk(pattern);
    if (found.empty()) bad_input("no file matches {}", pattern);
    const FrameRange range = wanted.value_or(FrameRange{found.front(), found.back(), 1});
    Video video;
    video.first = range.first;
    for (int number = range.first; number <= range.last; number += range.step) {
        const std::string path = frame_path(pattern, number);
        if (!std::binary_search(found.begin(), found.end(), number))
            bad_input("{} is missing: the sequence has frames {} to {}, and motion is followed from frame to frame",
                      path, found.front(), found.back());
        std::vector<std::string> names;
        video.frames.push_back(read_frame(path, channels, names));
        const Raster& frame = video.frames.back();
        expect_frame(path, frame, video.frames.front());
        if (number == range.first) {
            video.channels = names;
            expect_video_fits(pattern, frame.width, frame.height, frame.channels, static_cast<size_t>(range.count()));
        }
    }
    return video;
}

} // namespace

Raster frame_of(const Image& image)
{
    Raster frame(image.width, image.height, 3);
    for (size_t i = 0; i < image.pixels.size(); ++i)
        for (int c = 0; c < 3; ++c) frame.values[3 * i + c] = image.pixels[i][c];
    return frame;
}

Image image_of(const Raster& frame)
{
    Image image(frame.width, frame.height);
    for (size_t i = 0; i < image.pixels.size(); ++i)
        for (int c = 0; c < 3; ++c)
            image.pixels[i][c] = frame.values[i * frame.channels + (frame.channels < 3 ? 0 : c)];
    return image;
}

std::vector<float> brightness(const Raster& frame)
{
    std::vector<float> mean(frame.pixels(), 0.0f);
    parallel_chunks(mean.size(), 1 << 13, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            const float* values = frame.values.data() + i * frame.channels;
            for (int c = 0; c < frame.channels; ++c) mean[i] += values[c];
            mean[i] /= static_cast<float>(frame.channels);
        }
    });
    return mean;
}

void expect_video_fits(const std::string& path, int width, int height, int channels, size_t frames)
{
    const double bytes = 4.0 * width * height * channels * static_cast<double>(frames);
    constexpr double kShare = 0.25;
    if (bytes > kShare * available_memory())
        bad_input("{}: {} frames of {} x {} pixels with {} channels need {:.1f} GB of memory, and a video may take "
                  "{:.1f}; use fewer frames or smaller ones",
                  path, frames, width, height, channels, bytes * 1e-9, kShare * available_memory() * 1e-9);
}

Video read_video(const std::string& path, const std::optional<FrameRange>& frames, ChannelsRead channels)
{
    if (has_frame_pattern(path)) return read_sequence(path, frames, channels);
    if (!is_film(path))
        bad_input("{} is neither an image sequence, such as waves.####.png, nor a film (.mp4, .mov, .mkv, .webm, .avi)",
                  path);
    Video video;
    video.first = frames ? frames->first : 1;
    std::vector<Image> images = read_film(path, frames);
    for (Image& image : images) {
        video.frames.push_back(frame_of(image));
        image = {};
    }
    return video;
}

Raster read_video_frame(const std::string& path)
{
    std::vector<std::string> names;
    Raster frame = read_frame(path, ChannelsRead::colors, names);
    expect_frame(path, frame, frame);
    return frame;
}

Raster read_video_frame(const std::string& path, ChannelsRead channels, std::vector<std::string>& names)
{
    return read_frame(path, channels, names);
}

void write_video_frame(const std::string& pattern, int number, const Raster& frame,
                       const std::vector<std::string>& channels)
{
    const std::string path = frame_path(pattern, number);
    const bool plain = channels.empty() && frame.guide.empty();
    if (plain || !path.ends_with(".exr")) return write_image(path, image_of(frame));
    ChannelImage picture(frame.width, frame.height);
    const std::vector<std::string> colors = {"R", "G", "B"};
    for (int c = 0; c < frame.channels; ++c) {
        std::vector<float>& values =
            picture.add(channels.empty() ? colors[c] : channels[c], ChannelImage::Precision::half).values;
        for (size_t i = 0; i < values.size(); ++i) values[i] = frame.values[i * frame.channels + c];
    }
    if (!frame.guide.empty()) picture.add(kGuideName, ChannelImage::Precision::half).values = frame.guide;
    write_image(path, picture);
}

} // namespace spindrift
