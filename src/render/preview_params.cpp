#include "render/preview.h"
#include "scene/limits.h"

namespace spindrift {

void CameraParams::visit(ParamVisitor& v)
{
    v("position", position, unit::metres, limits::position(),
      "Where the camera stands. Left out: far enough to see the whole shot from a little above.");
    v("target", target, unit::metres, limits::position(),
      "What the camera looks at. Left out: the middle of the shot.");
    v("fov", fov, unit::degrees, between(1, 170), "Field of view from the lower to the upper edge of the picture.");
}

void WaterLook::visit(ParamVisitor& v)
{
    v("color", color, unit::none, between(0, 1), "What is left of white light after `depth` of water (linear RGB).");
    v("depth", depth, unit::metres, limits::size(),
      "How much water gives light that colour. Left out: 0.6 of the longest edge of what the shot shows.");
    v("deep_color", deep_color, unit::none, between(0, 1), "Colour of water too deep to see the bottom (linear RGB).");
    v("ior", ior, unit::none, between(1, 4), "Index of refraction.");
}

void LightParams::visit(ParamVisitor& v)
{
    v("azimuth", azimuth, unit::degrees, between(-360, 360),
      "Where the key light stands around the scene: 0 towards -z, 90 towards +x.");
    v("elevation", elevation, unit::degrees, between(15, 90), "How high the key light stands.");
    v("size", size, unit::degrees, between(0.2, 60), "How wide the key light looks: larger gives softer shadows.");
    v("strength", strength, unit::none, between(0, 1e4), "Brightness of the key light; 1 suits the sky.");
}

void SmokeLook::visit(ParamVisitor& v)
{
    v("density", density, "1/m", between(0, 1e9),
      "Light that smoke of density 1 takes away. Left out: so much that 5 % is left after 0.06 of the longest edge of "
      "what the shot shows, or 22 % after the whole depth of a 2-D shot.");
    v("color", color, unit::none, between(0, 1),
      "Share of that light that is scattered, not swallowed (linear RGB), where the smoke carries no colour Cd.");
    v("anisotropy", anisotropy, unit::none, between(-0.95, 0.95),
      "Where light is scattered to: above 0 onwards, which makes smoke bright against the light; below 0 back.");
    v("multiple_scattering", multiple_scattering, unit::none, between(0, 1),
      "How much of the light is kept that is scattered more than once: 0 is black soot inside, 1 a white cloud.");
}

void FireLook::visit(ParamVisitor& v)
{
    v("intensity", intensity, unit::none, between(0, 1e4), "Brightness of the glow of hot smoke; 0 is no fire.");
    v("low", low, unit::kelvin, between(0, 1e5),
      "Temperature above that of the air from which on smoke glows, dark red.");
    v("high", high, unit::kelvin, between(1e-3, 1e5), "Temperature above that of the air of the brightest glow.");
    v.require(high > low, "high", "must be above low");
}

void RenderParams::visit(ParamVisitor& v)
{
    v("show", show, choices("surface", "particles", "spray", "smoke", "ripples", "crowd", "sand"),
      "Draw the liquid's surface, its particles as spheres, the spray alone, smoke alone, the surface of [ripples], or "
      "the people of [crowd], or the grains of [sand]. Liquid comes with the spray, and all but smoke alone with the "
      "smoke, if the scene has "
      "them.");
    v("format", format, choices("png", "exr"), "PNG for looking at, or EXR with linear light.");
    v("width", width, unit::pixels, between(1, 16384), "Width of the picture.");
    v("height", height, unit::pixels, between(1, 16384), "Height of the picture.");
    v("samples", samples, unit::none, between(1, 65536), "Paths a pixel; best a power of two.");
    v("color_by", color_by,
      "Attribute that colours particles or droplets: speed, id, or any other. Left out: particles by speed, droplets "
      "in "
      "spray_color.");
    v("spray_look", spray_look, choices("matte", "water"),
      "Droplets as white specks, or as clear water, for pictures in which they can be told apart.");
    v("spray_color", spray_color, unit::none, between(0, 1), "Colour of droplets (linear RGB).");
    v("spray_scale", spray_scale, unit::none, between(1e-3, 1e3), "Droplets are drawn this much larger than they are.");
    v.group("camera", camera, "Where the picture is taken from.");
    v("look", look, choices("water", "paint"),
      "Clear water, or glossy paint in the colour that the surface carries as the attribute color.");
    v("paint", paint, unit::none, between(0, 1), "Colour of paint where the surface carries none (linear RGB).");
    v.group("water", water, "How water looks.");
    v.group("smoke", smoke, "How smoke looks.");
    v.group("fire", fire, "How hot smoke glows.");
    v.group("light", light, "The main light.");
    v("sky", sky, choices("studio", "daylight", "uniform"),
      "Surroundings: a light studio, a clear day, or plain white from everywhere.");
    v("floor", floor, "Stand the scene on a floor that fades into the background.");
    v("solid_color", solid_color, unit::none, between(0, 1), "Colour of solid bodies (linear RGB).");
    v("edges", edges, "Draw the edges of the container as thin lines.");
    v("exposure", exposure, unit::none, between(-20, 20), "Brightness of PNG pictures in stops; 1 is twice as bright.");
}

} // namespace spindrift
