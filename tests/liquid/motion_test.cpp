// The velocity that is written for a particle is its motion.
#include "liquid/scenes.h"

#include <map>

namespace spindrift {
namespace {

// A column of water falls against a post and the far wall.
LiquidParams dam_and_post(Transfer transfer)
{
    LiquidParams p;
    p.voxel = 0.04f, p.transfer = transfer;
    p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f(1.6f, 1, 0.6f));
    p.sources = {box_source(Vec3f(0, 0, 0), Vec3f(0.45f, 0.55f, 0.6f))};
    ColliderParams post;
    post.min = Vec3f(0.95f, 0, 0.22f), post.max = Vec3f(1.1f, 0.4f, 0.38f);
    p.colliders = {post};
    return p;
}

struct Misfit {
    size_t particles = 0, off = 0, by_metres = 0; // all; by more than 10%; by more than 2 m/s
    float worst = 0;
    void add(const Vec3f& v, const Vec3f& motion, float floor = 0)
    {
        const float error = (v - motion).norm();
        ++particles, off += error > 0.1f * motion.norm() + floor, by_metres += error > 2;
        worst = std::max(worst, error);
    }
    void print(const char* what) const
    {
        std::printf("%-44s %7zu particles, %5.2f%% off by more than 10%%, %zu by more than 2 m/s, worst %.2f m/s\n",
                    what, particles, 100.0 * static_cast<double>(off) / static_cast<double>(particles), by_metres,
                    static_cast<double>(worst));
    }
};

using Places = std::map<int32_t, Vec3f>;
Places places_of(const Particles& particles)
{
    Places places;
    for (size_t i = 0; i < particles.size(); ++i) places[particles.id[i]] = particles.P[i];
    return places;
}

TEST(Motion, Statistics)
{
    for (const Transfer transfer : {Transfer::flip, Transfer::apic}) {
        const auto liquid = started_liquid(dam_and_post(transfer));
        Misfit back, next, back_floor;
        Particles before = liquid->particles();
        for (int frame = 0; frame < 36; ++frame) {
            Places from = places_of(before);
            liquid->advance();
            const Places to = places_of(liquid->particles());
            const Particles& now = liquid->particles();
            for (size_t i = 0; i < now.size(); ++i) {
                const Vec3f m = kFps * (now.P[i] - from[now.id[i]]);
                back.add(now.v[i], m), back_floor.add(now.v[i], m, 0.41f);
            }
            for (size_t i = 0; i < before.size(); ++i)
                next.add(before.v[i], kFps * (to.at(before.id[i]) - before.P[i]));
            before = now;
        }
        back.print("solver, last"), back_floor.print("solver, last, g floor"), next.print("solver, next");
    }
}

} // namespace
} // namespace spindrift
