// Forces on smoke: buoyancy, wind and other forces, and vorticity confinement.
#include "spindrift/base/scratch.h"
#include "spindrift/smoke/smoke.h"

#include <Eigen/Geometry>

namespace spindrift {

void Smoke::add_wind(float dt)
{
    if (params_.forces.empty()) return;
    for_each_tile(*topology_, [&](int tile) {
        const Vec3f first = topology_->first_cell(tile).cast<float>();
        for (int a = 0; a < 3; ++a)
            for (int c = 0; c < kTileCells; ++c) {
                float& u = velocity_.u[a].tile(tile)[c];
                // Wind drags smoke like a lone particle, separately for each component.
                u = forces_.free_flight_velocity((first + face_in_tile(c, a)) * params_.voxel, u * Vec3f::Unit(a),
                                                 dt)[a];
            }
    });
}

void Smoke::add_buoyancy(float dt)
{
    const bool confined = params_.confinement > 0;
    if (confined) find_confinement();
    if (turbulence_) {
        average_blocks(carried_.scalars[0].value, params_.refine(), *topology_, mean_density_);
        average_blocks(carried_.scalars[1].value, params_.refine(), *topology_, mean_temperature_);
    }
    const Field<float>& density = turbulence_ ? mean_density_ : carried_.scalars[0].value;
    const Field<float>& temperature = turbulence_ ? mean_temperature_ : carried_.scalars[1].value;
    const float ambient = params_.ambient_temperature;
    for_each_tile(*topology_, [&](int tile) {
        const TileView smoke(density, tile), temperatures(temperature, tile);
        // Acceleration relative to gravity (Boussinesq, ideal gas): warmer air is less dense.
        const auto pull = [&](Row s, Row t) {
            return params_.weight * s - params_.buoyancy * t / (max(t, splat(0)) + ambient);
        };
        const auto below = [](const TileView& view, int a, int x, int y) {
            return a == 0 ? view.below_x(x, y) : a == 1 ? view.below_y(x, y) : view.below_z(x, y);
        };
        for (int a = 0; a < 3; ++a) {
            float* u = velocity_.u[a].tile(tile);
            if (params_.gravity[a] != 0)
                for_each_row([&](int x, int y, int o) {
                    const Row mean = 0.5f * (pull(smoke.at(x, y), temperatures.at(x, y)) +
                                             pull(below(smoke, a, x, y), below(temperatures, a, x, y)));
                    store_row(u + o, load_row(u + o) + dt * params_.gravity[a] * mean);
                });
            if (confined) {
                const TileView force(confinement_.u[a], tile);
                for_each_row([&](int x, int y, int o) {
                    store_row(u + o, load_row(u + o) + 0.5f * dt * (force.at(x, y) + below(force, a, x, y)));
                });
            }
        }
    });
}

// Vorticity confinement [Fedkiw 2001]: amplifies vortices towards their cores, [m/s2] at cell centres.
void Smoke::find_confinement()
{
    for (auto& f : confinement_.u) f.reset_uninitialized(*topology_, 0);
    const float inverse_voxel = 1 / params_.voxel;
    for_each_tile(*topology_, [&](int tile) {
        constexpr int n = kTileSize + 4, m = kTileSize + 2; // margins of 2 and 1 cells
        auto& block = thread_scratch<MacBlock<3>>();
        block.gather(velocity_, tile, Margin::nearest);
        // Velocity at cell centres, then its vorticity.
        auto& center = thread_scratch<float[3][n][n][n]>();
        auto& vorticity = thread_scratch<float[3][m][m][m]>();
        auto& strength = thread_scratch<float[m][m][m]>();
        for (int a = 0; a < 3; ++a) {
            const Vec3i up = Vec3i::Unit(a);
            for (int x = 0; x < n; ++x)
                for (int y = 0; y < n; ++y) {
                    const float* low = &block.u[a].at(x - 2, y - 2, -2);
                    const float* high = &block.u[a].at(x - 2 + up.x(), y - 2 + up.y(), -2 + up.z());
                    for (int z = 0; z < n; ++z) center[a][x][y][z] = 0.5f * (low[z] + high[z]);
                }
        }
        const float half = 0.5f * inverse_voxel;
        for (int x = 0; x < m; ++x)
            for (int y = 0; y < m; ++y)
                for (int z = 0; z < m; ++z) {
                    const int i = x + 1, j = y + 1, k = z + 1;
                    const auto dx = [&](int a) { return half * (center[a][i + 1][j][k] - center[a][i - 1][j][k]); };
                    const auto dy = [&](int a) { return half * (center[a][i][j + 1][k] - center[a][i][j - 1][k]); };
                    const auto dz = [&](int a) { return half * (center[a][i][j][k + 1] - center[a][i][j][k - 1]); };
                    const float wx = dy(2) - dz(1), wy = dz(0) - dx(2), wz = dx(1) - dy(0);
                    vorticity[0][x][y][z] = wx, vorticity[1][x][y][z] = wy, vorticity[2][x][y][z] = wz;
                    strength[x][y][z] = std::sqrt(wx * wx + wy * wy + wz * wz);
                }
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3i p = cell_in_tile(c) + Vec3i::Ones();
            const auto at = [&](int x, int y, int z) { return strength[p.x() + x][p.y() + y][p.z() + z]; };
            const Vec3f towards(at(1, 0, 0) - at(-1, 0, 0), at(0, 1, 0) - at(0, -1, 0), at(0, 0, 1) - at(0, 0, -1));
            const Vec3f w(vorticity[0][p.x()][p.y()][p.z()], vorticity[1][p.x()][p.y()][p.z()],
                          vorticity[2][p.x()][p.y()][p.z()]);
            const float length = towards.norm();
            const Vec3f force = length > 1e-12f ? Vec3f(params_.confinement * params_.voxel / length * towards.cross(w))
                                                : Vec3f(0, 0, 0);
            for (int a = 0; a < 3; ++a) confinement_.u[a].tile(tile)[c] = force[a];
        }
    });
}

} // namespace spindrift
