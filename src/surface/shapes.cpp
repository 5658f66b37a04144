#include "surface/shapes.h"

#include "field/row.h"
#include "surface/neighbourhood.h"

#include <Eigen/Eigenvalues>

namespace spindrift {

namespace {

inline float sum_of(Row r) { return ((r[0] + r[4]) + (r[1] + r[5])) + ((r[2] + r[6]) + (r[3] + r[7])); }

// Sums over the particles within R of x, eight at a time; x and R in cells.
Scatter scatter_around(const Neighbourhood& around, const Vec3f& x, float radius)
{
    const Row radius2 = splat(radius * radius), inverse_cube = splat(1 / (radius * radius * radius));
    const RowMask lane = {0, 1, 2, 3, 4, 5, 6, 7};
    const float *px = around.position(0), *py = around.position(1), *pz = around.position(2);
    Row mass = {}, mx = {}, my = {}, mz = {}, xx = {}, xy = {}, xz = {}, yy = {}, yz = {}, zz = {};
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
        }
    });
    Scatter s;
    for (int k = 0; k < kTileSize; ++k) s.count += count[k];
    s.weight = sum_of(mass);
    const float inverse = 1 / s.weight; // the particle itself counts one
    s.offset = inverse * Vec3f(sum_of(mx), sum_of(my), sum_of(mz));
    Mat3f& c = s.covariance;
    c(0, 0) = sum_of(xx), c(1, 1) = sum_of(yy), c(2, 2) = sum_of(zz);
    c(0, 1) = c(1, 0) = sum_of(xy), c(0, 2) = c(2, 0) = sum_of(xz), c(1, 2) = c(2, 1) = sum_of(yz);
    c = inverse * c - s.offset * s.offset.transpose();
    return s;
}

// Sets G and the box from the directions and lengths of the axes.
void set_axes(Shape& shape, const Mat3f& directions, const Vec3f& lengths)
{
    const Mat3f g = directions * lengths.cwiseInverse().asDiagonal() * directions.transpose();
    shape.xx = g(0, 0), shape.xy = g(0, 1), shape.xz = g(0, 2);
    shape.yy = g(1, 1), shape.yz = g(1, 2), shape.zz = g(2, 2);
    shape.half = (directions * lengths.asDiagonal()).rowwise().norm();
}

void set_sphere(Shape& shape, const Vec3f& centre, float radius)
{
    shape.centre = centre;
    shape.xx = shape.yy = shape.zz = 1 / radius;
    shape.xy = shape.xz = shape.yz = 0;
    shape.half = Vec3f::Constant(radius);
    shape.firmness = 0;
}

// The particles that get a shape, as shapes that know nothing else yet.
Shapes shallow_particles(const ParticleIndex& index, const Topology& topology, const Interior& interior)
{
    const auto tiles = static_cast<size_t>(topology.tile_count());
    std::vector<InteriorMask> deep(tiles);
    Shapes shapes;
    shapes.tile_first.assign(tiles + 1, 0), shapes.tile_box.resize(tiles);
    for_each_tile(topology, [&](int tile) {
        const auto t = static_cast<size_t>(tile);
        if (index.tile_empty(tile)) return;
        deep[t] = interior.mask(tile, 1);
        for (int c = 0; c < kTileCells; ++c)
            if (!deep[t].at(c))
                shapes.tile_first[t + 1] += static_cast<uint32_t>(index.cell_end(tile, c) - index.cell_begin(tile, c));
    });
    for (size_t t = 0; t < tiles; ++t) shapes.tile_first[t + 1] += shapes.tile_first[t];
    shapes.list.resize(shapes.tile_first.back());
    for_each_tile(topology, [&](int tile) {
        const auto t = static_cast<size_t>(tile);
        Shape* out = shapes.list.data() + shapes.tile_first[t];
        for (int c = 0; c < kTileCells && shapes.tile_first[t] < shapes.tile_first[t + 1]; ++c)
            if (!deep[t].at(c))
                for (size_t i = index.cell_begin(tile, c); i < index.cell_end(tile, c); ++i)
                    out++->particle = static_cast<uint32_t>(i);
    });
    return shapes;
}

void find_boxes(Shapes& shapes)
{
    parallel_for(shapes.tile_box.size(), [&](size_t t) {
        for (uint32_t i = shapes.tile_first[t]; i < shapes.tile_first[t + 1]; ++i) {
            const Shape& s = shapes.list[i];
            shapes.tile_box[t].add(Box3f{s.centre - s.half, s.centre + s.half});
        }
    });
}

// The ellipsoid of a particle, with its own volume kept; returns its k_s, or 0 if it is a drop.
float fit(const Scatter& scatter, const ShapeScale& scale, Shape& shape)
{
    if (scatter.count <= scale.droplet) return 0;
    Eigen::SelfAdjointEigenSolver<Mat3f> solver;
    solver.computeDirect(scatter.covariance); // (5.6), in ascending order
    Vec3f values = solver.eigenvalues();
    if (!(values[2] > 1e-4f * scale.spacing * scale.spacing)) return 0; // all in one place
    values = values.cwiseMax(scale.flattest * values[2]);
    const float k = 1 / std::cbrt(values.prod()); // (5.7) with the clamped eigenvalues
    shape.centre += scale.centring * scatter.offset;
    set_axes(shape, solver.eigenvectors(), (scale.size * k * values).cwiseMax(scale.thinnest)); // (5.8), (5.9)
    shape.firmness = 1;
    return k;
}

// Gives the ellipsoids a scale other than their own.
void rescale(Shapes& shapes, const std::vector<float>& own_scales, size_t deep, const ShapeScale& scale)
{
    // Deep particles were not looked at: a full neighbourhood has eigenvalues 3/20 R^2.
    const double full = std::pow(0.15 * scale.search * scale.search, 3);
    const auto value = [&](size_t i) { return own_scales[i] > 0 ? std::pow(own_scales[i], -3.0) : 0.0; };
    const auto ellipsoids = own_scales.size() - static_cast<size_t>(std::ranges::count(own_scales, 0.0f));
    if (ellipsoids == 0) return;
    const double mean = (parallel_sum(own_scales.size(), value) + static_cast<double>(deep) * full) /
                        static_cast<double>(ellipsoids + deep);
    shapes.mean_scale = static_cast<float>(1 / std::cbrt(mean));
    shapes.least_scale = kInfinity;
    for (const float k : own_scales)
        if (k > 0)
            shapes.least_scale = std::min(shapes.least_scale, k), shapes.most_scale = std::max(shapes.most_scale, k);
    if (!scale.fixed_scale && scale.global == 0) return;
    parallel_for(
        own_scales.size(),
        [&](size_t i) {
            if (own_scales[i] == 0) return;
            Shape& s = shapes.list[i];
            float factor =
                scale.fixed_scale.value_or(mix(own_scales[i], shapes.mean_scale, scale.global)) / own_scales[i];
            // Whatever is asked for, a shape stays within a few neighbourhoods, and memory within bounds.
            factor = std::clamp(factor, 0.1f * scale.size / s.half.maxCoeff(), 3 * scale.search / s.half.maxCoeff());
            for (float* g : {&s.xx, &s.xy, &s.xz, &s.yy, &s.yz, &s.zz}) *g /= factor;
            s.half *= factor;
        },
        1024);
}

} // namespace

float Shape::distance(const Vec3f& x) const
{
    const Vec3f d = x - centre;
    const Vec3f u(xx * d.x() + xy * d.y() + xz * d.z(), xy * d.x() + yy * d.y() + yz * d.z(),
                  xz * d.x() + yz * d.y() + zz * d.z());
    const Vec3f v(xx * u.x() + xy * u.y() + xz * u.z(), xy * u.x() + yy * u.y() + yz * u.z(),
                  xz * u.x() + yz * u.y() + zz * u.z());
    const float length = u.norm();
    return length * (length - 1) / std::max(v.norm(), 1e-20f);
}

Shapes make_spheres(const Particles& particles, const ParticleIndex& index, const Topology& topology,
                    const Interior& interior, const ShapeScale& scale)
{
    Shapes shapes = shallow_particles(index, topology, interior);
    parallel_for(
        shapes.list.size(),
        [&](size_t k) { set_sphere(shapes.list[k], particles.P[shapes.list[k].particle], scale.size); }, 1024);
    find_boxes(shapes);
    return shapes;
}

Shapes make_ellipsoids(const Particles& particles, const ParticleIndex& index, const Topology& topology,
                       const Interior& interior, const ShapeScale& scale)
{
    Shapes shapes = shallow_particles(index, topology, interior);
    const float cell = scale.spacing, radius = scale.search / cell;
    std::vector<float> own_scales(shapes.list.size());
    for_each_tile(topology, [&](int tile) {
        const size_t begin = shapes.tile_first[static_cast<size_t>(tile)];
        const size_t end = shapes.tile_first[static_cast<size_t>(tile) + 1];
        if (begin == end) return;
        thread_local Neighbourhood around;
        around.gather(particles, index, topology, cell, tile, static_cast<int>(std::ceil(radius)));
        around.find_cells(index, topology, tile);
        const Vec3f corner = topology.first_cell(tile).cast<float>();
        for (size_t k = begin; k < end; ++k) {
            Shape& shape = shapes.list[k];
            const Vec3f& x = particles.P[shape.particle];
            Scatter scatter = scatter_around(around, x * (1 / cell) - corner, radius);
            scatter.offset *= cell, scatter.covariance *= cell * cell;
            set_sphere(shape, x, scale.drop);
            own_scales[k] = fit(scatter, scale, shape);
        }
    });
    rescale(shapes, own_scales, particles.size() - shapes.list.size(), scale);
    find_boxes(shapes);
    return shapes;
}

} // namespace spindrift
