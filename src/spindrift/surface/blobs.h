// The shape of each particle near the surface: a sphere, or an ellipsoid stretched along its neighbours, so that flat
// regions become smooth and sheets hold together [Yu 2013], [Jones 2018, chapter 5]. Equation numbers are those of
// [Jones 2018].
//
// Limits: an ellipsoid's size follows from the mean spacing, so particles much farther apart than that become separate
// blobs.
#pragma once

#include "spindrift/points/sort.h"
#include "spindrift/surface/interior.h"

#include <optional>

namespace spindrift {

class ThinWalls;

// Drops are sampled at least this large [cells], so that they do not fall between samples.
constexpr float kLeastDrop = 1.0f;

// The points x with |G (x - centre)| = 1, G symmetric.
struct Blob {
    Vec3f centre;     // [m]
    float xx, xy, xz; // G [1/m]
    float yy, yz, zz;
    Vec3f half;        // half the size of its bounding box [m]
    uint32_t particle; // the particle that it takes its attributes from
    float firmness;    // 0 for a drop, 1 where enough particles are around to smooth the surface

    // First-order distance |G d| (|G d| - 1) / |G^2 d|: exact for spheres and, for all blobs, on the surface.
    float distance(const Vec3f& x) const;
};

// Lengths in metres.
struct BlobScale {
    float spacing;                    // mean distance of particles
    float search;                     // R of (5.5)
    float size;                       // r_p: radius before stretching
    float drop;                       // radius of a drop: k_n r_p
    float flattest;                   // k_r: lower bound of the ratio of the shortest axis to the longest
    float thinnest;                   // lower bound of half-axes, so that samples do not miss a blob
    int droplet;                      // n_droplet: groups of up to this many particles within R are drops
    float centring;                   // how far centres move towards the mean of their neighbours, 0 to 1
    float global;                     // 0: every ellipsoid keeps its volume; 1: they do on average
    std::optional<float> fixed_scale; // k_s for all [1/m^2], instead
};

// A cell is deep if all bins up to this many away are liquid: it is inside, and its particles have no blobs.
constexpr int kDeepBins = 1;

// The blobs of all particles that are not deep inside, in particle order, by tile.
struct Blobs {
    std::vector<Blob> list;
    std::vector<uint32_t> tile_first; // first blob of each tile of the particles' topology, and the total
    std::vector<Box3f> tile_box;      // around the blobs of each tile
    std::vector<Vec3f> velocity;      // of each blob: the mean around it, or its own if it is a drop
    float least_scale = 0, mean_scale = 0, most_scale = 0; // of k_s among ellipsoids [1/m^2]
};

// Building blocks of blobs, also for particles of mixed sizes (mixed_sizes.h).
//
// The weighted neighbourhood of a particle.
struct Scatter {
    int count = 0;                    // particles within R, itself included
    float weight = 0;                 // sum of (5.5)
    Vec3f offset = Vec3f::Zero();     // of the mean (5.3) from the particle
    Mat3f covariance = Mat3f::Zero(); // (5.4)
};
class Neighbourhood;
// Over the particles within `radius` of x, both in cells. Each is weighted by its volume relative to that of a particle
// of radius `own`, but at most by one.
Scatter scatter_around(const Neighbourhood& around, const Vec3f& x, float radius, const std::vector<float>& radii,
                       float own);
// The particles that get a blob; only Blob::particle is set.
Blobs shallow_particles(const ParticleIndex& index, const Topology& topology, const Interior& interior);
void set_sphere(Blob& blob, const Vec3f& centre, float radius);
// Fits the ellipsoid of a particle, keeping its own volume; returns its k_s, or 0 if it is a drop.
float fit(const Scatter& scatter, const BlobScale& scale, Blob& blob);
// Sets Blobs::tile_box.
void find_boxes(Blobs& blobs);

// Particles must be sorted into cells of one spacing.
Blobs make_spheres(const Particles& particles, const ParticleIndex& index, const Topology& topology,
                   const Interior& interior, const BlobScale& scale);
// Particles that walls hide from each other are not neighbours.
Blobs make_ellipsoids(const Particles& particles, const ParticleIndex& index, const Topology& topology,
                      const Interior& interior, const BlobScale& scale, const ThinWalls* walls = nullptr);

} // namespace spindrift
