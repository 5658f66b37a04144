#include "spindrift/sand/particle_shapes.h"
#include "spindrift/sand/tuning.h"

#include "spindrift/base/scratch.h"
#include "spindrift/sand/sand_grid.h"

namespace spindrift {

namespace {

// Whether all eigenvalues of the symmetric matrix are positive, by its leading minors.
RowMask positive(const ShapeRows& a)
{
    const Row zero = splat(0);
    const Row minor2 = a.xx * a.yy - a.xy * a.xy;
    const Row minor3 = a.zz * minor2 - a.xx * a.yz * a.yz - a.yy * a.xz * a.xz + 2 * a.xy * a.yz * a.xz;
    return (a.xx > zero) & (minor2 > zero) & (minor3 > zero);
}

} // namespace

Mat3f shape_of(const Vec3f& d, const Vec3f& s)
{
    Mat3f a;
    a << d.x(), s.x(), s.z(), s.x(), d.y(), s.y(), s.z(), s.y(), d.z();
    return a;
}

void ShapeRows::stretch(const Row3 J[3])
{
    const Row m[3][3] = {{1 + J[0].x, J[0].y, J[0].z}, {J[1].x, 1 + J[1].y, J[1].z}, {J[2].x, J[2].y, 1 + J[2].z}};
    const Row a[3][3] = {{xx, xy, xz}, {xy, yy, yz}, {xz, yz, zz}};
    Row b[3][3];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) b[i][j] = m[i][0] * a[0][j] + m[i][1] * a[1][j] + m[i][2] * a[2][j];
    const auto at = [&](int i, int j) { return b[i][0] * m[j][0] + b[i][1] * m[j][1] + b[i][2] * m[j][2]; };
    xx = at(0, 0), yy = at(1, 1), zz = at(2, 2), xy = at(0, 1), yz = at(1, 2), xz = at(0, 2);
}

void ShapeRows::relax(Row share, Row squared_radius)
{
    for (Row* d : {&xx, &yy, &zz}) *d += share * (squared_radius - *d);
    for (Row* s : {&xy, &yz, &xz}) *s -= share * *s;
}

RowMask ShapeRows::all_above(float squared) const
{
    return positive({xx - squared, yy - squared, zz - squared, xy, yz, xz});
}

RowMask ShapeRows::all_below(float squared) const
{
    return positive({squared - xx, squared - yy, squared - zz, -xy, -yz, -xz});
}

Row ParticleShapes::round(const float* mass, const int32_t* material, size_t count) const
{
    Row squared = splat(radius_ * radius_);
    for (size_t i = 0; i < count; ++i)
        if (const float whole = masses_[material[i]]; mass[i] != whole) {
            const float share = std::cbrt(mass[i] / whole);
            squared[static_cast<int>(i)] *= share * share;
        }
    return squared;
}

ShapeRows ParticleShapes::load(const Vec3f* diagonal, const Vec3f* shear, size_t count)
{
    const Row3 d = load_row3(diagonal, count), s = load_row3(shear, count);
    return {d.x, d.y, d.z, s.x, s.y, s.z};
}

void ParticleShapes::store(const ShapeRows& a, Vec3f* diagonal, Vec3f* shear, size_t count)
{
    store_row3(diagonal, {a.xx, a.yy, a.zz}, count), store_row3(shear, {a.xy, a.yz, a.xz}, count);
}

ParticleShapes::Axes ParticleShapes::axes_of(const Mat3f& shape) const
{
    Eigen::SelfAdjointEigenSolver<Mat3f> solver;
    solver.computeDirect(shape);
    return {solver.eigenvalues(), solver.eigenvectors()};
}

// Clamps the axes to the range that can be drawn.
Mat3f ParticleShapes::limited(const Axes& axes) const
{
    const float r2 = radius_ * radius_;
    const Vec3f squared = axes.squared.cwiseMax(SandTuning::shortest_axis * SandTuning::shortest_axis * r2)
                              .cwiseMin(SandTuning::longest_axis * SandTuning::longest_axis * r2);
    return axes.direction * squared.asDiagonal() * axes.direction.transpose();
}

RowMask ParticleShapes::sound(const ShapeRows& rows) const
{
    return rows.all_below(longest()) &
           rows.all_above(SandTuning::shortest_axis * SandTuning::shortest_axis * radius_ * radius_);
}

namespace {

// The particles of a tile that are below full mass, by cell: usually few.
struct PartialParticles {
    std::vector<uint32_t> numbers;
    std::array<uint32_t, kTileCells + 1> first;

    // Calls visit(particle) for those in the cells around a cell, within the tile.
    template <class Visit> void for_each_around(int c, const Visit& visit) const
    {
        const Vec3i cell = cell_in_tile(c);
        const Vec3i low = (cell.array() - 1).cwiseMax(0), high = (cell.array() + 1).cwiseMin(kTileSize - 1);
        for (int x = low.x(); x <= high.x(); ++x)
            for (int y = low.y(); y <= high.y(); ++y) {
                const uint32_t end = first[offset_in_tile(x, y, high.z()) + 1];
                for (uint32_t k = first[offset_in_tile(x, y, low.z())]; k < end; ++k) visit(size_t{numbers[k]});
            }
    }
};

} // namespace

size_t ParticleShapes::merge(Particles& particles, const ParticleIndex& index, const Topology& topology,
                             const Solids* solids) const
{
    auto& mass = particles.attribute<float>(kMass);
    const auto& material = particles.attribute<int32_t>(kMaterial);
    auto& diagonal = particles.attribute<Vec3f>(kShapeDiagonal);
    auto& shear = particles.attribute<Vec3f>(kShapeShear);
    const auto shape_of_both = [&](size_t i, size_t j) -> ShapeRows {
        const float share = mass[j] / (mass[i] + mass[j]), spread = share * (1 - share);
        const Vec3f apart = particles.P[j] - particles.P[i];
        const Vec3f d = (1 - share) * diagonal[i] + share * diagonal[j] + spread * apart.cwiseProduct(apart);
        const Vec3f s = (1 - share) * shear[i] + share * shear[j] +
                        spread * Vec3f(apart.x() * apart.y(), apart.y() * apart.z(), apart.x() * apart.z());
        return {splat(d.x()), splat(d.y()), splat(d.z()), splat(s.x()), splat(s.y()), splat(s.z())};
    };
    // Merges a particle with the nearest one with which it forms a valid particle, if there is one.
    const auto merge_with_nearest = [&](size_t i, int c, const PartialParticles& partial) {
        const float most = masses_[material[i]];
        if (mass[i] == 0 || mass[i] > SandTuning::mergeable_share * most) return false;
        if (load(&diagonal[i], &shear[i], 1).all_above(shortest())[0]) return false;
        size_t best = i;
        float nearest = 4 * longest();
        ShapeRows best_shape{};
        partial.for_each_around(c, [&](size_t j) {
            const float distance2 = (particles.P[i] - particles.P[j]).squaredNorm();
            if (j == i || distance2 >= nearest || mass[j] == 0 || material[j] != material[i] ||
                mass[i] + mass[j] > most)
                return;
            const ShapeRows shape = shape_of_both(i, j);
            if (!shape.all_above(shortest())[0] || !shape.all_below(longest())[0] ||
                (solids && solids->parted(particles.P[i], particles.P[j])))
                return;
            best = j, nearest = distance2, best_shape = shape;
        });
        if (best == i) return false;
        const float share = mass[best] / (mass[i] + mass[best]);
        particles.P[i] += share * (particles.P[best] - particles.P[i]);
        particles.v[i] += share * (particles.v[best] - particles.v[i]);
        mass[i] += mass[best], mass[best] = 0;
        diagonal[i] = {best_shape.xx[0], best_shape.yy[0], best_shape.zz[0]};
        shear[i] = {best_shape.xy[0], best_shape.yz[0], best_shape.xz[0]};
        return true;
    };
    return static_cast<size_t>(parallel_sum(
        topology.tile_count(),
        [&](size_t t) {
            const int tile = static_cast<int>(t);
            auto& partial = thread_scratch<PartialParticles>();
            partial.numbers.clear();
            for (int c = 0; c < kTileCells; ++c) {
                partial.first[c] = static_cast<uint32_t>(partial.numbers.size());
                for (size_t i = index.cell_begin(tile, c), end = index.cell_end(tile, c); i < end; ++i)
                    if (mass[i] < masses_[material[i]]) partial.numbers.push_back(static_cast<uint32_t>(i));
            }
            partial.first[kTileCells] = static_cast<uint32_t>(partial.numbers.size());
            double merged = 0;
            for (int c = 0; c < kTileCells; ++c)
                for (uint32_t k = partial.first[c]; k < partial.first[c + 1]; ++k)
                    if (merge_with_nearest(partial.numbers[k], c, partial)) merged += 1;
            return merged;
        },
        4));
}

std::vector<size_t> ParticleShapes::split(Particles& particles, const std::vector<uint8_t>& marks,
                                          const std::vector<FlowAtSplit>& flow, int& next_id) const
{
    std::vector<size_t> marked;
    for (size_t i = 0; i < marks.size(); ++i)
        if (marks[i]) marked.push_back(i);
    auto& mass = particles.attribute<float>(kMass);
    const auto& material = particles.attribute<int32_t>(kMaterial);
    auto& diagonal = particles.attribute<Vec3f>(kShapeDiagonal);
    auto& shear = particles.attribute<Vec3f>(kShapeShear);
    const auto keep = [&](size_t i, const Mat3f& a) {
        diagonal[i] = a.diagonal(), shear[i] = {a(0, 1), a(1, 2), a(0, 2)};
    };
    struct Half {
        Vec3f way = Vec3f::Zero(); // from the centre to one half; zero for a particle that is not split
        Mat3f shape;
    };
    std::vector<Half> halves(marked.size());
    parallel_for(
        marked.size(),
        [&](size_t k) {
            const size_t i = marked[k];
            if (mass[i] == 0) return;
            Axes axes = axes_of(shape_of(diagonal[i], shear[i]));
            const float whole = masses_[material[i]];
            // Also split particles that are too short along another axis: in flight they would stay clumps.
            const bool splits = axes.squared[2] > longest() && 0.5f * mass[i] >= SandTuning::smallest_share * whole;
            if (splits) {
                halves[k].way = std::sqrt(0.75f * axes.squared[2]) * axes.direction.col(2);
                axes.squared[2] *= 0.25f;
            }
            halves[k].shape = limited(axes);
            keep(i, halves[k].shape);
        },
        64);
    std::vector<size_t> parents, number; // of the added halves
    for (size_t k = 0; k < marked.size(); ++k)
        if (!halves[k].way.isZero()) parents.push_back(marked[k]), number.push_back(k);
    const size_t first = particles.size();
    particles.resize(first + parents.size());
    for (size_t n = 0; n < parents.size(); ++n) {
        const Half& half = halves[number[n]];
        const size_t i = parents[n], child = first + n;
        particles.for_each_array([&](const std::string&, auto& array) { array[child] = array[i]; });
        particles.id[child] = next_id++;
        mass[i] *= 0.5f, mass[child] = mass[i];
        particles.P[i] -= half.way, particles.P[child] += half.way;
        const Vec3f apart = (flow[i].gradient * half.way).cwiseMin(flow[i].margin).cwiseMax(-flow[i].margin);
        particles.v[i] -= apart, particles.v[child] += apart;
    }
    return parents;
}

void remove_empty(Particles& particles)
{
    const auto& mass = particles.attribute<float>(kMass);
    size_t count = particles.size();
    for (size_t i = 0; i < count;)
        if (mass[i] == 0) {
            --count;
            particles.for_each_array([&](const std::string&, auto& array) { array[i] = array[count]; });
        } else
            ++i;
    if (count != particles.size()) particles.resize(count);
}

} // namespace spindrift
