#include "spindrift/sand/rigid_clusters.h"
#include "spindrift/sand/tuning.h"

#include <Eigen/QR>
#include <utility>

namespace spindrift {

namespace {

// Root of the union-find tree of cell i.
int32_t first_of(const int32_t* first, int32_t i)
{
    while (first[i] != i) i = first[i];
    return i;
}

void connect(int32_t* first, int32_t i, int32_t j)
{
    i = first_of(first, i), j = first_of(first, j);
    (i < j ? first[j] : first[i]) = std::min(i, j);
}

} // namespace

void RigidClusters::find(const Field<uint8_t>& rigid, const FlowStep& flow)
{
    const Topology& topology = rigid.topology();
    origin_ = topology.first_cell(0);
    // Connect cells first within tiles, then tiles with their neighbours, in order. The root of a cluster is its first
    // cell, independent of the order.
    std::vector<int32_t>& first = first_;
    first.resize(topology.cell_count());
    const auto connect_along = [&](int tile, int a, bool across) {
        const Vec3i step = -Vec3i::Unit(a);
        const int below = topology.neighbour(tile, step.x(), step.y(), step.z());
        if (!has_rigid_[tile] || (across && !has_rigid_[below])) return;
        const int stride = a == 0 ? 64 : a == 1 ? 8 : 1;
        const uint8_t *here = rigid.tile(tile), *there = rigid.tile(below);
        const float* open = flow.solid_cells.open(tile, a);
        const auto connect_cell = [&](int c, int other) {
            if (!here[c] || !(open[c] > 0) || !(across ? there : here)[other]) return;
            connect(first.data(), tile * kTileCells + c, (across ? below : tile) * kTileCells + other);
        };
        for (int i = 0; i < kTileCells; i += across ? 8 : 1) {
            // Across tiles, only the lowest cells along the axis: every eighth if that axis ran fastest.
            const int c = !across || a == 2 ? i : a == 1 ? (i & ~63) + (i & 63) / 8 : i / 8;
            if (across)
                connect_cell(c, c + 7 * stride);
            else if ((c & 7 * stride) != 0)
                connect_cell(c, c - stride);
        }
    };
    has_rigid_.assign(topology.tile_count() + 1, 0);
    for_each_tile(topology, [&](int tile) {
        const uint8_t* cells = rigid.tile(tile);
        has_rigid_[tile] = std::any_of(cells, cells + kTileCells, [](uint8_t r) { return r != 0; });
        for (int c = 0; c < kTileCells; ++c) first[tile * kTileCells + c] = tile * kTileCells + c;
        for (int a = 0; a < 3; ++a) connect_along(tile, a, false);
    });
    for (int tile = 0; tile < topology.tile_count(); ++tile)
        for (int a = 0; a < 3; ++a) connect_along(tile, a, true);

    cluster_.reset_uninitialized(topology, -1);
    std::vector<int> in_tile(topology.tile_count(), 0);
    for_each_tile(topology, [&](int tile) {
        for (int c = 0; c < kTileCells; ++c) {
            const int32_t cell = tile * kTileCells + c;
            cluster_.tile(tile)[c] = rigid.tile(tile)[c] ? first_of(first.data(), cell) : -1;
            in_tile[tile] += cluster_.tile(tile)[c] == cell;
        }
    });
    // Number the roots.
    int32_t count = 0;
    for (int& n : in_tile) n = std::exchange(count, count + n);
    std::vector<int32_t>& number = first;
    for_each_tile(topology, [&](int tile) {
        int32_t next = in_tile[tile];
        for (int c = 0; c < kTileCells; ++c)
            if (const int32_t cell = tile * kTileCells + c; cluster_.tile(tile)[c] == cell) number[cell] = next++;
    });
    for_each_tile(topology, [&](int tile) {
        for (int c = 0; c < kTileCells; ++c)
            if (int32_t& k = cluster_.tile(tile)[c]; k >= 0) k = number[k];
    });
    motions_.assign(count, {});
}

void RigidClusters::make_rigid(const FlowStep& flow, std::span<const WallFriction::Contact> contacts)
{
    const Topology& topology = cluster_.topology();
    std::vector<std::vector<ClusterSums>> parts(topology.tile_count());
    for_each_tile(topology, [&](int tile) { parts[tile] = sums_of_tile(tile, flow, contacts); });
    std::vector<ClusterSums> sums(motions_.size());
    for (const auto& part : parts)
        for (const ClusterSums& s : part) sums[s.cluster].add(s);
    parallel_for(sums.size(), [&](size_t k) { motions_[k] = motion_of(sums[k]); });
    for_each_tile(topology, [&](int tile) {
        for_each_face(tile, flow, [&](int cluster, int a, int c, const Vec3d& place) {
            flow.velocity.u[a].tile(tile)[c] = static_cast<float>(motions_[cluster].at(place, a));
        });
    });
}

// Calls body(cluster, axis, cell, position) for every lower face of a tile's cells that belongs to a cluster.
template <class Body> void RigidClusters::for_each_face(int tile, const FlowStep& flow, const Body& body) const
{
    const Topology& topology = cluster_.topology();
    const Vec3d corner = (topology.first_cell(tile) - origin_).cast<double>();
    const int32_t* here = cluster_.tile(tile);
    for (int a = 0; a < 3; ++a) {
        const Vec3i step = -Vec3i::Unit(a);
        const int below = topology.neighbour(tile, step.x(), step.y(), step.z());
        if (!has_rigid_[tile] && !has_rigid_[below]) continue;
        const int stride = a == 0 ? 64 : a == 1 ? 8 : 1;
        const int32_t* there = cluster_.tile(below);
        const float* open = flow.solid_cells.open(tile, a);
        for (int c = 0; c < kTileCells; ++c) {
            const bool lowest = (c & 7 * stride) == 0;
            const int other = lowest ? c + 7 * stride : c - stride;
            const int32_t k = std::max(here[c], lowest ? there[other] : here[other]);
            if (k < 0 || !(open[c] > 0)) continue;
            Vec3d place = corner + cell_in_tile(c).cast<double>() + Vec3d::Constant(0.5);
            place[a] -= 0.5;
            body(k, a, c, place);
        }
    }
}

std::vector<RigidClusters::ClusterSums>
RigidClusters::sums_of_tile(int tile, const FlowStep& flow, std::span<const WallFriction::Contact> contacts) const
{
    std::vector<ClusterSums> sums;
    size_t last = 0;
    const auto sums_of = [&](int cluster) -> ClusterSums& {
        if (last < sums.size() && sums[last].cluster == cluster) return sums[last];
        for (last = 0; last < sums.size() && sums[last].cluster != cluster;) ++last;
        if (last == sums.size()) sums.emplace_back().cluster = cluster;
        return sums[last];
    };
    for_each_face(tile, flow, [&](int cluster, int a, int c, const Vec3d& place) {
        sums_of(cluster).faces[a].add(place, flow.velocity.u[a].tile(tile)[c]);
    });

    auto contact = std::ranges::lower_bound(contacts, tile, {}, &WallFriction::Contact::tile);
    for (; contact != contacts.end() && contact->tile == tile; ++contact) {
        const WallFriction::Contact& c = *contact;
        const int cluster = cluster_.tile(tile)[c.cell];
        if (cluster < 0 || !(flow.projection.s().tile(tile)[c.cell] > 0)) continue;
        const Vec3i cell = cluster_.topology().first_cell(tile) + cell_in_tile(c.cell);
        const Vec3d place = (cell - origin_).cast<double>() + Vec3d::Constant(0.5);
        const Vec3d n = c.normal.cast<double>(), velocity = c.solid_velocity.cast<double>();
        ClusterSums& of_cluster = sums_of(cluster);
        of_cluster.pressed.add(n, place, velocity.dot(n));
        if (c.limit > 0)
            for (int a = 0; a < 3; ++a) of_cluster.stuck.add(Vec3d::Unit(a), place, velocity[a], c.limit);
        of_cluster.friction += static_cast<double>(c.limit);
        of_cluster.solid_speed = std::max(of_cluster.solid_speed, velocity.norm());
    }
    return sums;
}

// The rigid motion of a cluster: free, sliding along solids, or at rest on them.
RigidClusters::Motion RigidClusters::motion_of(const ClusterSums& sums)
{
    const NormalEquations faces = equations_of(sums.faces);
    if (sums.pressed.weight == 0) return solve(faces);
    NormalEquations held = faces;
    held.add(sums.pressed, SandTuning::solid_weight * faces.weight / sums.pressed.weight);
    const Motion sliding = solve(held);
    Motion resting;
    if (sums.solid_speed > 0 && sums.stuck.weight > 0) {
        held.add(sums.stuck, SandTuning::solid_weight * faces.weight / sums.stuck.weight);
        resting = solve(held);
        // Between solids that move differently, such as a drum and its ends, a cluster cannot be at rest.
        Vector6 motion;
        motion << resting.velocity, resting.turning;
        if (sums.stuck.misfit(motion) > SandTuning::most_misfit) return sliding;
    }
    // (2.8): the momentum that friction has to remove.
    Vec3d momentum = Vec3d::Zero();
    for (int a = 0; a < 3; ++a) {
        const FaceSums& face = sums.faces[a];
        const Vec3d middle = face.r / std::max(face.count, 1.0);
        momentum[a] = face.count * (sliding.at(middle, a) - resting.at(middle, a));
    }
    return momentum.norm() <= sums.friction ? resting : sliding;
}

RigidClusters::NormalEquations RigidClusters::equations_of(const std::array<FaceSums, 3>& faces)
{
    NormalEquations all;
    for (int a = 0; a < 3; ++a) {
        const FaceSums& s = faces[a];
        // A face's velocity is v_a + turning . (r x e_a), and r x e_a = -E r with E the matrix of e_a x.
        const Vec3d e = Vec3d::Unit(a);
        Eigen::Matrix3d cross;
        cross << 0, -e.z(), e.y(), e.z(), 0, -e.x(), -e.y(), e.x(), 0;
        const Vec3d arm = -cross * s.r;
        all.matrix(a, a) += s.count;
        all.matrix.block<1, 3>(a, 3) += arm.transpose();
        all.matrix.block<3, 1>(3, a) += arm;
        all.matrix.block<3, 3>(3, 3) += cross * s.rr * cross.transpose();
        all.right[a] += s.u;
        all.right.tail<3>() += -cross * s.ur;
        all.weight += s.count;
    }
    return all;
}

// The minimum-norm solution: a single cell may rotate arbitrarily about the middle of its faces.
RigidClusters::Motion RigidClusters::solve(const NormalEquations& equations)
{
    const Vector6 x = equations.matrix.completeOrthogonalDecomposition().solve(equations.right);
    return {x.head<3>(), x.tail<3>()};
}

void RigidClusters::NormalEquations::add(const Vec3d& direction, const Vec3d& place, double velocity, double factor)
{
    Vector6 row;
    row << direction, place.cross(direction);
    matrix += factor * row * row.transpose();
    right += factor * velocity * row;
    weight += factor, square += factor * velocity * velocity;
}

double RigidClusters::NormalEquations::misfit(const Vector6& motion) const
{
    const double left = motion.dot(matrix * motion) - 2 * right.dot(motion) + square;
    return square > 0 ? left / square : 0;
}

void RigidClusters::NormalEquations::add(const NormalEquations& other, double factor)
{
    matrix += factor * other.matrix;
    right += factor * other.right;
    weight += factor * other.weight, square += factor * other.square;
}

void RigidClusters::FaceSums::add(const Vec3d& place, double velocity)
{
    count += 1, u += velocity;
    r += place, ur += velocity * place;
    rr += place * place.transpose();
}

void RigidClusters::FaceSums::add(const FaceSums& other)
{
    count += other.count, u += other.u;
    r += other.r, ur += other.ur, rr += other.rr;
}

void RigidClusters::ClusterSums::add(const ClusterSums& other)
{
    for (size_t a = 0; a < 3; ++a) faces[a].add(other.faces[a]);
    pressed.add(other.pressed), stuck.add(other.stuck);
    friction += other.friction, solid_speed = std::max(solid_speed, other.solid_speed);
}

} // namespace spindrift
