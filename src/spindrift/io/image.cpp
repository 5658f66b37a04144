#include "spindrift/io/image.h"

#include "spindrift/base/companion.h"
#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/finite.h"
#include "spindrift/io/picture_codec.h"

#include <cctype>
#include <filesystem>

namespace spindrift {

namespace {

using Format = PictureFormat;

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

const PictureCodec& codec()
{
    static const auto function =
        load_companion<PictureCodecFunction>("libspindrift_pictures.so", kPictureCodecFunction, "pictures need");
    return *function();
}

void encode(const std::string& path, const RawPicture& picture)
{
    std::vector<unsigned char> file;
    const std::string error = codec().encode(picture, format_of(path), file);
    if (!error.empty()) fail("cannot write {}: {}", path, error);
    write_file(path, {reinterpret_cast<const char*>(file.data()), file.size()});
}

RawPicture decode(const std::string& path)
{
    std::error_code none;
    if (!std::filesystem::exists(path, none)) fail("cannot read {}: there is no such file", path);
    if (!file_exists(path)) // opening a pipe would block until another process writes to it
        fail("cannot read {}: it is a pipe, a device or a folder, not a picture", path);
    RawPicture picture;
    const std::string error = codec().decode(path, picture);
    if (!error.empty()) fail("cannot read {}: {}", path, error);
    return picture;
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
                bytes[3 * i + c] = static_cast<uint8_t>(std::lround(255 * srgb_from_linear(clipped)));
            }
    });
    return bytes;
}

void write_image(const std::string& path, const Image& image)
{
    const Format format = format_of(path);
    if (image.width <= 0 || image.height <= 0) fail("cannot write {}: the picture is empty", path);
    expect_finite(path, "color", std::span(image.pixels));
    RawPicture picture{image.width, image.height, format == Format::exr, {"R", "G", "B"}, {true, true, true}, {}, {}};
    if (picture.linear) {
        const float* values = image.pixels.data()->data();
        picture.floats.assign(values, values + 3 * image.pixels.size());
    } else
        picture.bytes = srgb_bytes(image);
    encode(path, picture);
}

void write_image(const std::string& path, const ChannelImage& image)
{
    if (format_of(path) != Format::exr) bad_input("{}: a picture with named channels must end in .exr", path);
    if (image.width <= 0 || image.height <= 0 || image.channels.empty())
        fail("cannot write {}: the picture is empty", path);
    const size_t pixels = static_cast<size_t>(image.width) * image.height, count = image.channels.size();
    RawPicture picture{image.width, image.height, true, {}, {}, std::vector<float>(pixels * count), {}};
    for (size_t c = 0; c < count; ++c) {
        const ChannelImage::Channel& channel = image.channels[c];
        if (channel.values.size() != pixels)
            fail("cannot write {}: channel {} has {} values for {} pixels", path, channel.name, channel.values.size(),
                 pixels);
        const bool half = channel.precision == ChannelImage::Precision::half;
        expect_finite(path, channel.name, std::span(channel.values),
                      half ? kLargestHalf : std::numeric_limits<float>::max());
        picture.channels.push_back(channel.name), picture.half.push_back(half);
        for (size_t i = 0; i < pixels; ++i) picture.floats[i * count + c] = channel.values[i];
    }
    encode(path, picture);
}

Image read_image(const std::string& path)
{
    const RawPicture picture = decode(path);
    const size_t channels = picture.channels.size();
    Image image(picture.width, picture.height);
    parallel_chunks(image.pixels.size(), 1 << 13, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i)
            for (size_t c = 0; c < 3; ++c) {
                const float value = picture.floats[i * channels + (channels < 3 ? 0 : c)]; // grey, or grey and alpha
                image.pixels[i][static_cast<int>(c)] = picture.linear ? value : linear_from_srgb(value);
            }
    });
    return image;
}

ChannelImage read_channels(const std::string& path)
{
    const RawPicture picture = decode(path);
    ChannelImage image(picture.width, picture.height);
    const size_t count = picture.channels.size();
    for (size_t c = 0; c < count; ++c) {
        ChannelImage::Channel& channel = image.add(
            picture.channels[c], picture.half[c] ? ChannelImage::Precision::half : ChannelImage::Precision::full);
        for (size_t i = 0; i < channel.values.size(); ++i) channel.values[i] = picture.floats[i * count + c];
    }
    return image;
}

Image resized(const Image& image, int width, int height)
{
    if (width <= 0 || height <= 0 || image.width <= 0 || image.height <= 0)
        fail("cannot scale a picture of {} x {} pixels to {} x {}", image.width, image.height, width, height);
    // Separable: along x, then along y.
    Image narrow(width, image.height), result(width, height);
    parallel_for(image.height, [&](size_t row) {
        const int y = static_cast<int>(row);
        for (int x = 0; x < width; ++x)
            Span(x, width, image.width).for_each([&](int i, float share) {
                narrow.at(x, y) += share * image.at(i, y);
            });
    });
    parallel_for(height, [&](size_t row) {
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
        const Image& tile = tiles[t];
        const int left = kGap + t % across * (tile_width + kGap);
        const int top = kGap + t / across * (tile_height + kGap) + (tile_height - tile.height) / 2;
        for (int y = 0; y < tile.height; ++y) std::copy_n(&tile.at(0, y), tile_width, &sheet.at(left, top + y));
    }
    return sheet;
}

} // namespace spindrift
