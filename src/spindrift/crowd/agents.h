// The agents of a crowd as a structure of arrays, and the cells that they are sorted into.
#pragma once

#include "spindrift/base/math.h"

#include <span>
#include <vector>

namespace spindrift {

// What moves an agent: its plan and the crowd's continuum; a given path; or its own collision avoidance.
enum class Driver : uint8_t { crowd, scripted, avoiding };

struct Agents {
    std::vector<Vec2f> x;         // position [m]
    std::vector<Vec2f> v;         // velocity in the last step [m/s]
    std::vector<Vec2f> preferred; // velocity without other agents [m/s]
    std::vector<float> radius;    // half the minimum distance to others of its size [m]
    std::vector<float> speed;     // free walking speed [m/s]
    std::vector<float> priority;  // of two that meet, the one with the lower priority gives way more
    std::vector<int32_t> id;      // unique, never reused
    std::vector<int32_t> goal;    // for the planner; index of the path of a scripted agent
    std::vector<int32_t> leg;     // for the planner: progress on the way to the goal
    std::vector<Driver> driver;

    size_t size() const { return x.size(); }
    void resize(size_t count);
    size_t bytes() const;

    template <class F> void for_each_array(F&& f)
    {
        f(x), f(v), f(preferred), f(radius), f(speed), f(priority), f(id), f(goal), f(leg), f(driver);
    }
    template <class F> void for_each_array(F&& f) const
    {
        f(x), f(v), f(preferred), f(radius), f(speed), f(priority), f(id), f(goal), f(leg), f(driver);
    }
};

// The domain and the square cells of the continuum.
struct CrowdGrid {
    Vec2f origin = Vec2f::Zero(); // lower corner [m]
    float cell = 1;               // edge [m]
    int nx = 0, ny = 0;

    Vec2f size() const { return cell * Vec2f(static_cast<float>(nx), static_cast<float>(ny)); }
    // The nearest place in the domain.
    Vec2f inside(const Vec2f& x) const { return x.cwiseMax(origin).cwiseMin(origin + size()); }
};

// Small cells for finding neighbours, a whole number of them along each edge of a continuum cell. Agents are sorted by
// row, then by column: agents of consecutive cells of a row, and of consecutive rows, are contiguous.
class AgentCells {
  public:
    AgentCells() = default;
    AgentCells(const CrowdGrid& grid, int per_cell);

    // Stable, parallel, independent of the number of threads.
    void sort(Agents& agents);

    int columns() const { return columns_; }
    int rows() const { return rows_; }
    int per_cell() const { return per_cell_; }
    float edge() const { return edge_; }
    int column(float x) const { return place(x - origin_.x(), columns_); }
    int row(float y) const { return place(y - origin_.y(), rows_); }
    // The agents in columns [from, to] of a row, as last sorted. Columns are clamped to the domain; the row must be in
    // it.
    std::pair<size_t, size_t> range(int row, int from, int to) const
    {
        const uint32_t* first = first_.data() + static_cast<size_t>(row) * columns_;
        return {first[std::max(from, 0)], first[std::min(to, columns_ - 1) + 1]};
    }
    size_t row_begin(int row) const { return first_[static_cast<size_t>(row) * columns_]; }
    size_t bytes() const;

    // The cell of each agent as last sorted; enough to resume exactly.
    const std::vector<uint32_t>& sorted_cells() const { return key_; }
    void restore(std::vector<uint32_t> sorted_cells);

  private:
    int place(float offset, int count) const
    {
        return static_cast<int>(std::clamp(offset * inverse_edge_, 0.0f, static_cast<float>(count - 1)));
    }

    Vec2f origin_ = Vec2f::Zero();
    float edge_ = 1, inverse_edge_ = 1;
    int per_cell_ = 1, columns_ = 0, rows_ = 0;
    std::vector<uint32_t> first_; // first agent of each cell, and the total
    std::vector<uint32_t> key_;   // cell of each agent
    // Scratch memory.
    std::vector<uint32_t> order_;
    std::vector<Vec2f> moved_vectors_;
    std::vector<float> moved_floats_;
    std::vector<int32_t> moved_ints_;
};

} // namespace spindrift
