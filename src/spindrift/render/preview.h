// The preview renderer: a small path tracer on Embree for looking at a shot, not a production renderer. Water that
// refracts, reflects a sky and absorbs with depth; a floor with soft shadows and caustics; particles as spheres
// coloured by an attribute; smoke and fire. Deterministic: the same input gives the same bits for any number of
// threads.
//
//     Image picture = render(scene, params);
//     write_image("still.png", tone_mapped(picture, params));
//
// Water is drawn without noise at a few paths a pixel because nothing in it is random: see render/path_tracer.h for
// what that leaves out, render/floor_light.h for the light on the floor and render/volume.h for that in smoke.
#pragma once

#include "spindrift/field/tiles.h"
#include "spindrift/io/image.h"
#include "spindrift/mesh/mesh.h"
#include "spindrift/scene/keyframes.h"
#include "spindrift/scene/params.h"

#include <optional>

namespace spindrift {

struct CameraParams {
    std::optional<Vec3f> position; // left out: framed automatically around what the shot shows
    std::optional<Vec3f> target;
    float fov = 35;                    // vertical [deg]
    std::optional<float> focal_length; // [mm], instead of fov
    float sensor_width = 36;           // [mm], that the focal length goes with
    float roll = 0;                    // [deg] clockwise, seen from behind
    float f_stop = 0;                  // 0: a pinhole
    std::optional<float> focus;        // [m] along the view direction; left out: at the target
    float shutter = 0;                 // [deg] of a frame that it is open, around the frame's own moment
    // Keyframes [frame, value] or [frame, x, y, z] instead of the constants above.
    Keys position_keys, target_keys, fov_keys, focal_length_keys, roll_keys, focus_keys;
    Interpolation interpolation = Interpolation::smooth;
    void visit(ParamVisitor& v);

    bool keyed() const;
    // Without keyframes: the constants are those of a moment.
    CameraParams at(float frame) const;
};

struct WaterLook {
    Vec3f color = Vec3f(0.10f, 0.51f, 0.69f);      // what is left of white light after `depth` metres
    std::optional<float> depth;                    // left out: 0.6 of the longest edge of what the shot shows
    Vec3f deep_color = Vec3f(0.02f, 0.11f, 0.15f); // where the bottom is too far to be seen
    float ior = 1.333f;
    void visit(ParamVisitor& v);
};

struct LightParams {
    float azimuth = -74;  // [deg] about y; 0 shines from -z, where the automatic camera looks, 90 from +x
    float elevation = 50; // [deg]
    float size = 5;       // [deg] across: larger is softer
    float strength = 1;
    void visit(ParamVisitor& v);
};

struct SmokeLook {
    std::optional<float> density; // extinction [1/m] of density 1; left out: see default_extinction()
    Vec3f color = Vec3f(0.86f, 0.86f, 0.86f);
    float anisotropy = 0.3f;
    float multiple_scattering = 1;
    void visit(ParamVisitor& v);
};

struct FireLook {
    float intensity = 1;
    float low = 500, high = 1500; // [K]
    void visit(ParamVisitor& v);
};

struct RenderParams {
    enum class Format { png, exr };
    enum class Sky { studio, daylight, uniform };
    enum class Look { water, paint };
    Format format = Format::png;
    int width = 960, height = 540;
    int samples = 16;     // paths a pixel
    std::string color_by; // "speed", "id", or any attribute; left out: particles by speed, spray in its colour
    enum class SprayLook { matte, water };
    SprayLook spray_look = SprayLook::matte; // a droplet of water that is larger than a few pixels looks like one
    Vec3f spray_color = Vec3f(0.88f, 0.92f, 0.95f);
    float spray_scale = 1; // droplets are drawn this much larger than they are
    CameraParams camera;
    Look look = Look::water;
    WaterLook water;
    Vec3f paint = Vec3f(0.75f, 0.33f, 0.06f); // where the surface carries no colour
    SmokeLook smoke;
    FireLook fire;
    LightParams light;
    Sky sky = Sky::studio;
    bool floor = true; // at the lower end of the extent, fading into the background
    Vec3f solid_color = Vec3f(0.60f, 0.57f, 0.53f);
    bool edges = true;  // thin lines where the container has its edges
    float exposure = 0; // stops; pictures for the eye only, EXR stays as it is
    void visit(ParamVisitor& v);
};

struct RenderSpheres {
    std::vector<Vec3f> centers;
    std::vector<Vec3f> velocities; // [m/s], for motion blur; empty if they stand still
    std::vector<Vec3f> ends;       // if there are any, capsules from centre to end
    std::vector<Vec3f> colors;     // linear
    // Added to the normal of each before it is lit: spheres smaller than a pixel then show the surface that they form.
    std::vector<Vec3f> normals;
    float radius = 0;
    std::vector<float> radii; // of each; empty if all have the one above
    bool water = false;       // clear, whatever the colours
    float radius_of(size_t i) const { return radii.empty() ? radius : radii[i]; }
};

// A field and where it lies: cell (0,0,0) has its value at `origin`.
template <class T> struct PlacedField {
    const Field<T>* field = nullptr;
    float voxel = 1;
    Vec3f origin = Vec3f::Zero();
};

struct RenderSmoke {
    std::string name = "smoke"; // for messages: the file it is from
    PlacedField<float> density;
    PlacedField<float> temperature; // [K] above that of the air; may be left out
    PlacedField<Vec3f> color;       // instead of the one colour; may be left out
};
// Where there is smoke or fire.
Box3f bounds_of(const RenderSmoke& smoke, const RenderParams& params);

// A solid body, or a container: the walls around something, which are seen from inside only and let all light in.
struct RenderSolid {
    RenderSolid(const Mesh* mesh, bool is_container = false) : moments{mesh}, container(is_container) {}
    RenderSolid(std::vector<const Mesh*> over_time, bool is_container)
        : moments(std::move(over_time)), container(is_container)
    {
    }
    // Of one that moves while the shutter is open, from its opening to its end in equal steps; the triangles and the
    // number of vertices stay. Null: nothing.
    std::vector<const Mesh*> moments;
    bool container;
    const Mesh* mesh() const { return moments[moments.size() / 2]; }
};

// Everything in one picture. `extent` is what the automatic camera frames, what the floor lies under and what the
// colour of water scales with: the same for all frames of a shot.
struct RenderScene {
    const Mesh* liquid = nullptr;    // drawn as water, or as paint in the colours of its attribute "color"
    std::vector<RenderSolid> solids; // drawn matte, in the colours of their attribute "color" if they have it
    const RenderSpheres* spheres = nullptr;
    const RenderSmoke* smoke = nullptr;
    Box3f extent;
    Box3f view; // what the automatic camera frames instead, if it is not empty: more, where this frame needs it
    float frame = 0, fps = 24;      // the moment that is shown, for the camera's keyframes, and what a frame lasts
    std::optional<Box3f> container; // a glass-less tank: where its walls are, so that water against them looks right
};

// Linear light, no exposure or tone curve.
Image render(const RenderScene& scene, const RenderParams& params);

// Exposure and a gentle filmic curve into 0..1, still linear: what a PNG should hold. EXR takes the picture as it is.
Image tone_mapped(const Image& image, const RenderParams& params);

// Colours for a scalar attribute: a perceptually even map from low to high.
Vec3f color_map(float t);

} // namespace spindrift
