// The stresses in sand [Narain 2011, sections 5.3 and 5.5]: pressure that keeps the volume fraction of each cell at
// most 1, (5.10) to (5.13), and friction that removes as much kinetic energy as the yield criterion (5.4) permits,
// (5.15) to (5.20). They are solved alternately (staggered projections); each is a quadratic program with bounds on the
// same staggered grid.
//
// Variables: the flux f = phi v at faces, which is what transports volume. Pressure changes it by -w grad q, friction
// by w div s, where q and s are stresses times dt / (voxel * density of the first material) [m/s]. The mobility w of a
// face is volume over mass relative to the first material, 1 for a single one (5.47), and less where a face is nearly
// empty or closed. Each solve is warm-started from the last stresses and finds only their change, so that f always
// includes all stresses.
//
// Friction is solved for s_yy with s_xx = s_zz = -s_yy / 2, then for s_xx = -s_zz, then for the three shears (5.5.1):
// all are trace-free.
//
// Limits: where sand with few particles per cell is sheared fast, 2 rounds do not converge to consistent stresses.
//
// Differences from [Narain 2011]:
//
// - Flux. Pressure and friction act on the flux; several materials only change a weight of each face (5.47).
// - Bounds of friction (`friction_bound`, `widen_shear`). |s_ij| <= a p with a = sin / (sin + cos) of the friction
//   angle makes slopes along the grid exactly as steep as that angle; with a = alpha (5.15) it would be 45 degrees
//   instead of 38 for alpha = 0.5. With these bounds alone, however, sand sheared along the grid slides with three
//   quarters of its friction, and collapsing cones end a third too flat. A shear may therefore reach sin p where the
//   axial stresses in its plane differ by less than 2 a p, bounded by the plane that touches the cone at the stress of
//   a slope. Rejected alternatives: enlarging all bounds by 15%, fitted to cones of 38 degrees, made slopes of 22
//   degrees a fifth too steep in a drum. Widening differences of axial stresses in the same way makes drums of 29
//   degrees 16% too steep, because means over the four positions around are smaller than single values. Giving a
//   component what the others leave of the cone (5.4), or scaling stresses back to the cone, fails: strain that is only
//   noise uses as much of the cone as the strain that matters, and a pile flows like water.
// - s_yy, s_xx and s_zz are solved as the two trace-free components above, so that each solve removes energy.
// - Surface cells (`Stress::find_heaps`). A cell that the surface cuts is not full, so it would have neither pressure
//   nor friction, fall a little in every step, and creep: a pile of 30 degrees was flat after two seconds. Where the
//   cell below is full, the volume above a cell's highest particles does not count as free, and its sand counts as
//   dense. This applies only to cells that contain particles: otherwise sand would be jammed under a lid, and a slab
//   two cells high stopped within a frame. Nor does it apply to rising sand: a ball thrown upwards lost 6% of its speed
//   in a frame.
// - Faces at the surface (`Stress::find_mobility`) are half full beside a full cell, and pressure falls to zero within
//   half a cell: it accelerates them twice as much. With a push proportional to the volume fraction of the face,
//   pressure was twice the weight in thin layers, as was friction, and columns ran out only half as far.
// - Walls (`Stress::find_capacity`, `Stress::wall_limit`). Particles near a wall are partly splatted to cells beyond
//   it; the capacity of a cell is the free volume under the same weights. The normal force on a solid is the pressure
//   plus what closed faces take from the sand, so that thin layers have friction too. Friction on a solid opposes the
//   sliding direction: separate bounds for each component held sand sliding diagonally to the grid 1.4 times as
//   strongly as along it, and columns ended as diamonds.
// - Moving colliders (stress_frame.cpp). Friction opposes the strain of the flux phi v, which is not zero where sand
//   moves uniformly but phi changes, as beside a wall. Where colliders move, the flux is measured in a moving frame:
//   that of the nearest collider on walls, elsewhere the sand's own. Sand at rest on a belt or in a drum then has no
//   strain, and a frictionless belt does not move it. In the grid's frame a belt carried sand along by a tenth of its
//   own motion.
// - Nearly full is full: sand may rest at 95 to 100.5% of a cell's capacity. Nothing is moved apart (5.14) while no
//   cell is above that.
// - Matrices (solvers/tile_matrix.h). The matrix of a friction component couples cells in planes, or in all three axes.
//   Its multigrid coarsens only along the axes that it couples.
#pragma once

#include "spindrift/base/timing.h"
#include "spindrift/sand/body_stress.h"
#include "spindrift/solvers/tile_matrix.h"
#include "spindrift/world/solids.h"

namespace spindrift {

constexpr int kShearAxes[3][2] = {{0, 1}, {1, 2}, {0, 2}}; // of xy, yz, xz

struct StressReport {
    int pressure_iterations = 0, friction_iterations = 0, spread_iterations = 0;
    int unconverged = 0;        // pressure solves that ended above their tolerance
    double complementarity = 0; // residual of the complementarity (5.9) at the end of a step, as volume fraction
    double friction = 0;        // largest strain rate that friction could still oppose [m/s across a cell]
    void add(const StressReport& other);
};

class Stress {
  public:
    struct Settings {
        int rounds = 2;
        // adds bounding planes between shears, so that friction depends less on the grid's directions
        bool isotropic = false;
        float tolerance = 1e-3f;
        Vec3f gravity = Vec3f(0, -9.81f, 0);
        std::optional<float> wall_friction; // of the domain's sides; none: as rough as sand itself
        std::optional<float> same_friction; // of all solids, if they have the same
        bool sticky = false;                // some collider has `stick`
        float fps = 24;
    };
    explicit Stress(const Settings& settings) : settings_(settings) {}
    // Couples bodies from now on. `density` is that of the first material.
    void couple(Bodies& bodies, float density) { bodies_.emplace(bodies, density); }

    // Finds where sand is dense enough for stresses, and where it is too dense. `room` is the free volume between
    // solids at the end of the step, `room_before` at its start (the same if they stand still).
    void prepare(const SandGrid& grid, const Solids& solids, const SolidCells& room, const SolidCells& room_before);
    // Recomputes by how much cells exceed their capacity, after particles or solids have moved.
    void find_excess(const SolidCells& room);
    float fullest() const { return fullest_; } // the largest volume fraction of sand and solids together
    // (5.14): the displacement of sand at each face [cells] that removes the excess.
    StressReport spread(MacField& displacement);
    // Changes the flux from that without stresses to that with them, in a step of dt.
    StressReport solve(float dt, MacField& flux, PhaseTimes& times);

    // Volume fractions relative to capacity, after solve(); cells without stress keep `filled`. Sand that rests on full
    // cells counts as full.
    void fill_beside_room(Field<float>& filled) const;

    // The topology of stresses, and the pressure on it, in the units above [m/s].
    const Topology& dense() const { return *dense_; }
    const Field<float>& q() const { return q_; }
    float step() const { return step_; }
    // The pressure of a cell of the sand's grid: the velocity that it would add to sand at a free face beside it.
    float q_at(int tile, int cell) const { return q_.tile(dense_of_[tile])[cell]; }
    size_t bytes() const;

    // Everything that the next step depends on.
    struct State {
        float step = 0; // [s]
        std::vector<uint64_t> tiles;
        std::vector<float> values; // cell by cell: q and the six components of s
    };
    State state() const;
    void restore(const State& state);

  private:
    enum Component { xx, yy, zz, xy, yz, xz, kComponents };
    struct FrictionComponent;
    void find_dense();
    void find_capacity(const SolidCells& room, Field<float>& capacity) const;
    void find_heaps();
    void find_frame();
    void set_frame_velocity(int tile);
    void set_own_frame(int tile);
    void set_frame_strain(int dense_tile);
    void find_mobility();
    void sharpen_excess();
    void set_pressure_matrix();
    void set_friction_matrices();
    void apply_all(MacField& flux) const;
    void solve_pressure(float dt, MacField& flux, StressReport& report);
    static const std::vector<FrictionComponent>& friction_components();
    void solve_friction(float dt, MacField& flux, StressReport& report);
    TileMatrix& matrix_of(BodyStress::Part part);
    void set_strain(const FrictionComponent& component, const MacField& flux, int dense_tile);
    void set_bounds_of_change(int dense_tile, int offset, Row bound, Row now);
    void set_axial_bounds(int dense_tile, int shear);
    void set_lateral_bounds(int dense_tile, int shear);
    void set_shear_bounds(int dense_tile, int shear);
    void apply_change(const FrictionComponent& component, MacField& flux);
    void find_limits(float dt);
    float wall_limit(int shear, int tile, const Vec3i& at, float dt, float q, const Block<float, 1>& room) const;
    float friction_at(const Vec3f& x) const;
    float stick_at(const Vec3f& x, float dt) const;
    float slow_speed() const; // sand that is slower is at rest on what is below
    double improve(QpMatrix<float>& matrix, double tolerance, int iterations, int& count);
    double improve_with_bodies(TileMatrix& matrix, BodyStress::Part part, double tolerance, int iterations, int& count);
    template <class Body> void for_dense(const Body& body) const;
    template <class Body> void for_stressed_faces(const Body& body) const;
    TileView view(const Field<float>& field, int tile) const; // of a dense field, at a tile of the sand's grid

    Settings settings_;
    const SandGrid* grid_ = nullptr;
    const Solids* solids_ = nullptr;
    const SolidCells *solid_cells_ = nullptr, *solid_cells_before_ = nullptr;
    float step_ = 0, fullest_ = 0;

    std::unique_ptr<Topology> dense_, dense_before_;
    std::vector<int> dense_of_, tile_of_; // maps from tiles of the sand's grid to dense tiles, and back
    Field<float> q_, s_[kComponents], carried_;
    MacField mobility_; // w; on the sand's grid
    Field<float> filled_, capacity_, heap_;
    Field<float> limit_, edge_limit_[3]; // bounds of axial stresses at cells, and of xy, yz, xz at edges
    Field<float> edge_q_[3];             // pressure at these edges; 0 on walls
    Field<float> b_, lower_, upper_, change_;
    // Only where colliders move:
    MacField frame_, frame_share_; // velocity of the nearest collider [m/s], and the moving share phi of a face
    MacField own_frame_;           // velocity of the sand [m/s]
    Field<float> frame_strain_[5]; // added to the strain of f: axial, lateral, xy, yz, xz
    TileMatrix pressure_, axial_, lateral_, shear_[3];
    BoundedQpSolver<float> solver_;
    std::optional<BodyStress> bodies_;
};

template <class Body> void Stress::for_dense(const Body& body) const
{
    parallel_for(
        dense_->tile_count(), [&](size_t t) { body(static_cast<int>(t)); }, 4);
}

// Calls body(tile) for tiles of the sand's grid that have a face on which a stress acts.
template <class Body> void Stress::for_stressed_faces(const Body& body) const
{
    const Topology& all = grid_->topology;
    parallel_for(
        all.tile_count(),
        [&](size_t t) {
            const auto& around = all.neighbours(static_cast<int>(t));
            const int none = dense_->tile_count();
            for (const int slot :
                 {neighbour_slot(0, 0, 0), neighbour_slot(-1, 0, 0), neighbour_slot(0, -1, 0), neighbour_slot(0, 0, -1),
                  neighbour_slot(1, 0, 0), neighbour_slot(0, 1, 0), neighbour_slot(0, 0, 1)})
                if (dense_of_[around[slot]] != none) return body(static_cast<int>(t));
        },
        4);
}

} // namespace spindrift
