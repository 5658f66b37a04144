#include "spindrift/scene/limits.h"
#include "spindrift/texture/texture.h"

namespace spindrift {

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
      "the mesh. With mode \"react\" a float attribute "
      "\"size\" of the surface replaces it.");
    v("color", color, unit::none, between(0, 100), "First colour (linear RGB): the background.");
    v("second_color", second_color, unit::none, between(0, 100),
      "Second colour: spots, every other check, and where `parameter` is 1.");
    v("system", reaction.system, choices("spots", "gray_scott"),
      "The reaction of mode \"react\": Meinhardt's spots, or Gray and Scott's, whose spots divide.");
    v("start_steps", start_steps, unit::none, between(0, 1e6), "Steps of the reaction before the first frame.");
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
    v("texel", texel, unit::metres, limits::size(),
      "Remesh the surface of each frame into triangles with a vertex for each texel. Default: the mesh stays as it is; "
      "mode \"example\": `size` over `feature`.");
    v("example", exemplar.kind, choices("checker", "stripes", "spots", "crust", "foam"),
      "The example, made by code in the two colours.");
    v("example_file", exemplar_file,
      "A picture (PNG, EXR or JPEG) as the example; the folder is relative to the scene's. Default: `example`.");
    v("feature", exemplar.feature, unit::pixels, between(2, 1000),
      "Size of a feature of the example, such as a spot, which becomes `size` on the surface.");
    v("example_size", exemplar.size, unit::pixels, between(16, 1024), "Edge of the example that is made by code.");
    v("patch", patch, unit::pixels, between(9, 129),
      "Size of the patches that are compared with the example; then those of half and a quarter of it. At least a "
      "feature.");
    v("coherence", synthesis.coherence, unit::none, between(0, 0.99),
      "Weight of the colours that have moved along against those of the example: higher values flicker less.");
    v("iterations", synthesis.iterations, unit::none, between(1, 100),
      "Matches of each patch in a frame, for each size.");
    v("distortion", synthesis.distortion, unit::none, between(1.1, 10),
      "Most that a patch may stretch or squeeze a triangle to flatten it.");
    v("exhaustive", synthesis.exhaustive, "Compare all places of the example pixel by pixel: slow, for comparison.");
    v("rule", rule, choices("none", "foam"),
      "What changes the vertex attribute `parameter`, which moves along and guides the texture: only expressions, or "
      "\"foam\": it is the density of foam, which appears on crests and splashes, gets denser where the surface "
      "shrinks, "
      "and decays.");
    v.group("foam", foam, "Foam, with rule = \"foam\".");
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
    v("seed", seed, unit::none, limits::seed(), "Seed of the spots and the noise.");
    v.require(mode != Mode::parameters || pattern != Start::surface, "pattern",
              "mode \"parameters\" needs a pattern in space: checker, stripes, spots or noise");
    v.require(reaction.p1 < 0 && reaction.p2 < 0, "p1", "p1 and p2 must be negative, or both substances grow forever");
}

} // namespace spindrift
