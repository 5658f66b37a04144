// The particles around a tile, copied into contiguous arrays for the kernels.
#pragma once

#include "spindrift/points/sort.h"

namespace spindrift {

class Neighbourhood {
  public:
    // Copies the particles within `reach` cells (at most 8) of the tile; they must be sorted by `index`.
    void gather(const Particles& particles, const ParticleIndex& index, const Topology& topology, float voxel, int tile,
                int reach);
    // Copies their velocities as well, after gather().
    void gather_velocities(const Particles& particles);

    // Finds each cell's particles, for cells(), after gather().
    void find_cells(const ParticleIndex& index, const Topology& topology, int tile);

    // In cells from the tile's lower corner. Ordered by column (x, then y), so that neighbouring columns of one x are
    // consecutive. A whole row may be read beyond the last particle.
    const float* position(int axis) const { return position_[axis].data(); }
    const float* velocity(int axis) const { return velocity_[axis].data(); }
    uint32_t particle(size_t i) const { return particle_[i]; } // its index, after gather_velocities()
    size_t size() const { return column_first_.back(); }

    struct Span {
        size_t begin, end;
    };
    // The particles of columns (x, y_low) to (x, y_high), clipped to what was gathered.
    Span columns(int x, int y_low, int y_high) const;
    // Calls body(span) for spans that together contain all particles within `radius` of the line x, y.
    template <class Body> void for_each_span(float x, float y, float radius, const Body& body) const;
    // The same for a point. The ball around it must lie within what was gathered; call find_cells() first.
    template <class Body> void for_each_span(const Vec3f& x, float radius, const Body& body) const;

  private:
    struct Range {
        uint32_t begin, end; // in the sorted particles
    };
    void find_ranges(const ParticleIndex& index, const Topology& topology, int tile);

    int reach_ = 0;
    std::vector<Range> ranges_;
    std::vector<float> position_[3], velocity_[3];
    std::vector<uint32_t> particle_, column_first_, cell_first_;
};

inline Neighbourhood::Span Neighbourhood::columns(int x, int y_low, int y_high) const
{
    const int size = kTileSize + 2 * reach_;
    if (x < -reach_ || x >= kTileSize + reach_) return {0, 0};
    const size_t row = (x + reach_) * size;
    const size_t low = std::clamp(y_low + reach_, 0, size);
    const size_t high = std::clamp(y_high + 1 + reach_, 0, size);
    return {column_first_[row + low], column_first_[row + std::max(low, high)]};
}

template <class Body> void Neighbourhood::for_each_span(float x, float y, float radius, const Body& body) const
{
    for (int cx = floor_int(x - radius), last = floor_int(x + radius); cx <= last; ++cx) {
        // The distance of the column's nearest side, and the remaining range of its particles along y.
        const float left = static_cast<float>(cx) - x, dx = std::max({0.0f, left, -left - 1});
        const float dy = std::sqrt(std::max(0.0f, radius * radius - dx * dx));
        const Span span = columns(cx, floor_int(y - dy), floor_int(y + dy));
        if (span.begin < span.end) body(span);
    }
}

template <class Body> void Neighbourhood::for_each_span(const Vec3f& x, float radius, const Body& body) const
{
    const int size = kTileSize + 2 * reach_;
    // The squared distance of a layer of cells from the point.
    const auto apart2 = [](int cell, float at) {
        const float left = static_cast<float>(cell) - at, d = std::max({0.0f, left, -left - 1});
        return d * d;
    };
    const float radius2 = radius * radius;
    for (int cx = floor_int(x.x() - radius), last_x = floor_int(x.x() + radius); cx <= last_x; ++cx)
        for (int cy = floor_int(x.y() - radius), last_y = floor_int(x.y() + radius); cy <= last_y; ++cy) {
            const float left2 = radius2 - apart2(cx, x.x()) - apart2(cy, x.y());
            if (left2 <= 0) continue;
            const float dz = std::sqrt(left2);
            const uint32_t* column = cell_first_.data() + ((cx + reach_) * size + cy + reach_) * size + reach_;
            const Span span{column[floor_int(x.z() - dz)], column[floor_int(x.z() + dz) + 1]};
            if (span.begin < span.end) body(span);
        }
}

} // namespace spindrift
