#include "spindrift/stages/shaped_smoke_stage.h"

#include "spindrift/base/state_error.h"
#include "spindrift/engine/files_of_frames.h"
#include "spindrift/io/point_file.h"
#include "spindrift/render/marker_shadows.h"
#include "spindrift/scene/limits.h"
#include "spindrift/shaped_smoke/controls.h"
#include "spindrift/stages/scene_shapes.h"

#include <bit>
#include <filesystem>

namespace spindrift {

namespace {

constexpr const char* kDensityEnding = "density.vdb";
// Bytes of a marker in memory, measured at the peak: 44 in the solver, and those of the state while it is saved; on
// disk, less compression.
constexpr double kBytesPerMarker = 130, kFileBytesPerMarker = 26;
// Bytes of a cell of the grid, and of the volume that is written; of such a cell on disk.
constexpr double kBytesPerShapedCell = 80, kBytesPerVolumeCell = 70, kFileBytesPerVolumeCell = 8;

std::vector<float> flat(const std::vector<Vec3f>& vectors)
{
    std::vector<float> all;
    for (const Vec3f& v : vectors) all.insert(all.end(), v.begin(), v.end());
    return all;
}

std::vector<Vec3f> vectors_of(const std::vector<float>& flat_values, const char* name)
{
    if (flat_values.size() % 3 != 0) bad_state("\"{}\" has {} values, not three a particle", name, flat_values.size());
    std::vector<Vec3f> all;
    for (size_t i = 0; i + 2 < flat_values.size(); i += 3)
        all.emplace_back(flat_values[i], flat_values[i + 1], flat_values[i + 2]);
    return all;
}

} // namespace

std::string density_file_of(const std::string& path)
{
    return std::filesystem::path(path).replace_extension(kDensityEnding).string();
}

std::vector<std::string> ShapedSmokeStage::endings() const { return {"vdb", kDensityEnding}; }

void ShapedSmokeStage::visit(ParamVisitor& v)
{
    params_.visit(v);
    v("density_voxel", density_voxel_, unit::metres, limits::voxel(),
      "Voxel of the volumes that are written. Default: that of the grid.");
    v("density_radius", density_radius_, unit::cells, between(1, 8),
      "Radius over which markers are blurred in these volumes.");
    v("half", half_, "Write volumes as 16-bit floats.");
    expressions_.visit(v);
}

void ShapedSmokeStage::prepare(const StageContext& context)
{
    const auto& [scene, shot, inputs] = context;
    fps_ = shot.fps;
    const FrameRange range = shot.range();
    const auto facts = std::make_shared<ShapedSmokeFacts>();
    facts->stage = name(), facts->bounded = false, facts->first_frame = range.first;
    facts->voxel = volume_voxel();
    if (params_.sources.empty())
        bad_input("{}: the smoke has no source; add a [[{}]] with a shape", scene.where(name()), param("source"));
    if (params_.targets.empty())
        bad_input("{}: the smoke has no shape to take; add a [[{}]]", scene.where(name()), param("target"));
    ShapedSmoke::Shapes shapes;
    dependencies_.clear();
    const auto first = static_cast<float>(range.first);
    for (size_t i = 0; i < params_.sources.size(); ++i) {
        const std::string where = fmt::format("{}[{}]", param("source"), i);
        if (params_.sources[i].particles.empty()) {
            shapes.sources.push_back(load_shape(scene, params_.sources[i], where));
            dependencies_ += mesh_files_of(static_cast<const ShapeParams&>(params_.sources[i]), scene);
            shapes.sources.back().prepare(first);
            const Box3f box = shapes.sources.back().bounds(first);
            if (!box.size().allFinite()) bad_input("{}: this source is infinite", scene.where(where));
            facts->extent.add(box);
            continue;
        }
        const FilesOfFrames files(scene.resolve(params_.sources[i].particles), scene.where(where + ".particles"));
        dependencies_ += files.signature(where + ".particles");
        shapes.sources.emplace_back(ShapeParams{}, where); // keeps the index
        shapes.particles[i] = [files, frame = range.first] { return read_points(files.at(frame)).particles; };
    }
    for (size_t i = 0; i < params_.targets.size(); ++i) {
        const TargetParams& target = params_.targets[i];
        const std::string where = fmt::format("{}[{}]", param("target"), i);
        shapes.targets.push_back(load_shape(scene, target, where));
        shapes.target_places.push_back(fmt::format("{}: {}", scene.where(where), where));
        dependencies_ += mesh_files_of(static_cast<const ShapeParams&>(target), scene);
        Shape& shape = shapes.targets.back();
        for (const int frame : {std::max(range.first, target.frame), range.last})
            shape.prepare(static_cast<float>(frame)), facts->extent.add(shape.bounds(static_cast<float>(frame)));
    }
    estimate_needs(scene, range, facts->extent);
    const std::vector<std::string> odd_sources = odd_meshes(scene, shapes.sources, param("source"), first);
    expressions_.prepare(scene, name(), range, shot.fps, {});
    ShapedSmokeParams params = params_; // the record keeps the names as they are in the scene
    for (TargetParams& target : params.targets)
        if (!target.file.empty()) target.file = scene.resolve(target.file);
    smoke_ = std::make_unique<ShapedSmoke>(params, std::move(shapes), shot.fps, name());
    smoke_->check_targets(range.first);
    warnings_ = smoke_->warnings();
    warnings_.insert(warnings_.begin(), odd_sources.begin(), odd_sources.end());
    warn_of_unused_targets(range);
    smoke_->set_hooks(expressions_.hooks());
    facts_ = facts;
}

void ShapedSmokeStage::warn_of_unused_targets(const FrameRange& range)
{
    for (size_t i = 0; i < params_.targets.size(); ++i) {
        const TargetParams& target = params_.targets[i];
        if (target.frame >= range.last)
            warnings_.push_back(fmt::format("{}[{}]: the smoke never takes this shape: it begins at frame {}, and the "
                                            "shot ends at frame {}",
                                            param("target"), i, target.frame, range.last));
        if (target.let_go && *target.let_go <= static_cast<float>(range.first))
            warnings_.push_back(fmt::format("{}[{}]: the smoke never takes this shape: it is let go at frame {}, and "
                                            "the shot begins at frame {}",
                                            param("target"), i, *target.let_go, range.first));
    }
}

void ShapedSmokeStage::estimate_needs(const SceneFile& scene, const FrameRange& range, const Box3f& extent)
{
    constexpr double kFilled = 0.3, kMostCells = 2e8; // share of the extent that smoke fills
    const Vec3d size = extent.empty() ? Vec3d(Vec3d::Zero()) : Vec3d(extent.size().cast<double>());
    const auto cells_of = [&](float voxel) {
        const double h = static_cast<double>(voxel);
        return kFilled * (size.x() / h + 16) * (size.y() / h + 16) * (size.z() / h + 16);
    };
    const double cells = cells_of(params_.voxel), written = cells_of(volume_voxel());
    for (const auto& [parameter, count] : {std::pair("voxel", cells), {"density_voxel", written}})
        if (!(count <= kMostCells))
            bad_input("{}: about {:.3g} cells; at most {:.0e} are possible; raise {}", scene.where(param(parameter)),
                      count, kMostCells, param(parameter));
    const auto markers = static_cast<double>(params_.markers);
    estimate_ = {kBytesPerMarker * markers + kBytesPerShapedCell * cells + kBytesPerVolumeCell * written,
                 (kFileBytesPerMarker * markers + kFileBytesPerVolumeCell * written) * range.count(),
                 fmt::format("{:.3g} markers on about {:.3g} cells", markers, cells),
                 fmt::format("lower {} or raise {}", param("markers"), param("voxel")), cells};
}

void ShapedSmokeFacts::draw(const DrawnFrame& frame, DrawnScene& picture) const
{
    const std::string path = frame.input(stage, frame.frame);
    if (!picture.params().smoke.markers) return picture.add_smoke(density_file_of(path));
    std::vector<ParticleFile> before;
    for (int f = std::max(first_frame, frame.frame - kBlendedFrames + 1); f < frame.frame; ++f)
        before.push_back(read_particles(frame.input(stage, f)));
    picture.add_markers(read_particles(path), before);
}

double ShapedSmokeFacts::memory(const Foreseen& foreseen) const
{
    // As a volume, or as points of several frames, with their order.
    constexpr double kBytesPerDrawnMarker = kBlendedFrames * 32 + 16;
    return std::max(DrawnScene::kBytesPerSmokeCell * kTileCells * foreseen.number("volume_tiles"),
                    kBytesPerDrawnMarker * foreseen.number("markers"));
}

std::vector<std::string> ShapedSmokeStage::coarser(double k) const
{
    const auto fewer = [&](int count) { return static_cast<int>(std::ceil(count / (k * k * k))); };
    std::vector<std::string> sets = {
        fmt::format("{}={}", param("voxel"), std::min(k * static_cast<double>(params_.voxel), 1e4)),
        fmt::format("{}={}", param("markers"), fewer(params_.markers)),
        fmt::format("{}={}", param("controls"), fewer(params_.controls))};
    if (density_voxel_)
        sets.push_back(
            fmt::format("{}={}", param("density_voxel"), std::min(k * static_cast<double>(*density_voxel_), 1e4)));
    return sets;
}

double ShapedSmokeStage::memory(const Forecast& forecast) const
{
    const Foreseen& smoke = forecast.at(name());
    return kBytesPerMarker * smoke.number("markers") +
           kTileCells *
               (kBytesPerShapedCell * smoke.number("tiles") + kBytesPerVolumeCell * smoke.number("volume_tiles"));
}

FrameReport ShapedSmokeStage::report_of(const ShapedSmokeReport& smoke) const
{
    FrameReport report;
    const double finer = static_cast<double>(params_.voxel) / static_cast<double>(volume_voxel());
    const auto tiles = static_cast<double>(smoke.tiles);
    report.numbers = {{"markers", static_cast<double>(smoke_->markers().size())},
                      {"controls", static_cast<double>(smoke_->controls().size())},
                      {"vortices", static_cast<double>(smoke_->vortices().size())},
                      {"tiles", tiles},
                      {"volume_tiles", tiles * finer * finer * finer},
                      {"arrived", smoke.arrived},
                      {"moved", static_cast<double>(smoke.moved)}};
    report.unconverged = smoke.unconverged;
    report.times = smoke.times;
    return report;
}

FrameReport ShapedSmokeStage::start(int frame)
{
    ShapedSmokeReport report;
    report.times.measure("start", [&] { smoke_->start(frame); });
    report.tiles = smoke_->topology().tile_count();
    expressions_.check(smoke_->markers());
    return report_of(report);
}

FrameReport ShapedSmokeStage::advance() { return report_of(smoke_->advance()); }

void ShapedSmokeStage::write(const std::string& path)
{
    const Particles& markers = smoke_->markers();
    const float voxel = volume_voxel();
    const double in_cell = smoke_->reference_density() * std::pow(static_cast<double>(voxel), 3);
    const DensityVolume volume(markers, voxel, density_radius_, static_cast<float>(1 / in_cell),
                               param(density_voxel_ ? "density_voxel" : "voxel"));
    std::vector<float> density(markers.size());
    parallel_for(
        markers.size(), [&](size_t i) { density[i] = volume.density.at(cell_of(markers.P[i], 1 / voxel)); }, 4096);
    const auto radius = static_cast<float>(0.5 / std::cbrt(smoke_->reference_density()));
    const FileMetadata metadata = {{"frame", std::to_string(smoke_->frame())},
                                   {"creator", std::string("Spindrift ") + SPINDRIFT_VERSION}};
    smoke_->show_with("density", std::move(density), [&](const Particles& shown) {
        const auto write_points = [&](const Particles& points) {
            write_particles(path, points, params_.voxel, radius, metadata);
        };
        if (!expressions_.any(ExpressionParams::At::before_writing)) return write_points(shown);
        Particles changed = shown;
        expressions_.run(ExpressionParams::At::before_writing, changed, static_cast<float>(smoke_->frame()), 1 / fps_);
        write_points(changed);
    });
    write_fields(density_file_of(path), {{"density", &volume.density}}, voxel, metadata, {{"vel", &volume.velocity}},
                 half_);
}

// --------------------------------------------------------------------------------------------------------------- state

StateFile ShapedSmokeStage::save() const
{
    ShapedSmoke::State state = smoke_->state();
    StateFile file;
    file.numbers = {{"start_frame", state.start_frame},
                    {"frame", state.frame},
                    {"next_id", state.next_id},
                    {"group", state.group},
                    {"rounds", static_cast<int64_t>(state.rounds)},
                    {"reference_bits", std::bit_cast<int64_t>(state.reference_density)}};
    file.particles = std::move(state.markers);
    file.tiles["batches"] = std::move(state.batches);
    for (const int32_t target : *state.controls.find<int32_t>(kTargetAttribute))
        file.tiles["targets"].push_back(static_cast<uint64_t>(target));
    file.fields["control.P"] = flat(state.controls.P), file.fields["control.v"] = flat(state.controls.v);
    file.fields["control.step"] = flat(*state.controls.find<Vec3f>(kStepAttribute));
    file.fields["vortex.P"] = flat(state.vortices.P), file.fields["vortex.v"] = flat(state.vortices.v);
    file.fields["vortex.omega"] = flat(*state.vortices.find<Vec3f>(kOmegaAttribute));
    file.fields["vortex.sigma"] = *state.vortices.find<float>(kSigmaAttribute);
    return file;
}

FrameReport ShapedSmokeStage::restore(StateFile file)
{
    const auto vectors = [&](const char* name) { return vectors_of(file.fields[name], name); };
    const auto number = [&](const char* name) { return static_cast<int>(file.numbers[name]); };
    ShapedSmokeReport report;
    report.times.measure("restore", [&] {
        ShapedSmoke::State state;
        state.start_frame = number("start_frame"), state.frame = number("frame"), state.next_id = number("next_id");
        state.group = number("group"), state.rounds = static_cast<uint64_t>(file.numbers["rounds"]);
        state.reference_density = std::bit_cast<double>(file.numbers["reference_bits"]);
        state.batches = std::move(file.tiles["batches"]);
        state.markers = std::move(file.particles);
        state.controls.P = vectors("control.P"), state.controls.v = vectors("control.v");
        state.controls.id.assign(state.controls.P.size(), 0);
        for (const uint64_t target : file.tiles["targets"])
            if (target > static_cast<uint64_t>(std::numeric_limits<int32_t>::max()))
                bad_state("a target is {}", target);
        const std::vector<uint64_t>& targets = file.tiles["targets"];
        std::vector<int32_t> target(targets.begin(), targets.end());
        state.controls.attributes[kTargetAttribute] = std::move(target);
        state.controls.attributes[kStepAttribute] = vectors("control.step");
        state.vortices.P = vectors("vortex.P"), state.vortices.v = vectors("vortex.v");
        state.vortices.id.assign(state.vortices.P.size(), 0);
        state.vortices.attributes[kOmegaAttribute] = vectors("vortex.omega");
        state.vortices.attributes[kSigmaAttribute] = std::move(file.fields["vortex.sigma"]);
        smoke_->restore(std::move(state));
    });
    return report_of(report);
}

StageKind shaped_smoke_stage()
{
    return stage_kind<ShapedSmokeStage>("shaped_smoke", "Smoke that gathers into shapes, follows them and lets go.");
}

} // namespace spindrift
