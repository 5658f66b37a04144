#include "spindrift/stages/smoke_stage.h"

#include "spindrift/base/error.h"
#include "spindrift/io/point_file.h"
#include "spindrift/smoke/reach.h"
#include "spindrift/stages/scene_shapes.h"
#include "spindrift/stages/thin_solids.h"

#include <bit>

namespace spindrift {

namespace {

// Bytes per cell in memory (velocity, density, temperature and scratch fields) and on disk, less compression.
constexpr double kSmokeBytesPerCell = 270, kFileBytesPerCell = 14;
constexpr double kBytesPerFineCell = 70, kSmokeBytesPerEddy = 200; // with turbulence
constexpr double kMostCells = 4e9;
// For the estimate before a rehearsal: smoke spreads to this many times the extent of its sources.
constexpr float kSpread = 4;

double count_cells(const Vec3f& size, float voxel)
{
    const Vec3d cells = (size / voxel).cast<double>();
    return cells.x() * cells.y() * cells.z();
}

FrameReport report_of(const SmokeReport& smoke)
{
    FrameReport report;
    report.numbers = {{"tiles", static_cast<double>(smoke.tiles)},
                      {"cells", static_cast<double>(smoke.active_cells)},
                      {"substeps", smoke.substeps},
                      {"iterations", smoke.iterations},
                      {"mass", smoke.mass}};
    if (smoke.eddies > 0) {
        report.numbers.emplace_back("fine_tiles", static_cast<double>(smoke.fine_tiles));
        report.numbers.emplace_back("eddies", static_cast<double>(smoke.eddies));
    }
    report.unconverged = smoke.unconverged;
    report.times = smoke.times;
    return report;
}

} // namespace

void SmokeStage::visit(ParamVisitor& v)
{
    params_.visit(v);
    v("half", half_, "Write 16-bit floats, which halves the disk space.");
    v("write_velocity", write_velocity_,
      "Also write vel, for motion blur and as wind for particles: on voxel faces, or, with turbulence, "
      "at the voxel centres of density with eddies included.");
    v.group("control", control_params_, "Shaped smoke that draws this smoke along.");
    v.list("expression", expression_params_,
           "Expressions on the volumes density, temperature, the scalars and vel (at cell centres).");
}

std::vector<Port> SmokeStage::ports(const ShotGraph&) const
{
    Port control{"control.by", {"shaped_smoke"}, named(control_params_.by)};
    control.unnamed = Port::Unnamed::none, control.optional = true;
    return {control};
}

void SmokeStage::read_from(const InputPath& input)
{
    if (control_) control_->read_from(input);
}

void SmokeStage::prepare(const StageContext& context)
{
    const SceneFile& scene = context.scene;
    const ShotParams& shot = context.shot;
    params_.name = name();
    const SmokeParams& params = params_;
    const auto facts = std::make_shared<SmokeFacts>();
    facts->stage = name(), facts->bounded = params.domain.bounded();
    facts->voxel = params.voxel, facts->has_velocity = write_velocity_;
    range_ = shot.range(), fps_ = shot.fps;
    if (params.sources.empty())
        bad_input("{}: the smoke has no source; add a [[{}]] with a shape", scene.where(name()), param("source"));
    Smoke::Shapes shapes;
    dependencies_.clear();
    const auto first = static_cast<float>(range_.first);
    Box3f& extent = facts->extent;
    for (size_t i = 0; i < params.sources.size(); ++i) {
        const auto where = [&] { return scene.where(fmt::format("{}[{}]", param("source"), i)); };
        if (!params.sources[i].particles.empty()) {
            shapes.particles[i] = particle_source(scene, i);
            shapes.sources.emplace_back(ShapeParams{}, where()); // placeholder, keeps the index
            continue;
        }
        shapes.sources.push_back(load_shape(scene, params.sources[i], fmt::format("{}[{}]", param("source"), i)));
        dependencies_ += mesh_files_of(static_cast<const ShapeParams&>(params.sources[i]), scene);
        shapes.sources.back().prepare(first);
        Box3f box = shapes.sources.back().bounds(first);
        if (params.domain.bounded()) {
            box.min = box.min.cwiseMax(*params.domain.min), box.max = box.max.cwiseMin(*params.domain.max);
            if (box.empty() && !shapes.sources.back().moves())
                bad_input("{}: the source lies outside the domain", where());
        } else if (!box.size().allFinite())
            bad_input("{}: this source is infinite; give the smoke a domain ({}.min and max)", where(),
                      param("domain"));
        extent.add(box);
    }
    shapes.colliders = load_colliders(scene, params.colliders, param("collider"));
    dependencies_ += mesh_files_of(params.colliders, scene);
    for (Shape& shape : shapes.colliders) shape.prepare(first);
    facts->colliders = colliders_ = shapes.colliders;
    facts->collider_text = text_of_shapes(param("collider"), params.colliders, scene);
    warnings_ = thin_solids(scene, name(), params.voxel, colliders_, {});

    Box3f expected = extent; // where the smoke will be
    if (!extent.empty()) {
        const float size = extent.size().maxCoeff();
        expected.max.y() += (kSpread - 1) * size;
        expected = expected.grown(0.25f * (kSpread - 1) * size);
        expected.min.y() += 0.25f * (kSpread - 1) * size;
    }
    extent = expected;
    if (params.domain.bounded()) {
        extent = {*params.domain.min, *params.domain.max};
        expected.min = expected.min.cwiseMax(extent.min), expected.max = expected.max.cwiseMin(extent.max);
        if (!params.sparse) expected = extent;
    }
    const double cells = expected.empty() ? 0 : count_cells(expected.size(), params.voxel);
    const double fine_cells = params.turbulence.on ? cells * std::pow(params.refine(), 3) : 0;
    if (!(cells <= kMostCells))
        bad_input("{}: {} is {} m, which makes {:.3g} cells; at most {:.0g} are possible; raise {}",
                  scene.where(param("voxel")), param("voxel"), params.voxel, cells, kMostCells, param("voxel"));
    estimate_ = {kSmokeBytesPerCell * cells + kBytesPerFineCell * fine_cells,
                 kFileBytesPerCell * std::max(cells, fine_cells) * range_.count() * (half_ ? 0.5 : 1),
                 fmt::format("up to {:.3g} cells", std::max(cells, fine_cells)), "raise " + param("voxel"),
                 std::max(cells, fine_cells / 4)};
    if (!params.domain.bounded())
        extent.add(reach_of_smoke(params, shapes.sources, range_.first, range_.last, shot.fps));
    smoke_ = std::make_unique<Smoke>(params, std::move(shapes), shot.fps);
    prepare_expressions(scene);
    facts_ = facts;
}

void SmokeFacts::draw(const DrawnFrame& frame, DrawnScene& picture) const
{
    picture.add_smoke(frame.input(stage, frame.frame));
}

double SmokeFacts::memory(const Foreseen& foreseen) const
{
    return DrawnScene::kBytesPerSmokeCell * kTileCells *
           std::max(foreseen.number("tiles"), foreseen.number("fine_tiles"));
}

std::vector<std::string> SmokeStage::coarser(double k) const
{
    return {fmt::format("{}={}", param("voxel"), k * static_cast<double>(params_.voxel))};
}

Growth SmokeStage::growth() const { return {2.2, 3}; }

double SmokeStage::memory(const Forecast& forecast) const
{
    const Foreseen& smoke = forecast.at(name());
    return kTileCells * (kSmokeBytesPerCell * smoke.number("tiles") + kBytesPerFineCell * smoke.number("fine_tiles")) +
           kSmokeBytesPerEddy * smoke.number("eddies");
}

Smoke::ParticleSource SmokeStage::particle_source(const SceneFile& scene, size_t index)
{
    const std::string name = fmt::format("{}[{}].particles", param("source"), index);
    const FilesOfFrames files(scene.resolve(params_.sources[index].particles), scene.where(name));
    dependencies_ += files.signature(name);
    return [files](int frame) {
        ParticleFile read = read_points(files.at(frame));
        return Smoke::EmittingParticles{std::move(read.particles), read.pscale};
    };
}

void SmokeStage::prepare_expressions(const SceneFile& scene)
{
    expressions_.clear();
    for (size_t i = 0; i < expression_params_.size(); ++i) {
        ExpressionSource::Loaded loaded =
            expression_params_[i].load(scene, fmt::format("{}[{}]", param("expression"), i));
        dependencies_ += loaded.dependencies;
        expressions_.push_back({expression_params_[i].at,
                                VolumeExpression(loaded.label, std::move(loaded.text), loaded.options),
                                std::move(loaded.volumes)});
    }
    const auto hook = [this](At at) -> SmokeHooks::Hook {
        if (!any(at)) return {};
        return [this, at](SmokeFields& fields, float time, float dt) {
            ExpressionFields all{fields.fine, fields.fine_voxel, {}};
            for (const auto& [name, field] : fields.scalars) all.fields[name] = field;
            if (fields.fine == fields.topology) all.fields["vel"] = fields.velocity;
            run(at, all, time, dt, fields);
        };
    };
    SmokeHooks hooks{hook(At::after_forces), hook(At::after_advection)};
    if (!control_params_.by.empty()) {
        control_ = std::make_unique<SmokeControl>(control_params_);
        hooks.after_forces = [this, expressions = std::move(hooks.after_forces)](SmokeFields& fields, float time,
                                                                                 float dt) {
            control_->apply(fields, time, dt);
            if (expressions) expressions(fields, time, dt);
        };
    }
    smoke_->set_hooks(std::move(hooks));
}

bool SmokeStage::any(At at) const
{
    return std::any_of(expressions_.begin(), expressions_.end(), [&](const Loaded& e) { return e.at == at; });
}

void SmokeStage::run(At at, const ExpressionFields& fields, float frame, float dt, const SmokeFields& flow) const
{
    for (const Loaded& loaded : expressions_) {
        if (loaded.at != at) continue;
        ExpressionContext context;
        context.frame = static_cast<int>(std::ceil(frame - 1e-4f));
        context.fps = fps_, context.dt = dt;
        context.time = (static_cast<double>(frame) - range_.first) / fps_;
        loaded.volumes.add(context.frame, context);
        set_colliders(colliders_, frame, context);
        context.vector_volumes["vel"] = [velocity = flow.velocity, voxel = flow.voxel](const Vec3f& x) {
            const Vec3f cell = x / voxel;
            return velocity->at({floor_int(cell.x()), floor_int(cell.y()), floor_int(cell.z())});
        };
        loaded.expression.run(fields, context);
    }
}

FrameReport SmokeStage::start(int frame)
{
    SmokeReport report;
    report.times.measure("fill", [&] { smoke_->start(frame); });
    report.tiles = smoke_->topology().tile_count();
    report.mass = smoke_->mass();
    return report_of(report);
}

FrameReport SmokeStage::restore(StateFile file)
{
    SmokeReport report;
    report.times.measure("restore", [&] {
        const auto real = [&](const char* name) {
            return std::bit_cast<float>(static_cast<int32_t>(file.numbers[name]));
        };
        Smoke::State state;
        state.frame = static_cast<int>(file.numbers["frame"]), state.last_dt = real("last_dt_bits");
        state.tiles = std::move(file.tiles["flow"]), state.fine_tiles = std::move(file.tiles["smoke"]);
        Turbulence::State& turbulence = state.turbulence;
        turbulence.tiles = std::move(file.tiles["turbulence"]), turbulence.voxel = real("turbulence_voxel_bits");
        turbulence.energy = std::move(file.fields["turbulence.energy"]);
        turbulence.open = std::move(file.fields["turbulence.open"]);
        turbulence.solid_distance = std::move(file.fields["turbulence.solid_distance"]);
        turbulence.particles = {std::move(file.particles), static_cast<int>(file.numbers["next_eddy"]),
                                file.numbers["eddy_steps"]};
        state.fields = std::move(file.fields);
        smoke_->restore(std::move(state));
    });
    report.tiles = smoke_->topology().tile_count();
    report.mass = smoke_->mass();
    return report_of(report);
}

FrameReport SmokeStage::advance()
{
    for (Shape& shape : colliders_) shape.prepare(static_cast<float>(smoke_->frame() + 1));
    return report_of(smoke_->advance());
}

void SmokeStage::write(const std::string& path)
{
    const Topology& topology = smoke_->fine_topology();
    const SmokeParams& params = params_;
    const bool edit = any(At::before_writing);
    const std::vector<SmokeScalar>& scalars = smoke_->scalars();
    std::vector<Field<float>> changed(scalars.size()); // by expressions
    std::vector<NamedField> fields;
    std::vector<NamedVectors> vectors;
    ExpressionFields all{&topology, params.fine_voxel(), {}};
    for (size_t i = 0; i < scalars.size(); ++i) {
        if (scalars[i].name.starts_with("Cd.")) continue;
        const Field<float>* field = &scalars[i].value;
        if (edit) changed[i].copy_from(*field), field = &changed[i], all.fields[scalars[i].name] = &changed[i];
        fields.push_back({scalars[i].name, field});
    }
    Field<Vec3f> color;
    if (params.has_colors()) { // the simulation stores colour times density
        color.reset_uninitialized(topology, Vec3f::Zero());
        const SmokeScalar* channels = &scalars[scalars.size() - 3];
        for_each_tile(topology, [&](int tile) {
            for (int c = 0; c < kTileCells; ++c) {
                const float density = scalars[0].value.tile(tile)[c];
                for (int a = 0; a < 3; ++a)
                    color.tile(tile)[c][a] =
                        density > 1e-6f ? clamp01(channels[a].value.tile(tile)[c] / density) : 0.0f;
            }
        });
        vectors.push_back({"Cd", &color, nullptr, false, 0, /*is_color=*/true});
        all.fields["Cd"] = &color;
    }
    // The velocity that advects the density, including eddies, on the same grid.
    Field<Vec3f> velocity;
    if (write_velocity_ || edit)
        velocity = params.turbulence.on ? smoke_->velocity_with_eddies()
                   : edit               ? smoke_->velocity_at_centers()
                                        : smoke_->velocity_at_faces();
    const bool staggered = !params.turbulence.on && !edit;
    if (write_velocity_) vectors.push_back({"vel", &velocity, nullptr, staggered});
    if (edit) {
        all.fields["vel"] = &velocity;
        run(At::before_writing, all, static_cast<float>(smoke_->frame()), 1 / fps_,
            {nullptr, 0, {}, &topology, params.fine_voxel(), &velocity});
    }
    write_fields(
        path, fields, params.fine_voxel(),
        {{"frame", std::to_string(smoke_->frame())}, {"creator", std::string("Spindrift ") + SPINDRIFT_VERSION}},
        vectors, half_);
}

StateFile SmokeStage::save() const
{
    const auto bits = [](float x) { return static_cast<int64_t>(std::bit_cast<int32_t>(x)); };
    Smoke::State state = smoke_->state();
    Turbulence::State& turbulence = state.turbulence;
    StateFile file;
    file.numbers = {{"frame", state.frame},
                    {"last_dt_bits", bits(state.last_dt)},
                    {"turbulence_voxel_bits", bits(turbulence.voxel)},
                    {"next_eddy", turbulence.particles.next_id},
                    {"eddy_steps", turbulence.particles.steps}};
    file.tiles["flow"] = std::move(state.tiles), file.tiles["smoke"] = std::move(state.fine_tiles);
    file.tiles["turbulence"] = std::move(turbulence.tiles);
    file.fields = std::move(state.fields);
    file.fields["turbulence.energy"] = std::move(turbulence.energy);
    file.fields["turbulence.open"] = std::move(turbulence.open);
    file.fields["turbulence.solid_distance"] = std::move(turbulence.solid_distance);
    file.particles = std::move(turbulence.particles.particles);
    return file;
}

StageKind smoke_stage()
{
    return stage_kind<SmokeStage>("smoke", "A gas on a grid: density, temperature and velocity.");
}

} // namespace spindrift
