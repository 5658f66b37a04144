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

// How vertices look besides their attribute "color".
struct TextureLook {
    std::vector<std::string> values = {}; // float attributes that belong to the colours: "height", "opacity" and others
    // How high a colour is without "height", from 0 to 1: between two colours, or by its brightness.
    std::optional<std::pair<Vec3f, Vec3f>> between = {};

    bool has(const std::string& value) const { return std::ranges::count(values, value) > 0; }
    float height(const Vec3f& color) const;
};

// `mesh` has the attribute "color"; `surface` is what its texture is shown on, which may be the same.
void write_texture(const std::string& path, Mesh mesh, const Mesh& surface, const TextureFileParams& params,
                   const TextureLook& look);

} // namespace spindrift
