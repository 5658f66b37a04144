// The shapes of sand particles (document 000, section 5.4.1): ellipsoids x . A^-1 x <= 1 that the flow stretches. A
// particle that becomes too long is split in two, one that becomes too short is merged with a neighbour. Both keep
// mass, momentum and centre of mass.
#pragma once

#include "spindrift/field/row.h"
#include "spindrift/points/sort.h"
#include "spindrift/world/solids.h"

#include <Eigen/Eigenvalues>

namespace spindrift {

// A of eight particles, and what a step does to it.
struct ShapeRows {
    Row xx, yy, zz, xy, yz, xz;

    // (5.42) over a step in which places near the particle move by J: (I + J) A (I + J)^T, which stays an ellipsoid for
    // any step.
    void stretch(const Row3 J[3]);
    // Towards balls with these squared radii.
    void relax(Row share, Row squared_radius);
    // Whether all squared semi-axes are.
    RowMask all_above(float squared) const;
    RowMask all_below(float squared) const;
};

// The flow around a particle that may split: its gradient [1/s], and how far each component of velocity on both sides
// of the particle's own is among what is around it [m/s]. No half may become faster than that.
struct FlowAtSplit {
    Mat3f gradient;
    Vec3f margin;
};

class ParticleShapes {
  public:
    // `radius` is that of a new particle, r; semi-axes are valid from r / sqrt(2) to sqrt(2) r. Particles are not split
    // into less than a few per cent of `masses`, of a new particle of each material, nor merged into more than it.
    ParticleShapes(float radius, std::vector<float> masses) : radius_(radius), masses_(std::move(masses)) {}

    float shortest() const { return 0.5f * radius_ * radius_; } // squared semi-axes
    float longest() const { return 2 * radius_ * radius_; }
    // Neither too long, nor shorter than a particle may ever be.
    RowMask sound(const ShapeRows& rows) const;
    // The squared radius of a round particle with this share of a new one's mass.
    Row round(const float* mass, const int32_t* material, size_t count) const;
    static ShapeRows load(const Vec3f* diagonal, const Vec3f* shear, size_t count);
    static void store(const ShapeRows& rows, Vec3f* diagonal, Vec3f* shear, size_t count);

    // (5.43). Partners are looked for in the cells around a particle, within its tile. A particle that is gone has no
    // mass until remove_empty(). No two merge that a sheet of `solids` parts. Returns how many.
    size_t merge(Particles& particles, const ParticleIndex& index, const Topology& topology,
                 const Solids* solids = nullptr) const;
    // Splits those of the marked that are too long. The halves lie at sqrt(3) / 2 of the longest semi-axis, each with
    // the velocity of the flow there; one of them is added at the end. Returns those that were split, in the order of
    // what was added. Those that cannot be split are kept from becoming any longer.
    std::vector<size_t> split(Particles& particles, const std::vector<uint8_t>& marks,
                              const std::vector<FlowAtSplit>& flow, int& next_id) const;

  private:
    struct Axes {
        Vec3f squared; // ascending
        Mat3f direction;
    };
    Axes axes_of(const Mat3f& shape) const;
    Mat3f limited(const Axes& axes) const;

    float radius_;
    std::vector<float> masses_;
};

Mat3f shape_of(const Vec3f& diagonal, const Vec3f& shear);
// Particles without mass are gone; others take their places.
void remove_empty(Particles& particles);

} // namespace spindrift
