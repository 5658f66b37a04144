#include "spindrift/stages/texture_files.h"

#include "spindrift/base/error.h"
#include "spindrift/io/image.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/texture/bake.h"

#include <filesystem>
#include <functional>

namespace spindrift {

namespace {

constexpr int kLeastAtlas = 64; // pixels
constexpr double kAtlasBytesPerPixel = 60, kFileBytesPerPixel = 3, kFileBytesPerTriangle = 110;
constexpr const char *kColorOfVertices = "color", *kHeight = "height", *kOpacity = "opacity";

std::string ending_of(TextureFileParams::AtlasFormat format)
{
    return format == TextureFileParams::AtlasFormat::png ? "png" : "exr";
}

const std::vector<Vec3f>* colors_in(const Mesh& mesh)
{
    const auto found = mesh.attributes.find(kColorOfVertices);
    return found == mesh.attributes.end() ? nullptr : std::get_if<std::vector<Vec3f>>(&found->second);
}

const std::vector<float>& values_in(const Mesh& mesh, const std::string& name)
{
    const auto found = mesh.attributes.find(name);
    const auto* values = found == mesh.attributes.end() ? nullptr : std::get_if<std::vector<float>>(&found->second);
    if (!values) fail("the texture has no float \"{}\": an expression has removed it", name);
    return *values;
}

// Along the normals, by height or by how high the colours are.
void displace(Mesh& mesh, const std::vector<Vec3f>& colors, float by, const TextureLook& look)
{
    compute_normals(mesh);
    std::vector<float> heights(colors.size());
    if (look.has(kHeight))
        heights = values_in(mesh, kHeight);
    else
        for (size_t i = 0; i < colors.size(); ++i) heights[i] = look.height(colors[i]);
    for (size_t i = 0; i < colors.size(); ++i) mesh.positions[i] += by * (heights[i] - 0.5f) * mesh.normals[i];
    compute_normals(mesh);
    mesh.attributes[kHeight] = std::move(heights);
}

// Colours, and what belongs to them, three at a time. As the format wants it, colours are multiplied with the opacity.
ChannelImage picture_with_values(const Mesh& mesh, const std::vector<Vec3f>& colors, const TextureLook& look, int size,
                                 const std::function<std::vector<Vec3f>(const std::vector<Vec3f>&)>& bake)
{
    constexpr auto kHalf = ChannelImage::Precision::half;
    ChannelImage picture(size, size);
    const auto add = [&](const std::vector<std::string>& names, const std::vector<Vec3f>& values) {
        const std::vector<Vec3f> pixels = bake(values);
        for (size_t c = 0; c < names.size(); ++c) {
            std::vector<float>& channel = picture.add(names[c] == kOpacity ? "A" : names[c], kHalf).values;
            for (size_t i = 0; i < channel.size(); ++i) channel[i] = pixels[i][static_cast<int>(c)];
        }
    };
    std::vector<Vec3f> values = colors;
    if (look.has(kOpacity)) {
        const std::vector<float>& opacity = values_in(mesh, kOpacity);
        for (size_t i = 0; i < values.size(); ++i) values[i] *= opacity[i];
    }
    add({"R", "G", "B"}, values);
    for (size_t first = 0; first < look.values.size(); first += 3) {
        std::vector<std::string> names;
        for (size_t c = first; c < std::min(first + 3, look.values.size()); ++c) {
            const std::vector<float>& own = values_in(mesh, look.values[c]);
            for (size_t i = 0; i < values.size(); ++i) values[i][static_cast<int>(names.size())] = own[i];
            names.push_back(look.values[c]);
        }
        add(names, values);
    }
    return picture;
}

void write_atlas(const std::string& path, const Mesh& mesh, const std::vector<Vec3f>& colors, Mesh surface,
                 const TextureFileParams& params, const TextureLook& look)
{
    const Atlas atlas = make_atlas(surface, params.atlas);
    const bool same = surface.triangles == mesh.triangles && surface.positions.size() == mesh.positions.size();
    const auto bake = [&](const std::vector<Vec3f>& values) {
        return same ? baked_from_vertices(atlas, surface, values) : baked_from_nearest(atlas, surface, mesh, values);
    };
    const std::filesystem::path file = std::filesystem::path(path).replace_extension(ending_of(params.atlas_format));
    if (params.atlas_format == TextureFileParams::AtlasFormat::exr && !look.values.empty()) {
        write_image(file.string(), picture_with_values(mesh, colors, look, params.atlas, bake));
    } else {
        Image image;
        image.width = image.height = params.atlas;
        image.pixels = bake(colors);
        write_image(file.string(), image);
    }
    if (surface.normals.empty()) compute_normals(surface);
    write_textured_mesh(std::filesystem::path(path).replace_extension("obj").string(), surface, atlas.places,
                        atlas.triangles, file.filename().string());
}

} // namespace

void TextureFileParams::visit(ParamVisitor& v)
{
    v("atlas", atlas, unit::pixels, between(0, 16384),
      "Also write the surface as OBJ with texture coordinates, and its colours as a picture of this edge, such as "
      "2048: a texture as fine as `texel` on a mesh as coarse as the surface. 0: do not.");
    v("atlas_format", atlas_format, choices("png", "exr"),
      "png: colours alone, sRGB, 8 bits; exr: linear, 16 bits, with opacity, height and other attributes of examples "
      "as channels.");
    v("displace", displace, unit::metres, between(-1000, 1000),
      "Move the vertices of the PLY along their normals by this times their height - 0.5, and write the attribute "
      "\"height\": that of examples with a height, or else from 0 in `color` to 1 in `second_color`, or the brightness "
      "of a picture, of the surface's own colours, or of examples with colours of their own.");
    v.require(atlas == 0 || atlas >= kLeastAtlas, "atlas", fmt::format("0, or at least {} pixels", kLeastAtlas));
}

std::vector<std::string> TextureFileParams::endings() const
{
    if (atlas == 0) return {"ply"};
    return {"ply", "obj", "mtl", ending_of(atlas_format)};
}

int TextureFileParams::coarser_atlas(double k) const
{
    return std::max(kLeastAtlas, static_cast<int>(std::lround(atlas / k)));
}

double TextureFileParams::memory(double pixels) { return kAtlasBytesPerPixel * pixels; }

double TextureFileParams::disk(double triangles_of_surface) const
{
    return atlas == 0 ? 0 : kFileBytesPerPixel * atlas * atlas + kFileBytesPerTriangle * triangles_of_surface;
}

float TextureLook::height(const Vec3f& color) const
{
    constexpr float kRed = 0.2126f, kGreen = 0.7152f, kBlue = 0.0722f; // luminance of linear RGB
    if (!between) return clamp01(kRed * color.x() + kGreen * color.y() + kBlue * color.z());
    const Vec3f way = between->second - between->first;
    return clamp01((color - between->first).dot(way) / std::max(way.squaredNorm(), 1e-12f));
}

void write_texture(const std::string& path, Mesh mesh, const Mesh& surface, const TextureFileParams& params,
                   const TextureLook& look)
{
    const std::vector<Vec3f>* colors = colors_in(mesh);
    if (!colors && (params.atlas > 0 || params.displace != 0))
        fail("the texture has no \"{}\" of three numbers: an expression has removed it", kColorOfVertices);
    if (params.atlas > 0) write_atlas(path, mesh, *colors, surface, params, look);
    if (params.displace != 0) displace(mesh, std::vector<Vec3f>(*colors), params.displace, look);
    write_mesh(path, mesh);
}

} // namespace spindrift
