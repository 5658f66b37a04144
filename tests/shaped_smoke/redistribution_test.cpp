#include "spindrift/shaped_smoke/redistribution.h"

#include "base/determinism.h"
#include "spindrift/base/random.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

// Particles in a box, one in each cell of a lattice, at random there.
Particles particles_in(const Box3f& box, float spacing, uint64_t seed)
{
    Particles particles;
    Random random(seed);
    const Vec3i count = (box.size() / spacing).array().round().cast<int>().max(1);
    const Vec3f edge = box.size().cwiseQuotient(count.cast<float>());
    for (int x = 0; x < count.x(); ++x)
        for (int y = 0; y < count.y(); ++y)
            for (int z = 0; z < count.z(); ++z) {
                const float u = random.uniform(), v = random.uniform(), w = random.uniform();
                const Vec3f place = Vec3i(x, y, z).cast<float>() + Vec3f(u, v, w);
                particles.P.push_back(box.min + edge.cwiseProduct(place));
            }
    particles.resize(particles.P.size());
    return particles;
}

// Control particles and markers on cells of 1 m.
struct Smoke {
    Tent tent{2};
    Topology topology = Topology::covering({-24, -24, -24}, {24, 24, 24});
    Particles controls, markers;
    ParticleIndex control_index, marker_index;
    ParticleRegion region;
    Field<float> marker_density, scratch;

    Smoke(Particles control_particles, Particles marker_particles)
        : controls(std::move(control_particles)), markers(std::move(marker_particles))
    {
        sort_by_tile(controls, topology, 1, control_index);
        find_region(control_index, topology, tent, region, scratch);
        sort_by_tile(markers, topology, 1, marker_index);
        count_particles(marker_index, topology, marker_density);
        blur(marker_density, tent, scratch);
    }
    // A step in which nothing moves.
    std::vector<MovedMarker> redistributed(const RedistributionParams& params = {}) const
    {
        const RedistributionInput input{marker_index,   marker_density, tent, region, region.fill, nullptr, 1,
                                        markers.size(), 0.72f,          0.2f, 1,      params.rate, 1,       7};
        std::vector<MovedMarker> all;
        for (const auto& in_tile : redistribute(input, params, markers, 0))
            all.insert(all.end(), in_tile.begin(), in_tile.end());
        return all;
    }
};

// Mean of the fill on a plane of constant y, in the middle of the slab along x and z.
double mean_fill(const Field<float>& fill, float y)
{
    double sum = 0, count = 0;
    for (int x = -6; x < 6; ++x)
        for (int z = -6; z < 6; ++z, ++count) {
            const int below = floor_int(y - 0.5f);
            const float share = y - 0.5f - static_cast<float>(below);
            sum += static_cast<double>(mix(fill.at({x, below, z}), fill.at({x, below + 1, z}), share));
        }
    return sum / count;
}

TEST(ParticleRegion, FillIsTheSameInThinAndThickPartsAndForAnyDensity)
{
    for (const float spacing : {0.5f, 0.8f})
        for (const float thickness : {2.0f, 4.0f, 12.0f})
            for (const float shift : {0.0f, 0.3f, 0.5f, 0.8f}) {
                const Box3f slab{Vec3f(-12, shift, -12), Vec3f(12, shift + thickness, 12)};
                const Smoke smoke(particles_in(slab, spacing, 3), {});
                const double middle = mean_fill(smoke.region.fill, shift + 0.5f * thickness);
                const double surface = mean_fill(smoke.region.fill, shift + thickness);
                EXPECT_NEAR(middle, 1, 0.2) << spacing << " " << thickness << " " << shift;
                EXPECT_NEAR(surface, 0.72, 0.13) << spacing << " " << thickness << " " << shift;
                EXPECT_LT(mean_fill(smoke.region.fill, shift + thickness + 2.5f), 0.01);
            }
}

TEST(Redistribution, ReturnsMarkersThatAreOutsideAndOnlyThose)
{
    const Box3f box{Vec3f::Constant(-6.3f), Vec3f::Constant(5.4f)};
    Particles markers = particles_in({Vec3f::Constant(-9), Vec3f::Constant(9)}, 0.5f, 5);
    const Smoke smoke(particles_in(box, 0.6f, 4), std::move(markers));
    RedistributionParams params;
    params.even = 0; // does not take from crowded places
    std::vector<uint8_t> moved(smoke.markers.size());
    for (const auto& [index, from] : smoke.redistributed(params)) {
        moved[index] = 1;
        EXPECT_TRUE(box.grown(0.8f).contains(from)) << from.transpose();
    }
    size_t outside = 0;
    for (size_t i = 0; i < moved.size(); ++i) {
        const Vec3f& x = smoke.markers.P[i];
        const bool is_outside = !box.grown(0.8f).contains(x), is_inside = box.grown(-0.8f).contains(x);
        outside += is_outside;
        EXPECT_FALSE(is_outside && !moved[i]) << x.transpose();
        EXPECT_FALSE(is_inside && moved[i]) << x.transpose();
    }
    EXPECT_GT(outside, 1000u);
    params.rate = 0.25f;
    const auto all = static_cast<double>(std::count(moved.begin(), moved.end(), 1));
    EXPECT_NEAR(static_cast<double>(smoke.redistributed(params).size()), 0.25 * all, 0.02 * all);
}

TEST(Redistribution, FillsAThinLimbFromACrowdedBody)
{
    const Box3f body{Vec3f(-6, -6, -6), Vec3f(6, 6, 6)}, limb{Vec3f(6, -1.5f, -1.5f), Vec3f(20, 1.5f, 1.5f)};
    Particles controls = particles_in(body, 0.6f, 1), in_limb = particles_in(limb, 0.6f, 2);
    controls.P.insert(controls.P.end(), in_limb.P.begin(), in_limb.P.end()), controls.resize(controls.P.size());
    Smoke smoke(std::move(controls), particles_in(body, 0.4f, 3)); // no marker in the limb
    const auto moves = smoke.redistributed();
    size_t into_limb = 0;
    for (const auto& [index, from] : moves) into_limb += from.x() > 6;
    const double share = 14 * 9 / (14 * 9 + 12.0 * 12 * 12) * static_cast<double>(smoke.markers.size());
    EXPECT_GT(static_cast<double>(into_limb), 0.6 * share);
    EXPECT_LT(static_cast<double>(into_limb), 1.1 * share);
    EXPECT_GT(static_cast<double>(into_limb), 0.8 * static_cast<double>(moves.size()));
}

TEST(Redistribution, SameBitsForAnyNumberOfThreads)
{
    const Box3f box{Vec3f::Constant(-6.3f), Vec3f::Constant(5.4f)};
    const auto run = [&](int threads) {
        return with_threads(threads, [&] {
            const Smoke smoke(particles_in(box, 0.6f, 4),
                              particles_in({Vec3f::Constant(-9), Vec3f::Constant(9)}, 0.5f, 5));
            std::vector<Vec3f> places;
            for (const auto& [index, from] : smoke.redistributed())
                places.push_back(from), places.push_back(Vec3f::Constant(static_cast<float>(index)));
            return places;
        });
    };
    const auto one = run(1);
    EXPECT_TRUE(same_bits(one, run(2)));
    EXPECT_TRUE(same_bits(one, run(3)));
}

} // namespace

} // namespace spindrift
