#include "spindrift/surface/blobs.h"

#include "spindrift/base/scratch.h"
#include "spindrift/field/row.h"
#include "spindrift/surface/neighbourhood.h"
#include "spindrift/surface/thin_walls.h"

#include <Eigen/Eigenvalues>

namespace spindrift {

namespace {

inline float sum_of(Row r) { return ((r[0] + r[4]) + (r[1] + r[5])) + ((r[2] + r[6]) + (r[3] + r[7])); }

// Sums over the particles within R of x, eight at a time; x and R in cells. `velocity` receives their mean.
Scatter scatter_around(const Neighbourhood& around, const Vec3f& x, float radius, Vec3f& velocity)
{
    const Row radius2 = splat(radius * radius), inverse_cube = splat(1 / (radius * radius * radius));
    const RowMask lane = {0, 1, 2, 3, 4, 5, 6, 7};
    const float *px = around.position(0), *py = around.position(1), *pz = around.position(2);
    const float *vx = around.velocity(0), *vy = around.velocity(1), *vz = around.velocity(2);
    Row mass = {}, mx = {}, my = {}, mz = {}, xx = {}, xy = {}, xz = {}, yy = {}, yz = {}, zz = {};
    Row ux = {}, uy = {}, uz = {}; // of velocities
    RowMask count = {};
    around.for_each_span(x, radius, [&](Neighbourhood::Span span) {
        for (size_t i = span.begin; i < span.end; i += kTileSize) {
            const Row dx = load_row_unaligned(px + i) - x.x(), dy = load_row_unaligned(py + i) - x.y();
            const Row dz = load_row_unaligned(pz + i) - x.z(), r2 = dx * dx + dy * dy + dz * dz;
            const RowMask within = (r2 < radius2) & (lane < static_cast<int>(span.end - i));
            const Row w = within ? splat(1) - r2 * sqrt_row(r2) * inverse_cube : splat(0); // (5.5)
            count -= within;
            mass += w;
            const Row wx = w * dx, wy = w * dy, wz = w * dz;
            mx += wx, my += wy, mz += wz;
            xx += wx * dx, xy += wx * dy, xz += wx * dz, yy += wy * dy, yz += wy * dz, zz += wz * dz;
            ux += w * load_row_unaligned(vx + i), uy += w * load_row_unaligned(vy + i);
            uz += w * load_row_unaligned(vz + i);
        }
    });
    Scatter s;
    for (int k = 0; k < kTileSize; ++k) s.count += count[k];
    s.weight = sum_of(mass);
    const float inverse = 1 / s.weight; // the particle itself has weight one
    s.offset = inverse * Vec3f(sum_of(mx), sum_of(my), sum_of(mz));
    velocity = inverse * Vec3f(sum_of(ux), sum_of(uy), sum_of(uz));
    Mat3f& c = s.covariance;
    c(0, 0) = sum_of(xx), c(1, 1) = sum_of(yy), c(2, 2) = sum_of(zz);
    c(0, 1) = c(1, 0) = sum_of(xy), c(0, 2) = c(2, 0) = sum_of(xz), c(1, 2) = c(2, 1) = sum_of(yz);
    c = inverse * c - s.offset * s.offset.transpose();
    return s;
}

// The same over particles that no wall hides; `seen` gets the position of each, in cells.
template <class Seen>
Scatter scatter_seen(const Neighbourhood& around, const Vec3f& x, float radius, const Seen& seen, Vec3f& velocity)
{
    Scatter s;
    Mat3f squares = Mat3f::Zero();
    velocity = Vec3f::Zero();
    const float inverse_cube = 1 / (radius * radius * radius);
    const auto vector = [](const auto& of, size_t i) { return Vec3f(of(0)[i], of(1)[i], of(2)[i]); };
    around.for_each_span(x, radius, [&](Neighbourhood::Span span) {
        for (size_t i = span.begin; i < span.end; ++i) {
            const Vec3f at = vector([&](int a) { return around.position(a); }, i), d = at - x;
            const float r2 = d.squaredNorm();
            if (r2 >= radius * radius || (r2 > 0 && !seen(at))) continue;
            const float w = 1 - r2 * std::sqrt(r2) * inverse_cube; // (5.5)
            ++s.count, s.weight += w;
            s.offset += w * d, squares += w * d * d.transpose();
            velocity += w * vector([&](int a) { return around.velocity(a); }, i);
        }
    });
    s.offset /= s.weight, velocity /= s.weight; // the particle itself has weight one
    s.covariance = squares / s.weight - s.offset * s.offset.transpose();
    return s;
}

// Sets G and the box from the directions and lengths of the axes.
void set_axes(Blob& blob, const Mat3f& directions, const Vec3f& lengths)
{
    const Mat3f g = directions * lengths.cwiseInverse().asDiagonal() * directions.transpose();
    blob.xx = g(0, 0), blob.xy = g(0, 1), blob.xz = g(0, 2);
    blob.yy = g(1, 1), blob.yz = g(1, 2), blob.zz = g(2, 2);
    blob.half = (directions * lengths.asDiagonal()).rowwise().norm();
}

// Replaces the ellipsoids' own scales by a blend with their mean, or by a fixed one.
void rescale(Blobs& blobs, const std::vector<float>& own_scales, size_t deep, const BlobScale& scale)
{
    // Deep particles were skipped: a full neighbourhood has eigenvalues 3/20 R^2.
    const double full = std::pow(0.15 * scale.search * scale.search, 3);
    const auto value = [&](size_t i) { return own_scales[i] > 0 ? std::pow(own_scales[i], -3.0) : 0.0; };
    const auto ellipsoids = own_scales.size() - static_cast<size_t>(std::ranges::count(own_scales, 0.0f));
    if (ellipsoids == 0) return;
    const double mean = (parallel_sum(own_scales.size(), value) + static_cast<double>(deep) * full) /
                        static_cast<double>(ellipsoids + deep);
    blobs.mean_scale = static_cast<float>(1 / std::cbrt(mean));
    blobs.least_scale = kInfinity;
    for (const float k : own_scales)
        if (k > 0) blobs.least_scale = std::min(blobs.least_scale, k), blobs.most_scale = std::max(blobs.most_scale, k);
    if (!scale.fixed_scale && scale.global == 0) return;
    parallel_for(
        own_scales.size(),
        [&](size_t i) {
            if (own_scales[i] == 0) return;
            Blob& s = blobs.list[i];
            float factor =
                scale.fixed_scale.value_or(mix(own_scales[i], blobs.mean_scale, scale.global)) / own_scales[i];
            // Limits blobs to a few neighbourhoods whatever is asked for, to bound memory.
            factor = std::clamp(factor, 0.1f * scale.size / s.half.maxCoeff(), 3 * scale.search / s.half.maxCoeff());
            for (float* g : {&s.xx, &s.xy, &s.xz, &s.yy, &s.yz, &s.zz}) *g /= factor;
            s.half *= factor;
        },
        1024);
}

} // namespace

void set_sphere(Blob& blob, const Vec3f& centre, float radius)
{
    blob.centre = centre;
    blob.xx = blob.yy = blob.zz = 1 / radius;
    blob.xy = blob.xz = blob.yz = 0;
    blob.half = Vec3f::Constant(radius);
    blob.firmness = 0;
}

Blobs shallow_particles(const ParticleIndex& index, const Topology& topology, const Interior& interior)
{
    const size_t tiles = topology.tile_count();
    std::vector<InteriorMask> deep(tiles);
    Blobs blobs;
    blobs.tile_first.assign(tiles + 1, 0), blobs.tile_box.resize(tiles);
    for_each_tile(topology, [&](int tile) {
        if (index.tile_empty(tile)) return;
        deep[tile] = interior.mask(tile, kDeepBins);
        for (int c = 0; c < kTileCells; ++c)
            if (!deep[tile].at(c))
                blobs.tile_first[tile + 1] +=
                    static_cast<uint32_t>(index.cell_end(tile, c) - index.cell_begin(tile, c));
    });
    for (size_t t = 0; t < tiles; ++t) blobs.tile_first[t + 1] += blobs.tile_first[t];
    blobs.list.resize(blobs.tile_first.back());
    for_each_tile(topology, [&](int tile) {
        Blob* out = blobs.list.data() + blobs.tile_first[tile];
        for (int c = 0; c < kTileCells && blobs.tile_first[tile] < blobs.tile_first[tile + 1]; ++c)
            if (!deep[tile].at(c))
                for (size_t i = index.cell_begin(tile, c); i < index.cell_end(tile, c); ++i)
                    out++->particle = static_cast<uint32_t>(i);
    });
    return blobs;
}

void find_boxes(Blobs& blobs)
{
    parallel_for(blobs.tile_box.size(), [&](size_t t) {
        for (uint32_t i = blobs.tile_first[t]; i < blobs.tile_first[t + 1]; ++i) {
            const Blob& s = blobs.list[i];
            blobs.tile_box[t].add(Box3f{s.centre - s.half, s.centre + s.half});
        }
    });
}

float fit(const Scatter& scatter, const BlobScale& scale, Blob& blob)
{
    if (scatter.count <= scale.droplet) return 0;
    Eigen::SelfAdjointEigenSolver<Mat3f> solver;
    solver.computeDirect(scatter.covariance); // (5.6), ascending
    Vec3f values = solver.eigenvalues();
    if (!(values[2] > 1e-4f * scale.spacing * scale.spacing)) return 0; // all particles coincide
    values = values.cwiseMax(scale.flattest * values[2]);
    const float k = 1 / std::cbrt(values.prod()); // (5.7) with the clamped eigenvalues
    blob.centre += scale.centring * scatter.offset;
    set_axes(blob, solver.eigenvectors(), (scale.size * k * values).cwiseMax(scale.thinnest)); // (5.8), (5.9)
    blob.firmness = 1;
    return k;
}

Scatter scatter_around(const Neighbourhood& around, const Vec3f& x, float radius, const std::vector<float>& radii,
                       float own)
{
    Scatter s;
    float count = 0;
    Mat3f squares = Mat3f::Zero();
    const float inverse_cube = 1 / (radius * radius * radius);
    around.for_each_span(x, radius, [&](Neighbourhood::Span span) {
        for (size_t i = span.begin; i < span.end; ++i) {
            const Vec3f d = Vec3f(around.position(0)[i], around.position(1)[i], around.position(2)[i]) - x;
            const float r2 = d.squaredNorm();
            if (r2 >= radius * radius) continue;
            const float ratio = std::min(1.0f, radii[around.particle(i)] / own), share = ratio * ratio * ratio;
            const float w = share * (1 - r2 * std::sqrt(r2) * inverse_cube); // (5.5)
            count += share, s.weight += w;
            s.offset += w * d, squares += w * d * d.transpose();
        }
    });
    s.count = static_cast<int>(count + 1e-3f);
    s.offset /= s.weight; // the particle itself has weight one
    s.covariance = squares / s.weight - s.offset * s.offset.transpose();
    return s;
}

float Blob::distance(const Vec3f& x) const
{
    const Vec3f d = x - centre;
    const Vec3f u(xx * d.x() + xy * d.y() + xz * d.z(), xy * d.x() + yy * d.y() + yz * d.z(),
                  xz * d.x() + yz * d.y() + zz * d.z());
    const Vec3f v(xx * u.x() + xy * u.y() + xz * u.z(), xy * u.x() + yy * u.y() + yz * u.z(),
                  xz * u.x() + yz * u.y() + zz * u.z());
    const float length = u.norm();
    return length * (length - 1) / std::max(v.norm(), 1e-20f);
}

Blobs make_spheres(const Particles& particles, const ParticleIndex& index, const Topology& topology,
                   const Interior& interior, const BlobScale& scale)
{
    Blobs blobs = shallow_particles(index, topology, interior);
    parallel_for(
        blobs.list.size(),
        [&](size_t k) { set_sphere(blobs.list[k], particles.P[blobs.list[k].particle], scale.size); }, 1024);
    find_boxes(blobs);
    return blobs;
}

Blobs make_ellipsoids(const Particles& particles, const ParticleIndex& index, const Topology& topology,
                      const Interior& interior, const BlobScale& scale, const ThinWalls* walls)
{
    Blobs blobs = shallow_particles(index, topology, interior);
    const float cell = scale.spacing, radius = scale.search / cell;
    std::vector<float> own_scales(blobs.list.size());
    blobs.velocity.resize(blobs.list.size());
    for_each_tile(topology, [&](int tile) {
        const size_t begin = blobs.tile_first[tile];
        const size_t end = blobs.tile_first[tile + 1];
        if (begin == end) return;
        auto& around = thread_scratch<Neighbourhood>();
        around.gather(particles, index, topology, cell, tile, static_cast<int>(std::ceil(radius)));
        around.gather_velocities(particles);
        around.find_cells(index, topology, tile);
        const Vec3f corner = topology.first_cell(tile).cast<float>();
        for (size_t k = begin; k < end; ++k) {
            Blob& blob = blobs.list[k];
            const Vec3f& x = particles.P[blob.particle];
            const Vec3f at = x * (1 / cell) - corner;
            const auto seen = [&](const Vec3f& other) { return !walls->hidden(x, (other + corner) * cell); };
            Scatter scatter = walls && walls->near(x, scale.search)
                                  ? scatter_seen(around, at, radius, seen, blobs.velocity[k])
                                  : scatter_around(around, at, radius, blobs.velocity[k]);
            scatter.offset *= cell, scatter.covariance *= cell * cell;
            set_sphere(blob, x, scale.drop);
            own_scales[k] = fit(scatter, scale, blob);
            if (blob.firmness == 0) blobs.velocity[k] = particles.v[blob.particle];
        }
    });
    rescale(blobs, own_scales, particles.size() - blobs.list.size(), scale);
    find_boxes(blobs);
    return blobs;
}

} // namespace spindrift
