// Picture files by OpenImageIO, in a module (libspindrift_pictures.so) that is loaded with the first picture:
// OpenImageIO brings two hundred libraries, which would take a fifth of a second at the start of every command.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spindrift {

enum class PictureFormat { png, exr, jpg };
constexpr int kLargestEdge = 1 << 16;    // of a picture [pixels]
constexpr double kMostNumbers = 1 << 29; // of a picture that is read: pixels times channels; 2 GB as floats

struct RawPicture {
    int width = 0, height = 0;
    bool linear = true; // otherwise sRGB
    std::vector<std::string> channels;
    std::vector<bool> half;     // of each channel, in EXR
    std::vector<float> floats;  // pixel by pixel: EXR, and everything that is decoded
    std::vector<uint8_t> bytes; // pixel by pixel: PNG and JPEG
};

// Functions of the module. They return an error message, empty on success, since exceptions may not cross its border.
struct PictureCodec {
    std::string (*encode)(const RawPicture& picture, PictureFormat format, std::vector<unsigned char>& file);
    std::string (*decode)(const std::string& path, RawPicture& picture);
};
using PictureCodecFunction = const PictureCodec*();
constexpr const char* kPictureCodecFunction = "spindrift_picture_codec";

} // namespace spindrift
