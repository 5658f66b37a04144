// Grid treatment of sheets: colliders thinner than two cells, which have no cells of their own.
//
// A cell belongs to the side of the sheet that its centre is on. Faces between cells on different sides are closed, and
// everything that samples neighbouring cells (particles, extrapolation, advection of smoke, filling with sand) asks a
// `Sight` which neighbours are on its own side. Particles never pass: their paths are cut at the sheet, for any
// thickness and for open meshes too. The surface mesh of a liquid also ends at sheets (surface/thin_walls.h). Rods,
// rigid bodies and walls within inverted meshes are not sheets; `spindrift check` reports those thinner than a cell.
//
// Differences from [Guendelman 2005]:
// - Faces between cells on the same side are partly open, as far as the sheet leaves them free.
// - A sheet cuts off less than half of a cell. That part is added to the adjacent cell on its own side, and likewise
//   for faces, so open fractions and volumes can reach 1.5.
#pragma once

#include "spindrift/world/open_share.h"
#include "spindrift/world/solids.h"

namespace spindrift {

// Offset [cells] of all grid points for sheet queries. Without it, a sheet exactly through cell centres would have them
// on neither side and cut these cells off from both.
inline Vec3f grid_offset() { return 1e-3f * kGenericDirection; }

// The sheets near one tile.
class SheetSides {
  public:
    SheetSides(const Solids& solids, const Vec3i& first_cell, float voxel);

    // False if a cell and its neighbours are all on one side.
    bool near(int cell) const { return any_ && distance_[cell] < kReach; }
    // Open fraction of a cell's lower face along an axis. `distance` gives the distance to any collider at a point;
    // points and distances are in cells, relative to the tile's corner.
    template <class Distance> float open_part(int cell, int axis, const Distance& distance) const
    {
        const Vec3f middle = face_in_tile(cell, axis), upper = center(cell), lower = upper - Vec3f::Unit(axis);
        if (parted(lower, upper)) return 0;
        const View<Distance> view(*this, distance, middle);
        const auto part = [&](const Vec3f& square) { // fraction of a square visible from the face centre
            std::array<float, 4> corners;
            for (size_t k = 0; k < 4; ++k) { // in outline order
                Vec3f at = square;
                at[(axis + 1) % 3] += k == 1 || k == 2 ? 0.5f : -0.5f, at[(axis + 2) % 3] += k >= 2 ? 0.5f : -0.5f;
                corners[k] = view.seen(at);
            }
            return positive_area(corners, view.seen(square));
        };
        float sum = part(middle);
        for_each_cut_off(middle, axis, [&](const Vec3f& beside) { sum += part(beside); });
        return sum;
    }
    // Volume of a cell on the side of its centre.
    template <class Distance> float own_part(int cell, const Distance& distance) const
    {
        const View<Distance> view(*this, distance, center(cell));
        const auto part = [&](const Vec3f& cube) {
            std::array<float, 8> corners;
            for (int k = 0; k < 8; ++k) {
                const Vec3f to = Vec3i(k >> 2, k >> 1 & 1, k & 1).cast<float>() - Vec3f::Constant(0.5f);
                corners[k] = view.seen(cube + to);
            }
            return positive_volume(corners, view.seen(cube));
        };
        float sum = part(center(cell));
        for_each_cut_off(center(cell), -1, [&](const Vec3f& beside) { sum += part(beside); });
        return sum;
    }
    // Visibility between cells and faces; nullptr if no sheet is near.
    std::shared_ptr<SolidTile::Sheets> look() const;

  private:
    // Calls body(point) for the neighbours of a point, except along `axis`, that lie behind a sheet that is mainly
    // perpendicular to the direction to them.
    template <class Body> void for_each_cut_off(const Vec3f& from, int axis, const Body& body) const
    {
        for (int a = 0; a < 3; ++a)
            for (const float side : {-1.0f, 1.0f}) {
                const Vec3f beside = from + side * Vec3f::Unit(a);
                if (a == axis || !parted(from, beside)) continue;
                int across = 0;
                solids_.normal((first_ + beside) * voxel_, 0.1f * voxel_).cwiseAbs().maxCoeff(&across);
                if (across == a) body(beside);
            }
    }
    // Upper bound on the distance from a cell centre to any face or centre that is tested.
    static constexpr float kReach = 1.75f;

    static Vec3f center(int cell) { return cell_in_tile(cell).cast<float>() + Vec3f::Constant(0.5f); }
    bool parted(const Vec3f& a, const Vec3f& b) const
    {
        return solids_.parted((first_ + a) * voxel_, (first_ + b) * voxel_);
    }
    // Distances as seen from a place. Behind a sheet the distance is negative: that to the plane through the sheet's
    // near side. Measured to the far side it would be smaller, and the sheet would lose its thickness.
    template <class Distance> class View {
      public:
        View(const SheetSides& sides, const Distance& distance, const Vec3f& from)
            : sides_(sides), distance_(distance), from_(from)
        {
        }
        float seen(const Vec3f& at) const
        {
            const float d = distance_(at);
            return sides_.parted(from_, at) ? std::min(-std::abs(d), plane(at)) : d;
        }

      private:
        float plane(const Vec3f& at) const
        {
            constexpr float kStep = 0.02f;
            if (!slope_) {
                slope_.emplace(), here_ = distance_(from_);
                for (int a = 0; a < 3; ++a) { // one-sided in front of the sheet: the slopes of its two sides differ
                    const Vec3f way = Vec3f::Unit(a);
                    const bool below = !sides_.parted(from_, from_ - way), above = !sides_.parted(from_, from_ + way);
                    const float low = below || !above ? distance_(from_ - kStep * way) : here_;
                    const float high = above || !below ? distance_(from_ + kStep * way) : here_;
                    (*slope_)[a] = (high - low) / (below == above ? 2 * kStep : kStep);
                }
            }
            return here_ + slope_->dot(at - from_);
        }

        const SheetSides& sides_;
        const Distance& distance_;
        const Vec3f from_;
        mutable std::optional<Vec3f> slope_; // computed when a place behind a sheet is asked for
        mutable float here_ = 0;
    };

    const Solids& solids_;
    Vec3f first_;
    float voxel_;
    bool any_ = false;
    float distance_[kTileCells]; // from cell centres to the nearest sheet, in cells; set only if any_
};

} // namespace spindrift
