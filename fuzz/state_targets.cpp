// Saved states of each time stage, with valid checksums (which would otherwise reject all damage) and inconsistent
// contents. Each is restored into the stage of a small scene, which then computes a frame.
#include "fuzz/targets.h"
#include "spindrift/base/error.h"
#include "spindrift/engine/graph.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/frame_path.h"
#include "spindrift/io/state_file.h"
#include "spindrift/stages/all_stages.h"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace spindrift::fuzz {

namespace {

constexpr const char* kFingerprint = "fuzz";

constexpr const char* kLiquid = R"([shot]
frames = "1-9"
[liquid]
voxel = 0.1
surface = "tracked"
viscosity = 1
elasticity = 100
[liquid.domain]
min = [0, 0, 0]
max = [0.8, 0.8, 0.5]
[[liquid.source]]
max = [0.3, 0.4, 0.5]
[[liquid.body]]
min = [0.4, 0.1, 0.1]
max = [0.6, 0.3, 0.3]
density = 400
[liquid.turbulence]
on = true
[spray.whitewater]
trapped_air = 20
[[spray.emitter]]
from = "disc"
center = [0.4, 0.1, 0.3]
radius = 0.02
direction = [0, 1, 0]
speed = 3
rate = 300
droplet_radius = 0.005
[ripples]
[track]
[texture]
of = "track"
mode = "example"
size = 0.5
)";
constexpr const char* kSmoke = R"([shot]
frames = "1-9"
[smoke]
voxel = 0.1
[smoke.turbulence]
on = true
[[smoke.source]]
shape = "sphere"
radius = 0.15
temperature = 80
[[smoke.collider]]
shape = "sphere"
center = [0, 0.5, 0]
radius = 0.2
)";
constexpr const char* kSand = R"([shot]
frames = "1-9"
[sand]
voxel = 0.08
[sand.domain]
min = [-0.4, 0, -0.4]
max = [0.4, 0.6, 0.4]
[[sand.material]]
[[sand.material]]
density = 2000
[[sand.source]]
shape = "sphere"
center = [0, 0.2, 0]
radius = 0.15
material = 1
[[sand.body]]
shape = "sphere"
center = [0, 0.42, 0]
radius = 0.06
[grains]
)";
constexpr const char* kFluidSand = R"([shot]
frames = "1-9"
[sand]
voxel = 0.08
model = "fluid"
[sand.domain]
min = [-0.4, 0, -0.4]
max = [0.4, 0.6, 0.4]
[[sand.source]]
shape = "sphere"
center = [0, 0.2, 0]
radius = 0.15
)";
constexpr const char* kCrowd = R"([shot]
frames = "1-9"
[crowd]
[[crowd.boundary]]
box = [[0, 0], [12, 8]]
[[crowd.wall]]
points = [[6, 0], [6, 3]]
[[crowd.goal]]
name = "exit"
box = [[10, 3], [12, 5]]
[[crowd.entrance]]
name = "door"
box = [[0, 3], [1, 5]]
rate = 5
[[crowd.group]]
count = 20
box = [[1, 1], [5, 7]]
visit = [{ goal = "exit" }]
[[crowd.group]]
entrance = "door"
visit = [{ goal = "exit" }]
)";

constexpr const char* kShapedSmoke = R"([shot]
frames = "1-9"
[shaped_smoke]
voxel = 0.1
markers = 3000
controls = 200
contain = true
project = true
[shaped_smoke.vortices]
radius = 0.15
[[shaped_smoke.source]]
shape = "sphere"
radius = 0.4
[[shaped_smoke.target]]
min = [-0.5, -0.2, -0.2]
max = [0.5, 0.2, 0.2]
[[shaped_smoke.target]]
frame = 2
shape = "sphere"
radius = 0.3
)";

// A stage of a scene, ready to start or to restore a state. The frames that it reads are in the folder.
struct Ready {
    std::unique_ptr<SceneFile> scene;
    std::unique_ptr<ShotGraph> graph;
    TimeStage* stage = nullptr;
    std::string input; // the stage whose frames it reads, if any

    Ready(const std::string& scene_text, const std::string& name, const std::string& folder)
    {
        const std::string path = folder + "/scene.toml";
        put_file(path, scene_text);
        scene = std::make_unique<SceneFile>(path);
        ShotParams shot;
        scene->read("shot", [&](ParamVisitor& v) { shot.visit(v); });
        graph = std::make_unique<ShotGraph>(*scene, all_stages());
        graph->prepare(shot);
        const ShotGraph::Node* node = graph->find(name);
        stage = node ? dynamic_cast<TimeStage*>(node->stage.get()) : nullptr;
        if (!stage) found("no stage " + name);
        if (const std::vector<std::string> read = node->read(); !read.empty()) input = read.front();
        stage->read_from([this, folder](const std::string& from, int frame) { return file(from, folder, frame); });
    }
    std::string file(const std::string& of, const std::string& folder, int frame) const
    {
        return frame_path(folder + "/" + of + ".####." + graph->find(of)->stage->endings().front(), frame);
    }
};

struct StageScene {
    std::string name, scene, stage;
};

const std::vector<StageScene>& stage_scenes()
{
    static const std::vector<StageScene> all = {{"liquid", kLiquid, "liquid"},
                                                {"spray", kLiquid, "spray"},
                                                {"ripples", kLiquid, "ripples"},
                                                {"track", kLiquid, "track"},
                                                {"texture", kLiquid, "texture"},
                                                {"smoke", kSmoke, "smoke"},
                                                {"sand", kSand, "sand"},
                                                {"grains", kSand, "grains"},
                                                {"fluid-sand", kFluidSand, "sand"},
                                                {"crowd", kCrowd, "crowd"},
                                                {"shaped-smoke", kShapedSmoke, "shaped_smoke"}};
    return all;
}

// Frames 1 to 3 of a stage's input, and of what that one reads.
void make_inputs(const std::string& scene, const std::string& stage, const std::string& folder)
{
    const std::string input = Ready(scene, stage, folder).input;
    if (input.empty()) return;
    make_inputs(scene, input, folder);
    Ready ready(scene, input, folder);
    ready.stage->start(1);
    for (int frame = 1; frame <= 3; ++frame) {
        if (frame > 1) ready.stage->advance();
        ready.stage->write(ready.file(input, folder, frame));
    }
}

// They are made once per process, beside the folder of the cases.
const std::string& inputs_folder(const StageScene& about)
{
    static std::map<std::string, std::string> folders;
    std::string& folder = folders[about.name];
    if (!folder.empty()) return folder;
    folder = fmt::format("{}/spindrift_fuzz_{}_{}", scratch_folder(), about.name, ::getpid());
    std::filesystem::create_directories(folder);
    make_inputs(about.scene, about.stage, folder);
    return folder;
}

// A random key of a map.
template <class Map> typename Map::iterator any_of(Map& map, Random& random)
{
    auto it = map.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(pick(random, map.size())));
    return it;
}

template <class T> void change_array(std::vector<T>& array, Random& random)
{
    const size_t size = array.size();
    switch (pick(random, 8)) {
    case 0:
        return array.clear();
    case 1:
        return array.resize(pick(random, 2 * size + 2));
    case 2:
        return array.resize(size + 1);
    case 3:
        if (size > 0) array.resize(size - 1);
        return;
    default:
        for (size_t left = 1 + pick(random, 4); left > 0 && size > 0; --left) {
            T& value = array[pick(random, size)];
            if constexpr (std::is_same_v<T, float>)
                value = odd_float(random);
            else if constexpr (std::is_same_v<T, Vec3f>)
                value[static_cast<int>(pick(random, 3))] = odd_float(random);
            else
                value = static_cast<T>(odd_integer(random, size));
        }
    }
}

void change_attributes(Particles& particles, Random& random)
{
    if (particles.attributes.empty()) return;
    const auto attribute = any_of(particles.attributes, random);
    switch (pick(random, 6)) {
    case 0:
        particles.attributes.erase(attribute);
        break;
    case 1:
        attribute->second = std::vector<int32_t>(particles.size());
        break;
    case 2:
        attribute->second = std::vector<float>(particles.size());
        break;
    default:
        std::visit([&](auto& array) { change_array(array, random); }, attribute->second);
    }
}

void change_state(StateFile& state, Random& random)
{
    switch (pick(random, 8)) {
    case 0: {
        if (state.numbers.empty()) break;
        const auto number = any_of(state.numbers, random);
        if (pick(random, 4) == 0)
            state.numbers.erase(number);
        else
            number->second = pick(random, 3) ? static_cast<int64_t>(odd_integer(random, 100))
                                             : std::bit_cast<int32_t>(odd_float(random));
        break;
    }
    case 1:
        change_array(state.particles.P, random);
        break;
    case 2:
        change_array(state.particles.v, random);
        break;
    case 3:
        change_array(state.particles.id, random);
        break;
    case 4:
    case 5:
        change_attributes(state.particles, random);
        break;
    case 6:
        if (!state.tiles.empty()) change_array(any_of(state.tiles, random)->second, random);
        break;
    default:
        if (!state.fields.empty()) change_array(any_of(state.fields, random)->second, random);
    }
    if (pick(random, 20) == 0 && state.particles.size() < 100000) { // all arrays, so that lengths agree
        const size_t count = pick(random, 2 * state.particles.size() + 2);
        state.particles.resize(count);
    }
}

std::string bytes_of(const StateFile& state) { return state_bytes(kFingerprint, state); }

// Replaces the checksum by that of the changed bytes.
std::string sealed(std::string bytes)
{
    if (bytes.size() < sizeof(uint64_t)) return bytes;
    const size_t body = bytes.size() - sizeof(uint64_t);
    const uint64_t sum = hash_bytes(std::string_view(bytes).substr(0, body));
    std::memcpy(bytes.data() + body, &sum, sizeof sum);
    return bytes;
}

std::string mutate_state(const std::string& seed, Random& random)
{
    if (pick(random, 4) == 0) return sealed(mutate_bytes(seed, random));
    const std::string path = fmt::format("{}/spindrift_fuzz_seed_{}", scratch_folder(), ::getpid());
    put_file(path, seed);
    StateFile state;
    read_state(path, kFingerprint, state);
    std::filesystem::remove(path);
    for (size_t left = 1 + pick(random, 3); left > 0; --left) change_state(state, random);
    return pick(random, 50) == 0 ? mutate_bytes(bytes_of(state), random) : bytes_of(state);
}

void restore_state(const StageScene& about, const std::string& bytes, const std::string& folder)
{
    const std::string path = folder + "/spindrift.state";
    put_file(path, bytes);
    StateFile state;
    if (!read_state(path, kFingerprint, state)) return;
    const int64_t frame = state.numbers["frame"]; // the engine accepts no other frame
    if (frame < 1 || frame > 2) return;
    Ready ready(about.scene, about.stage, inputs_folder(about));
    ready.stage->restore(std::move(state));
    ready.stage->advance();
    write_state(path, kFingerprint, ready.stage->save()); // where the engine finds values that are not finite
}

} // namespace

std::vector<Target> state_targets()
{
    std::vector<Target> targets;
    for (const StageScene& about : stage_scenes()) {
        const auto seeds = [about] {
            Ready ready(about.scene, about.stage, inputs_folder(about));
            ready.stage->start(1);
            ready.stage->advance();
            return std::vector<std::string>{bytes_of(ready.stage->save())};
        };
        const auto run = [about](const std::string& bytes, const std::string& folder) {
            restore_state(about, bytes, folder);
        };
        targets.push_back({"state-" + about.name, "state", seeds, mutate_state, run});
    }
    return targets;
}

} // namespace spindrift::fuzz
