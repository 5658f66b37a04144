// Videos: frames with any number of channels, read from image sequences and films. Textures that change with time are
// learned from them.
#pragma once

#include "spindrift/io/frame_path.h"
#include "spindrift/io/image.h"

#include <optional>

namespace spindrift {

struct VideoFrame {
    int width = 0, height = 0, channels = 0;
    std::vector<float> values; // row by row from the top, the channels of a pixel together; colours are linear light
    std::vector<float> guide;  // optional: one value a pixel, the parameter r of [Narain 2011, (2.8)]

    VideoFrame() = default;
    VideoFrame(int w, int h, int c) : width(w), height(h), channels(c), values(static_cast<size_t>(w) * h * c, 0.0f) {}
    size_t pixel(int x, int y) const { return static_cast<size_t>(y) * width + x; }
    size_t pixels() const { return static_cast<size_t>(width) * height; }
    const float* at(int x, int y) const { return values.data() + pixel(x, y) * channels; }
    float* at(int x, int y) { return values.data() + pixel(x, y) * channels; }
};
struct Video {
    std::vector<VideoFrame> frames;    // of one size
    std::vector<std::string> channels; // their names; empty: red, green and blue
    int first = 1;                     // number of the first frame
};

VideoFrame frame_of(const Image& image);
// The first three channels; a single one is grey.
Image image_of(const VideoFrame& frame);
// Mean of the channels of each pixel.
std::vector<float> brightness(const VideoFrame& frame);

// An image sequence (waves.####.png) or a film (.mp4, .mov, .mkv, .webm, .avi). An EXR file with other channels than
// red, green, blue and alpha keeps all of them; its channel "guide" becomes the guide. `frames`: of a sequence the
// numbers in the names, of a film counted from 1; default all. Throws Error(bad_input) if frames are missing, damaged,
// of different sizes or not finite, and if the video does not fit into a quarter of the memory.
Video read_video(const std::string& path, const std::optional<FrameRange>& frames = {});
// One picture as a frame, with the same channels and checks.
VideoFrame read_video_frame(const std::string& path);
// `pattern`: frames as .png, .jpg or .exr. EXR keeps all channels and the guide; the others show the first three.
void write_video_frame(const std::string& pattern, int number, const VideoFrame& frame,
                       const std::vector<std::string>& channels);

// The frames of a film, decoded by ffmpeg with limited memory and time.
std::vector<Image> read_film(const std::string& path, const std::optional<FrameRange>& frames = {});
bool is_film(const std::string& path);

// Throws Error(bad_input) if that many frames do not fit into a quarter of the memory.
void expect_video_fits(const std::string& path, int width, int height, int channels, size_t frames);

} // namespace spindrift
