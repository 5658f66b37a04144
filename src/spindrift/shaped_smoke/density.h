// Densities of particles on the grid: counts per cell, blurred by a separable tent [Madill 2013, 4.1].
#pragma once

#include "spindrift/points/sort.h"

namespace spindrift {

// Weights of a normalised tent of a radius in cells (1 to 8); entry k is the weight of the cells k away.
struct Tent {
    static constexpr int kMost = kTileSize;
    explicit Tent(float radius);
    int reach = 0; // cells with a weight on either side
    std::array<float, kMost + 1> weight{};
    // Density in the cell of a lone particle.
    float peak() const { return weight[0] * weight[0] * weight[0]; }
};

// Number of particles in each cell.
void count_particles(const ParticleIndex& index, const Topology& topology, Field<float>& count);
// Blurs along z, y and x. Outside the topology the field is zero, and what is blurred there is lost.
void blur(Field<float>& field, const Tent& tent, Field<float>& scratch);

// Where particles are, however dense they are there.
struct ParticleRegion {
    Field<float> density; // number per cell, blurred
    // Particles weighted by the inverse of the density around them, blurred: about 1 among particles, in thin parts as
    // in thick ones, and 0 beyond the reach of the tent. At the plane surface of a body filled with particles it is
    // 0.72 on average (0.63 to 0.79, depending on where in a cell the plane is), less at edges.
    Field<float> fill;
};
void find_region(const ParticleIndex& index, const Topology& topology, const Tent& tent, ParticleRegion& region,
                 Field<float>& scratch);

// Throws if a grid has more cells than fit into memory; `parameter` is its voxel, for the message.
void limit_spread(const Topology& topology, const std::string& parameter);

// Density and mean velocity of particles on a grid of any voxel, for files. The density is the number in a cell times
// `scale`; both are blurred over `radius` cells. The same bits for any order of the particles.
struct DensityVolume {
    DensityVolume(const Particles& particles, float voxel, float radius, float scale, const std::string& parameter);
    std::unique_ptr<Topology> topology;
    Field<float> density;
    Field<Vec3f> velocity; // [m/s], at cell centres
};

} // namespace spindrift
