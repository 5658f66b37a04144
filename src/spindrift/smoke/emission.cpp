// Smoke sources.
#include "spindrift/base/noise.h"
#include "spindrift/smoke/smoke.h"

namespace spindrift {

namespace {

// Factor on a source's values by its noise.
float noise_at(const SourceNoiseParams& noise, const Vec3f& x, float seconds)
{
    if (noise.amount == 0) return 1;
    // Time translates the noise in a direction that does not soon return to the same values.
    const Vec3f drift = noise.change * seconds * Vec3f(0.62f, 0.71f, 0.33f);
    const float value = gradient_noise(x / noise.size + drift, static_cast<uint64_t>(noise.seed)).value;
    return std::max(0.0f, 1 + 2 * noise.amount * value);
}

} // namespace

void Smoke::emit(float dt, bool initial)
{
    for (size_t i = 0; i < params_.sources.size(); ++i) {
        if (!params_.sources[i].contains(time_)) continue;
        if (initial && params_.sources[i].mode == SmokeSourceParams::Mode::add) continue;
        if (particle_sources_.contains(i)) splat_particles(i);
        emit_values(i, dt);
        emit_velocity(i);
    }
}

namespace {

// Fraction of a cell around x that a shape covers.
float covered(const Shape& shape, const Vec3f& x, float frame, float voxel)
{
    return clamp01(0.5f - shape.distance(x, frame) / voxel);
}

// Calls body(tile) for the tiles of a grid that overlap a box [m].
template <class Body> void for_each_tile_in(const Topology& topology, float voxel, const Box3f& box, const Body& body)
{
    for_each_tile(topology, [&](int tile) {
        const Vec3f low = topology.first_cell(tile).cast<float>() * voxel;
        const Vec3f high = low + Vec3f::Constant(kTileSize * voxel);
        if ((low.array() <= box.max.array()).all() && (high.array() >= box.min.array()).all()) body(tile);
    });
}

} // namespace

void Smoke::emit_values(size_t index, float dt)
{
    const SmokeSourceParams& source = params_.sources[index];
    const float voxel = params_.fine_voxel(), seconds = time_ / fps_;
    const bool fill = source.mode == SmokeSourceParams::Mode::fill;
    const Splat* splat = particle_sources_.contains(index) ? &splats_[index] : nullptr;
    const Shape& shape = sources_[index];
    const Box3f bounds =
        splat ? Box3f{Vec3f::Constant(-kInfinity), Vec3f::Constant(kInfinity)} : shape.bounds(time_).grown(voxel);

    // Amount of each scalar at full coverage.
    std::vector<SmokeScalar>& scalars = carried_.scalars;
    std::vector<float> amounts(scalars.size(), 0.0f);
    amounts[0] = source.density, amounts[1] = source.temperature;
    for (const ScalarAmount& amount : source.scalars)
        for (size_t k = 0; k < params_.scalars.size(); ++k)
            if (params_.scalars[k].name == amount.name) amounts[2 + k] = amount.value;
    const size_t first_color = 2 + params_.scalars.size();
    const Vec3f color = source.color.value_or(Vec3f::Ones());

    const Topology& topology = carried_.topology();
    for_each_tile_in(topology, voxel, bounds, [&](int tile) {
        const int splat_tile = splat ? splat->topology->find(topology.tile(tile)) : 0;
        if (splat && splat_tile == splat->topology->tile_count()) return;
        const Vec3f first = topology.first_cell(tile).cast<float>();
        const SolidTile* solid = fine_cells().tile(tile);
        for (int c = 0; c < kTileCells; ++c) {
            if (solid && solid->volume[c] == 0) continue;
            const Vec3f x = (first + cell_in_tile(c).cast<float>() + Vec3f::Constant(0.5f)) * voxel;
            const float there = splat ? splat->coverage.tile(splat_tile)[c] : covered(shape, x, time_, voxel);
            if (there == 0) continue;
            const float share = there * noise_at(source.noise, x, seconds) * (fill ? 1 : dt);
            const float density_before = scalars[0].value.tile(tile)[c];
            for (size_t k = 0; k < first_color; ++k) {
                float& value = scalars[k].value.tile(tile)[c];
                value = fill ? std::max(value, share * amounts[k]) : value + share * amounts[k];
            }
            // Colour is weighted by the added density.
            const float added = scalars[0].value.tile(tile)[c] - density_before;
            for (size_t k = first_color; k < scalars.size(); ++k)
                scalars[k].value.tile(tile)[c] += added * color[static_cast<int>(k - first_color)];
        }
    });
}

void Smoke::emit_velocity(size_t index)
{
    const SmokeSourceParams& source = params_.sources[index];
    const float voxel = params_.voxel;
    const Splat* splat = particle_sources_.contains(index) ? &splats_[index] : nullptr;
    const Shape& shape = sources_[index];
    const bool moves = source.inherit > 0 && (splat || shape.moves());
    if (!source.velocity && !moves) return;
    const Box3f bounds =
        splat ? Box3f{Vec3f::Constant(-kInfinity), Vec3f::Constant(kInfinity)} : shape.bounds(time_).grown(voxel);
    for_each_tile_in(*topology_, voxel, bounds, [&](int tile) {
        const Vec3f first = topology_->first_cell(tile).cast<float>();
        for (int a = 0; a < 3; ++a)
            for (int c = 0; c < kTileCells; ++c) {
                if (!(solid_cells_.open(tile, a)[c] > 0)) continue;
                const Vec3f x = (first + face_in_tile(c, a)) * voxel;
                const Vec3f fine = x / params_.fine_voxel();
                const Vec3i cell(floor_int(fine.x()), floor_int(fine.y()), floor_int(fine.z()));
                const float share = splat ? splat->coverage.at(cell) : covered(shape, x, time_, voxel);
                if (share == 0) continue;
                float target = source.velocity ? (*source.velocity)[a] : 0;
                if (moves)
                    target += source.inherit * (splat ? splat->velocity.at(cell) : shape.velocity(x, time_, fps_))[a];
                float& u = velocity_.u[a].tile(tile)[c];
                u = mix(u, target, share);
            }
    });
}

// Rasterises the coverage and mean velocity of the frame's particles.
void Smoke::splat_particles(size_t index)
{
    Splat& splat = splats_[index];
    const int frame = static_cast<int>(std::floor(time_ + 1e-4f));
    if (splat.frame == frame && splat.topology) return;
    const EmittingParticles from = particle_sources_.at(index)(frame);
    const SmokeSourceParams& source = params_.sources[index];
    const float voxel = params_.fine_voxel();
    const Box3f box = {box_.min * static_cast<float>(params_.refine()),
                       box_.max * static_cast<float>(params_.refine())};
    const std::vector<float>* sizes = from.particles.find<float>("pscale");
    const auto radius_of = [&](size_t i) {
        const float own = sizes ? (*sizes)[i] : from.radius;
        return std::max(source.particle_size > 0 ? source.particle_size : own, voxel) / voxel; // in cells
    };
    constexpr float kLargest = 64; // cells; a larger radius is clamped as a likely error in the file
    const auto cells_of = [&](size_t i) {
        const Vec3f x = from.particles.P[i] / voxel, r = Vec3f::Constant(std::min(radius_of(i), kLargest));
        const Vec3f low = (x - r).cwiseMax(box.min), high = (x + r).cwiseMin(box.max);
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
