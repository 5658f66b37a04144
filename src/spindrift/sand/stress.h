// The stresses in sand (document 000, sections 5.3 and 5.5): pressure that lets no cell be fuller than full, (5.10) to
// (5.13), and friction that takes as much kinetic energy as the yield criterion (5.4) allows, (5.15) to (5.20), found
// in turn until both fit. Both are quadratic programs with bounds on the same staggered grid.
//
// Everything is in terms of the flux f = phi v at faces, which is what moves volume: pressure changes it by
// -w grad q, friction by w div s, where q and s are stresses times the step over a cell and the first material's
// density [m/s], and w is the volume of a mass beside that of the first material, 1 for a single one (5.47), and less
// where a face is nearly empty, or closed. Each solve starts from the stresses of the last one and looks for the
// change alone, so that f is always that of all stresses together.
//
// Friction is solved for s_yy with s_xx = s_zz = -s_yy / 2, for s_xx = -s_zz, and for the three shears, one after the
// other (5.5.1): each of them stays without trace.
//
// Strain is measured on f, which changes with phi even where v does not: beside a wall, at the surface. Sand at rest
// has none of that. Where colliders move, f is therefore measured in a frame that moves too (stress_frame.cpp).
//
// Weak where sand of a few particles a cell is sheared fast: 2 rounds do not find what fits there.
#pragma once

#include "spindrift/base/timing.h"
#include "spindrift/sand/body_stress.h"
#include "spindrift/solvers/tile_matrix.h"
#include "spindrift/world/solids.h"

namespace spindrift {

constexpr int kShearAxes[3][2] = {{0, 1}, {1, 2}, {0, 2}}; // of xy, yz, xz
// A shear beside a cell of which less is free acts on a wall.
constexpr float kOnWall = 0.5f;

struct StressReport {
    int pressure_iterations = 0, friction_iterations = 0, spread_iterations = 0;
    int unconverged = 0;        // pressure solves that ended above their tolerance
    double complementarity = 0; // of volume fractions: how far a step ends from (5.9)
    double friction = 0;        // largest strain rate that friction could still oppose [m/s across a cell]
    void add(const StressReport& other);
};

class Stress {
  public:
    struct Settings {
        int rounds = 2;
        bool isotropic = false; // with planes between shears, so that friction depends less on the grid's directions
        float tolerance = 1e-3f;
        Vec3f gravity = Vec3f(0, -9.81f, 0);
        std::optional<float> wall_friction; // of the domain's sides; none: as sand itself
        std::optional<float> same_friction; // of all solids there are, if it is the same
        bool sticky = false;                // some collider has `stick`
        float fps = 24;
    };
    explicit Stress(const Settings& settings) : settings_(settings) {}
    // From now on bodies take part. The density is that of the first material.
    void couple(Bodies& bodies, float density) { bodies_.emplace(bodies, density); }

    // Finds where sand is dense enough for stresses, and where it is too dense. `room` is what solids leave at the end
    // of the step, `room_before` at its start (the same, if they stand still).
    void prepare(const SandGrid& grid, const Solids& solids, const SolidCells& room, const SolidCells& room_before);
    // Again by how much cells are fuller than the room in them, after particles and solids have moved.
    void find_excess(const SolidCells& room);
    float fullest() const { return fullest_; } // the greatest volume fraction of sand and solids together
    // (5.14): by how much sand has to be moved [cells] at each face for the excess.
    StressReport spread(MacField& displacement);
    // From the flux without stresses to that with them, in a step of dt.
    StressReport solve(float dt, MacField& flux, PhaseTimes& times);

    // How full cells are beside the room that they have, after solve(); elsewhere `filled` stays as it is. What lies on
    // full cells is as full as those.
    void fill_beside_room(Field<float>& filled) const;

    // Where stresses can be, and the pressure there, as above [m/s].
    const Topology& dense() const { return *dense_; }
    const Field<float>& q() const { return q_; }
    float step() const { return step_; }
    // The same at a cell of the sand's grid: what it would add to the velocity of sand at a free face beside it.
    float q_at(int tile, int cell) const { return q_.tile(dense_of_[static_cast<size_t>(tile)])[cell]; }
    size_t bytes() const;

    // What the next step starts from.
    struct State {
        float step = 0; // [s]
        std::vector<uint64_t> tiles;
        std::vector<float> values; // cell by cell: q and the six components of s, one after the other
    };
    State state() const;
    void restore(const State& state);

  private:
    enum Part { xx, yy, zz, xy, yz, xz, kParts };
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
    void press(float dt, MacField& flux, StressReport& report);
    void rub(float dt, MacField& flux, StressReport& report);
    void find_limits(float dt);
    float wall_limit(int shear, int tile, const Vec3i& at, float dt, float q, const Block<float, 1>& room) const;
    float friction_at(const Vec3f& x) const;
    float stick_at(const Vec3f& x, float dt) const;
    // What lies on sand is slower than this: a quarter of what falling through a cell gives.
    float slow_speed() const { return 0.25f * std::sqrt(settings_.gravity.norm() * grid_->voxel); }
    double improve(QpMatrix<float>& matrix, double tolerance, int iterations, int& count);
    double improve_with_bodies(TileMatrix& matrix, BodyStress::Part part, double tolerance, int iterations, int& count);
    template <class Body> void for_dense(const Body& body) const;
    template <class Body> void for_stressed_faces(const Body& body) const;
    TileView view(const Field<float>& field, int tile) const; // of a dense field, at a tile of the sand's grid

    Settings settings_;
    const SandGrid* grid_ = nullptr;
    const Solids* solids_ = nullptr;
    const SolidCells *room_ = nullptr, *room_before_ = nullptr;
    float step_ = 0, fullest_ = 0;

    std::unique_ptr<Topology> dense_, dense_before_;
    std::vector<int> dense_of_, tile_of_; // of a tile of the sand's grid, and back
    Field<float> q_, s_[kParts], carried_;
    MacField mobility_; // w; on the sand's grid
    Field<float> filled_, capacity_, heap_;
    Field<float> limit_, edge_limit_[3]; // bounds of axial stresses at cells, and of xy, yz, xz
    Field<float> edge_q_[3];             // pressure at the edges of the latter; 0 on walls
    Field<float> b_, lower_, upper_, change_;
    // Only where colliders move:
    MacField frame_, frame_share_; // velocity of the nearest collider [m/s], and what of a face moves: phi
    MacField own_frame_;           // of the sand [m/s]
    Field<float> frame_strain_[5]; // what is added to the strain of f: axial, lateral, xy, yz, xz
    TileMatrix pressure_, axial_, lateral_, shear_[3];
    BoundedQpSolver<float> solver_;
    std::optional<BodyStress> bodies_;
};

template <class Body> void Stress::for_dense(const Body& body) const
{
    parallel_for(
        static_cast<size_t>(dense_->tile_count()), [&](size_t t) { body(static_cast<int>(t)); }, 4);
}

// Calls body(tile) for the tiles of the sand's grid with a face that some stress acts on.
template <class Body> void Stress::for_stressed_faces(const Body& body) const
{
    const Topology& all = grid_->topology;
    parallel_for(
        static_cast<size_t>(all.tile_count()),
        [&](size_t t) {
            const auto& around = all.neighbours(static_cast<int>(t));
            const int none = dense_->tile_count();
            for (const int slot :
                 {neighbour_slot(0, 0, 0), neighbour_slot(-1, 0, 0), neighbour_slot(0, -1, 0), neighbour_slot(0, 0, -1),
                  neighbour_slot(1, 0, 0), neighbour_slot(0, 1, 0), neighbour_slot(0, 0, 1)})
                if (dense_of_[static_cast<size_t>(around[static_cast<size_t>(slot)])] != none)
                    return body(static_cast<int>(t));
        },
        4);
}

} // namespace spindrift
