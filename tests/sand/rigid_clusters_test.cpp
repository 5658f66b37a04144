#include "spindrift/sand/fluid_friction.h"

#include "spindrift/base/random.h"

#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <set>

using namespace spindrift;

namespace {

// Blobs of sand in a box of cells, with a random velocity.
struct Heap {
    static constexpr float kVoxel = 0.1f, kStep = 0.02f;
    Topology topology = Topology::covering({-9, -3, -7}, {14, 17, 11});
    Solids solids;
    SolidCells solid_cells;
    Field<float> phi;
    Field<uint8_t> rigid;
    MacField velocity, known;
    ParticleIndex index; // of no particles
    Projection projection;

    explicit Heap(uint32_t seed, const DomainParams& domain = {}) : solids(domain, {}, 24)
    {
        Random random(seed);
        solids.set_wall_friction(0.5f);
        solids.set_frame(0);
        solid_cells.update(topology, solids, kVoxel);
        phi.reset(topology, 1), rigid.reset(topology, 0);
        velocity.reset(topology, 0), known.reset(topology, 1);
        for (int tile = 0; tile < topology.tile_count(); ++tile)
            for (int c = 0; c < kTileCells; ++c) {
                if (random.uniform() < 0.7f) phi.tile(tile)[c] = -0.5f;
                rigid.tile(tile)[c] = phi.tile(tile)[c] < 0 && random.uniform() < 0.45f;
                for (auto& u : velocity.u) u.tile(tile)[c] = random.uniform() - 0.5f;
            }
        projection.prepare(topology, phi, solids, solid_cells, kVoxel);
    }
    FlowStep flow()
    {
        return {phi, solids, solid_cells, projection, index, Vec3f(0, -9.81f, 0), kVoxel, kStep, velocity};
    }
    double energy() const
    {
        double sum = 0;
        for (const auto& u : velocity.u)
            for (const float v : u.values()) sum += static_cast<double>(v) * static_cast<double>(v);
        return sum;
    }
};

using Face = std::pair<std::array<int, 3>, int>; // its upper cell, and its axis
Vec3i cell_of_face(const Face& face) { return {face.first[0], face.first[1], face.first[2]}; }
std::array<int, 3> key(const Vec3i& cell) { return {cell.x(), cell.y(), cell.z()}; }

Vec3d place_of(const Face& face)
{
    Vec3d x = cell_of_face(face).cast<double>() + Vec3d::Constant(0.5);
    x[face.second] -= 0.5;
    return x;
}

// The faces of each cluster, by flood fill.
std::vector<std::set<Face>> slow_clusters(const Field<uint8_t>& rigid)
{
    std::set<std::array<int, 3>> left;
    for (int tile = 0; tile < rigid.topology().tile_count(); ++tile)
        for (int c = 0; c < kTileCells; ++c)
            if (rigid.tile(tile)[c]) left.insert(key(rigid.topology().first_cell(tile) + cell_in_tile(c)));
    std::vector<std::set<Face>> clusters;
    while (!left.empty()) {
        std::vector<std::array<int, 3>> walk = {*left.begin()};
        left.erase(left.begin());
        std::set<Face> faces;
        while (!walk.empty()) {
            const auto at = walk.back();
            walk.pop_back();
            for (int a = 0; a < 3; ++a) {
                std::array<int, 3> above = at, below = at;
                above[a] += 1, below[a] -= 1;
                faces.insert({at, a}), faces.insert({above, a});
                for (const auto& next : {above, below})
                    if (left.erase(next)) walk.push_back(next);
            }
        }
        clusters.push_back(faces);
    }
    return clusters;
}

double component(const MacField& velocity, const Face& face)
{
    return static_cast<double>(velocity.u[face.second].at(cell_of_face(face)));
}

// A face at the edge of the grid may have no tile; its velocity is never read.
bool on_grid(const Heap& heap, const Face& face)
{
    return heap.topology.find(tile_of_cell(cell_of_face(face))) != heap.topology.tile_count();
}

} // namespace

TEST(RigidClusters, ConserveLinearAndAngularMomentum)
{
    for (const uint32_t seed : {1u, 2u, 3u}) {
        Heap heap(seed);
        const MacField& velocity = heap.velocity;
        MacField before;
        before.copy_from(velocity);
        RigidClusters clusters;
        clusters.find(heap.rigid, heap.flow());
        clusters.make_rigid(heap.flow(), {});

        const auto expected = slow_clusters(heap.rigid);
        ASSERT_EQ(clusters.count(), expected.size());
        ASSERT_GT(expected.size(), 20u);
        for (const std::set<Face>& cluster : expected) {
            Vec3d linear = Vec3d::Zero(), angular = Vec3d::Zero();
            double size = 0;
            for (const Face& face : cluster) {
                if (!on_grid(heap, face)) continue;
                const Vec3d change = (component(velocity, face) - component(before, face)) * Vec3d::Unit(face.second);
                const Vec3d arm = place_of(face) - place_of(*cluster.begin());
                linear += change, angular += arm.cross(change);
                size += 1 + arm.norm();
            }
            EXPECT_LT(linear.norm(), 1e-6 * size);
            EXPECT_LT(angular.norm(), 1e-5 * size);
        }
    }
}

TEST(RigidClusters, MoveRigidlyAndLeaveOtherFacesUnchanged)
{
    Heap heap(4);
    MacField before;
    before.copy_from(heap.velocity);
    RigidClusters clusters;
    clusters.find(heap.rigid, heap.flow());
    clusters.make_rigid(heap.flow(), {});
    std::set<Face> in_clusters;
    for (const std::set<Face>& cluster : slow_clusters(heap.rigid)) {
        // For any pair of faces of one axis, v_a(x) - v_a(y) is linear in x - y, without stretch.
        for (const Face& face : cluster) {
            in_clusters.insert(face);
            Face next = face;
            next.first[face.second] += 1;
            if (cluster.count(next) && on_grid(heap, next)) {
                EXPECT_NEAR(component(heap.velocity, face), component(heap.velocity, next), 1e-5);
            }
        }
    }
    for (int tile = 0; tile < heap.topology.tile_count(); ++tile)
        for (int c = 0; c < kTileCells; ++c)
            for (int a = 0; a < 3; ++a) {
                const Face face{key(heap.topology.first_cell(tile) + cell_in_tile(c)), a};
                if (!in_clusters.count(face)) {
                    EXPECT_EQ(heap.velocity.u[a].tile(tile)[c], before.u[a].tile(tile)[c]);
                }
            }
}

TEST(RigidClusters, RotatingBlockKeepsItsRotation)
{
    Heap heap(5);
    const Vec3d turning(0.3, -0.2, 0.5), drift(1, 2, -1);
    std::ranges::fill(heap.rigid.values(), uint8_t{0});
    const auto each_face = [&](const auto& body) {
        for (int tile = 0; tile < heap.topology.tile_count(); ++tile)
            for (int c = 0; c < kTileCells; ++c)
                for (int a = 0; a < 3; ++a) {
                    const Face face{key(heap.topology.first_cell(tile) + cell_in_tile(c)), a};
                    body(heap.velocity.u[a].tile(tile)[c], (drift + turning.cross(place_of(face)))[a]);
                }
    };
    for (int tile = 0; tile < heap.topology.tile_count(); ++tile)
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3i cell = heap.topology.first_cell(tile) + cell_in_tile(c);
            heap.rigid.tile(tile)[c] = cell.cast<float>().norm() < 6;
        }
    each_face([](float& u, double exact) { u = static_cast<float>(exact); });
    RigidClusters clusters;
    clusters.find(heap.rigid, heap.flow());
    clusters.make_rigid(heap.flow(), {});
    EXPECT_EQ(clusters.count(), 1u);
    each_face([](float& u, double exact) { EXPECT_NEAR(static_cast<double>(u), exact, 2e-5); });
}

TEST(FluidFriction, NeverAddsKineticEnergy)
{
    DomainParams closed;
    closed.min = Vec3f(-0.5f, -0.13f, -0.4f), closed.max = Vec3f(1, 1.2f, 0.8f);
    for (const DomainParams& domain : {DomainParams(), closed})
        for (const float friction : {0.3f, 3.0f, 100.0f})
            for (const float cohesion : {0.0f, 0.05f}) {
                Heap heap(6, domain);
                heap.projection.make_divergence_free(heap.velocity, heap.known, 1e-4);
                FluidFriction sand({friction, cohesion});
                sand.before_pressure(heap.flow()); // there is no stress yet
                const double before = heap.energy();
                sand.after_pressure(heap.flow());
                EXPECT_LE(heap.energy(), before * (1 + 1e-7));
                EXPECT_LT(heap.energy(), 0.97 * before);
            }
}

TEST(FluidFriction, StaysWithinTheYieldSurface)
{
    Heap heap(7);
    heap.projection.make_divergence_free(heap.velocity, heap.known, 1e-4);
    const Field<double>& s = heap.projection.s();
    FluidFriction sand({0.6f, 0.02f});
    sand.before_pressure(heap.flow());
    sand.after_pressure(heap.flow());
    const FluidFriction::State state = sand.state();
    const size_t cells = heap.topology.cell_count();
    int yielding = 0;
    for (size_t i = 0; i < cells; ++i) {
        double norm2 = 0, trace = 0;
        for (size_t k = 0; k < 6; ++k) {
            const auto value = static_cast<double>(state.values[k * cells + i]);
            norm2 += (k < 3 ? 1 : 2) * value * value;
            trace += k < 3 ? value : 0;
        }
        const bool wet = heap.phi.values()[i] < 0;
        // A cell that rests on others is pressed by as much as those are, up to the weight of a cell.
        double pressing = std::max(0.0, s.values()[i]), beside = 0;
        for (int a = 0; a < 3; ++a)
            for (const int side : {-1, 1}) {
                const auto [tile, cell] = heap.topology.next_cell(static_cast<int>(i) / kTileCells,
                                                                  static_cast<int>(i) % kTileCells, a, side);
                if (tile != heap.topology.tile_count()) beside = std::max(beside, s.tile(tile)[cell]);
            }
        pressing = std::max(pressing, std::min(9.81 * static_cast<double>(Heap::kStep), beside));
        const double bound = wet ? std::sqrt(2) * (0.6 * pressing + 0.02 * Heap::kStep / Heap::kVoxel) : 0;
        EXPECT_LE(std::sqrt(norm2), bound * (1 + 1e-5) + 1e-9);
        EXPECT_NEAR(trace, 0, 1e-5 * (1 + bound));
        yielding += norm2 > 0.99 * bound * bound && wet;
    }
    EXPECT_GT(yielding, 100);
}
