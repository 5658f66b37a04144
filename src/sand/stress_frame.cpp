// The frame in which friction measures how sand moves, where colliders move.
//
// The strain of f = phi v is that of v only where phi is the same on both sides: sand that moves along with a belt, all
// of it at one speed, has a strain of v grad phi beside the belt, where faces are closed and phi is 0. With the
// velocity V of the nearest collider in place of that of the grid, what friction is to oppose is
//
//     D^T (phi (v - V)) + phi_max D^T V    =    D^T f + (phi_max D^T V - D^T (phi V)),
//
// with the fullest face of a stress in phi_max. It is zero for sand that moves as the collider does, and for any V the
// strain of v where phi is even. The second term is the same for all of a step.
#include "sand/stress.h"

namespace spindrift {

void Stress::find_frame()
{
    if (!solids_->colliders_move()) return;
    const Topology& all = grid_->topology;
    for (int a = 0; a < 3; ++a) frame_.u[a].reset_uninitialized(all, 0), frame_share_.u[a].reset_uninitialized(all, 0);
    for_each_tile(all, [&](int tile) { set_frame_velocity(tile); });
    for (auto& strain : frame_strain_) strain.reset_uninitialized(*dense_, 0);
    for_dense([&](int d) { set_frame_strain(d); });
}

// Of the one collider that is the nearest everywhere in the tile, if it moves as a rigid body; far from solids the
// nearest to the middle will do. Otherwise of the nearest to each face.
void Stress::set_frame_velocity(int tile)
{
    const float voxel = grid_->voxel, half = 0.5f * kTileSize * voxel;
    const Vec3f first = grid_->topology.first_cell(tile).cast<float>();
    const Vec3f middle = voxel * first + Vec3f::Constant(half);
    const bool near = room_->tile(tile) != nullptr;
    const Solids::Neighbour nearest = solids_->nearest_within(middle, near ? std::sqrt(3.0f) * half : 0);
    const Vec3f at_middle = solids_->velocity_of(nearest, middle);
    Mat3f gradient; // velocity = at_middle + gradient * (x - middle)
    for (int a = 0; a < 3; ++a)
        gradient.col(a) = (solids_->velocity_of(nearest, middle + half * Vec3f::Unit(a)) - at_middle) / half;
    const auto is_linear = [&] {
        for (int k = 0; k < 8; ++k) {
            const Vec3f arm = half * Vec3f(k & 1 ? 1 : -1, k & 2 ? 1 : -1, k & 4 ? 1 : -1);
            const Vec3f velocity = solids_->velocity_of(nearest, middle + arm);
            if ((velocity - at_middle - gradient * arm).norm() > 1e-3f * velocity.norm()) return false;
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
        const float *share = grid_->at_faces.u[a].tile(tile), *open = room_->open(tile, a);
        for (int o = 0; o < kTileCells; o += kTileSize)
            store_row(moving + o, min(load_row(open + o), load_row(share + o)));
        if (!bodies_) continue;
        // Bodies are part of what moves.
        for (size_t b = 0; b < solids_->bodies().size(); ++b)
            if (const RigidShares::Tile* body = room_->shares().find(b, tile))
                for (int c = 0; c < kTileCells; ++c) moving[c] += body->face[a][c];
    }
}

void Stress::set_frame_strain(int dense_tile)
{
    struct Blocks {
        Block<float, 1> velocity[3], share[3];
    };
    thread_local Blocks kept;
    Blocks& around = kept;
    const int tile = tile_of_[static_cast<size_t>(dense_tile)];
    for (int a = 0; a < 3; ++a) {
        around.velocity[a].gather(frame_.u[a], tile, Margin::nearest);
        around.share[a].gather(frame_share_.u[a], tile);
    }
    const auto at = [&](const Block<float, 1>(&blocks)[3], int axis, int x, int y, const Vec3i& step) {
        return load_row_unaligned(&blocks[axis].at(x + step.x(), y + step.y(), step.z()));
    };
    // Adds up a strain: `by` for the velocity of a face.
    struct Sum {
        Row of_velocity = splat(0), of_flux = splat(0), fullest = splat(0);
        Row correction() const { return fullest * of_velocity - of_flux; }
    };
    const auto add = [&](Sum& sum, int axis, int x, int y, const Vec3i& step, float by) {
        const Row velocity = at(around.velocity, axis, x, y, step), share = at(around.share, axis, x, y, step);
        sum.of_velocity += by * velocity, sum.of_flux += by * (share * velocity);
        sum.fullest = max(sum.fullest, share);
    };
    const Vec3i here = Vec3i::Zero();
    for_each_row([&](int x, int y, int o) {
        const auto along = [&](Sum& sum, int axis, float by) {
            add(sum, axis, x, y, Vec3i::Unit(axis), by), add(sum, axis, x, y, here, -by);
        };
        const auto across = [&](Sum& sum, int axis, int other) {
            add(sum, axis, x, y, here, 1), add(sum, axis, x, y, -Vec3i::Unit(other), -1);
        };
        Sum sums[5];
        along(sums[0], 0, -0.5f), along(sums[0], 1, 1), along(sums[0], 2, -0.5f);
        along(sums[1], 0, 1), along(sums[1], 2, -1);
        for (int k = 0; k < 3; ++k) {
            const int a = kShearAxes[k][0], b = kShearAxes[k][1];
            across(sums[2 + k], a, b), across(sums[2 + k], b, a);
        }
        for (int i = 0; i < 5; ++i) store_row(frame_strain_[i].tile(dense_tile) + o, sums[i].correction());
    });
}

} // namespace spindrift
