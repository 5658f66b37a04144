// Where smoke comes from.
#include "base/noise.h"
#include "smoke/smoke.h"

namespace spindrift {

namespace {

// The share of its values that a noisy source gives at a place.
float noise_at(const SourceNoiseParams& noise, const Vec3f& x, float seconds)
{
    if (noise.amount == 0) return 1;
    // It moves through the noise on a way that leads nowhere near where it was.
    const Vec3f drift = noise.change * seconds * Vec3f(0.62f, 0.71f, 0.33f);
    const float value = gradient_noise(x / noise.size + drift, static_cast<uint64_t>(noise.seed)).value;
    return std::max(0.0f, 1 + 2 * noise.amount * value);
}

} // namespace

void Smoke::emit(float dt, bool initial)
{
    for (size_t i = 0; i < params_.sources.size(); ++i)
        if (params_.sources[i].active(time_) && !(initial && params_.sources[i].mode == SmokeSourceParams::Mode::add))
            emit_from(i, dt);
}

void Smoke::emit_from(size_t index, float dt)
{
    const SmokeSourceParams& source = params_.sources[index];
    const float voxel = params_.voxel, seconds = time_ / fps_;
    const bool fill = source.mode == SmokeSourceParams::Mode::fill;
    const Shape* shape = particle_sources_.contains(index) ? nullptr : &sources_[index];
    if (!shape) splat_particles(index);
    const Splat* splat = shape ? nullptr : &splats_[index];
    const Box3f bounds =
        shape ? shape->bounds(time_).grown(voxel) : Box3f{Vec3f::Constant(-kInfinity), Vec3f::Constant(kInfinity)};

    // What each scalar gets where the source is all there is.
    std::vector<float> amounts(scalars_.size(), 0.0f);
    amounts[0] = source.density, amounts[1] = source.temperature;
    for (const ScalarAmount& amount : source.scalars)
        for (size_t k = 0; k < params_.scalars.size(); ++k)
            if (params_.scalars[k].name == amount.name) amounts[2 + k] = amount.value;
    const size_t first_color = 2 + params_.scalars.size();
    const Vec3f color = source.color.value_or(Vec3f::Ones());

    for_each_tile(*topology_, [&](int tile) {
        const Vec3f first = topology_->first_cell(tile).cast<float>();
        const Box3f here = {first * voxel, (first + Vec3f::Constant(kTileSize)) * voxel};
        if ((here.min.array() > bounds.max.array()).any() || (here.max.array() < bounds.min.array()).any()) return;
        const int splat_tile = splat ? splat->topology->find(topology_->tile(tile)) : 0;
        if (splat && splat_tile == splat->topology->tile_count()) return;
        const SolidTile* solid = solid_cells_.tile(tile);
        // The share of a cell around a place that the source covers.
        const auto covered = [&](const Vec3f& x) { return clamp01(0.5f - shape->distance(x, time_) / voxel); };
        float coverage[kTileCells];
        bool any = false;
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3f x = (first + cell_in_tile(c).cast<float>() + Vec3f::Constant(0.5f)) * voxel;
            coverage[c] = splat ? splat->coverage.tile(splat_tile)[c] : covered(x);
            if (solid && solid->volume[c] == 0) coverage[c] = 0;
            if (coverage[c] == 0) continue;
            any = true;
            const float share = coverage[c] * noise_at(source.noise, x, seconds) * (fill ? 1 : dt);
            const float density_before = scalars_[0].value.tile(tile)[c];
            for (size_t k = 0; k < first_color; ++k) {
                float& value = scalars_[k].value.tile(tile)[c];
                value = fill ? std::max(value, share * amounts[k]) : value + share * amounts[k];
            }
            // Colour comes with the density that is new.
            const float added = scalars_[0].value.tile(tile)[c] - density_before;
            for (size_t k = first_color; k < scalars_.size(); ++k)
                scalars_[k].value.tile(tile)[c] += added * color[static_cast<int>(k - first_color)];
        }
        if (!any) return;
        const bool moves = shape && shape->moves() && source.inherit > 0;
        const bool carried = splat && source.inherit > 0;
        if (!source.velocity && !moves && !carried) return;
        for (int a = 0; a < 3; ++a)
            for (int c = 0; c < kTileCells; ++c) {
                const Vec3f x = (first + face_in_tile(c, a)) * voxel;
                const float share = splat ? coverage[c] : covered(x);
                if (share == 0 || !(solid_cells_.open(tile, a)[c] > 0)) continue;
                float target = source.velocity ? (*source.velocity)[a] : 0;
                if (moves) target += source.inherit * shape->velocity(x, time_, fps_)[a];
                if (carried) target += source.inherit * splat->velocity.tile(splat_tile)[c][a];
                float& u = velocity_.u[a].tile(tile)[c];
                u = mix(u, target, share);
            }
    });
}

// What the particles of the frame cover, and their mean velocity.
void Smoke::splat_particles(size_t index)
{
    Splat& splat = splats_[index];
    const int frame = static_cast<int>(std::floor(time_ + 1e-4f));
    if (splat.frame == frame && splat.topology) return;
    const EmittingParticles from = particle_sources_.at(index)(frame);
    const SmokeSourceParams& source = params_.sources[index];
    const float voxel = params_.voxel;
    const std::vector<float>* sizes = from.particles.find<float>("pscale");
    const auto radius_of = [&](size_t i) {
        const float own = sizes ? (*sizes)[i] : from.radius;
        return std::max(source.particle_size > 0 ? source.particle_size : own, voxel) / voxel; // in cells
    };
    constexpr float kLargest = 64; // cells; a particle that is larger than this is a mistake in the file
    const auto cells_of = [&](size_t i) {
        const Vec3f x = from.particles.P[i] / voxel, r = Vec3f::Constant(std::min(radius_of(i), kLargest));
        const Vec3f low = (x - r).cwiseMax(box_.min), high = (x + r).cwiseMin(box_.max);
        return std::pair(Vec3i(floor_int(low.x()), floor_int(low.y()), floor_int(low.z())),
                         Vec3i(floor_int(high.x()), floor_int(high.y()), floor_int(high.z())));
    };
    const auto usable = [&](size_t i) {
        return from.particles.P[i].allFinite() && from.particles.P[i].cwiseAbs().maxCoeff() < 1e6f * voxel;
    };
    std::vector<uint64_t> codes;
    for (size_t i = 0; i < from.particles.size(); ++i) {
        if (!usable(i)) continue;
        const auto [low, high] = cells_of(i);
        const Vec3i first = tile_of_cell(low), last = tile_of_cell(high);
        for (int x = first.x(); x <= last.x(); ++x)
            for (int y = first.y(); y <= last.y(); ++y)
                for (int z = first.z(); z <= last.z(); ++z) codes.push_back(morton_of_tile({x, y, z}));
    }
    splat.frame = frame;
    splat.topology = std::make_unique<Topology>(std::move(codes));
    splat.coverage.reset(*splat.topology, 0);
    splat.velocity.reset(*splat.topology, Vec3f::Zero());
    Field<float> weight(*splat.topology, 0);
    for (size_t i = 0; i < from.particles.size(); ++i) {
        if (!usable(i)) continue;
        const auto [low, high] = cells_of(i);
        const float radius = std::min(radius_of(i), kLargest);
        for (int x = low.x(); x <= high.x(); ++x)
            for (int y = low.y(); y <= high.y(); ++y)
                for (int z = low.z(); z <= high.z(); ++z) {
                    const Vec3i cell(x, y, z);
                    const Vec3f way = cell.cast<float>() + Vec3f::Constant(0.5f) - from.particles.P[i] / voxel;
                    const float near = clamp01(0.5f + radius - way.norm());
                    const int tile = splat.topology->find(tile_of_cell(cell)), c = offset_of_cell(cell);
                    if (near == 0 || tile == splat.topology->tile_count()) continue;
                    float& coverage = splat.coverage.tile(tile)[c];
                    coverage = std::max(coverage, near);
                    splat.velocity.tile(tile)[c] += near * from.particles.v[i];
                    weight.tile(tile)[c] += near;
                }
    }
    for_each_tile(*splat.topology, [&](int tile) {
        for (int c = 0; c < kTileCells; ++c)
            if (weight.tile(tile)[c] > 0) splat.velocity.tile(tile)[c] /= weight.tile(tile)[c];
    });
}

} // namespace spindrift
