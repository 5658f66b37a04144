// Images: linear RGB floats in memory; PNG (sRGB), EXR (linear half) and JPEG on disk; contact sheets and MP4 films of
// sequences.
//
//     Image image(640, 360);
//     image.at(320, 180) = Vec3f(1, 0.5f, 0);
//     write_image("dot.png", image);
#pragma once

#include "spindrift/base/math.h"
#include "spindrift/io/srgb.h"

#include <string>
#include <vector>

namespace spindrift {

struct Image {
    int width = 0, height = 0;
    std::vector<Vec3f> pixels; // row by row from the top, linear light

    Image() = default;
    Image(int w, int h) : width(w), height(h), pixels(static_cast<size_t>(w) * h, Vec3f::Zero()) {}
    Vec3f& at(int x, int y) { return pixels[static_cast<size_t>(y) * width + x]; }
    const Vec3f& at(int x, int y) const { return pixels[static_cast<size_t>(y) * width + x]; }
};

// Named channels of one size, for EXR. A name is "channel" or "layer.channel", e.g. "R", "Z", "N.X".
struct ChannelImage {
    enum class Precision { half, full }; // 16 or 32 bits on disk
    struct Channel {
        std::string name;
        Precision precision = Precision::half;
        std::vector<float> values; // row by row from the top
    };
    int width = 0, height = 0;
    std::vector<Channel> channels;

    ChannelImage() = default;
    ChannelImage(int w, int h) : width(w), height(h) {}
    Channel& add(const std::string& name, Precision precision)
    {
        channels.push_back({name, precision, std::vector<float>(static_cast<size_t>(width) * height)});
        return channels.back();
    }
    // Null if there is none.
    const Channel* find(const std::string& name) const
    {
        for (const Channel& channel : channels)
            if (channel.name == name) return &channel;
        return nullptr;
    }
};

// EXR only. Atomic and byte-identical for identical values.
void write_image(const std::string& path, const ChannelImage& image);
// Channels in the order of the file, which for EXR is that of the reader: colours first.
ChannelImage read_channels(const std::string& path);

// Format by extension: .png (sRGB, 8 bit), .exr (linear, half), .jpg. Atomic; identical pixels give identical bytes.
void write_image(const std::string& path, const Image& image);
Image read_image(const std::string& path);

// Red, green, blue, row by row from the top, rounded to 8 bits; clamped to [0, 1], NaN is black.
std::vector<uint8_t> srgb_bytes(const Image& image);

// Box filter: the mean colour of the area that each new pixel covers, in linear light.
Image resized(const Image& image, int width, int height);

// `count` pictures spread evenly over the sequence, in a grid of `columns`, scaled to `tile_width`.
Image contact_sheet(const std::vector<std::string>& pictures, int count, int columns, int tile_width);
// H.264 film from pictures of one size, in the given order, with ffmpeg (libx264, yuv420p; odd sizes are padded by
// repeating the edge). Throws Error(failed) with ffmpeg's last line. Atomic.
void write_movie(const std::string& path, const std::vector<std::string>& pictures, int fps);
// Approximate peak memory of ffmpeg in write_movie() [bytes].
double memory_of_encoder(int width, int height, int pictures);

} // namespace spindrift
