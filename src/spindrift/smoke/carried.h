// Scalars advected with the smoke, at the cell centres of the flow's grid or of a finer one.
#pragma once

#include "spindrift/field/advection.h"
#include "spindrift/world/solids.h"

#include <memory>
#include <string>

namespace spindrift {

struct SmokeScalar {
    std::string name;
    float dissipation = 0; // [1/s]
    float threshold = 0;   // smaller values count as zero
    Field<float> value, next;
};

class CarriedValues {
  public:
    std::vector<SmokeScalar> scalars;
    AdvectionScratch scratch; // of the step between prepare() and finish(); these fields come first

    const Topology& topology() const { return *topology_; }
    // Sets all values to zero.
    void start(std::shared_ptr<const Topology> topology);
    // Copies values to another set of tiles.
    void move_to(std::shared_ptr<const Topology> topology);

    // Before and after advection of fields(). `cells` are the solids on this grid and `open` the domain in its cells,
    // infinite where a side is closed.
    void prepare(const SolidCells& cells, const Box3f& open, bool keep_mass);
    std::vector<AdvectedField> fields();
    void finish(const SolidCells& cells);
    void fade(float dt);

    // Sum of a scalar over all cells, weighted by their open volume.
    double sum(size_t scalar, const SolidCells& cells) const;
    size_t bytes() const;

  private:
    void extend_into_solids(const SolidCells& cells);
    void clear_solids(const SolidCells& cells);
    double beside_open_sides(const Field<float>& value, const Box3f& open) const;
    void restore_sum(size_t scalar, double sum, const SolidCells& cells);

    std::shared_ptr<const Topology> topology_ = std::make_shared<Topology>();
    std::vector<std::optional<double>> kept_; // per scalar, the sum to restore after advection
};

// Means over blocks of `refine`^3 cells, one per cell of a coarser grid.
void average_blocks(const Field<float>& fine, int refine, const Topology& coarse, Field<float>& mean);

} // namespace spindrift
