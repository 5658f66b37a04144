// Random particles with random attributes.
#pragma once

#include "spindrift/base/random.h"
#include "spindrift/points/sort.h"
#include "spindrift/points/transfer.h"

namespace spindrift {

inline Vec3f random_vector(Random& random, float from, float to)
{
    const float x = random.uniform(from, to), y = random.uniform(from, to);
    return {x, y, random.uniform(from, to)};
}

// Unsorted clouds half a metre across, within `reach` metres of the origin along each axis.
inline Particles random_particles(size_t count, float reach, uint64_t seed)
{
    Random random(seed);
    std::vector<Vec3f> clouds(12);
    for (Vec3f& c : clouds) c = random_vector(random, -reach + 0.25f, reach - 0.25f);
    Particles particles;
    particles.resize(count);
    for (size_t i = 0; i < count; ++i) {
        particles.P[i] = clouds[random.bits() % clouds.size()] + random_vector(random, -0.25f, 0.25f);
        particles.v[i] = random_vector(random, -3, 3);
        particles.id[i] = static_cast<int32_t>(i);
    }
    return particles;
}

inline void add_random_affine(Particles& particles, uint64_t seed)
{
    Random random(seed);
    for (const char* name : kAffine)
        for (Vec3f& row : particles.attribute<Vec3f>(name)) row = random_vector(random, -5, 5);
}

// Particles sorted into a grid around them.
struct SortedParticles {
    Particles particles;
    float voxel;
    Topology topology;
    ParticleIndex index;

    SortedParticles(Particles unsorted, float edge, int reach)
        : particles(std::move(unsorted)), voxel(edge), topology(tiles_around(particles, voxel, reach))
    {
        sort_by_tile(particles, topology, voxel, index);
    }
    SortedParticles(const SortedParticles&) = delete;
};

} // namespace spindrift
