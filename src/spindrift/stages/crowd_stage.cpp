#include "spindrift/stages/crowd_stage.h"

#include "spindrift/base/error.h"
#include "spindrift/engine/cache.h"
#include "spindrift/engine/progress.h"
#include "spindrift/io/image.h"
#include "spindrift/io/vdb.h"
#include "spindrift/plan/plan_mesh.h"
#include "spindrift/points/state_checks.h"
#include "spindrift/stages/crowd_results.h"

#include <bit>
#include <filesystem>

namespace spindrift {

namespace {

// The plan lies on the floor: plan x is world x and plan y is world -z, so that the view from above matches the
// drawing.
Vec3f on_floor(const Vec2f& x, float height = 0) { return {x.x(), height, -x.y()}; }

// Measured with 40 thousand people on 120 thousand cells, and 600 people on 3200; kPlan is for the navigation data.
constexpr double kBytesPerPerson = 400, kCrowdBytesPerCell = 300, kPlan = 1e7, kMapBytesPerCell = 2.6;
constexpr double kFileBytesPerPerson = 57, kTextBytesPerPerson = 24, kStateBytesPerPerson = 64, kStateBytesPerCell = 17;
constexpr float kHeight = 1.7f; // of people and walls [m]

FrameReport report_of(const PopulationReport& population)
{
    FrameReport report;
    report.numbers = {{"people", static_cast<double>(population.people)},
                      {"came", static_cast<double>(population.came)},
                      {"left", static_cast<double>(population.left)},
                      {"waiting", static_cast<double>(population.waiting)},
                      {"pressed_cells", static_cast<double>(population.pressed_cells)},
                      {"steps", population.steps},
                      {"iterations", population.iterations}};
    report.unconverged = population.unconverged;
    report.times = population.times;
    return report;
}

// The quaternion (x, y, z, w) of the rotation about y that turns +z to a heading, which is an angle in the plan (plan y
// is world -z). Instances face along +z.
Eigen::Vector4f facing(float heading)
{
    const float half = 0.5f * (heading + 0.5f * static_cast<float>(kPi));
    return {0, std::sin(half), 0, std::cos(half)};
}

Continuum::Sample sample_of_cell(const Continuum& continuum, int x, int y)
{
    const CrowdGrid& grid = continuum.grid();
    return continuum.smooth_sample(grid.origin +
                                   grid.cell * Vec2f(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f));
}

// Density [1/m2] and velocity [m/s] as red, green and blue; plan y points up.
Image values_map(const Continuum& continuum)
{
    const CrowdGrid& grid = continuum.grid();
    Image image(grid.nx, grid.ny);
    for (int y = 0; y < grid.ny; ++y)
        for (int x = 0; x < grid.nx; ++x) {
            const Continuum::Sample here = sample_of_cell(continuum, x, y);
            image.at(x, grid.ny - 1 - y) = {continuum.densest() * here.fullness, here.velocity.x(), here.velocity.y()};
        }
    return image;
}

// A map for viewing: white where empty, dark red where full, and a line along the flow in each cell, as long as a cell
// is wide at walking speed.
Image drawn_map(const Continuum& continuum)
{
    constexpr int kPixels = 12; // per cell
    constexpr float kWalking = 1.34f;
    const CrowdGrid& grid = continuum.grid();
    Image image(kPixels * grid.nx, kPixels * grid.ny);
    const auto pixel = [&](float x, float y) -> Vec3f& { // from the lower left corner
        const auto at = [](float value, int size) { return std::clamp(static_cast<int>(value), 0, size - 1); };
        return image.at(at(x, image.width), image.height - 1 - at(y, image.height));
    };
    for (int y = 0; y < grid.ny; ++y)
        for (int x = 0; x < grid.nx; ++x) {
            const Continuum::Sample here = sample_of_cell(continuum, x, y);
            const float full = std::min(here.fullness, 1.0f), left = 1 - full;
            const Vec3f color(0.25f + 0.75f * std::sqrt(left), left, left * left);
            const Vec2f corner = kPixels * Vec2f(static_cast<float>(x), static_cast<float>(y));
            for (int j = 0; j < kPixels; ++j)
                for (int i = 0; i < kPixels; ++i)
                    pixel(corner.x() + static_cast<float>(i), corner.y() + static_cast<float>(j)) = color;
            if (!(full > 0.01f)) continue;
            const Vec2f along = here.velocity / kWalking, middle = corner + Vec2f::Constant(0.5f * kPixels);
            for (int k = -kPixels / 2; k <= kPixels / 2; ++k) {
                const Vec2f at = middle + static_cast<float>(k) * along;
                const bool head = k > 0;
                pixel(at.x(), at.y()) = head ? Vec3f(0.0f, 0.05f, 0.35f) : Vec3f(0.2f, 0.35f, 0.7f);
            }
        }
    return image;
}

} // namespace

std::vector<std::string> CrowdStage::endings() const
{
    if (maps_ != Maps::none) return {"vdb", map_ending()};
    return {"vdb"};
}

std::string CrowdStage::map_ending() const { return maps_ == Maps::exr ? "map.exr" : "map.png"; }

void CrowdStage::visit(ParamVisitor& v)
{
    params_.visit(v);
    v("trajectories", trajectories_, "Also write everyone's trajectory as text when the shot is complete.");
    v("maps", maps_, choices("none", "exr", "png"),
      "Also write a map of the continuum for each frame: density [1/m2] and velocity [m/s] in the channels of an EXR, "
      "or a PNG for viewing, with colours for density and a line along the flow in each cell.");
}

void CrowdStage::prepare(const StageContext& context)
{
    const auto& [scene, shot, inputs] = context;
    params_.name = name();
    fps_ = shot.fps;
    constexpr double kMostSteps = 10000;
    const double steps = 1 / (static_cast<double>(fps_) * static_cast<double>(params_.longest_step));
    if (steps > kMostSteps)
        bad_input("{}: a frame of {:.3g} s needs {:.3g} steps of {} s; raise shot.fps or {}", scene.where("shot.fps"),
                  1 / static_cast<double>(fps_), steps, params_.longest_step, param("longest_step"));
    population_ = read_population(params_, scene, name(), fps_);
    if (!params_.plan.plan.file.empty())
        dependencies_ = "plan: " + file_signature(scene.resolve(params_.plan.plan.file)) + "\n";

    const CrowdGrid& grid = population_->crowd().continuum().grid();
    const Vec2f low = grid.origin, high = grid.origin + grid.size();
    const auto facts = std::make_shared<CrowdFacts>();
    facts->stage = name();
    facts->extent.add(on_floor(low)), facts->extent.add(on_floor(high, kHeight));
    facts->obstacles = plan_mesh(population_->plan(), kHeight);
    facts_ = facts;
    const double people = population_->most_people(shot.range().count() / static_cast<double>(fps_));
    const double maps = maps_ == Maps::none ? 0 : kMapBytesPerCell * grid.nx * grid.ny;
    estimate_ = {kPlan + kBytesPerPerson * people + kCrowdBytesPerCell * grid.nx * grid.ny,
                 ((kFileBytesPerPerson + (trajectories_ ? kTextBytesPerPerson : 0)) * people + maps) *
                         shot.range().count() +
                     kStateBytesPerPerson * people + kStateBytesPerCell * grid.nx * grid.ny,
                 fmt::format("up to {:.3g} people, {} x {} cells", people, grid.nx, grid.ny),
                 "lower the count of " + param("group")};
}

// Draws people as capsules, by default in the colour of their group.
void CrowdFacts::draw(const DrawnFrame& frame, DrawnScene& picture) const
{
    constexpr float kStoutest = 0.25f; // [m]
    const std::string path = frame.input(stage, frame.frame);
    const ParticleFile file = read_particles(path);
    const Particles& people = file.particles;
    picture.count("people", people.size());
    if (!obstacles.triangles.empty()) picture.add_solid({obstacles}, false);
    RenderSpheres capsules;
    const auto* radius = people.find<float>("pscale");
    const auto* group = people.find<int32_t>("group");
    capsules.velocities = people.v;
    for (size_t i = 0; i < people.size(); ++i) {
        const float r = std::min(0.9f * (radius ? (*radius)[i] : file.pscale), kStoutest);
        capsules.centers.push_back(people.P[i] + r * Vec3f::UnitY());
        capsules.ends.push_back(people.P[i] + (kHeight - r) * Vec3f::UnitY());
        capsules.radii.push_back(r);
    }
    const std::string color_by = picture.color_by("group");
    if (color_by != "group") {
        capsules.colors = color_by.empty() ? std::vector<Vec3f>(people.size(), *picture.layer().color)
                                           : colors_of(people, color_by, path);
        return picture.add_spheres(std::move(capsules));
    }
    const Vec3f colors[] = {{0.62f, 0.12f, 0.07f}, {0.06f, 0.22f, 0.50f}, {0.60f, 0.40f, 0.05f}, {0.08f, 0.33f, 0.14f},
                            {0.36f, 0.10f, 0.38f}, {0.05f, 0.36f, 0.38f}, {0.50f, 0.22f, 0.10f}, {0.25f, 0.25f, 0.27f}};
    for (size_t i = 0; i < people.size(); ++i)
        capsules.colors.push_back(colors[group ? static_cast<size_t>((*group)[i]) % std::size(colors) : 0]);
    picture.add_spheres(std::move(capsules));
}

FrameReport CrowdStage::start(int frame)
{
    PopulationReport report;
    report.times.measure("start", [&] { population_->start(frame); });
    report.people = population_->crowd().agents().size();
    return report_of(report);
}

FrameReport CrowdStage::advance() { return report_of(population_->advance()); }

void CrowdStage::write(const std::string& path)
{
    const Agents& agents = population_->crowd().agents();
    Particles people;
    people.resize(agents.size());
    auto& group = people.attribute<int32_t>("group");
    auto& goal = people.attribute<int32_t>("goal");
    auto& heading = people.attribute<float>("heading");
    auto& radius = people.attribute<float>("pscale");
    auto& fullness = people.attribute<float>("density");
    std::vector<Eigen::Vector4f> orient(agents.size());
    const Continuum& continuum = population_->crowd().continuum();
    for (size_t i = 0; i < agents.size(); ++i) {
        people.P[i] = on_floor(agents.x[i]), people.v[i] = on_floor(agents.v[i]), people.id[i] = agents.id[i];
        group[i] = population_->group_of(agents.id[i]), goal[i] = population_->goal_of(i);
        const Vec2f& way = agents.v[i].norm() > 0.05f * agents.speed[i] ? agents.v[i] : agents.preferred[i];
        heading[i] = std::atan2(way.y(), way.x());
        orient[i] = facing(heading[i]);
        radius[i] = agents.radius[i];
        fullness[i] = continuum.densest() * continuum.smooth_sample(agents.x[i]).fullness;
    }
    const FileMetadata metadata = {{"frame", std::to_string(population_->frame())},
                                   {"creator", std::string("Spindrift ") + SPINDRIFT_VERSION}};
    write_particles(path, people, 1, params_.radius, metadata, orient);
    if (maps_ != Maps::none)
        write_image(std::filesystem::path(path).replace_extension(map_ending()).string(),
                    maps_ == Maps::exr ? values_map(continuum) : drawn_map(continuum));
}

StateFile CrowdStage::save() const
{
    Population::State state = population_->state();
    Crowd::State& crowd = state.crowd;
    StateFile file;
    file.numbers = {{"frame", state.frame},   {"time_bits", std::bit_cast<int64_t>(crowd.time)},
                    {"steps", crowd.steps},   {"next_id", crowd.next_id},
                    {"sorted", crowd.sorted}, {"radius_bits", std::bit_cast<int32_t>(crowd.largest_radius)}};
    const auto keep_ints = [&](const char* name, const auto& values) {
        for (const auto value : values) file.tiles[name].push_back(static_cast<uint64_t>(static_cast<int64_t>(value)));
        file.tiles[name];
    };
    const auto keep_doubles = [&](const char* name, const std::vector<double>& values) {
        for (const double value : values) file.tiles[name].push_back(std::bit_cast<uint64_t>(value));
        file.tiles[name];
    };
    keep_ints("groups", state.groups), keep_ints("came", state.came), keep_ints("cells", crowd.sorted_cells);
    keep_doubles("inner", crowd.continuum.inner_pressure), keep_doubles("outer", crowd.continuum.outer_pressure);
    file.fields["view"] = std::move(crowd.continuum.view);
    const Agents& agents = crowd.agents;
    Particles& people = file.particles;
    people.resize(agents.size());
    people.id = agents.id;
    auto& preferred = people.attribute<Vec3f>("preferred");
    for (size_t i = 0; i < agents.size(); ++i) {
        people.P[i] = {agents.x[i].x(), agents.x[i].y(), agents.radius[i]};
        people.v[i] = {agents.v[i].x(), agents.v[i].y(), agents.speed[i]};
        preferred[i] = {agents.preferred[i].x(), agents.preferred[i].y(), agents.priority[i]};
    }
    people.attribute<int32_t>("goal") = agents.goal;
    people.attribute<int32_t>("leg") = agents.leg;
    auto& driver = people.attribute<int32_t>("driver");
    for (size_t i = 0; i < agents.size(); ++i) driver[i] = static_cast<int32_t>(agents.driver[i]);
    return file;
}

FrameReport CrowdStage::restore(StateFile file)
{
    Population::State state;
    Crowd::State& crowd = state.crowd;
    state.frame = static_cast<int>(file.numbers["frame"]);
    crowd.time = std::bit_cast<double>(file.numbers["time_bits"]);
    crowd.steps = static_cast<int32_t>(file.numbers["steps"]);
    crowd.next_id = static_cast<int32_t>(file.numbers["next_id"]);
    crowd.sorted = file.numbers["sorted"] != 0;
    crowd.largest_radius = std::bit_cast<float>(static_cast<int32_t>(file.numbers["radius_bits"]));
    const auto fetch_ints = [&](const char* name, auto& values) {
        for (const uint64_t value : file.tiles[name])
            values.push_back(static_cast<typename std::decay_t<decltype(values)>::value_type>(value));
    };
    const auto fetch_doubles = [&](const char* name, std::vector<double>& values) {
        for (const uint64_t value : file.tiles[name]) values.push_back(std::bit_cast<double>(value));
    };
    fetch_ints("groups", state.groups), fetch_ints("came", state.came), fetch_ints("cells", crowd.sorted_cells);
    fetch_doubles("inner", crowd.continuum.inner_pressure), fetch_doubles("outer", crowd.continuum.outer_pressure);
    crowd.continuum.view = std::move(file.fields["view"]);
    Particles& people = file.particles;
    check_state(people, 1);
    for (const char* name : {"driver", "goal", "leg"}) check_state_attribute<int32_t>(people, name);
    check_state_attribute<Vec3f>(people, "preferred");
    const auto& preferred = people.attribute<Vec3f>("preferred");
    const auto& driver = people.attribute<int32_t>("driver");
    for (const int32_t d : driver) check_state_number(d, 0, static_cast<int32_t>(Driver::avoiding), "driver");
    Agents& agents = crowd.agents;
    agents.resize(people.size());
    for (size_t i = 0; i < people.size(); ++i) {
        agents.x[i] = people.P[i].head<2>(), agents.radius[i] = people.P[i].z();
        agents.v[i] = people.v[i].head<2>(), agents.speed[i] = people.v[i].z();
        agents.preferred[i] = preferred[i].head<2>(), agents.priority[i] = preferred[i].z();
        agents.driver[i] = static_cast<Driver>(driver[i]);
    }
    agents.id = people.id;
    agents.goal = people.attribute<int32_t>("goal"), agents.leg = people.attribute<int32_t>("leg");
    PopulationReport report;
    report.people = agents.size();
    report.times.measure("restore", [&] { population_->restore(std::move(state)); });
    return report_of(report);
}

std::vector<std::string> CrowdStage::products(const ShotPaths& paths) const
{
    return crowd_result_files(paths.stage_folder(name()));
}

void CrowdStage::shot_complete(const std::vector<std::string>& files, const ShotPaths& paths, Progress& progress)
{
    std::string summary;
    progress.busy_with(name() + ": counting people", [&] {
        summary = write_crowd_results(files, population_->plan(), fps_, trajectories_, paths.stage_folder(name()));
    });
    progress.say(summary);
}

StageKind crowd_stage() { return stage_kind<CrowdStage>("crowd", "A dense crowd in a floor plan."); }

} // namespace spindrift
