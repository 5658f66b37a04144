// Videos: frames with any number of channels, read from image sequences and films. Textures that change with time are
// learned from them.
#pragma once

#include "spindrift/io/frame_path.h"
#include "spindrift/io/image.h"
#include "spindrift/video/raster.h"

#include <optional>

namespace spindrift {

struct Video {
    std::vector<Raster> frames;        // of one size
    std::vector<std::string> channels; // their names; empty: red, green and blue
    int first = 1;                     // number of the first frame
};

Raster frame_of(const Image& image);
// The first three channels; a single one is grey.
Image image_of(const Raster& frame);
// Mean of the channels of each pixel.
std::vector<float> brightness(const Raster& frame);

// What is read of pictures. `colors`: red, green and blue, but all channels of EXR files that have others than colours
// and opacity. `all`: red, green and blue, not multiplied with the opacity, and then all others.
enum class ChannelsRead { colors, all };

// An image sequence (waves.####.png) or a film (.mp4, .mov, .mkv, .webm, .avi). A channel "guide" of
// EXR files becomes the guide. `frames`: of a sequence the
// numbers in the names, of a film counted from 1; default all. Throws Error(bad_input) if frames are missing, damaged,
// of different sizes or not finite, and if the video does not fit into a quarter of the memory.
Video read_video(const std::string& path, const std::optional<FrameRange>& frames = {},
                 ChannelsRead channels = ChannelsRead::colors);
// One picture as a frame, with the same channels and checks.
Raster read_video_frame(const std::string& path);
Raster read_video_frame(const std::string& path, ChannelsRead channels, std::vector<std::string>& names);
// `pattern`: frames as .png, .jpg or .exr. EXR keeps all channels and the guide; the others show the first three.
void write_video_frame(const std::string& pattern, int number, const Raster& frame,
                       const std::vector<std::string>& channels);

// The frames of a film, decoded by ffmpeg with limited memory and time.
std::vector<Image> read_film(const std::string& path, const std::optional<FrameRange>& frames = {});
bool is_film(const std::string& path);

// Throws Error(bad_input) if that many frames do not fit into a quarter of the memory.
void expect_video_fits(const std::string& path, int width, int height, int channels, size_t frames);

} // namespace spindrift
