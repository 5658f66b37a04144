#include "cli/program.h"
#include "spindrift/io/vdb.h"

#include <gtest/gtest.h>

namespace spindrift {

TEST(LiquidStage, FileVelocityIsTheMotionOverTheFrame)
{
    const Workplace place;
    place.write("small.toml", small_scene());
    place.succeed({"liquid", "small.toml", "-o", "out", "--set", "shot.frames=1-16"});
    size_t all = 0, off = 0;
    float worst = 0;
    std::map<int32_t, Vec3f> before;
    for (int frame = 1; frame <= 16; ++frame) {
        const Particles p = read_particles(place / fmt::format("out/liquid/liquid.{:04}.vdb", frame)).particles;
        EXPECT_TRUE(p.attributes.empty()) << p.attributes.begin()->first;
        for (size_t i = 0; i < p.size() && !before.empty(); ++i) {
            const Vec3f motion = 24 * (p.P[i] - before.at(p.id[i]));
            const float error = (p.v[i] - motion).norm();
            ++all, off += error > 0.1f * motion.norm() + 1e-3f;
            worst = std::max(worst, error);
        }
        for (size_t i = 0; i < p.size(); ++i) before[p.id[i]] = p.P[i];
    }
    std::printf("%zu of %zu particles are off by more than 10%%, worst %.2f m/s\n", off, all,
                static_cast<double>(worst));
    EXPECT_EQ(off, 0u);
}

} // namespace spindrift
