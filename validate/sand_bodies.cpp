// Rigid bodies among grains: balls of several densities that fall onto sand [Narain 2011, figure 5.5], and paddle
// wheels turned by falling sand [Narain 2011, figure 5.10].
//
//     spindrift_validate sand_spheres     and sand_paddles
#include "checks.h"

#include "sand/sands.h"

#include <fmt/format.h>

using namespace spindrift;

namespace {

// The scene of scenes/sand_impacts.toml. Depths are measured from the initial surface to a ball's lowest point.
void spheres()
{
    constexpr float kRadius = 0.1f, kSurface = 0.2125f;
    SandScene scene(0.5f, Vec3f(-1, 0, -0.5f), Vec3f(1, 0.8f, 0.5f));
    scene.params.domain.y_max = DomainParams::Side::open;
    scene.fill_box(Vec3f(-1, 0, -0.5f), Vec3f(1, kSurface, 0.5f));
    const float ratios[] = {0.3f, 1, 3, 10};
    for (int k = 0; k < 4; ++k)
        scene.add_ball(Vec3f(-0.69f + 0.46f * static_cast<float>(k), 0.43f, 0), kRadius, 1600 * ratios[k]);
    const auto sand = scene.start();
    const auto depth = [&](size_t b) { return static_cast<double>(kSurface + kRadius) - sand->bodies().center(b).y(); };
    std::vector<double> earlier;
    for (int f = 1; f <= 72; ++f) {
        sand->advance();
        if (f != 36) continue;
        for (size_t b = 0; b < 4; ++b) earlier.push_back(depth(b));
    }
    fmt::print("\n| mass beside sand | depth after 1.5 s [m] | after 3 s [m] | of its diameter | speed then [m/s] |\n"
               "|---|---|---|---|---|\n");
    for (size_t b = 0; b < 4; ++b)
        fmt::print("| {} | {:.3f} | {:.3f} | {:.0f}% | {:.4f} |\n", ratios[b], earlier[b], depth(b),
                   100 * depth(b) / static_cast<double>(2 * kRadius), sand->bodies().motion(b).head<3>().norm());
}

// The scene of scenes/sand_paddles.toml on a coarser grid.
void paddles()
{
    SandScene scene(0.5f, Vec3f(-0.5f, 0, -0.5f), Vec3f(0.5f, 2, 0.5f), 0.025f);
    scene.params.domain.y_max = DomainParams::Side::open;
    scene.fill_box(Vec3f(0.02f, 1.9f, -0.24f), Vec3f(0.08f, 2, 0.24f), 0, Vec3f(0, -2, 0));
    scene.params.sources[0].mode = SandSourceParams::Mode::flow;
    const char* names[] = {"upper", "middle", "lower"};
    const float sides[] = {-0.14f, 0.25f, -0.16f};
    for (int k = 0; k < 3; ++k)
        scene.add_wheel(Vec3f(sides[k], 1.4f - 0.45f * static_cast<float>(k), 0), 0.22f, 0.3f, 700);
    const auto sand = scene.start();
    std::vector<double> turns(3, 0), fastest(3, 0), drift(3, 0);
    size_t particles = 0;
    for (int f = 0; f < 48; ++f) {
        particles = sand->advance().particles;
        for (size_t b = 0; b < 3; ++b) {
            const double spin = sand->bodies().motion(b)[5] / (2 * kPi);
            turns[b] += spin / static_cast<double>(kFps), fastest[b] = std::max(fastest[b], std::abs(spin));
            const Vec3d at = scene.params.bodies[b].hinge.anchor->cast<double>();
            drift[b] = std::max(drift[b], (sand->bodies().center(b) - at).norm());
        }
    }
    fmt::print("\n{} particles after 2 s.\n\n| wheel | turns in 2 s | fastest [turns/s] | off its axle [m] |\n"
               "|---|---|---|---|\n",
               particles);
    for (size_t b = 0; b < 3; ++b)
        fmt::print("| {} | {:+.2f} | {:.2f} | {:.1e} |\n", names[b], turns[b], fastest[b], drift[b]);
}

} // namespace

void sand_spheres(Figures&) { spheres(); }
void sand_paddles(Figures&) { paddles(); }
