#include "spindrift/io/picture_codec.h"

#include <OpenImageIO/filesystem.h>
#include <OpenImageIO/imageio.h>
#include <array>

namespace spindrift {

namespace {

const char* writer_of(PictureFormat format)
{
    constexpr std::array<const char*, 3> kNames = {"png", "openexr", "jpeg"};
    return kNames[static_cast<size_t>(format)];
}

OIIO::ImageSpec spec_of(const RawPicture& picture, PictureFormat format)
{
    const auto count = static_cast<int>(picture.channels.size());
    if (format != PictureFormat::exr) {
        OIIO::ImageSpec spec(picture.width, picture.height, count, OIIO::TypeDesc::UINT8);
        spec.attribute("oiio:ColorSpace", "sRGB");
        if (format == PictureFormat::jpg)
            spec.attribute("Compression", "jpeg:95"), spec.attribute("jpeg:subsampling", "4:4:4");
        return spec;
    }
    OIIO::ImageSpec spec(picture.width, picture.height, count, OIIO::TypeDesc::FLOAT);
    spec.channelnames = picture.channels, spec.alpha_channel = spec.z_channel = -1;
    for (int c = 0; c < count; ++c) {
        if (picture.channels[c] == "A") spec.alpha_channel = c;
        if (picture.channels[c] == "Z") spec.z_channel = c;
        spec.channelformats.push_back(picture.half[c] ? OIIO::TypeDesc::HALF : OIIO::TypeDesc::FLOAT);
    }
    spec.attribute("oiio:ColorSpace", "Linear");
    spec.attribute("compression", "zip");
    spec.attribute("DateTime", ""); // otherwise OpenImageIO stores the current time
    return spec;
}

// Encodes the complete file in memory, so that it can be written atomically.
std::string encode(const RawPicture& picture, PictureFormat format, std::vector<unsigned char>& file)
{
    const auto writer = OIIO::ImageOutput::create(writer_of(format));
    if (!writer) return OIIO::geterror();
    OIIO::Filesystem::IOVecOutput memory;
    writer->set_ioproxy(&memory);
    const bool floats = format == PictureFormat::exr;
    const void* data = floats ? static_cast<const void*>(picture.floats.data()) : picture.bytes.data();
    const bool good = writer->open(std::string("picture.") + writer_of(format), spec_of(picture, format)) &&
                      writer->write_image(floats ? OIIO::TypeDesc::FLOAT : OIIO::TypeDesc::UINT8, data) &&
                      writer->close();
    if (!good) return writer->geterror();
    file = memory.buffer();
    return {};
}

// OpenImageIO reports "Linear" or "sRGB" if the file or its format specifies it. All other formats but EXR are
// display-referred.
bool is_linear(const OIIO::ImageSpec& spec, const std::string& format)
{
    const std::string space = spec.get_string_attribute("oiio:ColorSpace", "");
    return format == "openexr" || space == "Linear" || space == "linear";
}

std::string decode(const std::string& path, RawPicture& picture)
{
    OIIO::ImageSpec config;
    config.attribute("oiio:UnassociatedAlpha", 1); // colours of PNG as they are, not multiplied with their opacity
    const auto reader = OIIO::ImageInput::open(path, &config);
    if (!reader) return OIIO::geterror();
    const OIIO::ImageSpec& spec = reader->spec();
    if (spec.width <= 0 || spec.height <= 0 || spec.width > kLargestEdge || spec.height > kLargestEdge ||
        spec.nchannels < 1)
        return "a picture of " + std::to_string(spec.width) + " x " + std::to_string(spec.height) + " pixels";
    if (static_cast<double>(spec.width) * spec.height * spec.nchannels > kMostNumbers)
        return "a picture of " + std::to_string(spec.width) + " x " + std::to_string(spec.height) + " pixels with " +
               std::to_string(spec.nchannels) + " channels is too large; make it smaller";
    picture.width = spec.width, picture.height = spec.height;
    picture.linear = is_linear(spec, reader->format_name());
    picture.channels = spec.channelnames;
    for (int c = 0; c < spec.nchannels; ++c) picture.half.push_back(spec.channelformat(c) == OIIO::TypeDesc::HALF);
    picture.floats.resize(static_cast<size_t>(spec.width) * spec.height * spec.nchannels);
    if (!reader->read_image(0, 0, 0, spec.nchannels, OIIO::TypeDesc::FLOAT, picture.floats.data()))
        return reader->geterror();
    return {};
}

// Runs `body` and returns the text of what it throws.
template <class Body> std::string guarded(const Body& body)
{
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return "out of memory";
    } catch (const std::exception& error) {
        return error.what();
    }
}

} // namespace

} // namespace spindrift

extern "C" __attribute__((visibility("default"))) const spindrift::PictureCodec* spindrift_picture_codec()
{
    using namespace spindrift;
    static const PictureCodec codec = {
        [](const RawPicture& picture, PictureFormat format, std::vector<unsigned char>& file) {
            return guarded([&] { return encode(picture, format, file); });
        },
        [](const std::string& path, RawPicture& picture) { return guarded([&] { return decode(path, picture); }); }};
    return &codec;
}
