// Temperature of a liquid and its effect on viscosity, for melting and freezing. A particle next to air or a solid
// approaches its temperature at a given rate (Newton's law of cooling), neighbouring cells exchange heat by conduction,
// and the logarithm of viscosity is interpolated linearly between two temperatures.
#pragma once

#include "spindrift/liquid/params.h"
#include "spindrift/points/sort.h"
#include "spindrift/world/solids.h"

namespace spindrift {

// Attribute with a particle's temperature [deg C].
constexpr const char* kTemperatureAttribute = "temperature";

// [Pa s]
float viscosity_at(const HeatParams& heat, float temperature);

class Heat {
  public:
    // Performs a step of heat exchange, and updates the viscosity of each particle. `phi` is the distance to the
    // surface in cells. Particles must be sorted by `index`.
    void exchange(const HeatParams& heat, const ParticleIndex& index, const Field<float>& phi, const SolidCells& solids,
                  float voxel, float dt, Particles& particles);
    size_t bytes() const { return mean_.bytes() + any_.bytes() + now_.bytes() + earlier_.bytes(); }

  private:
    void conduct(float number);

    Field<float> mean_, any_; // temperature of each cell's particles, and 1 where there are some
    Field<float> now_, earlier_;
};

} // namespace spindrift
