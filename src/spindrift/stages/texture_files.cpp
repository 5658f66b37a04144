#include "spindrift/stages/texture_files.h"

#include "spindrift/base/error.h"
#include "spindrift/io/image.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/texture/bake.h"

#include <filesystem>

namespace spindrift {

namespace {

constexpr int kLeastAtlas = 64; // pixels
constexpr double kAtlasBytesPerPixel = 60, kFileBytesPerPixel = 3, kFileBytesPerTriangle = 110;
constexpr const char *kColorOfVertices = "color", *kHeight = "height";

std::string ending_of(TextureFileParams::AtlasFormat format)
{
    return format == TextureFileParams::AtlasFormat::png ? "png" : "exr";
}

const std::vector<Vec3f>* colors_in(const Mesh& mesh)
{
    const auto found = mesh.attributes.find(kColorOfVertices);
    return found == mesh.attributes.end() ? nullptr : std::get_if<std::vector<Vec3f>>(&found->second);
}

// Along the normals, by how high the colours are.
void displace(Mesh& mesh, const std::vector<Vec3f>& colors, float by, const HeightOfColor& height_of)
{
    compute_normals(mesh);
    std::vector<float> heights(colors.size());
    for (size_t i = 0; i < colors.size(); ++i) {
        heights[i] = height_of(colors[i]);
        mesh.positions[i] += by * (heights[i] - 0.5f) * mesh.normals[i];
    }
    compute_normals(mesh);
    mesh.attributes[kHeight] = std::move(heights);
}

void write_atlas(const std::string& path, const Mesh& mesh, const std::vector<Vec3f>& colors, Mesh surface,
                 const TextureFileParams& params)
{
    const Atlas atlas = make_atlas(surface, params.atlas);
    const bool same = surface.triangles == mesh.triangles && surface.positions.size() == mesh.positions.size();
    Image image;
    image.width = image.height = params.atlas;
    image.pixels =
        same ? baked_from_vertices(atlas, surface, colors) : baked_from_nearest(atlas, surface, mesh, colors);
    const std::filesystem::path picture = std::filesystem::path(path).replace_extension(ending_of(params.atlas_format));
    write_image(picture.string(), image);
    if (surface.normals.empty()) compute_normals(surface);
    write_textured_mesh(std::filesystem::path(path).replace_extension("obj").string(), surface, atlas.places,
                        atlas.triangles, picture.filename().string());
}

} // namespace

void TextureFileParams::visit(ParamVisitor& v)
{
    v("atlas", atlas, unit::pixels, between(0, 16384),
      "Also write the surface as OBJ with texture coordinates, and its colours as a picture of this edge, such as "
      "2048: a texture as fine as `texel` on a mesh as coarse as the surface. 0: do not.");
    v("atlas_format", atlas_format, choices("png", "exr"), "png: sRGB, 8 bits; exr: linear, 16 bits.");
    v("displace", displace, unit::metres, between(-1000, 1000),
      "Move the vertices of the PLY along their normals by this times their height - 0.5, and write the attribute "
      "\"height\": from 0 in `color` to 1 in `second_color`, or the brightness of a picture or of the surface's own "
      "colours.");
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

float HeightOfColor::operator()(const Vec3f& color) const
{
    constexpr float kRed = 0.2126f, kGreen = 0.7152f, kBlue = 0.0722f; // luminance of linear RGB
    if (!between) return clamp01(kRed * color.x() + kGreen * color.y() + kBlue * color.z());
    const Vec3f way = between->second - between->first;
    return clamp01((color - between->first).dot(way) / std::max(way.squaredNorm(), 1e-12f));
}

void write_texture(const std::string& path, Mesh mesh, const Mesh& surface, const TextureFileParams& params,
                   const HeightOfColor& height)
{
    const std::vector<Vec3f>* colors = colors_in(mesh);
    if (!colors && (params.atlas > 0 || params.displace != 0))
        fail("the texture has no \"{}\" of three numbers: an expression has removed it", kColorOfVertices);
    if (params.atlas > 0) write_atlas(path, mesh, *colors, surface, params);
    if (params.displace != 0) displace(mesh, std::vector<Vec3f>(*colors), params.displace, height);
    write_mesh(path, mesh);
}

} // namespace spindrift
