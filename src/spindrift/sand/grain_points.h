// Grains for rendering [Narain 2011, section 5.6]: points in the ellipsoids of sand particles, made from the frames of
// a simulation in order, and advected with the flow: a point moves with its particle, stretched and rotated with its
// ellipsoid. Where particles split or merge, each point moves on to the particle whose ellipsoid is nearest; a point
// left outside is pulled in from frame to frame, and dropped where there is no sand any more. Particles that dense sand
// surrounds on all sides are invisible and have no points. Where an ellipsoid reaches into a collider, or through a
// thin one, its points stay on the particle's side.
//
// Limits: where sand is thrown apart so fast that a particle splits many times in one frame, points end far from where
// the gradient at its start carries them, and some are resampled.
//
// Differences from [Narain 2011]:
//
// - Grains are a stage of their own that reads the frames of the sand: another number of grains, or another seed, needs
//   no new simulation.
// - A point is moved by the single map that takes its particle's ellipsoid from frame to frame, A' = F A F^T, rotated
//   as the displacements of the particles around it are; so it is never outside. A point changes particles only where
//   its particle splits or merges.
#pragma once

#include "spindrift/sand/sand_grid.h"
#include "spindrift/world/solids.h"

#include <memory>

namespace spindrift {

struct GrainParams {
    int each = 24; // grains per particle of full mass
    void visit(ParamVisitor& v);
};

// Attributes of points besides P, v, id and kMaterial.
constexpr const char* kParent = "parent"; // id of the particle
// Unit vector outwards along the gradient of density, shorter in thin clouds, with a random deviation: sand is bumpy.
constexpr const char* kNormal = "N";

struct GrainReport {
    size_t points = 0, made = 0;
    size_t handed_on = 0; // to another particle
    size_t given_up = 0;  // dropped while visible
};

class GrainPoints {
  public:
    // `colliders` are those of the sand.
    GrainPoints(const SandParams& sand, const GrainParams& params, float fps, std::vector<Shape> colliders = {});
    GrainPoints(GrainPoints&&) noexcept;
    ~GrainPoints();

    // `sand` holds the particles of a frame with the attributes that GranularSand writes: of this one, or of the next.
    GrainReport start(Particles sand, int frame);
    GrainReport advance(Particles sand);

    const Particles& points() const { return points_; }
    float radius() const { return radius_; } // of a grain [m]

    // For resuming; together with the sand of the same frame.
    struct State {
        int next_id = 0;
        Particles points;
    };
    State state() const { return {next_id_, points_}; }
    void restore(State state, Particles sand, int frame);

  private:
    struct Frame;
    struct Flow;
    std::unique_ptr<Frame> prepared(Particles sand) const;
    Flow flow_to(const Frame& next) const;
    void set_frame(int frame);
    // A position and its distance to colliders.
    struct Stand {
        Vec3f place;
        float distance;
    };
    Stand stand(const Vec3f& x) const { return {x, solids_.collider_distance(x)}; }
    // True if no collider is in between, and a grain at x touches none.
    bool beside(const Stand& from, const Vec3f& x) const;
    Vec3f held(const Stand& from, const Vec3f& x) const; // x, or the last place on the way there that is beside `from`
    Mat3f gradient_at(size_t particle, const std::vector<Vec3f>& shift) const;
    void expose(const Flow& flow, const Frame& next, GrainReport& report);
    void carry(const Flow& flow, const Frame& next, GrainReport& report);
    template <class Fills> void regroup(const Frame& frame, const Fills& fills, GrainReport& report);
    void light(const Frame& frame);
    size_t wanted(const Frame& frame, size_t particle) const;

    SandParams sand_;
    int each_;
    float seconds_;        // per frame
    float whole_, radius_; // volume of a new particle, radius of a grain
    Solids solids_;        // colliders only, at the time of a frame
    int frame_number_ = 0, next_id_ = 0;
    Particles points_;          // sorted by their particles in frame_
    std::vector<size_t> first_; // first point of each particle, and the total
    std::vector<int32_t> home_; // index of each point's particle in the next frame, -1 for none
    std::unique_ptr<Frame> frame_;
};

} // namespace spindrift
