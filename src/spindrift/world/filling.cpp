#include "spindrift/world/filling.h"

#include "spindrift/base/parallel.h"
#include "spindrift/points/sort.h"

#include <numeric>

namespace spindrift {

namespace {

constexpr int kAlongEdge = 2, kPerCell = kAlongEdge * kAlongEdge * kAlongEdge;

int site_of(const Vec3f& position_in_cells, const Vec3i& cell)
{
    const Vec3f f = (position_in_cells - cell.cast<float>()) * kAlongEdge;
    const auto half = [](float x) { return x >= 1 ? 1 : 0; };
    return half(f.x()) << 2 | half(f.y()) << 1 | half(f.z());
}

// Stratified position within an octant. Along each axis, four adjacent octants take one quarter of the range each, in
// an order that varies between cells, so that their mean hardly varies.
Vec3f evenly(uint64_t cell, const Vec3i& corner, Random& random)
{
    Vec3f within;
    for (int a = 0; a < 3; ++a) {
        const int b = corner[(a + 1) % 3], c = corner[(a + 2) % 3];
        const uint64_t order = hash64(cell, static_cast<uint64_t>(2 * a + corner[a]));
        const int part = (order & 4 ? 2 * b + c : b + 2 * c) ^ static_cast<int>(order & 3);
        within[a] = (static_cast<float>(part) + random.uniform()) / 4;
    }
    return within;
}

} // namespace

Filling::Filling(const Shape& shape, float frame, const DomainParams& domain, float voxel,
                 const std::optional<Carried>& carried)
    : shape_(shape), frame_(frame), voxel_(voxel)
{
    if (carried) offset_ = carried->offset, line_ = carried->axis;
    const Box3f box = domain.clipped(shape.bounds(frame));
    if (box.empty()) return;
    first_ = cell_of(box.min - offset_, 1 / voxel), last_ = cell_of(box.max - offset_, 1 / voxel);
    size_ = (last_ - first_).array() + 1;
    taken_.assign(number_of(last_) + 1, 0);
}

Vec3f Filling::site(const Vec3i& cell, int number, uint64_t seed, Jitter jitter) const
{
    const Vec3i corner(number >> 2, number >> 1 & 1, number & 1);
    Vec3f within;
    if (line_) {
        const int axis = *line_;
        // Offset adjacent lines evenly against each other, so that a source emits at a steady rate.
        constexpr int kParts = 16;
        const Vec3i at = kAlongEdge * cell + corner;
        const int part = (4 * at[(axis + 1) % 3] + 7 * at[(axis + 2) % 3]) & (kParts - 1);
        within = Vec3f::Constant(0.5f);
        within[axis] = (static_cast<float>(part) + 0.5f) / kParts;
    } else {
        const auto bits = [](int i) { return static_cast<uint64_t>(static_cast<uint32_t>(i)); };
        Random random(seed, hash64(hash64(bits(cell.x()), bits(cell.y())), bits(cell.z()) << 3 | bits(number)));
        within = jitter ? jitter(random)
                        : evenly(hash64(seed, hash64(hash64(bits(cell.x()), bits(cell.y())), bits(cell.z()))), corner,
                                 random);
    }
    return offset_ + voxel_ * (cell.cast<float>() + (corner.cast<float>() + within) / kAlongEdge);
}

size_t Filling::number_of(const Vec3i& cell) const
{
    const auto at = [&](int a) { return static_cast<size_t>(cell[a] - first_[a]); };
    return (at(0) * static_cast<size_t>(size_.y()) + at(1)) * static_cast<size_t>(size_.z()) + at(2);
}

std::vector<size_t> Filling::mark_taken(const Particles& particles, bool look_inside)
{
    const float inverse_voxel = 1 / voxel_;
    std::vector<size_t> inside;
    for (size_t i = 0; i < particles.size(); ++i) {
        const Vec3f &x = particles.P[i], there = x - offset_;
        const Vec3i c = cell_of(there, inverse_voxel);
        if ((c.array() < first_.array()).any() || (c.array() > last_.array()).any()) continue;
        taken_[number_of(c)] |= static_cast<uint8_t>(1 << site_of(there * inverse_voxel, c));
        if (look_inside && shape_.distance(x, frame_) < 0) inside.push_back(i);
    }
    return inside;
}

std::vector<Vec3f> Filling::free_sites(const Solids& solids, uint64_t seed, Jitter jitter)
{
    std::vector<std::vector<Vec3f>> slabs(size_.x());
    std::vector<size_t> counts(slabs.size(), 0);
    parallel_for(slabs.size(), [&](size_t slab) {
        const int x = first_.x() + static_cast<int>(slab);
        for (int y = first_.y(); y <= last_.y(); ++y)
            for (int z = first_.z(); z <= last_.z(); ++z) {
                const Vec3i cell(x, y, z);
                for (int k = 0; k < kPerCell; ++k) {
                    const Vec3f p = site(cell, k, seed, jitter);
                    if (shape_.distance(p, frame_) >= 0 || solids.distance(p) <= 0 || solids.outside_open_side(p))
                        continue;
                    ++counts[slab];
                    if (!(taken_[number_of(cell)] >> k & 1)) slabs[slab].push_back(p);
                }
            }
    });
    site_count_ = std::accumulate(counts.begin(), counts.end(), size_t{0});
    std::vector<Vec3f> free;
    for (const auto& slab : slabs) free.insert(free.end(), slab.begin(), slab.end());
    return free;
}

std::vector<Vec3f> Filling::upstream_sites(const Solids& solids, uint64_t seed, Jitter jitter, const Vec3f& velocity,
                                           size_t present)
{
    std::vector<Vec3f> free = free_sites(solids, seed, jitter);
    std::stable_sort(free.begin(), free.end(),
                     [&](const Vec3f& a, const Vec3f& b) { return a.dot(velocity) < b.dot(velocity); });
    free.resize(std::min(free.size(), site_count_ - std::min(site_count_, present)));
    return free;
}

} // namespace spindrift
