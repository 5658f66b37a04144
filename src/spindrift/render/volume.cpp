#include "spindrift/render/volume.h"

#include "spindrift/base/error.h"
#include "spindrift/field/row.h"

namespace spindrift {

namespace {

constexpr float kOpaque = 12;        // optical depth behind which nothing is visible
constexpr float kThickest = 1e4f;    // upper bound of a voxel's optical depth
constexpr float kReach[] = {12, 64}; // voxels after which shadows are taken from the next coarser level

// Steps of a ray are a voxel, and up to `kMostSteps` shorter where their optical depth would be more than `kThickStep`.
constexpr float kThickStep = 0.7f, kMostSteps = 4;

// Upper bound of the tiles along an axis: rays would take too long.
constexpr int kLongest = 4096;
// Brightness of the hottest fire with an optical depth of 1.
constexpr float kFlame = 3;

// Other values that cells of files from other programs may hold.
float usable(float density) { return density > 0 && std::isfinite(density) ? density : 0; }

// Calls body(first, last) with the box of those cells of each tile for which `is` holds.
template <class Is, class Body> void for_each_box(const Field<float>& field, const Is& is, const Body& body)
{
    for (int t = 0; t < field.topology().tile_count(); ++t) {
        Vec3i low = Vec3i::Constant(kTileSize), high = Vec3i::Constant(-1);
        for (int c = 0; c < kTileCells; ++c)
            if (is(field.tile(t)[c])) low = low.cwiseMin(cell_in_tile(c)), high = high.cwiseMax(cell_in_tile(c));
        const Vec3i first = field.topology().first_cell(t);
        if (high.x() >= 0) body(Vec3i(first + low), Vec3i(first + high));
    }
}

// The tiles of a grid of points that `from` affects: its own cells and one cell around them.
template <class Is>
void add_tiles(const PlacedField<float>& from, const RenderSmoke& smoke, const Is& is, std::vector<uint64_t>& codes)
{
    const PlacedField<float>& grid = smoke.density;
    constexpr int kMost = 64; // tiles of one that lie along a tile of the other
    for_each_box(*from.field, is, [&](const Vec3i& first, const Vec3i& last) {
        Vec3i low, high;
        for (int axis = 0; axis < 3; ++axis) {
            const auto point = [&](int cell) {
                return (from.origin[axis] + from.voxel * static_cast<float>(cell) - grid.origin[axis]) / grid.voxel;
            };
            const float a = point(first[axis] - 1) + 0.01f, b = point(last[axis] + 1) - 0.01f;
            if (!(std::max(std::abs(a), std::abs(b)) < static_cast<float>(kTileReach) * kTileSize) ||
                b - a > static_cast<float>(kMost * kTileSize))
                fail("{}: the cells of density and temperature differ too much", smoke.name);
            low[axis] = floor_int(a) >> 3, high[axis] = floor_int(b) >> 3;
        }
        for (int x = low.x(); x <= high.x(); ++x)
            for (int y = low.y(); y <= high.y(); ++y)
                for (int z = low.z(); z <= high.z(); ++z) codes.push_back(morton_of_tile({x, y, z}));
    });
}

// The tiles of a grid with points at every second of the finer one.
Topology coarser(const Topology& fine)
{
    std::vector<uint64_t> codes;
    for (int t = 0; t < fine.tile_count(); ++t) {
        const Vec3i first = fine.first_cell(t);
        const auto tile = [](int point) { return (point >> 1) >> 3; };
        Vec3i low, high;
        for (int axis = 0; axis < 3; ++axis) low[axis] = tile(first[axis] - 2), high[axis] = tile(first[axis] + 8);
        for (int x = low.x(); x <= high.x(); ++x)
            for (int y = low.y(); y <= high.y(); ++y)
                for (int z = low.z(); z <= high.z(); ++z) codes.push_back(morton_of_tile({x, y, z}));
    }
    return Topology(std::move(codes));
}

// A field, sampled at world positions.
template <class T> T sample(const PlacedField<T>& from, const Vec3f& place)
{
    const Vec3f at = (place - from.origin) / from.voxel;
    const Vec3i near(floor_int(at.x() + 0.5f), floor_int(at.y() + 0.5f), floor_int(at.z() + 0.5f));
    // Usually all grids of a file have the same cells.
    if ((at - near.cast<float>()).cwiseAbs().maxCoeff() < 0.01f) return from.field->at(near);
    const Vec3i low(floor_int(at.x()), floor_int(at.y()), floor_int(at.z()));
    const Vec3f w = at - low.cast<float>();
    T sum = from.field->at(low) * 0;
    for (int i = 0; i < 8; ++i) {
        const Vec3i d(i >> 2, (i >> 1) & 1, i & 1);
        const float weight = (d.x() ? w.x() : 1 - w.x()) * (d.y() ? w.y() : 1 - w.y()) * (d.z() ? w.z() : 1 - w.z());
        sum += weight * from.field->at(low + d);
    }
    return sum;
}

// Adds the tiles that smoke reaches from its tiles in a time [s], before or after.
void add_reached_tiles(const RenderSmoke& smoke, float seconds, std::vector<uint64_t>& codes)
{
    constexpr float kFarthest = 8 * kTileSize; // cells, against one wild value
    const Topology topology(codes);
    for (int t = 0; t < topology.tile_count(); ++t) {
        const Vec3i first = topology.first_cell(t);
        Vec3f reach = Vec3f::Zero();
        for (int i = 0; i < 27; ++i) {
            const Vec3i cell = first + 4 * Vec3i(i / 9, i / 3 % 3, i % 3);
            const Vec3f v = sample(smoke.velocity, smoke.density.origin + smoke.density.voxel * cell.cast<float>());
            if (v.allFinite()) reach = reach.cwiseMax(v.cwiseAbs());
        }
        reach = (seconds / smoke.density.voxel * reach).cwiseMin(kFarthest);
        const Vec3i cells = reach.array().ceil().cast<int>();
        const Vec3i low = tile_of_cell(first - cells), high = tile_of_cell(first + Vec3i::Constant(kTileSize) + cells);
        for (int x = low.x(); x <= high.x(); ++x)
            for (int y = low.y(); y <= high.y(); ++y)
                for (int z = low.z(); z <= high.z(); ++z) codes.push_back(morton_of_tile({x, y, z}));
    }
}

} // namespace

Box3f bounds_of(const RenderSmoke& smoke, const RenderParams& params)
{
    Box3f box;
    const auto add = [&](const PlacedField<float>& from, float least) {
        if (!from.field) return;
        for_each_box(
            *from.field, [least](float value) { return usable(value) > least; },
            [&](const Vec3i& first, const Vec3i& last) {
                const Vec3f half = Vec3f::Constant(0.5f);
                box.add(Vec3f(from.origin + from.voxel * (first.cast<float>() - half)));
                box.add(Vec3f(from.origin + from.voxel * (last.cast<float>() + half)));
            });
    };
    add(smoke.density, 0);
    const FireLook& fire = smoke.fire ? *smoke.fire : params.fire;
    if (fire.intensity > 0) add(smoke.temperature, fire.low);
    return box;
}

float default_extinction(const Box3f& extent, float voxel)
{
    const Vec3f size = extent.size();
    if (size.minCoeff() < 1.5f * voxel) return 1.5f / voxel;
    return 3 / std::max(0.06f * size.maxCoeff(), 1e-9f);
}

Volume::Volume(const RenderSmoke* smoke, const RenderParams& params, const Box3f& extent, float open)
    : look_(smoke && smoke->look ? *smoke->look : params.smoke),
      fire_(smoke && smoke->fire ? *smoke->fire : params.fire), albedo_(luminance(look_.color))
{
    lights_.fill(Vec3f::Zero());
    if (!smoke || !smoke->density.field) return;
    layer_ = smoke->layer, velocity_ = smoke->velocity;
    extinction_ = look_.density.value_or(default_extinction(extent, smoke->density.voxel));
    make_density(*smoke, fire_, open);
}

void Volume::make_density(const RenderSmoke& smoke, const FireLook& fire, float open)
{
    const PlacedField<float>& density = smoke.density;
    const bool burns = smoke.temperature.field && fire.intensity > 0;
    std::vector<uint64_t> codes;
    if (extinction_ > 0)
        add_tiles(
            density, smoke, [](float value) { return usable(value) > 0; }, codes);
    if (burns)
        add_tiles(
            smoke.temperature, smoke, [&](float value) { return usable(value) > fire.low; }, codes);
    const bool moves = velocity_.field && open > 0;
    if (moves) add_reached_tiles(smoke, 0.5f * open, codes);
    grids_[0] = SparseSampleGrid(Topology(std::move(codes)), density.voxel, density.origin);
    if (grids_[0].tiles_across() > kLongest)
        fail("{}: smoke reaches over {} cells, and {} are the most; is there a stray cell far from the others?",
             smoke.name, grids_[0].tiles_across() * kTileSize, kLongest * kTileSize);
    const float most = kThickest / density.voxel;
    density_[0] = SparseSamples<float>(grids_[0]);
    density_[0].fill([&](const Vec3i& cell) { return std::min(extinction_ * usable(density.field->at(cell)), most); });
    for (int level = 1; level < kLevels; ++level) {
        const SparseSampleGrid& fine = grids_[level - 1];
        // A coarse point lies in the middle of the eight finer points that it averages.
        grids_[level] = SparseSampleGrid(coarser(fine.topology()), 2 * fine.spacing(),
                                         fine.position(Vec3i::Zero()) + Vec3f::Constant(0.5f * fine.spacing()));
        density_[level] = SparseSamples<float>(grids_[level]);
        density_[level].fill([&finer = density_[level - 1]](const Vec3i& point) {
            float sum = 0;
            for (int i = 0; i < 8; ++i) sum += finer.at(Vec3i(2 * point + Vec3i(i >> 2, (i >> 1) & 1, i & 1)));
            return sum / 8;
        });
    }

    longest_step_.resize(grids_[0].tile_count());
    for_each_tile(grids_[0].topology(), [&](int t) {
        const float* values = density_[0].tile(t);
        const float thickest = density.voxel * *std::max_element(values, values + SparseSampleGrid::kPoints);
        longest_step_[t] = density.voxel / std::clamp(thickest / kThickStep, 1.0f, kMostSteps);
    });

    if (burns) {
        temperature_ = SparseSamples<float>(grids_[0]);
        temperature_.fill(
            [&](const Vec3i& cell) { return usable(sample(smoke.temperature, grids_[0].position(cell))); });
    }
    if (smoke.color.field) {
        colors_ = SparseSamples<Triple>(grids_[0]);
        colors_.fill([&](const Vec3i& cell) {
            const Vec3f c = sample(smoke.color, grids_[0].position(cell));
            const auto share = [](float x) { return std::min(usable(x), 1.0f); };
            return Triple{share(c.x()), share(c.y()), share(c.z()), 0};
        });
    }
    if (moves) {
        motion_ = SparseSamples<Triple>(grids_[0]);
        motion_.fill([&](const Vec3i& cell) {
            const Vec3f way = open / density.voxel * velocity(grids_[0].position(cell));
            return Triple{way.x(), way.y(), way.z(), 0};
        });
    }
}

// Moves a position to where its smoke was at the middle of the exposure; false if there is none. `late` is the time
// since then, as a share of the exposure.
bool Volume::trace_back(float late, int& tile, Vec3f& in_tile) const
{
    const Triple* motion = motion_.tile(tile);
    const Quad way = Between(in_tile).mean([motion](int k) { return load_quad(&motion[k].x); });
    in_tile -= late * Vec3f(way[0], way[1], way[2]);
    const Vec3i across = tile_of_cell(Vec3i(floor_int(in_tile.x()), floor_int(in_tile.y()), floor_int(in_tile.z())));
    if (across == Vec3i::Zero()) return true;
    tile = grids_[0].tile_at(tile_of_cell(grids_[0].topology().first_cell(tile)) + across);
    in_tile -= static_cast<float>(kTileSize) * across.cast<float>();
    return tile < grids_[0].tile_count();
}

float Volume::march(int level, const Ray& ray, float near, float far) const
{
    const SparseSamples<float>& density = density_[level];
    const float longest = grids_[level].spacing();
    float depth = 0;
    grids_[level].walk(ray, near, far, [&](int tile, Vec3f p, const Vec3f& change, float from, float to) {
        const float* values = density.tile(tile);
        const int steps = steps_between(from, to, longest);
        const float length = (to - from) / static_cast<float>(steps);
        const Vec3f step = length * change;
        p += 0.5f * step;
        float sum = 0;
        for (int i = 0; i < steps; ++i, p += step) sum += Between(p).mean([values](int k) { return values[k]; });
        depth += length * sum;
        return depth < kOpaque;
    });
    return depth;
}

float Volume::depth(const Ray& ray, float far, int level) const
{
    float near = 0, sum = 0;
    for (; level < kLevels && near < far && sum < kOpaque; ++level) {
        const float end = level == kLevels - 1 ? far : std::min(far, kReach[level] * grids_[0].spacing());
        sum += march(level, ray, near, end);
        near = end;
    }
    return sum;
}

float Volume::transmittance(const Ray& ray, float far) const { return empty() ? 1 : std::exp(-depth(ray, far, 0)); }

float Volume::soft_transmittance(const Ray& ray, float far) const
{
    return empty() ? 1 : std::exp(-depth(ray, far, kLevels - 1));
}

// Wien's law at three wavelengths, white at 6500 K. Real fire spans too many orders of magnitude for a picture:
// brightness grows with the square of the temperature instead.
Vec3f Volume::glow(float temperature) const
{
    const float t = (temperature - fire_.low) / (fire_.high - fire_.low);
    if (!(t > 0)) return Vec3f::Zero();
    const float heat = std::min(t, 1.0f), kelvin = mix(1200, 2400, heat);
    const auto wien = [kelvin](float wavelength) {
        return std::exp(14388.0f / wavelength * (1 / 6500.0f - 1 / kelvin)); // wavelength in micrometres
    };
    const Vec3f color(1, wien(0.55f) / wien(0.61f), wien(0.465f) / wien(0.61f));
    return kFlame * fire_.intensity * extinction_ * heat * heat * color;
}

Vec3f Volume::velocity(const Vec3f& place) const
{
    const Vec3f v = velocity_.field ? sample(velocity_, place) : Vec3f::Zero().eval();
    return v.allFinite() ? v : Vec3f::Zero().eval();
}

Volume::Passage Volume::pass(const Ray& ray, float far, float shift, float near) const
{
    Passage out;
    Quad shares = {0, 0, 0, 0};
    const float kept = look_.multiple_scattering * albedo_;
    std::array<Vec3f, 4> lights = lights_;
    lights[from_key] *= henyey_greenstein(ray.direction.dot(key_direction_), look_.anisotropy);
    const auto mixed = [&lights](Quad s) -> Vec3f {
        return s[from_key] * lights[from_key] + s[from_key_again] * lights[from_key_again] +
               s[from_above] * lights[from_above] + s[from_below] * lights[from_below];
    };
    const float late = motion_.empty() ? 0 : ray.time - 0.5f;
    grids_[0].walk(ray, near, far, [&](int walked, Vec3f p, const Vec3f& change, float from, float to) {
        const int steps = steps_between(from, to, longest_step_[walked]);
        const float length = (to - from) / static_cast<float>(steps);
        const Vec3f step = length * change;
        p += shift * step;
        for (int i = 0; i < steps; ++i, p += step) {
            int tile = walked;
            Vec3f in_tile = p;
            if (late != 0 && !trace_back(late, tile, in_tile)) continue;
            const Point* points = points_.tile(tile);
            const Between at(in_tile);
            const Quad here = at.mean([points](int k) { return load_quad(&points[k].extinction); });
            const float left = std::exp(-length * here[0]), after = out.through * left;
            if (!temperature_.empty())
                out.light += 0.5f * (out.through + after) * length *
                             glow(at.mean([values = temperature_.tile(tile)](int k) { return values[k]; }));
            if (left == 1) continue;
            // Smoke that occludes the sky scatters light itself: as much, times the share that it keeps.
            const float hidden = 1 - 0.5f * (here[2] + here[3]), more = 1 / (1 - kept * hidden);
            const Quad source = {here[1], kept * hidden * hidden * std::sqrt(std::sqrt(here[1])), more * here[2],
                                 more * here[3]};
            const Quad arrives = (out.through - after) * source;
            if (colors_.empty()) {
                shares += arrives;
            } else {
                const Triple* colors = colors_.tile(tile);
                const Quad color = at.mean([colors](int k) { return load_quad(&colors[k].x); });
                out.light += Vec3f(color[0], color[1], color[2]).cwiseProduct(mixed(arrives));
            }
            out.through = after;
            if (after < 0.5f && out.middle == kInfinity) out.middle = from + (static_cast<float>(i) + shift) * length;
        }
        return out.through > kHiddenTransmittance;
    });
    out.light += look_.color.cwiseProduct(mixed(shares));
    if (out.through <= kHiddenTransmittance) out.through = 0;
    return out;
}

} // namespace spindrift
