// The preview renderer: a small path tracer on Embree for looking at a shot, not a production renderer. Water that
// refracts, reflects a sky and absorbs with depth; a floor; soft shadows; particles as spheres coloured by an attribute.
// Deterministic: the same input gives the same bits for any number of threads.
#pragma once

#include "io/image.h"
#include "mesh/mesh.h"
#include "scene/params.h"

#include <optional>

namespace spindrift {

struct CameraParams {
    std::optional<Vec3f> position; // left out: framed automatically around what the shot shows
    std::optional<Vec3f> target;
    float fov = 35; // vertical [deg]
    void visit(ParamVisitor& v);
};

struct RenderParams {
    enum class Show { surface, particles };
    enum class Format { png, exr };
    Show show = Show::surface;
    Format format = Format::png;
    int width = 960, height = 540;
    int samples = 16;               // paths a pixel
    std::string color_by = "speed"; // particles: "speed", "id", or any attribute
    CameraParams camera;
    // ... water, sky, sun, floor and tone settings the renderer needs
    void visit(ParamVisitor& v);
};

struct RenderSpheres {
    std::vector<Vec3f> centers;
    std::vector<Vec3f> colors; // linear
    float radius = 0;
};

// Everything in one picture. `extent` is what the automatic camera frames: the same for all frames of a shot.
struct RenderScene {
    const Mesh* liquid = nullptr;          // drawn as water
    std::vector<const Mesh*> solids;       // drawn matte
    const RenderSpheres* spheres = nullptr;
    Box3f extent;
    std::optional<Box3f> container; // a glass-less tank: where its walls are, so that water against them looks right
};

Image render(const RenderScene& scene, const RenderParams& params);

// Colours for a scalar attribute: a perceptually even map from low to high.
Vec3f color_map(float t);

} // namespace spindrift
