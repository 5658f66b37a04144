// Settings of a picture: camera, looks, light, and how much work goes into it.
#pragma once

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
    float shutter = 0;                 // [deg] of a frame, centred at the frame's time
    // Keyframes [frame, value] or [frame, x, y, z] instead of the constants above.
    Keys position_keys, target_keys, fov_keys, focal_length_keys, roll_keys, focus_keys;
    Interpolation interpolation = Interpolation::smooth;
    void visit(ParamVisitor& v);

    bool keyed() const;
    // The parameters at a frame, without keyframes.
    CameraParams at(float frame) const;
};

struct WaterLook {
    Vec3f color = Vec3f(0.10f, 0.51f, 0.69f);      // colour of white light after `depth` metres
    std::optional<float> depth;                    // left out: 0.6 of the longest edge of what the shot shows
    Vec3f deep_color = Vec3f(0.02f, 0.11f, 0.15f); // where the water is too deep to see the bottom
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
    bool markers = false;         // of shaped smoke, drawn as points
    float marker_opacity = 0.35f; // of the area of a marker
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
    enum class Quality { draft, preview, full };
    Quality quality = Quality::preview;
    int samples = 16;     // paths per pixel at full quality
    std::string color_by; // "speed", "id", or any attribute; left out: particles by speed, spray in its colour
    enum class SprayLook { matte, water };
    SprayLook spray_look = SprayLook::matte; // water suits droplets larger than a few pixels
    Vec3f spray_color = Vec3f(0.88f, 0.92f, 0.95f);
    float spray_scale = 1; // factor on the drawn size of droplets
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
    std::optional<Vec3f> body_color;
    bool background = true; // off: floor and sky light the picture but the camera does not see them; alpha is 0 there
    bool edges = true;      // thin lines along the container's edges, part of the background
    float exposure = 0;     // stops; PNG only, EXR stays linear
    bool shows_velocity() const { return format == Format::exr || camera.shutter > 0; } // in a channel, or as blur
    void visit(ParamVisitor& v);
};

} // namespace spindrift
