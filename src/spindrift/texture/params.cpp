#include "spindrift/scene/limits.h"
#include "spindrift/texture/texture.h"

namespace spindrift {

void TextureParams::Example::visit(ParamVisitor& v)
{
    v("kind", kind, choices("checker", "stripes", "spots", "crust", "foam", "ripples"),
      "The example, made by code; \"ripples\" is a video, for use with a history.");
    v("amount", amount, unit::none, between(0, 1), "Of foam: 0 for none, 1 where it covers everything. Default: 0.6.");
    v("file", file,
      "A picture instead (PNG, EXR or JPEG), or a video: pictures with numbers, such as \"river.####.png\", or a film. "
      "Its opacity becomes the attribute \"opacity\", and further channels of EXR become attributes of their names, "
      "which are compared as colours are; its channel \"guide\" is the parameter of each pixel. The folder is relative "
      "to the scene's.");
    v("color", color, unit::none, between(0, 100), "First colour. Default: that of the texture.");
    v("second_color", second_color, unit::none, between(0, 100), "Second colour. Default: that of the texture.");
    v("height_file", height_file, "A picture of the same size whose first channel becomes the attribute \"height\".");
    v("parameter", parameter, unit::none, between(-1000, 1000),
      "Of select = \"parameter\": where on the surface the example belongs.");
    v("parameter_file", parameter_file,
      "A picture of the same size whose first channel is the parameter of each pixel, instead of `parameter`.");
}

std::vector<TextureParams::Example> TextureParams::all_examples() const
{
    if (!examples.empty()) return examples;
    Example only;
    only.kind = exemplar.kind, only.file = exemplar_file;
    return {only};
}

void TextureParams::visit_reaction(ParamVisitor& v)
{
    v("system", reaction.system, choices("spots", "gray_scott"),
      "The reaction of mode \"react\": Meinhardt's spots, or Gray and Scott's, whose spots divide.");
    v("start_steps", start_steps, unit::none, between(0, 1e6),
      "Steps of the reaction before the first frame, and on surface that appears later.");
    v("steps", steps, unit::none, between(0, 1e5),
      "Steps of the reaction in each later frame: more of them keep up with faster stretching.");
    v("speed", reaction.speed, unit::none, between(0.01, 2), "How far the reaction goes in a step.");
    v("p1", reaction.p1, unit::none, between(-1, 1), "Growth of the activator; negative: decay. Or an attribute.");
    v("p2", reaction.p2, unit::none, between(-1, 1), "Growth of the inhibitor; negative: decay. Or an attribute.");
    v("p3", reaction.p3, unit::none, between(0, 1), "Source of the activator. Or an attribute.");
    v("substrate", reaction.substrate, unit::none, between(0.01, 1000),
      "Lower values make larger spots. Or an attribute.");
    v("feed", reaction.feed, unit::none, between(0, 1), "Of Gray and Scott's system. Or an attribute.");
    v("kill", reaction.kill, unit::none, between(0, 1), "Of Gray and Scott's system. Or an attribute.");
}

void TextureParams::visit_examples(ParamVisitor& v)
{
    v("example", exemplar.kind, choices("checker", "stripes", "spots", "crust", "foam", "ripples"),
      "The example, made by code in the two colours; \"ripples\" is a video, for use with a history.");
    v("example_file", exemplar_file,
      "A picture (PNG, EXR or JPEG) as the example, or a video: pictures with numbers, such as \"river.####.png\", or "
      "a "
      "film. The folder is relative to the scene's. Default: `example`.");
    v("feature", exemplar.feature, unit::pixels, between(2, 1000),
      "Size of a feature of the example, such as a spot, which becomes `size` on the surface.");
    v("example_size", exemplar.size, unit::pixels, between(16, 1024), "Edge of the example that is made by code.");
    v("patch", patch, unit::pixels, between(9, 129),
      "Size of the patches that are compared with the example; then those of half and a quarter of it. At least two "
      "features, or features are lost where the surface stretches.");
    v.list("examples", examples, "Several examples instead of `example`.");
    v("select", select, choices("any", "label", "parameter"),
      "How patches choose among several examples: \"any\", by their looks, from the second frame on if the surface has "
      "the attribute \"example\" in the first; \"label\", by the integer attribute "
      "\"example\" of the surface, which moves along, 1 for the first; \"parameter\", by the attribute \"parameter\" "
      "of the surface, which is compared with the parameter of examples.");
    v("parameter_weight", parameter_weight, unit::none, between(0, 1000),
      "Weight of differences of the parameter against those of colours.");
    v("history", history, unit::none, between(0, 3),
      "Frames of a video before the present one that a patch must match too, so that the texture goes on as the video "
      "does.");
    v("motion", motion, unit::pixels, between(0, 1000),
      "Details of the motion in a video that are finer than this belong to the texture; the rest is removed. 0: it has "
      "no motion of the whole.");
    v("history_weight", history_weight, unit::none, between(0, 100), "Weight of those frames.");
    v("coherence", coherence, unit::none, between(0, 0.99),
      "Weight of the colours that have moved along against those of the example: higher values flicker less. Default: "
      "0.5, or 0 with a history.");
    v("iterations", synthesis.iterations, unit::none, between(1, 100),
      "Matches of each patch in a frame, for each size.");
    v("distortion", synthesis.distortion, unit::none, between(1.1, 10),
      "Most that a patch may stretch or squeeze a triangle to flatten it.");
    v("exhaustive", synthesis.exhaustive, "Compare all places of the example pixel by pixel: slow, for comparison.");
}

void TextureParams::visit_flow(ParamVisitor& v)
{
    v("rule", rule, choices("automatic", "none", "foam"),
      "What changes the vertex attribute `parameter`, which moves along and guides the texture. It gets denser where "
      "the surface shrinks, so that its total stays the same. \"none\": besides, only expressions change it, at "
      "once, or by the attribute `parameter_rate`, its change in a second. \"foam\": it is the density of foam, which "
      "appears on crests and splashes, and decays. \"automatic\": \"none\" if an expression writes one of these "
      "attributes, or else \"foam\" where `parameter` is used.");
    v.group("foam", foam, "Foam, by its rule.");
    v("features", features,
      "Add features of the flow as vertex attributes, for expressions: curvature (mean; positive on crests) [1/m]; "
      "divergence, how fast the area grows [1/s]; stretch and squash, how fast lengths grow in the directions in which "
      "they do so fastest and slowest [1/s]; viscous, the size of the surface Laplacian of the velocity [1/(m s)]. "
      "Surface that lies on a wall has none. `rule` and `orientation` also add them.");
    v("feature_smoothing", feature_smoothing, unit::metres, between(0, 1e6),
      "Smooth velocities and curvature by this length: for noisy meshes.");
    v("orientation", orientation, unit::none, between(0, 1000),
      "Turn the directions of the texture (attribute `direction`) to where the flow stretches the surface most: with 1 "
      "about as fast as the flow turns lines that it carries along, 10 follows it closely. 0: directions only move "
      "along.");
}

void TextureParams::visit(ParamVisitor& v)
{
    v("mode", mode, choices("colors", "parameters", "react", "example", "guide"),
      "\"colors\": those of the first frame move along, and blur; \"parameters\": each vertex remembers where it was "
      "in "
      "the first frame, and the pattern is looked up there, which stretches; \"react\": substances that react and "
      "diffuse form spots that keep their size; \"example\": each frame is made like an example again, starting from "
      "the "
      "colours that have moved along; \"guide\": the first colour where `parameter` is 0, and the second where it is "
      "1.");
    v("map", map, choices("best", "origins", "velocities", "vertices"),
      "How vertices find their place in the frame before: by origin_triangle and origin_weights of the mesh; by "
      "stepping back along velocities; or because all frames have the same triangles. \"best\": the first of these "
      "that the mesh has.");
    v("reach", reach, unit::metres, limits::size(),
      "A vertex that steps back to a place farther than this from the earlier surface is new, and starts afresh. "
      "Default: four times the mean length of an edge.");
    v("carry", carry, "Further attributes that are carried, such as those that expressions change in each frame.");
    v("pattern", pattern, choices("checker", "stripes", "spots", "noise", "surface"),
      "What the texture starts from: a pattern in space, or the colours that the surface has (mode \"colors\").");
    v("size", size, unit::metres, limits::size(),
      "Edge of a check, width of a stripe, or the distance between spots: of those that react at least eight edges of "
      "the mesh. With mode \"react\" a float attribute \"size\" of the surface replaces it.");
    v("color", color, unit::none, between(0, 100), "First colour (linear RGB): the background.");
    v("second_color", second_color, unit::none, between(0, 100),
      "Second colour: spots, every other check, and where `parameter` is 1.");
    visit_reaction(v);
    v("texel", texel, unit::metres, limits::size(),
      "Remesh the surface of each frame into triangles with a vertex for each texel. Default: the mesh stays as it is; "
      "mode \"example\": `size` over `feature`.");
    visit_examples(v);
    visit_flow(v);
    v("seed", seed, unit::none, limits::seed(), "Seed of the spots and the noise.");
    v.require(mode != Mode::parameters || pattern != Start::surface, "pattern",
              "mode \"parameters\" needs a pattern in space: checker, stripes, spots or noise");
    v.require(reaction.p1 < 0 && reaction.p2 < 0, "p1", "p1 and p2 must be negative, or both substances grow forever");
}

} // namespace spindrift
