// Rigid bodies in the stresses of one step, checked against sums over faces and a dense quadratic program.
#include "sand/sands.h"

#include "spindrift/base/random.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

constexpr float kVoxel = 0.05f, kStep = 0.005f, kDensity = 1600;
const Vec3f kGravity(0, -9.81f, 0);

BodyParams turned_box(const Vec3f& center, const Vec3f& size, float density)
{
    BodyParams body = box_body(center, size, density);
    body.rotation = Vec3f(20, 30, 40);
    return body;
}

// A closed box full of sand with bodies inside and random velocities, and the stresses of one step.
struct FullBox {
    int half;
    DomainParams domain;
    std::vector<BodyParams> params;
    Bodies bodies;
    Solids solids;
    SolidCells room;
    SandGrid grid;
    MacField before, flux;
    Stress stress;
    std::vector<Vec6d> motion_before, momentum_before;
    Stress::State result;
    StressReport report;
    double cell_mass = static_cast<double>(kDensity) * std::pow(static_cast<double>(kVoxel), 3);

    FullBox(int half_cells, std::vector<BodyParams> body_params, float friction, Stress::Settings settings, float noise,
            float least_filled = 1)
        : half(half_cells), params(std::move(body_params)), bodies(params, shapes(), set_domain(), {}),
          solids(domain, {}, kFps), stress(settings)
    {
        bodies.start(0);
        solids.set_bodies(&bodies.solids());
        solids.set_frame(0);
        grid.topology = Topology::covering(Vec3i::Constant(-half - 1), Vec3i::Constant(half + 1));
        grid.voxel = kVoxel;
        room.update(grid.topology, solids, kVoxel);
        grid.filled.reset(grid.topology, 0), grid.heaped.reset(grid.topology, 1);
        grid.friction.reset(grid.topology, friction), grid.velocity.reset(grid.topology, 0);
        grid.at_faces.reset(grid.topology, 0), flux.reset(grid.topology, 0);
        Random random(7, 1);
        for (int t = 0; t < grid.topology.tile_count(); ++t)
            for (int c = 0; c < kTileCells; ++c) {
                const Vec3i cell = grid.topology.first_cell(t) + cell_in_tile(c);
                const float part = least_filled + (1 - least_filled) * random.uniform();
                grid.filled.tile(t)[c] = part * static_cast<float>(capacity(cell));
                for (int a = 0; a < 3; ++a) {
                    const float open = room.open(t, a)[c];
                    grid.at_faces.u[a].tile(t)[c] = open;
                    const float u = noise * (random.uniform() - 0.5f);
                    grid.velocity.u[a].tile(t)[c] = u;
                    flux.u[a].tile(t)[c] = open * (u + kStep * kGravity[a]);
                }
            }
        before.copy_from(flux);
        bodies.accelerate(kGravity, static_cast<double>(kStep));
        for (size_t b = 0; b < bodies.size(); ++b)
            motion_before.push_back(bodies.motion(b)), momentum_before.push_back(bodies.momentum(b));
        stress.restore({});
        stress.couple(bodies, kDensity);
        stress.prepare(grid, solids, room, room);
        PhaseTimes times;
        report = stress.solve(kStep, flux, times);
        result = stress.state();
    }
    std::vector<Bodies::Shapes> shapes() const
    {
        std::vector<Bodies::Shapes> all;
        for (const BodyParams& body : params) all.push_back({Shape(body, "body")});
        return all;
    }
    const DomainParams& set_domain()
    {
        domain.min = Vec3f::Constant(-kVoxel * static_cast<float>(half));
        domain.max = Vec3f::Constant(kVoxel * static_cast<float>(half));
        return domain;
    }
    double free(const Vec3i& cell) const
    {
        const int t = grid.topology.find(tile_of_cell(cell));
        if (t == grid.topology.tile_count()) return 0;
        return room.tile(t) ? static_cast<double>(room.tile(t)->volume[offset_of_cell(cell)]) : 1;
    }
    // The volume fraction of a cell when particles fill all free volume.
    double capacity(const Vec3i& cell) const
    {
        double sum = 0;
        for (int k = 0; k < 27; ++k) {
            const Vec3i e(k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1);
            double weight = 1;
            for (int a = 0; a < 3; ++a) weight *= e[a] == 0 ? 0.75 : 0.125;
            sum += weight * free(cell + e);
        }
        return sum;
    }
    bool inside(const Vec3i& cell) const { return (cell.array() >= -half).all() && (cell.array() < half).all(); }
    // A component of the result: 0 is q, then s_xx, yy, zz, xy, yz, xz.
    double stress_at(int component, const Vec3i& cell) const
    {
        const Topology& dense = stress.dense();
        const int t = dense.find(tile_of_cell(cell));
        if (t == dense.tile_count()) return 0;
        return static_cast<double>(
            result.values[static_cast<size_t>(component) * dense.cell_count() + static_cast<size_t>(t) * kTileCells +
                          static_cast<size_t>(offset_of_cell(cell))]);
    }
    // The push on a face: -grad q + div s.
    double push(const Vec3i& cell, int a) const
    {
        const Vec3i e = Vec3i::Unit(a);
        double sum = stress_at(0, cell - e) - stress_at(0, cell) + stress_at(1 + a, cell) - stress_at(1 + a, cell - e);
        constexpr int kShear[3][3] = {{-1, 4, 6}, {4, -1, 5}, {6, 5, -1}};
        for (int b = 0; b < 3; ++b)
            if (b != a) sum += stress_at(kShear[a][b], cell + Vec3i(Vec3i::Unit(b))) - stress_at(kShear[a][b], cell);
        return sum;
    }
    Vec3d face(const Vec3i& cell, int a) const
    {
        return (cell.cast<double>() + Vec3d::Constant(0.5) - 0.5 * Vec3d::Unit(a)) * static_cast<double>(kVoxel);
    }
    double share(size_t b, const Vec3i& cell, int a) const
    {
        const int t = grid.topology.find(tile_of_cell(cell));
        const RigidShares::Tile* tile = t == grid.topology.tile_count() ? nullptr : room.shares().find(b, t);
        return tile ? static_cast<double>(tile->face[a][offset_of_cell(cell)]) : 0;
    }
    template <class Body> void for_faces(const Body& body) const
    {
        for (int x = -half - 1; x <= half; ++x)
            for (int y = -half - 1; y <= half; ++y)
                for (int z = -half - 1; z <= half; ++z)
                    for (int a = 0; a < 3; ++a) body(Vec3i(x, y, z), a);
    }
};

// Angular momentum is about the middle of the box.
TEST(BodyStress, MomentumOfSandAndBodiesChangesByThePushOfTheWalls)
{
    Stress::Settings settings;
    settings.same_friction = kInfinity;
    const FullBox box(9,
                      {turned_box(Vec3f(0.07f, -0.03f, 0.11f), Vec3f(0.21f, 0.17f, 0.26f), 500),
                       ball_body(Vec3f(-0.2f, 0.15f, -0.17f), 0.14f, 16000)},
                      0.4f, settings, 0.4f);
    Vec6d sand = Vec6d::Zero(), walls = Vec6d::Zero(), on_bodies = Vec6d::Zero();
    double friction = 0;
    box.for_faces([&](const Vec3i& cell, int a) {
        const int t = box.grid.topology.find(tile_of_cell(cell)), o = offset_of_cell(cell);
        const Vec6d at = lever(box.face(cell, a), a);
        const double change = static_cast<double>(box.flux.u[a].tile(t)[o]) - box.before.u[a].tile(t)[o];
        sand += box.cell_mass * change * at;
        // A face on or beyond a wall transfers its push to the wall.
        const bool wall = !box.inside(cell) || !box.inside(cell - Vec3i(Vec3i::Unit(a)));
        if (wall) walls += box.cell_mass * box.push(cell, a) * at;
        friction = std::max(friction, std::abs(box.stress_at(4, cell)));
    });
    for (size_t b = 0; b < 2; ++b) {
        const Vec6d change = box.bodies.momentum(b) - box.momentum_before[b];
        on_bodies.head<3>() += change.head<3>();
        on_bodies.tail<3>() += change.tail<3>() + box.bodies.center(b).cross(Vec3d(change.head<3>()));
    }
    EXPECT_GT(friction, 0);
    EXPECT_GT(on_bodies.head<3>().norm(), 1e-3 * walls.head<3>().norm());
    EXPECT_GT(on_bodies.tail<3>().norm(), 1e-4 * walls.head<3>().norm());
    const Vec6d left = sand + on_bodies + walls;
    EXPECT_LT(left.head<3>().norm(), 1e-4 * walls.head<3>().norm()) << left.transpose();
    EXPECT_LT(left.tail<3>().norm(), 1e-4 * walls.head<3>().norm()) << left.transpose();
}

// The pressure's program as a dense matrix, built only from open shares, body shares and levers, and solved by
// projected Gauss-Seidel.
TEST(BodyStress, PressureMatchesADenseQuadraticProgramWithBodies)
{
    Stress::Settings settings;
    settings.tolerance = 1e-6f, settings.rounds = 1, settings.same_friction = 0;
    const FullBox box(4, {turned_box(Vec3f(0.03f, -0.02f, 0.01f), Vec3f(0.16f, 0.12f, 0.2f), 300)}, 0, settings, 1.0f,
                      0.9f);
    const int n = 2 * box.half;
    const auto number = [&](const Vec3i& c) {
        return ((c.x() + box.half) * n + c.y() + box.half) * n + c.z() + box.half;
    };
    const int count = n * n * n;
    Eigen::MatrixXd A = Eigen::MatrixXd::Zero(count, count), J = Eigen::MatrixXd::Zero(count, 6);
    Eigen::VectorXd b = Eigen::VectorXd::Zero(count);
    box.for_faces([&](const Vec3i& cell, int a) {
        const Vec3i below = cell - Vec3i(Vec3i::Unit(a));
        const int t = box.grid.topology.find(tile_of_cell(cell)), o = offset_of_cell(cell);
        const double open = static_cast<double>(box.room.open(t, a)[o]), f = box.before.u[a].tile(t)[o];
        const Vec6d at = box.share(0, cell, a) * lever(box.face(cell, a) - box.bodies.center(0), a);
        for (const auto& [c, sign] : {std::pair(cell, -1.0), std::pair(below, 1.0)}) {
            if (!box.inside(c)) continue;
            A(number(c), number(c)) += open;
            if (const Vec3i other = c == cell ? below : cell; box.inside(other)) A(number(c), number(other)) -= open;
            b[number(c)] -= sign * f;
            J.row(number(c)) += sign * at.transpose();
        }
    });
    const double per_step = static_cast<double>(kVoxel / kStep);
    for (int i = 0; i < count; ++i) {
        const Vec3i c = Vec3i(i / (n * n), i / n % n, i % n) - Vec3i::Constant(box.half);
        const double filled = static_cast<double>(box.grid.filled.at(c));
        b[i] -= per_step * std::max(0.0, 0.95 * box.capacity(c) - filled); // sand at 95% of its capacity counts as full
        if (A(i, i) == 0) J.row(i).setZero();
    }
    b -= J * box.motion_before[0];
    A += box.cell_mass * J * box.bodies.inverse_mass(0) * J.transpose();
    Eigen::VectorXd q = Eigen::VectorXd::Zero(count);
    for (int sweep = 0; sweep < 1500; ++sweep)
        for (int i = 0; i < count; ++i)
            if (A(i, i) > 0) q[i] = std::max(0.0, q[i] + (b[i] - A.row(i).dot(q)) / A(i, i));
    const double largest = q.maxCoeff();
    ASSERT_GT(largest, 1e-3);
    double error = 0;
    for (int i = 0; i < count; ++i) {
        const Vec3i c = Vec3i(i / (n * n), i / n % n, i % n) - Vec3i::Constant(box.half);
        if (A(i, i) > 0) error = std::max(error, std::abs(box.stress_at(0, c) - q[i]));
    }
    EXPECT_LT(error, 2e-3 * largest);
    const Vec6d moved = box.motion_before[0] + box.cell_mass * box.bodies.inverse_mass(0) * (J.transpose() * q);
    EXPECT_GT((moved - box.motion_before[0]).norm(), 1e-2 * box.motion_before[0].norm());
    EXPECT_LT((box.bodies.motion(0) - moved).norm(), 2e-3 * (moved - box.motion_before[0]).norm());
}

} // namespace
} // namespace spindrift
