#include "pipeline/liquid_stage.h"

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/vdb.h"

namespace spindrift {

namespace {

// Measured on splashes: particles with their double while sorting, and the grid around them.
constexpr double kBytesPerParticle = 90, kBytesPerCell = 110, kCellsPerFullCell = 2.5;
// Position 6, velocity 12, id 4 bytes, less what compression finds.
constexpr double kFileBytesPerParticle = 20;

double volume_inside(const Shape& shape, const Box3f& box, float frame)
{
    constexpr int n = 48;
    int inside = 0;
    for (int x = 0; x < n; ++x)
        for (int y = 0; y < n; ++y)
            for (int z = 0; z < n; ++z) {
                const Vec3f f = (Vec3f(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)).array() + 0.5f) / n;
                inside += shape.distance(box.min + f.cwiseProduct(box.size()), frame) < 0;
            }
    return static_cast<double>(box.size().x()) * box.size().y() * box.size().z() * inside / (n * n * n);
}

} // namespace

LiquidParams liquid_of(const SceneFile& scene)
{
    LiquidParams params;
    scene.read("liquid", [&](ParamVisitor& v) { params.visit(v); });
    return params;
}

Box3f extent_of(const LiquidParams& params, const std::vector<Shape>& sources, const std::vector<Shape>& colliders, int frame)
{
    if (params.domain.bounded()) return {*params.domain.min, *params.domain.max};
    Box3f box;
    for (const auto* shapes : {&sources, &colliders})
        for (const Shape& shape : *shapes)
            if (const Box3f b = shape.bounds(static_cast<float>(frame)); b.size().allFinite()) box.add(b);
    return box.empty() ? Box3f{Vec3f::Zero(), Vec3f::Ones()} : box;
}

void LiquidStage::prepare(const SceneFile& scene, const ShotParams& shot, const ShotPaths&)
{
    if (!scene.has("liquid")) return;
    if (params_.sources.empty())
        bad_input("{}: the liquid has no source; add a [[liquid.source]] with a shape", scene.where("liquid"));
    std::vector<Shape> sources = load_shapes(scene, params_.sources, "source");
    std::vector<Shape> colliders = load_shapes(scene, params_.colliders, "collider");
    for (const auto* files : {&params_.sources}) {
        for (const SourceParams& s : *files)
            if (!s.file.empty()) mesh_contents_ += fmt::format("{:016x}\n", hash_bytes(read_file(scene.resolve(s.file))));
    }
    for (const ColliderParams& c : params_.colliders)
        if (!c.file.empty()) mesh_contents_ += fmt::format("{:016x}\n", hash_bytes(read_file(scene.resolve(c.file))));

    const FrameRange range = shot.range();
    const auto first = static_cast<float>(range.first);
    double volume = 0;
    for (size_t i = 0; i < sources.size(); ++i) {
        const SourceParams& source = params_.sources[i];
        Box3f box = sources[i].bounds(first);
        if (params_.domain.bounded()) {
            box.min = box.min.cwiseMax(*params_.domain.min), box.max = box.max.cwiseMin(*params_.domain.max);
            if (box.empty() || !((box.size().array() > 0).any()))
                bad_input("{}: the source lies outside the domain", scene.where(fmt::format("liquid.source[{}]", i)));
        }
        if (!box.size().allFinite())
            bad_input("{}: this source has no end; give the liquid a domain (liquid.domain.min and max)",
                      scene.where(fmt::format("liquid.source[{}]", i)));
        const double filled = volume_inside(sources[i], box, first);
        volume += filled;
        if (source.mode == SourceParams::Mode::flow) {
            const double frames = std::min<double>(range.last, source.last_frame) - std::max<double>(range.first, source.first_frame) + 1;
            volume += std::pow(filled, 2.0 / 3) * source.velocity.norm() * std::max(0.0, frames) / shot.fps;
        }
    }
    if (params_.domain.bounded()) {
        const Vec3f size = *params_.domain.max - *params_.domain.min;
        volume = std::min(volume, static_cast<double>(size.x()) * size.y() * size.z());
    }
    const double cells = volume / std::pow(static_cast<double>(params_.voxel), 3), particles = 8 * cells;
    estimate_.memory = kBytesPerParticle * particles + kBytesPerCell * kCellsPerFullCell * cells;
    estimate_.disk = kFileBytesPerParticle * particles * range.count();
    estimate_.note = fmt::format("about {:.3g} particles", particles);
    if (particles > 2e9)
        bad_input("{}: about {:.3g} particles at this voxel; at most 2e9 are possible; raise liquid.voxel", scene.where("liquid.voxel"),
                  particles);
    liquid_ = std::make_unique<Liquid>(params_, std::move(sources), std::move(colliders), shot.fps);
}

Estimate LiquidStage::estimate() const { return estimate_; }

FrameReport LiquidStage::advance()
{
    const LiquidReport r = liquid_->advance();
    FrameReport report;
    report.numbers = {{"particles", static_cast<double>(r.particles)},
                      {"tiles", static_cast<double>(r.tiles)},
                      {"substeps", r.substeps},
                      {"iterations", r.iterations}};
    report.times = r.times;
    return report;
}

void LiquidStage::write(const std::string& path)
{
    write_particles(path, liquid_->particles(), params_.voxel, liquid_->particle_radius(),
                    {{"frame", std::to_string(liquid_->frame())}, {"creator", std::string("Spindrift ") + SPINDRIFT_VERSION}});
}

StateFile LiquidStage::save() const
{
    Liquid::State state = liquid_->state();
    return {{{"frame", state.frame}, {"next_id", state.next_id}}, std::move(state.particles)};
}

void LiquidStage::restore(StateFile state)
{
    liquid_->restore({static_cast<int>(state.numbers["frame"]), static_cast<int>(state.numbers["next_id"]), std::move(state.particles)});
}

} // namespace spindrift
