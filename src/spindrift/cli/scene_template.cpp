#include "spindrift/cli/scene_template.h"

#include "spindrift/base/error.h"
#include "spindrift/scene/params.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace spindrift {

namespace {

constexpr const char* kSplash = R"([shot]
frames = "1-36"
fps = 24

[liquid]
voxel = 0.025             # metres; smaller resolves more detail and takes longer
transfer = "flip"

[liquid.domain]
min = [0, 0, 0]
max = [1, 1, 1]

[[liquid.source]]
shape = "box"
min = [0, 0, 0]
max = [1, 0.25, 1]

[[liquid.source]]
shape = "sphere"
center = [0.5, 0.6, 0.5]
radius = 0.15
velocity = [0, -1, 0]

[surface]

[render]
)";

constexpr const char* kSpray = R"([shot]
frames = "1-36"
fps = 24

[liquid]
voxel = 0.025

[liquid.domain]
min = [0, 0, 0]
max = [1.6, 1, 0.6]
y_max = "open"            # liquid that leaves here is deleted

[[liquid.source]]
min = [0, 0, 0]
max = [0.45, 0.55, 0.6]

[[liquid.collider]]
min = [0.95, 0, 0.22]
max = [1.1, 0.4, 0.38]

[spray.whitewater]
trapped_air = 30          # maximum number of droplets per second and liquid particle
wave_crests = 30
droplet_radius = 0.0015

[surface]

[render]
)";

constexpr const char* kFountain = R"([shot]
frames = "1-48"
fps = 24

[spray.gusts]
strength = 2.5            # metres per second
size = 0.3

[[spray.emitter]]
from = "disc"             # or point, curve, surface
center = [0, 0.05, 0]
radius = 0.05
direction = [0.2, 1, 0]
spread = 3                # degrees
speed = 7
speed_variation = 0.08
rate = 100000             # droplets per second
droplet_radius = 0.002

[[spray.collider]]
shape = "half_space"      # the floor
contact = "die"

[render]
show = "spray"
sky = "daylight"
)";

constexpr const char* kRipples = R"([shot]
frames = "1-48"
fps = 24

[liquid]
voxel = 0.04

[liquid.domain]
min = [0, 0, 0]
max = [2.4, 0.8, 0.8]
y_max = "open"

[[liquid.source]]
max = [2.4, 0.3, 0.8]

[[liquid.collider]]
shape = "sphere"
center = [0.4, 0.28, 0.4]
radius = 0.13
translate = [[1, 0, 0, 0], [48, 1.6, 0, 0]]   # keyframes: frame, x, y, z

[ripples]
strength = 0.25

[render]
show = "ripples"
)";

constexpr const char* kBodies = R"([shot]
frames = "1-48"
fps = 24

[liquid]
voxel = 0.04

[liquid.domain]
min = [0, 0, 0]
max = [1.6, 1.2, 1]
y_max = "open"

[[liquid.source]]
max = [1.6, 0.4, 1]

[[liquid.body]]
name = "crate"
min = [0.3, 0.55, 0.3]
max = [0.6, 0.85, 0.6]
rotation = [20, 30, 15]   # degrees about x, then y, then z
density = 400             # water has 1000

[[liquid.body]]
name = "ball"
shape = "sphere"
center = [1.1, 0.65, 0.6]
radius = 0.15
density = 250

[[liquid.body]]
name = "stone"
shape = "sphere"
center = [0.85, 0.9, 0.35]
radius = 0.1
density = 2500

[surface]

[render]
)";

constexpr const char* kHoney = R"([shot]
frames = "1-48"
fps = 24

[liquid]
voxel = 0.003
transfer = "apic"
density = 1400
viscosity = 50            # Pa s: about 10 for honey, hundreds when it is cold

[liquid.domain]
min = [-0.06, 0, -0.06]
max = [0.06, 0.1, 0.06]
y_max = "open"

[[liquid.source]]
shape = "sphere"
center = [0, 0.075, 0]
radius = 0.012
mode = "flow"             # stays filled, instead of being filled once
velocity = [0, -0.2, 0]

[surface]

[render.water]
color = [0.9, 0.5, 0.08]
deep_color = [0.35, 0.12, 0.01]
depth = 0.02
)";

constexpr const char* kJelly = R"([shot]
frames = "1-36"
fps = 24

[liquid]
voxel = 0.025
transfer = "apic"
viscosity = 5
elasticity = 4000         # Pa; with `relaxation` it would eventually flow

[liquid.domain]
min = [-0.5, 0, -0.5]
max = [0.5, 1, 0.5]

[[liquid.source]]
min = [-0.2, 0.25, -0.2]
max = [0.2, 0.55, 0.2]

[surface]

[render.water]
color = [0.7, 0.15, 0.2]
deep_color = [0.3, 0.03, 0.05]
depth = 0.15
)";

constexpr const char* kSmoke = R"([shot]
frames = "1-60"
fps = 24

[smoke]
voxel = 0.03              # without a domain, the grid follows the smoke
cooling = 0.15            # per second

[[smoke.source]]
shape = "sphere"
center = [0, 0.15, 0]
radius = 0.15
temperature = 100         # kelvin above the air
noise.amount = 0.7
noise.size = 0.08
noise.change = 3

[[smoke.collider]]
shape = "sphere"
center = [0.05, 0.9, 0]
radius = 0.2

[render]
width = 480
height = 640
)";

constexpr const char* kShapedSmoke = R"([shot]
frames = "1-96"
fps = 24

[shaped_smoke]
voxel = 0.03              # metres; smaller resolves thinner parts
markers = 200000          # particles of smoke
controls = 8000           # particles that lead it

[shaped_smoke.vortices]
radius = 0.15             # size of the eddies
speed = 0.3               # metres per second

[[shaped_smoke.source]]
shape = "sphere"
center = [0, 0.5, 0]
radius = 0.4

[[shaped_smoke.target]]
shape = "capsule"         # or a closed mesh: shape = "mesh", file = "creature.####.obj"
start = [-0.6, 0.5, 0]
end = [0.6, 0.5, 0]
radius = 0.2

[[shaped_smoke.target]]
frame = 36                # the smoke changes into this shape ...
let_go = 72               # ... and is let go
min = [-0.3, 0, -0.3]
max = [0.3, 1, 0.3]

[render]
show = "shaped_smoke"
sky = "daylight"
)";

constexpr const char* kTracked = R"([shot]
frames = "1-48"
fps = 24

[liquid]
voxel = 0.04              # metres
surface = "tracked"       # a mesh that is carried along with the flow, with its colours

[liquid.tracked]
voxel = 0.015             # of the surface: finer than the liquid's own

[liquid.domain]
min = [0, 0, 0]
max = [1.6, 1.4, 0.8]

[[liquid.source]]
max = [1.6, 0.3, 0.8]
color = [0.05, 0.2, 0.6]

[[liquid.source]]
shape = "sphere"
center = [0.8, 0.8, 0.4]
radius = 0.18
velocity = [0, -3, 0]
color = [0.9, 0.5, 0.1]

[render]

[[render.layer]]
of = "liquid"
look = "paint"
)";

constexpr const char* kTexture = R"([shot]
frames = "1-48"
fps = 24

[liquid]
voxel = 0.04              # metres
viscosity = 100           # pascal seconds: goop

[liquid.domain]
min = [0, 0, 0]
max = [1.2, 1.2, 0.8]

[[liquid.source]]
min = [0.1, 0.6, 0.2]
max = [0.6, 1, 0.6]

[[liquid.collider]]
min = [0, 0.4, 0]
max = [0.45, 0.5, 0.8]

[track]                   # a surface that knows where each of its points was

[spots]
kind = "texture"
mode = "example"          # a texture that looks like the example in each frame; or "colors" and "react"
example = "spots"         # or example_file, a picture
size = 0.12               # metres: of the features of the example

[render]
show = "spots"
)";

constexpr const char* kFire = R"([shot]
frames = "1-48"
fps = 24

[smoke]
voxel = 0.03
cooling = 1.5             # per second: flames end where the smoke is too cold to glow
dissipation = 0.4
confinement = 3

[[smoke.source]]
shape = "sphere"
center = [0, 0.1, 0]
radius = 0.15
density = 0.4
temperature = 1200        # kelvin above the air
noise.amount = 1
noise.size = 0.06
noise.change = 6

[render]
width = 480
height = 640

[render.fire]
intensity = 0.5
low = 300                 # kelvin above the air: dark red
high = 1200               # the brightest
)";

constexpr const char* kSand = R"([shot]
frames = "1-48"
fps = 24

[sand]
voxel = 0.03

[sand.domain]
min = [-0.7, 0, -0.7]
max = [0.7, 1, 0.7]
y_max = "open"

[[sand.material]]
friction = 0.5            # a pile of 38 degrees

[[sand.source]]
min = [-0.15, 0, -0.15]
max = [0.15, 0.4, 0.15]

[render]
)";

constexpr const char* kCrowd = R"([shot]
frames = "1-240"
fps = 12

[crowd]
cell = 1                  # metres; grid of the continuum that separates people in dense areas

[[crowd.boundary]]
box = [[0, 0], [20, 10]]  # x and y of the plan [m]; y is to the back

[[crowd.wall]]
points = [[12, 0], [12, 4]]

[[crowd.wall]]
points = [[12, 6], [12, 10]]

[[crowd.goal]]
name = "exit"
box = [[18, 4], [20, 6]]

[[crowd.line]]            # counts the people who cross it
name = "door"
points = [[12, 6], [12, 4]]

[[crowd.group]]
name = "visitors"
count = 150
box = [[1, 1], [10, 9]]
visit = [{ goal = "exit" }]

[render]
)";

} // namespace

const std::vector<SceneTemplate>& scene_templates()
{
    static const std::vector<SceneTemplate> templates = {
        {"splash", "A ball of water falls into a pool.", kSplash},
        {"spray", "A dam breaks over a post and throws off spray and foam.", kSpray},
        {"fountain", "A fountain of droplets in gusty air.", kFountain},
        {"ripples", "A ball is dragged through water; ripples finer than the grid show its wake.", kRipples},
        {"bodies", "A crate and a ball float in a tank, and a stone sinks.", kBodies},
        {"honey", "Honey is poured on a plate.", kHoney},
        {"jelly", "A block of jelly falls, wobbles and stays a block.", kJelly},
        {"smoke", "Warm smoke rises and closes around a ball.", kSmoke},
        {"shaped_smoke", "Smoke takes one shape, then another, and is let go.", kShapedSmoke},
        {"fire", "Hot smoke glows as flames and cools as it rises.", kFire},
        {"tracked", "A coloured ball falls into a pool whose surface remembers its colours.", kTracked},
        {"texture", "Goop slides off a shelf with spots on its surface.", kTexture},
        {"sand", "A column of sand collapses into a pile.", kSand},
        {"crowd", "People leave a room through a door and are counted there.", kCrowd},
    };
    return templates;
}

std::string new_scene_text(const std::string& name, const std::string& effect)
{
    const std::vector<SceneTemplate>& templates = scene_templates();
    const auto called = [&](const std::string& wanted) {
        return std::ranges::find_if(templates, [&](const SceneTemplate& t) { return t.name == wanted; });
    };
    auto chosen = called(effect.empty() ? name : effect);
    if (chosen == templates.end() && effect.empty()) chosen = templates.begin();
    if (chosen == templates.end()) {
        std::vector<std::string> names;
        for (const SceneTemplate& t : templates) names.push_back(t.name);
        const std::string near = nearest_name(effect, names);
        bad_input("there is no template '{}'; {}", effect,
                  near.empty() ? fmt::format("there are: {}", fmt::join(names, ", "))
                               : fmt::format("did you mean '{}'?", near));
    }
    return fmt::format("# {1}\n"
                       "#\n"
                       "#     spindrift run {0}.toml\n"
                       "#\n"
                       "# Every parameter there is, with unit, default, range and help:  spindrift describe\n\n{2}",
                       name, chosen->help, chosen->tables);
}

} // namespace spindrift
