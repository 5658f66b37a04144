// The two kernels in C++ for both kinds of arrays, and the points as VDB points.
#pragma once

#include "spindrift/expression/random_numbers.h"
#include "spindrift/points/particles.h"

#include <memory>

namespace spindrift {

// [Jones 2018, figure 6.2], line by line.
inline void step_particle(Vec3f& P, Vec3f& v, float rad)
{
    const float dt = 1.0f / (4.0f * 24.0f);
    const Vec3f gravity(0, -9.81f, 0);
    const Vec3f dV = Vec3f(2, 0, 0) - v;
    const float lengthV = dV.norm();
    const float Re = lengthV * rad / 1.225f;
    const float C = Re > 1000.0f ? 24.0f / Re : 0.424f;
    const Vec3f drag = 0.5f * 1.2f * C * lengthV * dV * 4.0f * 3.14f * std::pow(rad, 2.0f);
    v += (gravity - drag / ((4.0f / 3.0f) * 3.14f * std::pow(rad, 3.0f))) * dt;
    P += v * dt;
}

// [Jones 2018, figure 6.3], with the random numbers of AX, which converts the sum to double.
inline bool is_decimated(int32_t id) { return rand_of_double(12345 + id) > 0.5; }

class OpenvdbPoints {
  public:
    explicit OpenvdbPoints(const Particles& particles);
    ~OpenvdbPoints();

    // The kernels in C++ over attribute handles.
    double best_step_seconds(int runs) const;
    double best_decimation_seconds(int runs) const;
    // Stock AX, once.
    double ax_seconds(const char* text) const;

  private:
    struct Grid;
    std::unique_ptr<Grid> grid_;
};

} // namespace spindrift
