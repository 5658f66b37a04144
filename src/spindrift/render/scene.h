// The contents of a picture: surfaces, spheres, smoke and solids, each with its own look, assigned to layers.
//
//     RenderScene scene;
//     scene.layers = {{"water"}, {"spray"}, {"tank", RenderLayer::Mode::holdout}};
//     scene.surfaces = {{&water, 0}};
//     scene.spheres = {&spray};             // spray.layer = 1
//     scene.solids = {{&post, false, 2}};
//
// The caller owns meshes, spheres and fields; they must outlive the call that draws them.
#pragma once

#include "spindrift/field/tiles.h"
#include "spindrift/mesh/mesh.h"
#include "spindrift/render/params.h"

namespace spindrift {

// A named group of objects. The mode determines how the camera sees them; in reflections, refractions and shadows they
// look the same in every mode.
struct RenderLayer {
    enum class Mode {
        shown,   // drawn with its look
        matte,   // drawn as flat white without shading: with `background` off, a black and white matte
        holdout, // hides what is behind it, but has neither colour nor alpha: RGBA is 0 where it covers a pixel
    };
    std::string name; // letters, digits and '_', starting with a letter; becomes part of a channel's name
    Mode mode = Mode::shown;
};

// Water or paint. A missing look is that of RenderParams.
//
// Where several bodies of water overlap, the one that comes first in the scene fills the common space, and surfaces of
// the others inside it are not seen [Schmidt 2002]; light refracts from one liquid into the other where they touch.
struct RenderSurface {
    RenderSurface(const Mesh* surface, int of_layer = 0) : mesh(surface), layer(of_layer) {}

    const Mesh* mesh; // paint has the colours of the mesh's attribute "color" if there are any
    int layer;
    std::optional<RenderParams::Look> look;
    std::optional<WaterLook> water;
    std::optional<Vec3f> paint;
};

struct RenderSpheres {
    int layer = 0;
    std::vector<Vec3f> centers;
    std::vector<Vec3f> velocities; // [m/s], for motion blur and the velocity channel; empty if they stand still
    std::vector<Vec3f> ends;       // if there are any, capsules from centre to end
    std::vector<Vec3f> colors;     // linear
    // Added to the normal of each before shading: spheres smaller than a pixel then show the surface that they form.
    std::vector<Vec3f> normals;
    float radius = 0;
    std::vector<float> radii;            // of each; empty if all have the one above
    bool water = false;                  // clear, whatever the colours
    std::optional<WaterLook> water_look; // left out: that of RenderParams
    float radius_of(size_t i) const { return radii.empty() ? radius : radii[i]; }
};

// A field and its position: the value of cell (0,0,0) is at `origin`.
template <class T> struct PlacedField {
    const Field<T>* field = nullptr;
    float voxel = 1;
    Vec3f origin = Vec3f::Zero();
};

struct RenderSmoke {
    std::string name = "smoke"; // for messages: the file it is from
    int layer = 0;
    PlacedField<float> density;
    PlacedField<float> temperature; // [K] above that of the air; may be left out
    PlacedField<Vec3f> color;       // instead of the one colour; may be left out
    PlacedField<Vec3f> velocity;    // [m/s], for the velocity channel; may be left out
    std::optional<SmokeLook> look;  // left out: those of RenderParams
    std::optional<FireLook> fire;
};
// Smoke as points, see render/marker_picture.h.
struct RenderMarkers {
    int layer = 0;
    std::vector<Vec3f> P;
    std::vector<Vec3f> v = {}; // [m/s], for the velocity channel; empty if they stand still
    std::vector<int32_t> id;
    std::vector<float> shadow; // share of the key light that does not reach each
    float radius = 0;          // [m]
    Vec3f color = Vec3f::Ones();
};
// The bounds of smoke and fire.
Box3f bounds_of(const RenderSmoke& smoke, const RenderParams& params);

// A solid body, or a container: walls that are visible from inside only and transmit all light.
struct RenderSolid {
    RenderSolid(const Mesh* mesh, bool is_container = false, int of_layer = 0)
        : moments{mesh}, container(is_container), layer(of_layer)
    {
    }
    RenderSolid(std::vector<const Mesh*> over_time, bool is_container, int of_layer = 0)
        : moments(std::move(over_time)), container(is_container), layer(of_layer)
    {
    }
    // The mesh at equal steps of time from the shutter's opening to its end; triangles and the number of vertices are
    // the same in all. Null: nothing. The velocity channel shows the mesh's velocities, or else the motion
    // between the first and the last moment.
    std::vector<const Mesh*> moments;
    bool container;
    int layer;
    std::optional<Vec3f> color; // where the mesh has no attribute "color"; left out: RenderParams::solid_color
    const Mesh* mesh() const { return moments[moments.size() / 2]; }
};

// Everything in one picture. `extent` is the box that the automatic camera frames, that stands on the floor and that
// the colour of water scales with: the same for all frames of a shot.
struct RenderScene {
    std::vector<RenderLayer> layers; // empty: one without a name, shown
    std::vector<RenderSurface> surfaces;
    std::vector<RenderSolid> solids; // drawn matte, in the colours of their attribute "color" if they have it
    std::vector<const RenderSpheres*> spheres;
    std::vector<const RenderSmoke*> smokes; // may overlap
    std::vector<const RenderMarkers*> markers;
    Box3f extent;
    Box3f view; // if not empty, the box that the automatic camera frames instead, for frames that need more
    float frame = 0, fps = 24;      // time of the picture, for the camera's keyframes, and frames per second
    std::optional<Box3f> container; // walls of a tank that is not drawn; water is flattened against them
};

} // namespace spindrift
