#include "spindrift/render/sparse_samples.h"

namespace spindrift {

SparseSampleGrid::SparseSampleGrid(Topology topology, float spacing, const Vec3f& origin)
    : topology_(std::move(topology)), spacing_(spacing), origin_(origin)
{
    if (tile_count() == 0) return;
    Vec3i high = topology_.tile(0);
    low_ = high;
    for (int t = 1; t < tile_count(); ++t) {
        low_ = low_.cwiseMin(topology_.tile(t));
        high = high.cwiseMax(topology_.tile(t));
    }
    size_ = high - low_ + Vec3i::Ones();
    bounds_ = {position(low_ * kTileSize), position((low_ + size_) * kTileSize)};

    constexpr size_t kLargestTable = size_t(1) << 22;
    const size_t box = static_cast<size_t>(size_.x()) * size_.y() * size_.z();
    if (box > kLargestTable) return;
    table_.assign(box, tile_count());
    for (int t = 0; t < tile_count(); ++t) {
        const Vec3i at = topology_.tile(t) - low_;
        table_[(static_cast<size_t>(at.x()) * size_.y() + at.y()) * size_.z() + at.z()] = t;
    }
}

} // namespace spindrift
