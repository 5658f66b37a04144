// Smoke that takes the shapes of meshes, still or animated, and stays turbulent [Madill 2013].
//
//     ShapedSmoke smoke(params, 24);
//     smoke.start(1);
//     for (int f = 0; f < 100; ++f) smoke.advance();
//     const Particles& markers = smoke.markers();
//
// Four kinds of particles:
// - markers are the smoke, up to millions, and have no effect on anything;
// - target particles sit inside the shape and move with it;
// - control particles are spread over the smoke, each drawn to a target particle of its own;
// - vortex particles add turbulence.
// Control and vortex particles make a velocity field on a grid, which moves markers and vortices.
//
//     sources -> markers --> densities --> control particles <-- correspondence <-- target particles <-- shapes
//                   ^                            |                                                        |
//                   |                            v                                                        v
//                   +---- advection (9) <--- control field (1) + vortex field (4) <--- containment (signed distance)
//                   +---- redistribution
//
// step() is the list of [Madill 2013, 3], a phase for each of its lines. Each idea has a file: density, controls,
// targets, shape_points, embedding, correspondence, control_field, control_projection, vortices, containment,
// redistribution.
//
// Differences from the paper; the headers named give reasons:
// - Control particles: dart throwing tile by tile (controls.h), and an implicit step of the attraction, in the
//   frame of the target: they come to rest for any strength, and keep up with a shape that moves (controls.h).
// - Target particles: exactly as many, spread evenly without adding and deleting (shape_points.h); each bound to the
//   mesh by a tetrahedron of its own instead of a Delaunay tetrahedralization (embedding.h).
// - Correspondence: rounds of disjoint pairs, and of groups of neighbours (correspondence.h).
// - Redistribution where markers are missing, and out of a region that is the same in thin and thick parts and for any
//   share of a shape (redistribution.h). Its threshold rises from a small value, while control particles are under way,
//   to redistribution.threshold.
// - Vortices outside the smoke are removed, so that their number is bounded.
// - Options: projection of the control field (control_projection.h), containment (containment.h), wind.
//
// Limits
// - Details thinner than about two cells blur. The velocity of a control particle reaches velocity_radius cells.
// - Control particles that cross each other's paths move the smoke between them at their mean velocity, so some smoke
//   lags behind and is redistributed: it vanishes there and appears in the shape.
// - The control velocity has divergence, unless it is projected; it must have, where a shape has another volume.
//
// Markers are stored as P, v and id: 28 bytes, and 16 for sorting; expressions after forces take another 12. Time and
// memory are linear in their number.
#pragma once

#include "spindrift/base/timing.h"
#include "spindrift/points/hooks.h"
#include "spindrift/shaped_smoke/containment.h"
#include "spindrift/shaped_smoke/control_field.h"
#include "spindrift/shaped_smoke/control_projection.h"
#include "spindrift/shaped_smoke/correspondence.h"
#include "spindrift/shaped_smoke/density.h"
#include "spindrift/shaped_smoke/redistribution.h"
#include "spindrift/shaped_smoke/targets.h"
#include "spindrift/shaped_smoke/vortices.h"

namespace spindrift {

// Attribute of control particles: the index of their target particle.
constexpr const char* kTargetAttribute = "target";

// Statistics of one frame.
struct ShapedSmokeReport {
    size_t markers = 0, controls = 0, vortices = 0, tiles = 0;
    size_t moved = 0;                    // markers that were redistributed
    double arrived = 0;                  // share of the control particles that are near their targets
    double energy = 0;                   // mean squared distance of control particles to their targets [m2]
    double kinetic = 0;                  // mean kinetic energy of the markers per mass [m2/s2]
    int iterations = 0, unconverged = 0; // of the projection
    PhaseTimes times;
};

class ShapedSmoke {
  public:
    // The shapes of params.sources and params.targets, in their order. A source made of points has its function in
    // `particles`.
    using PointSource = std::function<Particles()>;
    struct Shapes {
        std::vector<Shape> sources, targets;
        std::map<size_t, PointSource> particles;
        std::vector<std::string> target_places = {}; // in the scene, for messages; or none
    };
    // Loads the shapes itself; see shapes_of() in scene/shapes.h. Sources of points need the other constructor.
    explicit ShapedSmoke(const ShapedSmokeParams& params, float fps = 24);
    // With shapes that a scene has loaded and placed; `where` names lists in messages: "shaped_smoke".
    ShapedSmoke(const ShapedSmokeParams& params, Shapes shapes, float fps, const std::string& where = "shaped_smoke");

    void set_hooks(ParticleHooks hooks) { hooks_ = std::move(hooks); }
    // Checks targets and sources and fills the sources, at the first frame of the shot. Throws bad_input.
    void start(int frame);
    // Advances by one frame.
    ShapedSmokeReport advance();
    // Repairs and doubts about the targets; valid after check_targets() or start().
    void check_targets(int first_frame);
    std::vector<std::string> warnings() const;

    int frame() const { return frame_; }
    const Particles& markers() const { return markers_; }
    // Calls `body` with the markers, which have another attribute meanwhile: without a copy of them.
    void show_with(const std::string& attribute, std::vector<float> values,
                   const std::function<void(const Particles&)>& body);
    const Particles& controls() const { return controls_; }
    const Particles& vortices() const { return vortices_.particles(); }
    const std::vector<Vec3f>& goals() const { return goals_; }
    // The velocity that moved the markers in the last step, and its grid; empty before the first.
    const Topology& topology() const { return *topology_; }
    const MacField& velocity() const { return velocity_; }
    // The part of it that comes from control particles and wind, and its RMS divergence after projection [1/s].
    const Field<float> (&control_velocity() const)[3] { return control_.components(); } // at cell centres
    double control_divergence() const { return divergence_; }
    void measure_divergence(bool on) { measure_divergence_ = on; }
    // Density of smoke at the start [markers / m3]: a density of one in files.
    double reference_density() const { return reference_density_; }
    size_t bytes() const;

    // Everything that the next frame depends on, to resume.
    struct State {
        int start_frame = 0, frame = 0, next_id = 0, group = -1;
        uint64_t rounds = 0;
        double reference_density = 0;
        std::vector<uint64_t> batches; // of target particles
        Particles markers, controls, vortices;
    };
    State state() const;
    void restore(State state);

  private:
    void fill_sources();
    void step(int number, float dt);
    // Phases of a step.
    void choose_targets(float frame);
    void follow_smoke(float dt);
    void place_controls(uint64_t key);
    void attract_controls(float before, float from, float to, float dt);
    void find_control_velocity(float frame);
    void update_vortices(float to, float dt, uint64_t key);
    void advect(float to, float dt, bool first, uint64_t key);
    void redistribute_markers(float dt, bool before_move, uint64_t key);
    // Helpers.
    void clear_controls();
    void find_controls(ParticleRegion& region);
    void find_shape_density();
    void add_to_faces(const Field<float> (&centers)[3], bool first);
    void move_by_flow(float dt, float now, float before);
    void move_by_velocity(float dt, float now, float before);

    ShapedSmokeParams params_;
    std::vector<Shape> sources_;
    std::map<size_t, PointSource> point_sources_;
    std::vector<Shape> target_shapes_;
    std::string where_;
    std::vector<std::string> target_places_;
    float fps_;
    ParticleHooks hooks_;
    int start_frame_ = 0, frame_ = 0, next_id_ = 0;
    double reference_density_ = 1;

    Particles markers_, controls_;
    Vortices vortices_;
    std::unique_ptr<Targets> targets_;
    std::vector<Vec3f> goals_, goals_before_, goals_earlier_; // after, at the start of, and before the last step
    Correspondence correspondence_;
    uint64_t rounds_ = 0;

    std::unique_ptr<Topology> topology_ = std::make_unique<Topology>();
    ParticleIndex marker_index_, control_index_;
    Field<float> marker_density_, shape_density_, energy_, scratch_;
    ParticleRegion control_region_, control_region_after_; // before and after a step
    float mean_density_ = 0;                               // of markers, over the cells that have any [1/cell]
    ControlField control_;
    Field<float> turbulence_[3];
    MacField velocity_;
    ControlProjection projection_;
    Containment containment_;
    std::vector<double> tile_energy_; // of markers
    float goals_time_ = kInfinity;
    bool measure_divergence_ = false;
    double divergence_ = 0, arrived_ = 0;
    ShapedSmokeReport report_;
};

} // namespace spindrift
