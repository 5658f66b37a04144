// Temperature of a liquid and what it does to viscosity, for melting and freezing. A particle next to the air or to a
// solid approaches their temperature at a given rate (Newton's law of cooling), neighbouring cells exchange heat by
// conduction, and viscosity is interpolated between two temperatures so that its logarithm is linear.
//
// Conduction is explicit and limited to what is stable in a step: a diffusivity above voxel^2 / (6 dt) acts as that.
#pragma once

#include "liquid/params.h"
#include "liquid/solids.h"
#include "points/sort.h"

namespace spindrift {

// The attribute with a particle's temperature [deg C].
constexpr const char* kTemperatureAttribute = "temperature";

// [Pa s]
float viscosity_at(const HeatParams& heat, float temperature);

class Heat {
  public:
    // A step of heat exchange, and the viscosity of each particle after it. `phi` is the distance to the surface in
    // cells. Particles must be sorted by `index`.
    void exchange(const HeatParams& heat, const ParticleIndex& index, const Field<float>& phi, const SolidCells& solids,
                  float voxel, float dt, Particles& particles);
    size_t bytes() const { return mean_.bytes() + any_.bytes(); }

  private:
    Field<float> mean_, any_; // temperature of each cell's particles, and 1 where there are some
};

} // namespace spindrift
