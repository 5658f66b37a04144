#include "spindrift/io/image.h"

#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/finite.h"

#include <OpenImageIO/filesystem.h>
#include <OpenImageIO/imageio.h>
#include <array>
#include <cctype>

namespace spindrift {

namespace {

enum class Format { png, exr, jpg };

constexpr int kLargestEdge = 1 << 16;

Format format_of(const std::string& path)
{
    const size_t dot = path.rfind('.');
    std::string ending = dot == std::string::npos ? "" : path.substr(dot);
    for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (ending == ".png") return Format::png;
    if (ending == ".exr") return Format::exr;
    if (ending == ".jpg" || ending == ".jpeg") return Format::jpg;
    bad_input("{}: a picture must end in .png, .exr or .jpg", path);
}

const char* writer_of(Format format)
{
    constexpr std::array<const char*, 3> kNames = {"png", "openexr", "jpeg"};
    return kNames[static_cast<size_t>(format)];
}

// Encodes the complete file in memory, so that it can be written atomically. `data` is in the format of `type`.
std::vector<unsigned char> encode(const std::string& path, OIIO::ImageSpec spec, Format format, OIIO::TypeDesc type,
                                  const void* data)
{
    spec.attribute("oiio:ColorSpace", format == Format::exr ? "Linear" : "sRGB");
    if (format == Format::exr) spec.attribute("compression", "zip");
    if (format == Format::exr) spec.attribute("DateTime", ""); // otherwise OpenImageIO stores the current time
    if (format == Format::jpg) spec.attribute("Compression", "jpeg:95"), spec.attribute("jpeg:subsampling", "4:4:4");

    const auto writer = OIIO::ImageOutput::create(writer_of(format));
    if (!writer) fail("cannot write {}: {}", path, OIIO::geterror());
    OIIO::Filesystem::IOVecOutput memory;
    writer->set_ioproxy(&memory);
    const bool good = writer->open(path, spec) && writer->write_image(type, data) && writer->close();
    if (!good) fail("cannot write {}: {}", path, writer->geterror());
    return memory.buffer();
}

// OpenImageIO reports "Linear" or "sRGB" if the file or its format specifies it. All other formats but EXR are
// display-referred.
bool is_linear(const OIIO::ImageSpec& spec, const std::string& format)
{
    const std::string space = spec.get_string_attribute("oiio:ColorSpace", "");
    return format == "openexr" || space == "Linear" || space == "linear";
}

// Extent of pixel `i` of `count` on an axis of `length` source pixels.
struct Span {
    double begin, end;
    Span(int i, int count, int length)
        : begin(static_cast<double>(i) * length / count), end(static_cast<double>(i + 1) * length / count)
    {
    }
    // Calls add(source pixel, share of this span); the shares add up to 1.
    template <class Add> void for_each(const Add& add) const
    {
        for (int i = static_cast<int>(begin); i < end; ++i) {
            const double overlap = std::min<double>(i + 1, end) - std::max<double>(i, begin);
            add(i, static_cast<float>(overlap / (end - begin)));
        }
    }
};

// Evenly spread indices of `count` of `total` pictures, first and last included.
std::vector<size_t> spread(size_t total, int count)
{
    std::vector<size_t> chosen;
    const size_t wanted = std::min(total, static_cast<size_t>(count));
    if (wanted == 1) return {(total - 1) / 2};
    for (size_t i = 0; i < wanted; ++i) chosen.push_back((2 * i * (total - 1) + (wanted - 1)) / (2 * (wanted - 1)));
    return chosen;
}

} // namespace

std::vector<uint8_t> srgb_bytes(const Image& image)
{
    std::vector<uint8_t> bytes(3 * image.pixels.size());
    parallel_chunks(image.pixels.size(), 1 << 13, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i)
            for (int c = 0; c < 3; ++c) {
                const float x = image.pixels[i][c];
                const float clipped = x > 0 ? std::min(x, 1.0f) : 0.0f; // NaN becomes 0
                bytes[3 * i + static_cast<size_t>(c)] =
                    static_cast<uint8_t>(std::lround(255 * srgb_from_linear(clipped)));
            }
    });
    return bytes;
}

namespace {

void write_bytes(const std::string& path, const std::vector<unsigned char>& bytes)
{
    write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// The picture of a file that can be opened, and has a size that makes sense.
std::unique_ptr<OIIO::ImageInput> open_picture(const std::string& path)
{
    if (!file_exists(path)) fail("cannot read {}: there is no such file", path);
    auto reader = OIIO::ImageInput::open(path);
    if (!reader) fail("cannot read {}: {}", path, OIIO::geterror());
    const OIIO::ImageSpec& spec = reader->spec();
    if (spec.width <= 0 || spec.height <= 0 || spec.width > kLargestEdge || spec.height > kLargestEdge ||
        spec.nchannels < 1)
        fail("cannot read {}: a picture of {} x {} pixels", path, spec.width, spec.height);
    return reader;
}

} // namespace

void write_image(const std::string& path, const Image& image)
{
    const Format format = format_of(path);
    if (image.width <= 0 || image.height <= 0) fail("cannot write {}: the picture is empty", path);
    expect_finite(path, "color", std::span(image.pixels));
    const bool linear = format == Format::exr;
    const OIIO::ImageSpec spec(image.width, image.height, 3, linear ? OIIO::TypeDesc::HALF : OIIO::TypeDesc::UINT8);
    write_bytes(path, linear ? encode(path, spec, format, OIIO::TypeDesc::FLOAT, image.pixels.data())
                             : encode(path, spec, format, OIIO::TypeDesc::UINT8, srgb_bytes(image).data()));
}

void write_image(const std::string& path, const ChannelImage& image)
{
    if (format_of(path) != Format::exr) bad_input("{}: a picture with named channels must end in .exr", path);
    if (image.width <= 0 || image.height <= 0 || image.channels.empty())
        fail("cannot write {}: the picture is empty", path);
    const size_t pixels = static_cast<size_t>(image.width) * image.height, count = image.channels.size();
    OIIO::ImageSpec spec(image.width, image.height, static_cast<int>(count), OIIO::TypeDesc::FLOAT);
    spec.channelnames.clear(), spec.alpha_channel = spec.z_channel = -1;
    std::vector<float> values(pixels * count);
    for (size_t c = 0; c < count; ++c) {
        const ChannelImage::Channel& channel = image.channels[c];
        if (channel.values.size() != pixels)
            fail("cannot write {}: channel {} has {} values for {} pixels", path, channel.name, channel.values.size(),
                 pixels);
        const bool half = channel.precision == ChannelImage::Precision::half;
        expect_finite(path, channel.name, std::span(channel.values),
                      half ? kLargestHalf : std::numeric_limits<float>::max());
        if (channel.name == "A") spec.alpha_channel = static_cast<int>(c);
        if (channel.name == "Z") spec.z_channel = static_cast<int>(c);
        spec.channelnames.push_back(channel.name);
        spec.channelformats.push_back(half ? OIIO::TypeDesc::HALF : OIIO::TypeDesc::FLOAT);
        for (size_t i = 0; i < pixels; ++i) values[i * count + c] = channel.values[i];
    }
    write_bytes(path, encode(path, spec, Format::exr, OIIO::TypeDesc::FLOAT, values.data()));
}

Image read_image(const std::string& path)
{
    const auto reader = open_picture(path);
    const OIIO::ImageSpec& spec = reader->spec();
    const size_t channels = static_cast<size_t>(spec.nchannels);
    const bool decode = !is_linear(spec, reader->format_name());
    Image image(spec.width, spec.height);
    std::vector<float> values(image.pixels.size() * channels);
    if (!reader->read_image(0, 0, 0, spec.nchannels, OIIO::TypeDesc::FLOAT, values.data()))
        fail("cannot read {}: {}", path, reader->geterror());
    parallel_chunks(image.pixels.size(), 1 << 13, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i)
            for (size_t c = 0; c < 3; ++c) {
                const float value = values[i * channels + (channels < 3 ? 0 : c)]; // grey, or grey and alpha
                image.pixels[i][static_cast<int>(c)] = decode ? linear_from_srgb(value) : value;
            }
    });
    return image;
}

ChannelImage read_channels(const std::string& path)
{
    const auto reader = open_picture(path);
    const OIIO::ImageSpec& spec = reader->spec();
    ChannelImage image(spec.width, spec.height);
    const auto count = static_cast<size_t>(spec.nchannels);
    std::vector<float> values(static_cast<size_t>(spec.width) * spec.height * count);
    if (!reader->read_image(0, 0, 0, spec.nchannels, OIIO::TypeDesc::FLOAT, values.data()))
        fail("cannot read {}: {}", path, reader->geterror());
    for (size_t c = 0; c < count; ++c) {
        const bool half = spec.channelformat(static_cast<int>(c)) == OIIO::TypeDesc::HALF;
        ChannelImage::Channel& channel =
            image.add(spec.channelnames[c], half ? ChannelImage::Precision::half : ChannelImage::Precision::full);
        for (size_t i = 0; i < channel.values.size(); ++i) channel.values[i] = values[i * count + c];
    }
    return image;
}

Image resized(const Image& image, int width, int height)
{
    if (width <= 0 || height <= 0 || image.width <= 0 || image.height <= 0)
        fail("cannot scale a picture of {} x {} pixels to {} x {}", image.width, image.height, width, height);
    // Separable: along x, then along y.
    Image narrow(width, image.height), result(width, height);
    parallel_for(static_cast<size_t>(image.height), [&](size_t row) {
        const int y = static_cast<int>(row);
        for (int x = 0; x < width; ++x)
            Span(x, width, image.width).for_each([&](int i, float share) {
                narrow.at(x, y) += share * image.at(i, y);
            });
    });
    parallel_for(static_cast<size_t>(height), [&](size_t row) {
        const int y = static_cast<int>(row);
        Span(y, height, image.height).for_each([&](int i, float share) {
            for (int x = 0; x < width; ++x) result.at(x, y) += share * narrow.at(x, i);
        });
    });
    return result;
}

Image contact_sheet(const std::vector<std::string>& pictures, int count, int columns, int tile_width)
{
    constexpr int kGap = 6;
    const Vec3f paper = Vec3f::Constant(0.012f); // dark background
    if (pictures.empty()) fail("a contact sheet needs at least one picture");
    if (count <= 0 || columns <= 0 || tile_width <= 0 || tile_width > kLargestEdge)
        bad_input("a contact sheet of {} pictures in {} columns of {} pixels is not possible", count, columns,
                  tile_width);

    std::vector<Image> tiles;
    int tile_height = 0;
    for (const size_t i : spread(pictures.size(), count)) {
        const Image picture = read_image(pictures[i]);
        const int height = std::max(
            1, static_cast<int>(std::lround(static_cast<double>(tile_width) * picture.height / picture.width)));
        tiles.push_back(resized(picture, tile_width, height));
        tile_height = std::max(tile_height, height);
    }
    const int total = static_cast<int>(tiles.size()), across = std::min(columns, total),
              down = (total + across - 1) / across;
    Image sheet(kGap + across * (tile_width + kGap), kGap + down * (tile_height + kGap));
    std::fill(sheet.pixels.begin(), sheet.pixels.end(), paper);
    for (int t = 0; t < total; ++t) {
        const Image& tile = tiles[static_cast<size_t>(t)];
        const int left = kGap + t % across * (tile_width + kGap);
        const int top = kGap + t / across * (tile_height + kGap) + (tile_height - tile.height) / 2;
        for (int y = 0; y < tile.height; ++y) std::copy_n(&tile.at(0, y), tile_width, &sheet.at(left, top + y));
    }
    return sheet;
}

} // namespace spindrift
