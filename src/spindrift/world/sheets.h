// The grid around sheets: colliders that are thinner than two cells.
//
// A cell belongs to the side of a sheet that its centre is on. A face between two cells that do not see each other is
// closed; the others are open as far as the sheet leaves them on the side of the two cells (after Guendelman et al.
// 2005, Coupling water and smoke to thin deformable and rigid shells, who have no partly open faces). What a sheet cuts
// off a cell is less than half of it, and is added to the next cell on its own side, faces likewise: open parts and
// volumes may be up to 1.5.
#pragma once

#include "spindrift/world/open_share.h"
#include "spindrift/world/solids.h"

namespace spindrift {

// Sheets are asked about places this far beside those of the grid, in cells. A sheet that runs exactly through the
// centres of cells would have them on neither side, and cut these cells off from both.
inline Vec3f beside_grid() { return 1e-3f * kNoDirectionOfGrids; }

// The sheets around one tile.
class SheetSides {
  public:
    SheetSides(const Solids& solids, const Vec3i& first_cell, float voxel);

    // False where a cell and all around it are on one side.
    bool near(int cell) const { return any_ && distance_[cell] < kReach; }
    // The open part of the lower face of a cell along an axis. `distance` is that to any collider, in cells, at a place
    // in cells from the tile's corner.
    template <class Distance> float open_part(int cell, int axis, const Distance& distance) const
    {
        const Vec3f middle = face_in_tile(cell, axis), upper = center(cell), lower = upper - Vec3f::Unit(axis);
        if (parted(lower, upper)) return 0;
        const View<Distance> view(*this, distance, middle);
        const auto part = [&](const Vec3f& square) { // around this place, as far as it can be seen from the middle
            std::array<float, 4> corners;
            for (size_t k = 0; k < 4; ++k) { // in the order of the outline
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
    // The part of a cell on the side of its centre.
    template <class Distance> float own_part(int cell, const Distance& distance) const
    {
        const View<Distance> view(*this, distance, center(cell));
        const auto part = [&](const Vec3f& cube) {
            std::array<float, 8> corners;
            for (int k = 0; k < 8; ++k) {
                const Vec3f to = Vec3i(k >> 2, k >> 1 & 1, k & 1).cast<float>() - Vec3f::Constant(0.5f);
                corners[static_cast<size_t>(k)] = view.seen(cube + to);
            }
            return positive_volume(corners, view.seen(cube));
        };
        float sum = part(center(cell));
        for_each_cut_off(center(cell), -1, [&](const Vec3f& beside) { sum += part(beside); });
        return sum;
    }
    // What can be seen from where; nullptr if nothing is hidden.
    std::shared_ptr<SolidTile::Sheets> look() const;

  private:
    // Calls body(place) for the places next to one, not along `axis`, that are behind a sheet which runs across the way
    // to them rather than along it.
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
    // No face or centre that is looked at from a cell's centre is farther away.
    static constexpr float kReach = 1.75f;

    static Vec3f center(int cell) { return cell_in_tile(cell).cast<float>() + Vec3f::Constant(0.5f); }
    bool parted(const Vec3f& a, const Vec3f& b) const
    {
        return solids_.parted((first_ + a) * voxel_, (first_ + b) * voxel_);
    }
    // Distances as seen from a place: behind a sheet they are negative, by how far its side in front lies away if that
    // goes on as a plane. To the far side it is less, by which a sheet would lose its thickness.
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
                for (int a = 0; a < 3; ++a) { // on the side in front: in the middle of a sheet the two differ
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
        mutable std::optional<Vec3f> slope_; // where something is behind a sheet
        mutable float here_ = 0;
    };

    const Solids& solids_;
    Vec3f first_;
    float voxel_;
    bool any_ = false;
    float distance_[kTileCells]; // of cell centres to the nearest sheet, in cells; only if there are any
};

} // namespace spindrift
