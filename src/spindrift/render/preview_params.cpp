#include "spindrift/render/preview.h"
#include "spindrift/scene/limits.h"

#include <fmt/format.h>

namespace spindrift {

void CameraParams::visit(ParamVisitor& v)
{
    v("position", position, unit::metres, limits::position(),
      "Position of the camera. Default: far enough to see the whole shot, slightly from above.");
    v("target", target, unit::metres, limits::position(),
      "Point at which the camera looks. Default: the middle of the shot.");
    v("fov", fov, unit::degrees, between(1, 170), "Field of view from the lower to the upper edge of the picture.");
    v("focal_length", focal_length, "mm", between(1, 10000), "Focal length, instead of fov.");
    v("sensor_width", sensor_width, "mm", between(0.1, 1000),
      "Width of the sensor, which relates focal_length and fov.");
    v("roll", roll, unit::degrees, between(-1e6, 1e6),
      "Rotation of the camera about its view direction, clockwise seen from behind.");
    v("f_stop", f_stop, unit::none, between(0, 1000),
      "Depth of field: the aperture is the focal length divided by this. 2 blurs much, 16 little; 0: everything is "
      "sharp. Values below 1 are allowed: scenes of metres are large for a lens.");
    v("focus", focus, unit::metres, limits::size(),
      "Distance of the focal plane along the view direction. Default: that of the target.");
    v("shutter", shutter, unit::degrees, between(0, 360),
      "Motion blur: the time that the shutter is open, 180 for half a frame, centred at the time of the frame. "
      "0: none. Surfaces and particles are blurred by their velocities; bodies, colliders and the camera by their "
      "motion. Smoke "
      "and lines along the container's edges are not blurred.");
    v.rows("position_keys", position_keys, 4, unit::none, "Keyframes [frame, x, y, z] of position.");
    v.rows("target_keys", target_keys, 4, unit::none, "Keyframes [frame, x, y, z] of target.");
    v.rows("fov_keys", fov_keys, 2, unit::none, "Keyframes [frame, degrees] of fov.");
    v.rows("focal_length_keys", focal_length_keys, 2, unit::none, "Keyframes [frame, mm] of focal_length.");
    v.rows("roll_keys", roll_keys, 2, unit::none, "Keyframes [frame, degrees] of roll.");
    v.rows("focus_keys", focus_keys, 2, unit::none, "Keyframes [frame, m] of focus.");
    v("interpolation", interpolation, choices("linear", "smooth", "step"),
      "Between keyframes: linear, a smooth curve that starts and ends at rest, or constant until the next key.");

    const auto expect = [&](const Keys& keys, const char* name, const Range& range) {
        v.require(in_order(keys), name, "must have keyframes in the order of their frames");
        for (const std::vector<float>& key : keys)
            for (size_t i = 1; i < key.size(); ++i)
                v.require(range.contains(key[i]), name,
                          fmt::format("must have values from {} to {}", range.low, range.high));
    };
    expect(position_keys, "position_keys", limits::position()), expect(target_keys, "target_keys", limits::position());
    expect(fov_keys, "fov_keys", between(1, 170)), expect(focal_length_keys, "focal_length_keys", between(1, 10000));
    expect(roll_keys, "roll_keys", between(-1e6, 1e6)), expect(focus_keys, "focus_keys", limits::size());
    const bool long_lens = focal_length || !focal_length_keys.empty();
    v.require(!long_lens || fov_keys.empty(), "fov_keys", "and focal_length say the same; leave one of them out");
}

bool CameraParams::keyed() const
{
    for (const Keys* keys : {&position_keys, &target_keys, &fov_keys, &focal_length_keys, &roll_keys, &focus_keys})
        if (!keys->empty()) return true;
    return false;
}

CameraParams CameraParams::at(float frame) const
{
    CameraParams now = *this;
    const auto value = [&](Keys& keys) {
        const Vec3f found = value_at(keys, frame, interpolation).value.cast<float>();
        keys.clear();
        return found;
    };
    if (!position_keys.empty()) now.position = value(now.position_keys);
    if (!target_keys.empty()) now.target = value(now.target_keys);
    if (!fov_keys.empty()) now.fov = std::clamp(value(now.fov_keys).x(), 1.0f, 170.0f);
    if (!focal_length_keys.empty()) now.focal_length = std::max(value(now.focal_length_keys).x(), 1.0f);
    if (!roll_keys.empty()) now.roll = value(now.roll_keys).x();
    if (!focus_keys.empty()) now.focus = std::max(value(now.focus_keys).x(), 1e-6f);
    return now;
}

void WaterLook::visit(ParamVisitor& v)
{
    v("color", color, unit::none, between(0, 1), "Colour of white light after `depth` of water (linear RGB).");
    v("depth", depth, unit::metres, limits::size(),
      "Depth of water at which white light has that colour. Default: 0.6 of the longest edge of the shot's extent.");
    v("deep_color", deep_color, unit::none, between(0, 1), "Colour of water too deep to see the bottom (linear RGB).");
    v("ior", ior, unit::none, between(1, 4), "Index of refraction.");
}

void LightParams::visit(ParamVisitor& v)
{
    v("azimuth", azimuth, unit::degrees, between(-360, 360),
      "Direction of the key light around the vertical axis: 0 is -z, 90 is +x.");
    v("elevation", elevation, unit::degrees, between(15, 90), "Elevation of the key light above the horizon.");
    v("size", size, unit::degrees, between(0.2, 60), "Angular diameter of the key light: larger gives softer shadows.");
    v("strength", strength, unit::none, between(0, 1e4), "Brightness of the key light; 1 suits the sky.");
}

void SmokeLook::visit(ParamVisitor& v)
{
    v("density", density, "1/m", between(0, 1e9),
      "Extinction of smoke of density 1. Default: 5 % of the light is left after 0.06 of the longest edge of the "
      "shot's extent, or 22 % after the whole depth of a 2-D shot.");
    v("color", color, unit::none, between(0, 1),
      "Share of that light that is scattered, not absorbed (linear RGB), where the smoke has no colour Cd.");
    v("anisotropy", anisotropy, unit::none, between(-0.95, 0.95),
      "Mean cosine of scattering: above 0 forwards, which makes smoke bright against the light; below 0 backwards.");
    v("multiple_scattering", multiple_scattering, unit::none, between(0, 1),
      "Share of multiply scattered light that is kept: 0 for soot, black inside; 1 for a white cloud.");
    v("markers", markers,
      "Draw shaped smoke as millions of points that shade each other, instead of a volume. They cast no shadows on "
      "other objects, and volumes of other smoke hide them only where those have absorbed half of the light.");
    v("marker_opacity", marker_opacity, unit::none, between(0, 1), "Opacity of the area of a point.");
}

void FireLook::visit(ParamVisitor& v)
{
    v("intensity", intensity, unit::none, between(0, 1e4), "Brightness of the glow of hot smoke; 0: no fire.");
    v("low", low, unit::kelvin, between(0, 1e5),
      "Temperature above that of the air at which smoke begins to glow, dark red.");
    v("high", high, unit::kelvin, between(1e-3, 1e5), "Temperature above that of the air of the brightest glow.");
    v.require(high > low, "high", "must be above low");
}

void RenderParams::visit(ParamVisitor& v)
{
    v("format", format, choices("png", "exr"), "PNG for viewing, or EXR with linear light and more channels.");
    v("width", width, unit::pixels, between(1, 16384), "Width of the picture.");
    v("height", height, unit::pixels, between(1, 16384), "Height of the picture.");
    v("quality", quality, choices("draft", "preview", "full"),
      "draft: a rough picture in a fraction of the time. preview: shares paths between neighbouring pixels and traces "
      "more where the picture varies more, for about the error of full. full: traces all samples for each pixel "
      "separately.");
    v("samples", samples, unit::none, between(1, 65536), "Paths per pixel at full quality; preferably a power of two.");
    v("color_by", color_by,
      "Attribute that colours particles, people, and droplets or grains that are drawn alone: speed, id, or any other; "
      "color and Cd of three numbers are shown as they are, others from their lowest to their highest value. Default: "
      "particles by speed, droplets in spray_color, people by group, grains in the colour of their material.");
    v("spray_look", spray_look, choices("matte", "water"),
      "Droplets as matte white spheres, or as clear water, for pictures in which they are larger than a few pixels.");
    v("spray_color", spray_color, unit::none, between(0, 1), "Colour of droplets (linear RGB).");
    v("spray_scale", spray_scale, unit::none, between(1e-3, 1e3), "Factor on the drawn size of droplets.");
    v.group("camera", camera, "The camera.");
    v("look", look, choices("water", "paint"),
      "Clear water, or glossy paint in the colour of the surface's attribute color.");
    v("paint", paint, unit::none, between(0, 1),
      "Colour of paint where the surface has no attribute color (linear RGB).");
    v.group("water", water, "Look of water.");
    v.group("smoke", smoke, "Look of smoke.");
    v.group("fire", fire, "Glow of hot smoke.");
    v.group("light", light, "The main light.");
    v("sky", sky, choices("studio", "daylight", "uniform"),
      "Surroundings: a bright studio, a clear day, or uniform white.");
    v("floor", floor, "Put the scene on a floor that fades into the background.");
    v("solid_color", solid_color, unit::none, between(0, 1), "Colour of colliders (linear RGB).");
    v("body_color", body_color, unit::none, between(0, 1),
      "Colour of bodies (linear RGB). Default: each in a colour of its own.");
    v("background", background,
      "Draw the floor and the sky. Off: they light the scene, but the picture is transparent where only they are "
      "visible.");
    v("edges", edges, "Draw the edges of the container as thin lines.");
    v("exposure", exposure, unit::none, between(-20, 20), "Brightness of PNG pictures in stops; 1 is twice as bright.");
}

} // namespace spindrift
