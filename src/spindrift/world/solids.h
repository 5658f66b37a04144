// The solids that liquids and smoke meet: colliders, rigid bodies and the closed sides of the domain, as one signed
// distance (positive where there is room), and their share of the grid: how much of each cell face is open (Batty et
// al. 2007, Ng et al. 2009).
#pragma once

#include "spindrift/field/block.h"
#include "spindrift/field/row.h"
#include "spindrift/field/sight.h"
#include "spindrift/world/params.h"
#include "spindrift/world/rigid_shares.h"

#include <unordered_map>

namespace spindrift {

// Along no plane or edge that scenes are likely to have.
inline const Vec3f kNoDirectionOfGrids(0.31f, 0.59f, 0.75f);

class Solids {
  public:
    // `params` are those of the colliders, in their order; left out, liquid slides on all of them.
    Solids(const DomainParams& domain, std::vector<Shape> colliders, float fps,
           const std::vector<ColliderParams>& params = {});

    // The moment, in frames, that everything below is about; the one before is remembered.
    void set_frame(float frame);
    // Says how fine the grid is: colliders that are thinner than two cells become sheets, which part the places on
    // either side of them.
    void find_sheets(float voxel);
    bool has_sheets() const { return !sheets_.empty(); }
    // True if a sheet lies between two places.
    bool parted(const Vec3f& a, const Vec3f& b) const;
    float sheet_distance(const Vec3f& x) const;
    // Where a place that goes with the sheet next to it was at the moment before, and where one is now that was at x.
    Vec3f before(const Vec3f& x) const { return carried_by_sheet(x, frame_, frame_before_); }
    Vec3f now(const Vec3f& x) const { return carried_by_sheet(x, frame_before_, frame_); }
    float frame() const { return frame_; }
    float frame_before() const { return frame_before_; }
    // Bodies that somebody else moves, and who must outlive this.
    void set_bodies(const std::vector<RigidSolid>* bodies) { bodies_ = bodies; }
    const std::vector<RigidSolid>& bodies() const;
    // Distance [m] to the nearest solid, negative inside.
    float distance(const Vec3f& x) const;
    Row distances(const Row3& x) const; // of eight places
    // The same to the nearest collider, to the nearest closed side, and to the nearest body, alone.
    float collider_distance(const Vec3f& x) const;
    float wall_distance(const Vec3f& x) const;
    float body_distance(const Vec3f& x) const;
    Row body_distances(const Row3& x) const;
    // The share of an interval of an axis, or of a point if low == high, that the closed sides leave free.
    float free_share(int axis, float low, float high) const;
    // Points away from the nearest solid.
    Vec3f normal(const Vec3f& x, float step) const;
    // Velocity [m/s] of the nearest solid, and of the nearest that is not a body.
    Vec3f velocity(const Vec3f& x) const;
    Vec3f collider_velocity(const Vec3f& x) const;
    // The collider nearest to a place, and its velocity elsewhere; `alone`: no other, and no wall, is nearer anywhere
    // within the radius.
    struct Neighbour {
        const Shape* shape; // nullptr: a wall, or none
        bool alone;
    };
    Neighbour nearest_within(const Vec3f& center, float radius) const;
    Vec3f velocity_of(const Neighbour& solid, const Vec3f& x) const;
    // The body at a place; nullptr if a wall or collider is nearer.
    const RigidSolid* nearest_body(const Vec3f& x) const;
    // What holds back liquid at the nearest solid.
    struct Hold {
        float friction = 0, stick = 0;
    };
    Hold hold(const Vec3f& x) const;
    bool hold_back() const { return hold_back_; }
    // A place, or the nearest to it that is not behind a closed side of the domain.
    Vec3f within_walls(Vec3f x) const
    {
        for (const Side& wall : walls_)
            if (wall.sign * (x[wall.axis] - wall.at) < 0) x[wall.axis] = wall.at;
        return x;
    }
    // Coulomb's friction of the domain's closed sides, which have none otherwise.
    void set_wall_friction(float friction);
    // Where a particle that goes from one place to another is stopped in front of a collider or body, whose own way
    // since the moment before is included. Nowhere if it does not meet one, or was in it from the start. None but
    // sheets may be thinner than `thinnest`.
    std::optional<Vec3f> first_contact(const Vec3f& from, const Vec3f& to, float gap, float thinnest) const;
    // The largest component of the velocity of any collider [m/s], and of any body; a collider that is unbounded takes
    // the liquid along, and does not count.
    float speed() const;
    float body_speed() const;
    bool moving() const { return moving_ || has_bodies(); }
    bool colliders_move() const { return moving_; }
    bool has_bodies() const { return bodies_ && !bodies_->empty(); }
    bool has_colliders() const { return !colliders_.empty() || has_bodies(); }
    bool none() const { return walls_.empty() && !has_colliders(); }
    bool has_open_sides() const { return !open_sides_.empty(); }
    // True where a particle has left through an open side.
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
    std::vector<uint8_t> is_sheet_; // of each collider
    struct Sheet {
        size_t collider;
        Box3f bounds; // at this moment
    };
    std::vector<Sheet> sheets_;
    const std::vector<RigidSolid>* bodies_ = nullptr;
    std::vector<Hold> holds_; // of each collider
    Hold wall_hold_;
    float fps_, frame_ = 0, frame_before_ = 0;
    bool moving_ = false, hold_back_ = false;
};

// A face less open than this is closed: next to nothing flows through it, but its velocity would be as good as any for
// the particles around it, and make the water creep along a tilted wall.
constexpr float kSmallestOpening = 0.05f;

// What the solids leave open in one tile.
struct SolidTile {
    // A face in a solid, near enough to its surface (two cells) that liquid may look at its velocity.
    struct ClosedFace {
        Vec3f normal; // of the nearest surface
        uint16_t cell, axis;
        // Of the velocity towards the surface, what is left at the face: a face in front of a sheet is not in it.
        float towards = 0;
    };
    alignas(64) float open[3][kTileCells];  // area fraction of each lower face, 0 to 1
    alignas(64) float volume[kTileCells];   // open share of each cell
    alignas(64) float distance[kTileCells]; // at cell centres, in cells; at least so far, if it is more than three
    std::vector<ClosedFace> closed_faces;
    // What can be seen from where, see Sight; nullptr where no sheet is near.
    struct Sheets {
        FaceMask faces[kTileCells];
        CellMask27 cells[kTileCells];
        uint8_t links[3][kTileCells];
        float face_distances[3][kTileCells];
        float both_sides[kTileCells]; // what of a cell is free on either side, over its volume
    };
    std::shared_ptr<const Sheets> sheets;
};

// The centre of a tile's lower face, in cells from the tile's corner.
inline Vec3f face_in_tile(int cell, int axis)
{
    Vec3f x = cell_in_tile(cell).cast<float>() + Vec3f::Constant(0.5f);
    x[axis] -= 0.5f;
    return x;
}

class SolidCells : private Sight {
  public:
    // Finds the tiles near solids. Tiles are evaluated once and remembered, those of moving solids for their moment;
    // bodies are cut out of them.
    void update(const Topology& topology, const Solids& solids, float voxel);

    // What sheets hide from whom; nullptr without any. As long as the topology and the solids are those of update().
    const Sight* sight() const { return solids_ && solids_->has_sheets() ? this : nullptr; }
    // nullptr where no solid is near: every face is open.
    const SolidTile* tile(int index) const { return tiles_[static_cast<size_t>(index)]; }
    // What bodies fill of what colliders and walls leave open: their shares of a face and its open part add up to that.
    const RigidShares& shares() const { return shares_; }
    // The tiles that have a solid near, ascending.
    const std::vector<int>& near() const { return near_; }
    // Open fractions of the lower faces of a tile; closed where there is no tile.
    const float* open(int index, int axis) const
    {
        const SolidTile* t = tiles_[static_cast<size_t>(index)];
        return t ? t->open[axis] : all_open_;
    }
    // The open share of every cell of a tile and around it; false (and nothing done) if all of it is open.
    template <int H> bool gather_volumes(const Topology& topology, int tile, Block<float, H>& volumes) const
    {
        // Where there is no tile there is nothing near, so it does not matter what is there.
        const auto& around = topology.neighbours(tile);
        const auto solid = [&](int t) { return t == topology.tile_count() ? nullptr : tiles_[static_cast<size_t>(t)]; };
        if (std::none_of(around.begin(), around.end(), solid)) return false;
        volumes.gather(topology, tile, [&](int t) { return solid(t) ? solid(t)->volume : all_open_; });
        return true;
    }
    // From these volumes, what of the cells is free on either side of sheets: no more than 1.
    void gather_both_sides(const Topology& topology, int tile, const Block<float, 1>& volumes,
                           Block<float, 1>& shares) const;
    // The distance to solids at the same cells, in cells; far away where there is no solid near.
    void gather_distances(const Topology& topology, int tile, Block<float, 1>& distances) const;
    size_t bytes() const;

  private:
    SolidCells(const SolidCells&) = delete;
    // Sight
    bool blocked(int tile) const override { return blocked_[static_cast<size_t>(tile)]; }
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
    std::vector<uint8_t> blocked_; // see Sight; of each tile
    void cut_out_bodies(const Topology& topology, const Solids& solids, float voxel);

    std::vector<int> near_;
    std::vector<const SolidTile*> tiles_; // of each tile of the topology, and one for missing tiles
    std::unordered_map<uint64_t, std::unique_ptr<SolidTile>> stored_; // by Morton code; nullptr: no solid near
    std::unique_ptr<SolidTile> closed_;
    RigidShares shares_;
    std::vector<std::unique_ptr<SolidTile>> body_tiles_; // those near bodies
    alignas(64) float all_open_[kTileCells], all_far_[kTileCells];

  public:
    SolidCells();
};

// The six area fractions around each row of a tile.
struct OpenView {
    TileView x, y, z;
    OpenView(const SolidCells& cells, const Topology& topology, int tile)
        : x(view(cells, topology, tile, 0)), y(view(cells, topology, tile, 1)), z(view(cells, topology, tile, 2))
    {
    }
    static TileView view(const SolidCells& cells, const Topology& topology, int tile, int axis)
    {
        const auto& n = topology.neighbours(tile);
        const auto at = [&](int slot) { return cells.open(n[static_cast<size_t>(slot)], axis); };
        return TileView{at(neighbour_slot(0, 0, 0)),  at(neighbour_slot(-1, 0, 0)), at(neighbour_slot(1, 0, 0)),
                        at(neighbour_slot(0, -1, 0)), at(neighbour_slot(0, 1, 0)),  at(neighbour_slot(0, 0, -1)),
                        at(neighbour_slot(0, 0, 1))};
    }
};

} // namespace spindrift
