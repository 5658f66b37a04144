// Viscous and elastic liquids: the coil of poured honey and the torsion of a jelly cylinder.
//
//     spindrift_validate coil     and twist
#include "checks.h"

#include "liquid/twisted_jelly.h"

using namespace spindrift;

// The honey of scenes/honey.toml: angular velocity of the coil, beside the laws of [Ribe 2004] for the viscous and the
// gravitational regime, evaluated with the thread's radius and flow just above the heap.
void honey_coil(Figures&)
{
    constexpr float kHeight = 0.06f, kRadius = 0.0045f, kSeconds = 2.5f;
    LiquidParams p;
    constexpr float kCoilFps = 48; // several frames a turn
    p.voxel = 0.0011f, p.transfer = Transfer::apic, p.cfl = 2;
    p.density = 1400, p.viscosity = 150;
    p.domain = closed_domain(Vec3f(-0.06f, 0, -0.06f), Vec3f(0.06f, 0.09f, 0.06f));
    p.domain.y_max = DomainParams::Side::open;
    SourceParams source;
    source.shape = ShapeParams::Kind::sphere, source.center = Vec3f(0.0004f, kHeight, 0.0002f), source.radius = kRadius;
    source.mode = SourceParams::Mode::flow, source.velocity = Vec3f(0, -0.12f, 0.02f);
    p.sources = {source};
    const auto liquid = started_liquid(p, 0, kCoilFps);

    // Slices one voxel high. The heap begins at the first slice that holds much more than the thread below the source.
    const double height = static_cast<double>(p.voxel);
    struct Slice {
        double count = 0, x = 0, z = 0;
    };
    double angle = 0, turned = 0, turned_before = 0, area = 0, fall = 0, samples = 0;
    size_t particles_before = 0;
    bool begun = false;
    const int frames = static_cast<int>(kSeconds * kCoilFps), counted_from = frames * 3 / 5;
    for (int f = 1; f <= frames; ++f) {
        liquid->advance();
        std::vector<Slice> slices(static_cast<size_t>(kHeight / p.voxel) + 1);
        for (const Vec3f& x : liquid->particles().P) {
            const auto k = static_cast<size_t>(std::max(0.0f, x.y() / p.voxel));
            if (k >= slices.size()) continue;
            slices[k].count += 1, slices[k].x += static_cast<double>(x.x()), slices[k].z += static_cast<double>(x.z());
        }
        auto top = static_cast<size_t>((kHeight - 2 * kRadius) / p.voxel);
        const double thread = slices[top].count;
        while (top > 0 && slices[top].count < 1.7 * thread) --top;
        const Slice& above = slices[top + 3];
        if (above.count == 0) continue;
        const double now = std::atan2(above.z, above.x);
        if (begun) turned += std::remainder(now - angle, 2 * kPi);
        angle = now, begun = true;
        if (f == counted_from) turned_before = turned, particles_before = liquid->particles().size();
        if (f <= counted_from) continue;
        area += above.count * liquid->particle_volume() / height;
        fall += static_cast<double>(kHeight) - static_cast<double>(top) * height, samples += 1;
    }
    const double seconds = (frames - counted_from) / static_cast<double>(kCoilFps);
    const double flow =
        static_cast<double>(liquid->particles().size() - particles_before) * liquid->particle_volume() / seconds;
    const double radius2 = area / samples / kPi, nu = 150.0 / 1400,
                 measured = std::abs(turned - turned_before) / seconds;
    fmt::print("\n| | rad/s |\n|---|---|\n| measured in the last {:.1f} s, {:.1f} turns | {:.1f} |\n", seconds,
               std::abs(turned - turned_before) / (2 * kPi), measured);
    fmt::print("| viscous, Q / (H a^2) | {:.1f} |\n", flow / (fall / samples * radius2));
    fmt::print("| gravitational, (g Q^3 / (nu a^8))^(1/4) | {:.1f} |\n",
               std::pow(9.81 * std::pow(flow, 3) / (nu * std::pow(radius2, 4)), 0.25));
    fmt::print("\nThread radius {:.1f} mm, flow {:.1f} cm3/s, fall {:.0f} mm.\n", 1e3 * std::sqrt(radius2), 1e6 * flow,
               1e3 * fall / samples);
}

// Torsional frequency of a jelly cylinder on the floor at several resolutions;
// Elasticity.TwistedCylinderOscillatesAtTheExactFrequency tests one of them.
void twisted_jelly(Figures&)
{
    fmt::print(
        "\n| cells high | frequency [Hz] | exact [Hz] | difference | half a cell higher |\n|---|---|---|---|---|\n");
    for (const int cells : {8, 12, 24}) {
        const double exact = TwistedJelly::exact_frequency(), found = TwistedJelly::measured_frequency(cells);
        fmt::print("| {} | {:.3f} | {:.3f} | {:+.1f}% | {:+.1f}% |\n", cells, found, exact, 100 * (found / exact - 1),
                   100 * (found / exact * (1 + 0.5 / cells) - 1));
        std::fflush(stdout);
    }
}
