// The files of a textured frame: PLY with colours per vertex, and, for programs that show pictures on meshes and for
// textures finer than the mesh, the surface as OBJ with an atlas (mesh/atlas.h).
#pragma once

#include "spindrift/mesh/mesh.h"
#include "spindrift/scene/params.h"

namespace spindrift {

struct TextureFileParams {
    enum class AtlasFormat { png, exr };

    int atlas = 0; // edge of the picture [pixels]; 0: none
    AtlasFormat atlas_format = AtlasFormat::png;
    float displace = 0; // [m]

    void visit(ParamVisitor& v);
    std::vector<std::string> endings() const;
    int coarser_atlas(double k) const; // for a rehearsal
    // Memory, and disk space of a frame, for the atlas [bytes].
    static double memory(double pixels);
    double disk(double triangles_of_surface) const;
};

// How high a colour is, from 0 to 1: between two colours, or by its brightness.
struct HeightOfColor {
    std::optional<std::pair<Vec3f, Vec3f>> between;
    float operator()(const Vec3f& color) const;
};

// `mesh` has the attribute "color"; `surface` is what its texture is shown on, which may be the same.
void write_texture(const std::string& path, Mesh mesh, const Mesh& surface, const TextureFileParams& params,
                   const HeightOfColor& height);

} // namespace spindrift
