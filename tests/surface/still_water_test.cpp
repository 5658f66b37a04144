// What still water looks like.
#include "liquid/scenes.h"
#include "surface/surface.h"

namespace spindrift {
namespace {

struct Lumps {
    double mean = 0, rms = 0, peak = 0; // [mm]
};

// Heights of the upper surface, away from the walls.
Lumps lumps_of(const Particles& particles, float voxel, const Box3f& box, const SurfaceParams& params = {})
{
    const Surface surface = make_surface(particles, 0.5f * voxel, params, box);
    std::vector<double> heights;
    for (const Vec3f& x : surface.mesh.positions)
        if (x.y() > 0.1f && x.x() > 0.1f && x.x() < box.max.x() - 0.1f && x.z() > 0.1f && x.z() < box.max.z() - 0.1f)
            heights.push_back(1000 * static_cast<double>(x.y()));
    Lumps lumps;
    for (const double h : heights) lumps.mean += h / static_cast<double>(heights.size());
    for (const double h : heights) {
        lumps.rms += (h - lumps.mean) * (h - lumps.mean) / static_cast<double>(heights.size());
        lumps.peak = std::max(lumps.peak, std::abs(h - lumps.mean));
    }
    lumps.rms = std::sqrt(lumps.rms);
    return lumps;
}

// Not reached: 0.6 mm on average and 2.2 mm at most, where single particles stand out of the surface.
TEST(StillWater, DISABLED_IsFlat)
{
    LiquidParams p;
    p.voxel = 0.02f;
    const Box3f box{Vec3f(0, 0, 0), Vec3f(0.6f, 0.5f, 0.6f)};
    p.domain = closed_domain(box.min, box.max);
    p.sources = {pool_source(0.21f)};
    const auto liquid = started_liquid(p);
    const auto say = [&](const char* when) {
        const Lumps lumps = lumps_of(liquid->particles(), p.voxel, box);
        std::printf("%s: height %.2f mm, rms %.3f mm, peak %.3f mm\n", when, lumps.mean, lumps.rms, lumps.peak);
        return lumps;
    };
    say("at the start");
    for (int frame = 0; frame < 12; ++frame) liquid->advance();
    say("after half a second");
    for (int frame = 0; frame < 12; ++frame) liquid->advance();
    const Lumps later = say("after a second");
    EXPECT_LT(later.peak, 0.3);
}

} // namespace
} // namespace spindrift
