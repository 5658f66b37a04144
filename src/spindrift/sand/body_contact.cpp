// Impacts of particles on rigid bodies. Stresses keep dense sand out of bodies; a particle in flight collides on its
// own, and the body receives the momentum that it loses.
#include "spindrift/sand/granular_sand.h"
#include "spindrift/sand/tuning.h"

#include "spindrift/points/attribute_checks.h"

#include <Eigen/LU>

namespace spindrift {

namespace {

// A particle stopped by a body: its velocity changes by W (L V - v), where L V is the body's velocity at the particle.
struct Strike {
    size_t particle, body;
    Vec3d arm; // from the body's centre of mass
    Mat3d W;   // removes the velocity into the body entirely, and the tangential velocity by Coulomb friction

    Eigen::Matrix<double, 3, 6> L() const
    {
        Eigen::Matrix<double, 3, 6> rows;
        for (int a = 0; a < 3; ++a) rows.row(a) = lever(arm, a).transpose();
        return rows;
    }
};

Vec3f normal_of(const RigidSolid& body, const Vec3f& x, float step)
{
    Vec3f n;
    for (int a = 0; a < 3; ++a) {
        const Vec3f e = step * Vec3f::Unit(a);
        n[a] = body.distance(x + e) - body.distance(x - e);
    }
    const float length = n.norm();
    return length > 0 && std::isfinite(length) ? Vec3f(n / length) : Vec3f(0, 1, 0);
}

// The impulse on a body of all simultaneous inelastic impacts: each particle ends with the velocity that the body has
// after all of them, however light the body is. I = sum m L^T W (v - L (V + M^-1 I)).
Vec6d impulse_of(std::span<const Strike> strikes, const Vec6d& V, const Mat6d& inverse_mass, const Particles& particles)
{
    const std::vector<float>& mass = required<float>(particles, kMass);
    Mat6d S = Mat6d::Zero();
    Vec6d struck = Vec6d::Zero();
    for (const Strike& s : strikes) {
        const auto L = s.L();
        const Eigen::Matrix<double, 6, 3> into = static_cast<double>(mass[s.particle]) * L.transpose() * s.W;
        S += into * L;
        struck += into * (particles.v[s.particle].cast<double>() - L * V);
    }
    return (Mat6d::Identity() + S * inverse_mass).partialPivLu().solve(struck);
}

} // namespace

// Move particles that ended in a body to its surface, and exchange momentum with the body.
void GranularSand::meet_bodies()
{
    const float voxel = params_.voxel, gap = SandTuning::gap_to_solids * voxel;
    const Topology& topology = grid_.topology;
    const std::vector<RigidSolid>& solids = bodies_.solids();
    const std::vector<int32_t>& material = required<int32_t>(particles_, kMaterial);
    std::vector<std::vector<Strike>> in_tile(topology.tile_count());
    for_each_tile(topology, [&](int tile) {
        if (grid_.index.tile_empty(tile)) return;
        const Vec3f low = topology.first_cell(tile).cast<float>() * voxel;
        // the particles have moved since they were sorted
        const Box3f box = Box3f{low, low + Vec3f::Constant(kTileSize * voxel)}.grown(voxel);
        for (size_t b = 0; b < solids.size(); ++b) {
            const RigidSolid& body = solids[b];
            const Box3f own = body.bounds();
            if ((own.min.array() > box.max.array()).any() || (own.max.array() < box.min.array()).any()) continue;
            for (size_t i = grid_.index.tile_begin(tile); i < grid_.index.tile_end(tile); ++i) {
                Vec3f& x = particles_.P[i];
                if (body.least_distance(x) >= gap) continue;
                const float d = body.distance(x);
                if (d >= 0.5f * gap) continue;
                const Vec3f n = normal_of(body, x, SandTuning::normal_width * voxel);
                x += (gap - d) * n;
                const Vec3f relative = particles_.v[i] - body.velocity(x);
                const float into = -relative.dot(n), sliding = (relative + into * n).norm();
                if (!(into > 0)) continue;
                const float friction = bodies_.friction(b).value_or(wall_friction_[material[i]]);
                const double held = sliding > 0 ? std::min(1.0f, friction * into / sliding) : 1;
                const Vec3d normal = n.cast<double>();
                const Mat3d along = normal * normal.transpose();
                in_tile[tile].push_back(
                    {i, b, x.cast<double>() - bodies_.center(b), along + held * (Mat3d::Identity() - along)});
            }
        }
    });
    std::vector<std::vector<Strike>> on_body(solids.size());
    for (const auto& strikes : in_tile)
        for (const Strike& s : strikes) on_body[s.body].push_back(s);
    for (size_t b = 0; b < on_body.size(); ++b) {
        if (on_body[b].empty()) continue;
        bodies_.push(b, impulse_of(on_body[b], bodies_.motion(b), bodies_.inverse_mass(b), particles_));
        const Vec6d V = bodies_.motion(b);
        for (const Strike& s : on_body[b]) {
            Vec3f& v = particles_.v[s.particle];
            v += (s.W * (s.L() * V - v.cast<double>())).cast<float>();
        }
    }
}

} // namespace spindrift
