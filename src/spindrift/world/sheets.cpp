#include "spindrift/world/sheets.h"

namespace spindrift {

SheetSides::SheetSides(const Solids& solids, const Vec3i& first_cell, float voxel)
    : solids_(solids), first_(first_cell.cast<float>() + beside_grid()), voxel_(voxel)
{
    if (!solids.has_sheets()) return;
    const float half_diagonal = 0.5f * kTileSize * std::sqrt(3.0f);
    const Vec3f middle = (first_ + Vec3f::Constant(0.5f * kTileSize)) * voxel;
    if (std::abs(solids.sheet_distance(middle)) > (half_diagonal + kReach) * voxel) return;
    for (int c = 0; c < kTileCells; ++c) {
        distance_[c] = std::abs(solids.sheet_distance((first_ + center(c)) * voxel)) / voxel;
        any_ |= distance_[c] < kReach;
    }
}

std::shared_ptr<SolidTile::Sheets> SheetSides::look() const
{
    if (!any_) return nullptr;
    auto sheets = std::make_shared<SolidTile::Sheets>();
    for (int c = 0; c < kTileCells; ++c) {
        sheets->faces[c] = kAllFaces, sheets->cells[c] = kAllCells, sheets->both_sides[c] = 1;
        for (auto& links : sheets->links) links[c] = 0x3f;
        for (auto& far : sheets->face_distances) far[c] = kReach;
        if (!near(c)) continue;
        const Vec3f from = center(c);
        const auto hidden = [&](const Vec3f& way) { return way.norm() > distance_[c] && parted(from, from + way); };
        for (int slot = 0; slot < 27; ++slot) {
            const Vec3i step(slot / 9 - 1, slot / 3 % 3 - 1, slot % 3 - 1);
            if (slot != 13 && hidden(step.cast<float>())) sheets->cells[c] &= ~(1u << slot);
            for (int a = 0; a < 3; ++a)
                if (in_face_mask(a, step) && hidden(step.cast<float>() - 0.5f * Vec3f::Unit(a)))
                    sheets->faces[c] &= ~(FaceMask(1) << face_bit(a, step));
        }
        for (int a = 0; a < 3; ++a) {
            const Vec3f face = face_in_tile(c, a);
            sheets->face_distances[a][c] = std::max(0.0f, solids_.sheet_distance((first_ + face) * voxel_) / voxel_);
            for (int b = 0; b < 6; ++b) {
                const Vec3f beside = face + (b & 1 ? 1.0f : -1.0f) * Vec3f::Unit(b / 2);
                if (parted(face, beside)) sheets->links[a][c] &= static_cast<uint8_t>(~(1 << b));
            }
        }
    }
    return sheets;
}

// ------------------------------------------------------------------------------------------------------------- sight

namespace {

constexpr float kHalfDiagonal = 0.87f; // of a cell
constexpr float kFarTile = 3.4f;       // a tile that knows of no solid has none nearer than this

} // namespace

float SolidCells::clearance(int t, int cell) const
{
    const SolidTile* solid = tile(t);
    return solid ? solid->distance[cell] - kHalfDiagonal : kFarTile;
}

FaceMask SolidCells::faces_from_center(int t, int cell) const
{
    const SolidTile* solid = tile(t);
    return solid && solid->sheets ? solid->sheets->faces[cell] : kAllFaces;
}

CellMask27 SolidCells::cells_from_center(int t, int cell) const
{
    const SolidTile* solid = tile(t);
    return solid && solid->sheets ? solid->sheets->cells[cell] : kAllCells;
}

const uint8_t* SolidCells::links(int t, int axis) const
{
    const SolidTile* solid = tile(t);
    return solid && solid->sheets ? solid->sheets->links[axis] : nullptr;
}

const float* SolidCells::face_distances(int t, int axis) const
{
    const SolidTile* solid = tile(t);
    return solid && solid->sheets ? solid->sheets->face_distances[axis] : nullptr;
}

Sight::Wall SolidCells::wall(const Vec3f& x) const
{
    return {solids_->sheet_distance(x) / voxel_, solids_->normal(x, 0.1f * voxel_), solids_->collider_velocity(x)};
}

// The way from a cell to one whose centre can be seen from a place in the cell: the same cell if possible, otherwise
// the nearest. A place sees about what that centre sees.
std::optional<Vec3i> SolidCells::home(int t, int cell, const Vec3f& x) const
{
    if (clearance(t, cell) > 0) return Vec3i::Zero();
    const Vec3f first = topology_->first_cell(t).cast<float>() + cell_in_tile(cell).cast<float>();
    const auto center = [&](const Vec3i& step) -> Vec3f {
        return (first + beside_grid() + step.cast<float>() + Vec3f::Constant(0.5f)) * voxel_;
    };
    if (!solids_->parted(x, center(Vec3i::Zero()))) return Vec3i::Zero();
    std::array<std::pair<float, int>, 26> others;
    size_t count = 0;
    for (int slot = 0; slot < 27; ++slot)
        if (slot != 13) {
            const Vec3i step(slot / 9 - 1, slot / 3 % 3 - 1, slot % 3 - 1);
            others[count++] = {(center(step) - x).squaredNorm(), slot};
        }
    std::sort(others.begin(), others.end());
    for (const auto& [distance, slot] : others) {
        const Vec3i step(slot / 9 - 1, slot / 3 % 3 - 1, slot % 3 - 1);
        if (!solids_->parted(x, center(step))) return step;
    }
    return {};
}

FaceMask SolidCells::faces(int t, int cell, const Vec3f& x) const
{
    const auto step = home(t, cell, x);
    if (!step) return 0;
    if (step->isZero()) return faces_from_center(t, cell);
    const Vec3i at = topology_->first_cell(t) + cell_in_tile(cell) + *step;
    return shifted(faces_from_center(topology_->find(tile_of_cell(at)), offset_of_cell(at)), *step);
}

CellMask27 SolidCells::cells(int t, int cell, const Vec3f& x) const
{
    const auto step = home(t, cell, x);
    if (!step) return 0;
    if (step->isZero()) return cells_from_center(t, cell);
    const Vec3i at = topology_->first_cell(t) + cell_in_tile(cell) + *step;
    return shifted(cells_from_center(topology_->find(tile_of_cell(at)), offset_of_cell(at)), *step);
}

} // namespace spindrift
