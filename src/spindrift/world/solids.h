// Solids that liquids, smoke and sand collide with (colliders, rigid bodies and the closed sides of the domain) as one
// signed distance, positive outside, and the open fraction of each cell face and cell [Batty 2007; Ng 2009]:
//
//     Solids solids(domain, colliders, fps, params);
//     solids.find_sheets(voxel);
//     solids.set_frame(frame);                // every step
//     cells.update(topology, solids, voxel);  // SolidCells
//
// Colliders thinner than two cells are treated as sheets (sheets.h).
#pragma once

#include "spindrift/field/block.h"
#include "spindrift/field/row.h"
#include "spindrift/field/sight.h"
#include "spindrift/world/params.h"
#include "spindrift/world/rigid_shares.h"

#include <unordered_map>

namespace spindrift {

// A direction unlikely to align with any plane or edge of a scene.
inline const Vec3f kGenericDirection(0.31f, 0.59f, 0.75f);

class Solids {
  public:
    // `params` are in the order of the colliders; if empty, all colliders have free slip.
    Solids(const DomainParams& domain, std::vector<Shape> colliders, float fps,
           const std::vector<ColliderParams>& params = {});

    // Sets the time, in frames, for all functions below, and keeps the previous time.
    void set_frame(float frame);
    // Sets the grid spacing: colliders thinner than two cells become sheets, which separate the points on either side.
    void find_sheets(float voxel);
    bool has_sheets() const { return !sheets_.empty(); }
    // True if a sheet lies between two points.
    bool parted(const Vec3f& a, const Vec3f& b) const;
    float sheet_distance(const Vec3f& x) const;
    // The previous position of a point now at x that moves with the nearest sheet, and the current position of one that
    // was at x.
    Vec3f moved_back_with_sheet(const Vec3f& x) const { return carried_by_sheet(x, frame_, frame_before_); }
    Vec3f moved_with_sheet(const Vec3f& x) const { return carried_by_sheet(x, frame_before_, frame_); }
    float frame() const { return frame_; }
    float frame_before() const { return frame_before_; }
    // Bodies are moved by their owner, who must outlive this object.
    void set_bodies(const std::vector<RigidSolid>* bodies) { bodies_ = bodies; }
    const std::vector<RigidSolid>& bodies() const;
    // Distance [m] to the nearest solid, negative inside.
    float distance(const Vec3f& x) const;
    Row distances(const Row3& x) const; // at eight points
    // Distance to the nearest collider, domain wall or body alone.
    float collider_distance(const Vec3f& x) const;
    float wall_distance(const Vec3f& x) const;
    float body_distance(const Vec3f& x) const;
    Row body_distances(const Row3& x) const;
    // Fraction of an interval on an axis (or of a point if low == high) that the domain walls leave free.
    float free_share(int axis, float low, float high) const;
    // Unit vector away from the nearest solid.
    Vec3f normal(const Vec3f& x, float step) const;
    // Velocity [m/s] of the nearest solid, and of the nearest that is not a body.
    Vec3f velocity(const Vec3f& x) const;
    Vec3f collider_velocity(const Vec3f& x) const;
    // The collider nearest to a point. `alone`: no other collider or wall is nearer anywhere within the radius.
    struct Neighbour {
        const Shape* shape; // nullptr: a wall, or none
        bool alone;
    };
    Neighbour nearest_within(const Vec3f& center, float radius) const;
    Vec3f velocity_of(const Neighbour& solid, const Vec3f& x) const;
    // The body nearest to a point; nullptr if a wall or collider is nearer.
    const RigidSolid* nearest_body(const Vec3f& x) const;
    // Friction and stick coefficients of the nearest solid.
    struct Grip {
        float friction = 0, stick = 0;
    };
    Grip grip(const Vec3f& x) const;
    bool has_grip() const { return has_grip_; }
    // The point x, projected to the domain if it is behind a closed side.
    Vec3f within_walls(Vec3f x) const
    {
        for (const Side& wall : walls_)
            if (wall.sign * (x[wall.axis] - wall.at) < 0) x[wall.axis] = wall.at;
        return x;
    }
    // Coulomb friction of the closed sides; zero by default.
    void set_wall_friction(float friction);
    // Where a particle that moves from one point to another stops in front of a collider or body, including the solid's
    // own motion since the previous time. Empty if it meets none or starts inside one. Only sheets may be thinner than
    // `thinnest`.
    std::optional<Vec3f> first_contact(const Vec3f& from, const Vec3f& to, float gap, float thinnest) const;
    // Upper bound on any velocity component [m/s] of the colliders, and of the bodies. Unbounded colliders do not
    // count, because liquid moves with them.
    float speed() const;
    float body_speed() const;
    bool moving() const { return moving_ || has_bodies(); }
    bool colliders_move() const { return moving_; }
    bool has_bodies() const { return bodies_ && !bodies_->empty(); }
    bool has_colliders() const { return !colliders_.empty() || has_bodies(); }
    bool none() const { return walls_.empty() && !has_colliders(); }
    bool has_open_sides() const { return !open_sides_.empty(); }
    // True if a particle has left through an open side.
    bool outside_open_side(const Vec3f& x) const;

  private:
    struct Side {
        int axis;
        float sign, at; // sign * (x[axis] - at) is positive inside the domain
    };
    std::vector<Side> walls_, open_sides_;
    Vec3f carried_by_sheet(const Vec3f& x, float from, float to) const;
    const Shape* nearest_collider(const Vec3f& x) const; // nullptr if a wall is nearer
    std::vector<Shape> colliders_;
    std::vector<uint8_t> is_sheet_; // per collider
    struct Sheet {
        size_t collider;
        Box3f bounds; // at the current time
    };
    std::vector<Sheet> sheets_;
    const std::vector<RigidSolid>* bodies_ = nullptr;
    std::vector<Grip> grips_; // per collider
    Grip wall_grip_;
    float fps_, frame_ = 0, frame_before_ = 0;
    bool moving_ = false, has_grip_ = false;
};

// Faces less open than this are closed: hardly anything flows through, but their poorly determined velocity would
// affect nearby particles and make water creep along tilted walls.
constexpr float kSmallestOpening = 0.05f;

// Open fractions and distances in one tile.
struct SolidTile {
    // A closed face within two cells of the surface, near enough that liquid samples its velocity.
    struct ClosedFace {
        Vec3f normal; // of the nearest surface
        uint16_t cell, axis;
        // Share of the normal velocity that remains at the face: nonzero for faces in front of a sheet.
        float towards = 0;
    };
    alignas(64) float open[3][kTileCells];  // area fraction of each lower face, 0 to 1 (1.5 at sheets)
    alignas(64) float volume[kTileCells];   // volume fraction of each cell
    alignas(64) float distance[kTileCells]; // at cell centres, in cells; a lower bound of the magnitude above three
    std::vector<ClosedFace> closed_faces;
    // Visibility across sheets, see Sight; nullptr if no sheet is near.
    struct Sheets {
        FaceMask faces[kTileCells];
        CellMask27 cells[kTileCells];
        uint8_t links[3][kTileCells];
        float face_distances[3][kTileCells];
        float both_sides[kTileCells]; // free volume on both sides of the sheet, relative to `volume`
    };
    std::shared_ptr<const Sheets> sheets;
};

// Centre of a cell's lower face, in cells relative to the tile's corner.
inline Vec3f face_in_tile(int cell, int axis)
{
    Vec3f x = cell_in_tile(cell).cast<float>() + Vec3f::Constant(0.5f);
    x[axis] -= 0.5f;
    return x;
}

class SolidCells : private Sight {
  public:
    // Finds the tiles near solids. Tiles are cached, those of moving colliders for the current time only; bodies are
    // then cut out of them.
    void update(const Topology& topology, const Solids& solids, float voxel);

    // Visibility across sheets; nullptr if there are none. Valid as long as the topology and solids passed to update().
    const Sight* sight() const { return solids_ && solids_->has_sheets() ? this : nullptr; }
    // nullptr if no solid is near and every face is open.
    const SolidTile* tile(int index) const { return tiles_[index]; }
    // Fractions of bodies within what colliders and walls leave open: they and the open fraction of a face add up to
    // that.
    const RigidShares& shares() const { return shares_; }
    // The tiles near a solid, ascending.
    const std::vector<int>& near() const { return near_; }
    // Open fractions of a tile's lower faces; zero for a missing tile.
    const float* open(int index, int axis) const
    {
        const SolidTile* t = tiles_[index];
        return t ? t->open[axis] : all_open_;
    }
    // Volume fractions of a tile's cells and its margin; returns false and does nothing if all are 1.
    template <int H> bool gather_volumes(const Topology& topology, int tile, Block<float, H>& volumes) const
    {
        // Missing tiles have nothing near them, so their value does not matter.
        const auto& around = topology.neighbours(tile);
        const auto solid = [&](int t) { return t == topology.tile_count() ? nullptr : tiles_[t]; };
        if (std::none_of(around.begin(), around.end(), solid)) return false;
        volumes.gather(topology, tile, [&](int t) { return solid(t) ? solid(t)->volume : all_open_; });
        return true;
    }
    // Scales volume fractions to the free volume on both sides of sheets, at most 1.
    void gather_both_sides(const Topology& topology, int tile, const Block<float, 1>& volumes,
                           Block<float, 1>& shares) const;
    // Distance to solids in a tile and its margin, in cells; large where no solid is near.
    void gather_distances(const Topology& topology, int tile, Block<float, 1>& distances) const;
    size_t bytes() const;

  private:
    SolidCells(const SolidCells&) = delete;
    // Sight
    bool blocked(int tile) const override { return blocked_[tile]; }
    float clearance(int tile, int cell) const override;
    FaceMask faces(int tile, int cell, const Vec3f& x) const override;
    CellMask27 cells(int tile, int cell, const Vec3f& x) const override;
    FaceMask faces_from_center(int tile, int cell) const override;
    CellMask27 cells_from_center(int tile, int cell) const override;
    const uint8_t* links(int tile, int axis) const override;
    const float* face_distances(int tile, int axis) const override;
    Wall wall(const Vec3f& x) const override;
    bool parted(const Vec3f& a, const Vec3f& b) const override { return solids_->parted(a, b); }
    std::optional<Vec3i> home(int tile, int cell, const Vec3f& x) const override;

    const Topology* topology_ = nullptr; // of the last update
    const Solids* solids_ = nullptr;
    float voxel_ = 0, frame_ = 0;
    std::vector<uint8_t> blocked_; // per tile; see Sight
    void cut_out_bodies(const Topology& topology, const Solids& solids, float voxel);

    std::vector<int> near_;
    std::vector<const SolidTile*> tiles_; // per tile of the topology, plus one for missing tiles
    std::unordered_map<uint64_t, std::unique_ptr<SolidTile>> stored_; // by Morton code; nullptr: no solid near
    std::unique_ptr<SolidTile> closed_;
    RigidShares shares_;
    std::vector<std::unique_ptr<SolidTile>> body_tiles_; // tiles near bodies, otherwise null
    alignas(64) float all_open_[kTileCells], all_far_[kTileCells];

  public:
    SolidCells();
};

// Open fractions of the six faces around each row of a tile.
struct OpenView {
    TileView x, y, z;
    OpenView(const SolidCells& cells, const Topology& topology, int tile)
        : x(view(cells, topology, tile, 0)), y(view(cells, topology, tile, 1)), z(view(cells, topology, tile, 2))
    {
    }
    static TileView view(const SolidCells& cells, const Topology& topology, int tile, int axis)
    {
        const auto& n = topology.neighbours(tile);
        const auto at = [&](int slot) { return cells.open(n[slot], axis); };
        return TileView{at(neighbour_slot(0, 0, 0)),  at(neighbour_slot(-1, 0, 0)), at(neighbour_slot(1, 0, 0)),
                        at(neighbour_slot(0, -1, 0)), at(neighbour_slot(0, 1, 0)),  at(neighbour_slot(0, 0, -1)),
                        at(neighbour_slot(0, 0, 1))};
    }
};

} // namespace spindrift
