// The frame of reference in which friction measures strain, where colliders move.
//
// The strain of f = phi v is that of v only where phi is uniform: sand that moves along with a belt at a uniform speed
// has a strain of v grad phi beside the belt, where faces are closed and phi is 0, and at its surface. Relative to a
// velocity V, friction opposes
//
//     D^T (phi (v - V)) + phi_max D^T V    =    D^T f + (phi_max D^T V - D^T (phi V)),
//
// where phi_max is the volume fraction of the fullest face of a stress. For any V this is the strain of v where phi is
// uniform. Elsewhere it is accurate if V is close to v. The second term is constant within a step.
//
// - On a wall, shears act between sand and the nearest collider, and V is the collider's velocity.
// - Elsewhere V is the sand's own velocity, averaged over the faces around, and the collider's at closed faces. With
//   the collider's everywhere, friction would drag the surface of sand along with a frictionless belt, or hold it back
//   in a drum.
#include "spindrift/base/scratch.h"
#include "spindrift/sand/stress.h"
#include "spindrift/sand/tuning.h"

namespace spindrift {

void Stress::find_frame()
{
    if (!solids_->colliders_move()) return;
    const Topology& all = grid_->topology;
    for (MacField* field : {&frame_, &frame_share_, &own_frame_})
        for (auto& u : field->u) u.reset_uninitialized(all, 0);
    for_each_tile(all, [&](int tile) { set_frame_velocity(tile); });
    for_each_tile(all, [&](int tile) { set_own_frame(tile); });
    for (auto& strain : frame_strain_) strain.reset_uninitialized(*dense_, 0);
    for_dense([&](int d) { set_frame_strain(d); });
}

// Use the velocity of one collider if it is the nearest everywhere in the tile and moves rigidly; far from solids, that
// of the collider nearest to the tile's centre is good enough. Otherwise find the nearest collider for each face.
void Stress::set_frame_velocity(int tile)
{
    const float voxel = grid_->voxel, half = 0.5f * kTileSize * voxel;
    const Vec3f first = grid_->topology.first_cell(tile).cast<float>();
    const Vec3f middle = voxel * first + Vec3f::Constant(half);
    const bool near = solid_cells_->tile(tile) != nullptr;
    const Solids::Neighbour nearest = solids_->nearest_within(middle, near ? std::sqrt(3.0f) * half : 0);
    const Vec3f at_middle = solids_->velocity_of(nearest, middle);
    Mat3f gradient; // velocity = at_middle + gradient * (x - middle)
    for (int a = 0; a < 3; ++a)
        gradient.col(a) = (solids_->velocity_of(nearest, middle + half * Vec3f::Unit(a)) - at_middle) / half;
    const auto is_linear = [&] {
        for (int k = 0; k < 8; ++k) {
            const Vec3f arm = half * Vec3f(k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? 1 : -1);
            const Vec3f velocity = solids_->velocity_of(nearest, middle + arm);
            if ((velocity - at_middle - gradient * arm).norm() > SandTuning::linear * velocity.norm()) return false;
        }
        return true;
    };
    const bool as_one = !near || (nearest.alone && is_linear());
    for (int a = 0; a < 3; ++a) {
        float *velocity = frame_.u[a].tile(tile), *moving = frame_share_.u[a].tile(tile);
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3f x = voxel * (first + face_in_tile(c, a));
            velocity[c] = as_one ? at_middle[a] + gradient.row(a).dot(x - middle) : solids_->collider_velocity(x)[a];
        }
        const float *share = grid_->at_faces.u[a].tile(tile), *open = solid_cells_->open(tile, a);
        for (int o = 0; o < kTileCells; o += kTileSize)
            store_row(moving + o, min(load_row(open + o), load_row(share + o)));
        if (!bodies_) continue;
        // A face moves with its bodies too.
        for (size_t b = 0; b < solids_->bodies().size(); ++b)
            if (const RigidShares::Tile* body = solid_cells_->shares().find(b, tile))
                for (int c = 0; c < kTileCells; ++c) moving[c] += body->face[a][c];
    }
}

// The mass-weighted mean, over this face and those around, of the velocity relative to the collider. Sand that turns
// with a drum, or slides over a belt as a block, then has its own velocity, also at the empty faces beside it.
void Stress::set_own_frame(int tile)
{
    struct Blocks {
        Block<float, 1> velocity, collider, share;
    };
    auto& around = thread_scratch<Blocks>();
    const Vec3i steps[] = {Vec3i(0, 0, 0), Vec3i(-1, 0, 0), Vec3i(1, 0, 0), Vec3i(0, -1, 0),
                           Vec3i(0, 1, 0), Vec3i(0, 0, -1), Vec3i(0, 0, 1)};
    for (int a = 0; a < 3; ++a) {
        around.velocity.gather(grid_->velocity.u[a], tile), around.collider.gather(frame_.u[a], tile);
        around.share.gather(frame_share_.u[a], tile);
        for_each_row([&](int x, int y, int o) {
            Row sum = splat(0), weight = splat(0);
            for (const Vec3i& step : steps) {
                const auto at = [&](const Block<float, 1>& block) {
                    return load_row_unaligned(&block.at(x + step.x(), y + step.y(), step.z()));
                };
                const Row share = at(around.share);
                sum += share * (at(around.velocity) - at(around.collider)), weight += share;
            }
            const Row open = load_row(solid_cells_->open(tile, a) + o);
            const Row beyond = open > splat(0) ? sum * inverse_or_zero(weight) : splat(0);
            store_row(own_frame_.u[a].tile(tile) + o, load_row(frame_.u[a].tile(tile) + o) + beyond);
        });
    }
}

void Stress::set_frame_strain(int dense_tile)
{
    struct Blocks {
        Block<float, 1> collider[3], own[3], share[3], room;
    };
    auto& around = thread_scratch<Blocks>();
    const int tile = tile_of_[dense_tile];
    for (int a = 0; a < 3; ++a) {
        around.collider[a].gather(frame_.u[a], tile, Margin::nearest);
        around.own[a].gather(own_frame_.u[a], tile, Margin::nearest);
        around.share[a].gather(frame_share_.u[a], tile);
    }
    const bool near_solid = solid_cells_->gather_volumes(grid_->topology, tile, around.room);
    const auto at = [](const Block<float, 1>& block, int x, int y, const Vec3i& step) {
        return load_row_unaligned(&block.at(x + step.x(), y + step.y(), step.z()));
    };
    // Accumulates a strain: `by` times the velocity of a face.
    struct Sum {
        const Block<float, 1> (&velocity)[3];
        Row of_velocity = splat(0), of_flux = splat(0), fullest = splat(0);
        Row correction() const { return fullest * of_velocity - of_flux; }
    };
    const auto add = [&](Sum& sum, int axis, int x, int y, const Vec3i& step, float by) {
        const Row velocity = at(sum.velocity[axis], x, y, step), share = at(around.share[axis], x, y, step);
        sum.of_velocity += by * velocity, sum.of_flux += by * (share * velocity);
        sum.fullest = max(sum.fullest, share);
    };
    const Vec3i here = Vec3i::Zero();
    for_each_row([&](int x, int y, int o) {
        const auto put = [&](int part, Row value) { store_row(frame_strain_[part].tile(dense_tile) + o, value); };
        const auto along = [&](Sum& sum, int axis, float by) {
            add(sum, axis, x, y, Vec3i::Unit(axis), by), add(sum, axis, x, y, here, -by);
        };
        Sum axial{around.own}, lateral{around.own};
        along(axial, 0, -0.5f), along(axial, 1, 1), along(axial, 2, -0.5f);
        along(lateral, 0, 1), along(lateral, 2, -1);
        put(0, axial.correction()), put(1, lateral.correction());
        for (int k = 0; k < 3; ++k) {
            const int a = kShearAxes[k][0], b = kShearAxes[k][1];
            const auto shear = [&](const Block<float, 1>(&velocity)[3]) {
                Sum sum{velocity};
                for (const auto& [axis, other] : {std::pair(a, b), std::pair(b, a)})
                    add(sum, axis, x, y, here, 1), add(sum, axis, x, y, -Vec3i::Unit(other), -1);
                return sum.correction();
            };
            Row correction = shear(around.own);
            if (near_solid) {
                const Vec3i back = -Vec3i::Unit(a), below = -Vec3i::Unit(b);
                const Row room = min(min(at(around.room, x, y, here), at(around.room, x, y, back)),
                                     min(at(around.room, x, y, below), at(around.room, x, y, back + below)));
                correction = room < splat(SandTuning::on_wall) ? shear(around.collider) : correction;
            }
            put(2 + k, correction);
        }
    });
}

} // namespace spindrift
