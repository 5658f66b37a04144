#include "world/filling.h"

#include "base/parallel.h"
#include "points/sort.h"

#include <numeric>

namespace spindrift {

namespace {

constexpr int kAlongEdge = 2, kPerCell = kAlongEdge * kAlongEdge * kAlongEdge;

int place_of(const Vec3f& position_in_cells, const Vec3i& cell)
{
    const Vec3f f = (position_in_cells - cell.cast<float>()) * kAlongEdge;
    const auto half = [](float x) { return x >= 1 ? 1 : 0; };
    return half(f.x()) << 2 | half(f.y()) << 1 | half(f.z());
}

Vec3f jittered_place(const Vec3i& cell, int place, uint64_t seed, Filling::Jitter jitter)
{
    const uint64_t key =
        hash64(hash64(static_cast<uint32_t>(cell.x()), static_cast<uint32_t>(cell.y())),
               static_cast<uint64_t>(static_cast<uint32_t>(cell.z())) << 3 | static_cast<uint64_t>(place));
    Random random(seed, key);
    const Vec3f corner(static_cast<float>(place >> 2), static_cast<float>(place >> 1 & 1),
                       static_cast<float>(place & 1));
    return cell.cast<float>() + (corner + jitter(random)) / kAlongEdge;
}

} // namespace

Filling::Filling(const Shape& shape, float frame, const DomainParams& domain, float voxel)
    : shape_(shape), frame_(frame), voxel_(voxel)
{
    const Box3f box = domain.clipped(shape.bounds(frame));
    if (box.empty()) return;
    first_ = cell_of(box.min, 1 / voxel), last_ = cell_of(box.max, 1 / voxel);
    size_ = (last_ - first_).array() + 1;
    taken_.assign(number_of(last_) + 1, 0);
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
        const Vec3f& x = particles.P[i];
        const Vec3i c = cell_of(x, inverse_voxel);
        if ((c.array() < first_.array()).any() || (c.array() > last_.array()).any()) continue;
        taken_[number_of(c)] |= static_cast<uint8_t>(1 << place_of(x * inverse_voxel, c));
        if (look_inside && shape_.distance(x, frame_) < 0) inside.push_back(i);
    }
    return inside;
}

std::vector<Vec3f> Filling::free_places(const Solids& solids, uint64_t seed, Jitter jitter)
{
    std::vector<std::vector<Vec3f>> slabs(static_cast<size_t>(size_.x()));
    std::vector<size_t> places(slabs.size(), 0);
    parallel_for(slabs.size(), [&](size_t slab) {
        const int x = first_.x() + static_cast<int>(slab);
        for (int y = first_.y(); y <= last_.y(); ++y)
            for (int z = first_.z(); z <= last_.z(); ++z) {
                const Vec3i cell(x, y, z);
                for (int place = 0; place < kPerCell; ++place) {
                    const Vec3f p = jittered_place(cell, place, seed, jitter) * voxel_;
                    if (shape_.distance(p, frame_) >= 0 || solids.distance(p) <= 0 || solids.outside_open_side(p))
                        continue;
                    ++places[slab];
                    if (!(taken_[number_of(cell)] >> place & 1)) slabs[slab].push_back(p);
                }
            }
    });
    places_ = std::accumulate(places.begin(), places.end(), size_t{0});
    std::vector<Vec3f> free;
    for (const auto& slab : slabs) free.insert(free.end(), slab.begin(), slab.end());
    return free;
}

std::vector<Vec3f> Filling::places_upstream(const Solids& solids, uint64_t seed, Jitter jitter, const Vec3f& velocity,
                                            size_t present)
{
    std::vector<Vec3f> free = free_places(solids, seed, jitter);
    std::stable_sort(free.begin(), free.end(),
                     [&](const Vec3f& a, const Vec3f& b) { return a.dot(velocity) < b.dot(velocity); });
    free.resize(std::min(free.size(), places_ - std::min(places_, present)));
    return free;
}

} // namespace spindrift
