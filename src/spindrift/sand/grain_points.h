// Grains to look at (document 000, section 5.6): points in the ellipsoids of sand particles. They are made from the
// frames of a simulation, one after the other, and go with the flow: a point moves as its particle does, and is
// stretched and turned with its ellipsoid. Where particles split or merge, each point goes on to the particle whose
// ellipsoid is the nearest; one that is left outside is drawn in from frame to frame, and given up where there is no
// sand any more. Particles that dense sand surrounds on all sides cannot be seen and have no points.
//
// Weak where sand is thrown apart so fast that a particle splits many times in one frame: points are then far from
// where the gradient at its start carries them, and some are drawn anew.
#pragma once

#include "spindrift/sand/sand_grid.h"

#include <memory>

namespace spindrift {

struct GrainParams {
    int each = 24; // grains of a particle of full mass
    void visit(ParamVisitor& v);
};

// Names of what points carry besides P, v, id and kMaterial.
constexpr const char* kParent = "parent"; // id of the particle
// Outwards by the gradient of density, shorter in thin clouds, and a little off to any side: sand is bumpy.
constexpr const char* kNormal = "N";

struct GrainReport {
    size_t points = 0, made = 0;
    size_t handed_on = 0; // to another particle
    size_t given_up = 0;  // where they could be seen
};

class GrainPoints {
  public:
    GrainPoints(const SandParams& sand, const GrainParams& params);
    GrainPoints(GrainPoints&&) noexcept;
    ~GrainPoints();

    // Particles are those of a frame, with what Grains gives them; `seconds` is the time since the last one.
    GrainReport start(Particles sand);
    GrainReport advance(Particles sand, float seconds);

    const Particles& points() const { return points_; }
    float radius() const { return radius_; } // of a grain [m]

    // For resuming; with the sand of the same frame.
    struct State {
        int next_id = 0;
        Particles points;
    };
    State state() const { return {next_id_, points_}; }
    void restore(State state, Particles sand);

  private:
    struct Frame;
    struct Flow;
    std::unique_ptr<Frame> prepared(Particles sand) const;
    Flow flow_to(const Frame& next, float seconds) const;
    Mat3f gradient_at(size_t particle, const std::vector<Vec3f>& shift) const;
    void expose(const Flow& flow, const Frame& next, GrainReport& report);
    void carry(const Flow& flow, const Frame& next, float seconds, GrainReport& report);
    template <class Fills> void regroup(const Frame& frame, const Fills& fills, GrainReport& report);
    void light(const Frame& frame);
    size_t wanted(const Frame& frame, size_t particle) const;

    SandParams sand_;
    int each_;
    float whole_, radius_; // volume of a new particle, radius of a grain
    int next_id_ = 0;
    Particles points_;          // in the order of their particles in frame_
    std::vector<size_t> first_; // point of each particle, and the number of all
    std::vector<int32_t> home_; // the next frame's particle of each point, -1 for none
    std::unique_ptr<Frame> frame_;
};

} // namespace spindrift
