// Temperature of a liquid and what it does to viscosity, for melting and freezing. A particle next to the air or to a
// solid approaches their temperature at a given rate (Newton's law of cooling), neighbouring cells exchange heat by
// conduction, and viscosity is interpolated between two temperatures so that its logarithm is linear.
#pragma once

#include "spindrift/liquid/params.h"
#include "spindrift/points/sort.h"
#include "spindrift/world/solids.h"

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
    size_t bytes() const { return mean_.bytes() + any_.bytes() + now_.bytes() + earlier_.bytes(); }

  private:
    void conduct(float number);

    Field<float> mean_, any_; // temperature of each cell's particles, and 1 where there are some
    Field<float> now_, earlier_;
};

} // namespace spindrift
