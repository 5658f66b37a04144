// The shapes of sand particles [Narain 2011, section 5.4.1]: ellipsoids x . A^-1 x <= 1 that the flow stretches. A
// particle that becomes too long is split in two, one that becomes too short is merged with a neighbour. Both conserve
// mass, momentum and centre of mass. Differences from the source are listed in sand/granular_sand.h.
#pragma once

#include "spindrift/field/row.h"
#include "spindrift/points/sort.h"
#include "spindrift/world/solids.h"

#include <Eigen/Eigenvalues>

namespace spindrift {

// A of eight particles, updated together.
struct ShapeRows {
    Row xx, yy, zz, xy, yz, xz;

    // (5.42) over a step with displacement gradient J: (I + J) A (I + J)^T, which stays an ellipsoid for any step.
    void stretch(const Row3 J[3]);
    // Relaxes towards balls with these squared radii.
    void relax(Row share, Row squared_radius);
    // Whether all squared semi-axes are above this.
    RowMask all_above(float squared) const;
    RowMask all_below(float squared) const;
};

// The flow around a particle that may split: its gradient [1/s], and by how much each velocity component may change
// towards either side to stay within the range of the flow around [m/s]. Halves are clamped to it.
struct FlowAtSplit {
    Mat3f gradient;
    Vec3f margin;
};

class ParticleShapes {
  public:
    // `radius` is that of a new particle, r; semi-axes are valid from r / sqrt(2) to sqrt(2) r. `masses` is that of a
    // new particle of each material. Particles are not split into less than an eighth of it, nor merged into more than
    // it.
    ParticleShapes(float radius, std::vector<float> masses) : radius_(radius), masses_(std::move(masses)) {}

    float shortest() const { return 0.5f * radius_ * radius_; } // squared semi-axes
    float longest() const { return 2 * radius_ * radius_; }
    // Neither too long, nor shorter than the hard limit.
    RowMask sound(const ShapeRows& rows) const;
    // The squared radius of a round particle with this share of a new one's mass.
    Row round(const float* mass, const int32_t* material, size_t count) const;
    static ShapeRows load(const Vec3f* diagonal, const Vec3f* shear, size_t count);
    static void store(const ShapeRows& rows, Vec3f* diagonal, Vec3f* shear, size_t count);

    // (5.43). Partners are searched in the cells around a particle, within its tile. A merged particle keeps its slot
    // with no mass until remove_empty(). Particles that a sheet of `solids` separates are not merged. Returns the
    // number of merges.
    size_t merge(Particles& particles, const ParticleIndex& index, const Topology& topology,
                 const Solids* solids = nullptr) const;
    // Splits marked particles that are too long. The halves lie at sqrt(3) / 2 of the longest semi-axis, each with the
    // velocity of the flow there; one of them is appended. Returns the particles that were split, in the order of
    // appended halves. Particles that cannot be split are kept from becoming longer.
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
// Removes particles without mass; others take their slots.
void remove_empty(Particles& particles);

} // namespace spindrift
