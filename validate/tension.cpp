// Surface tension: spurious velocities in a still drop, the frequency of an oscillating one [Rayleigh 1879], and the
// break-up of a thread (Plateau and Rayleigh).
//
//     spindrift_validate tension
#include "checks.h"

#include "liquid/scenes.h"

using namespace spindrift;

namespace {

constexpr float kVoxel = 1e-3f;
constexpr double kTension = 0.072, kDensity = 1000;

LiquidParams water()
{
    LiquidParams p;
    p.voxel = kVoxel, p.gravity = Vec3f::Zero(), p.surface_tension = static_cast<float>(kTension);
    return p;
}

SourceParams ball(float radius)
{
    SourceParams s;
    s.shape = ShapeParams::Kind::sphere, s.center = kVoxel * Vec3f(0.3f, 0.1f, -0.2f), s.radius = radius;
    return s;
}

void still_drop()
{
    fmt::print("\nA drop of water at rest for 0.4 s, 1 mm cells: spurious velocities, over the speed of "
               "capillary waves sqrt(tension / (density radius)).\n\n"
               "| radius [cells] | transfer | viscosity [Pa s] | rms velocity | radius of gyration "
               "|\n|---|---|---|---|---|\n");
    for (const float cells : {4.0f, 8.0f})
        for (const auto& [name, transfer, flip, viscosity] : {std::tuple{"flip 0.97", Transfer::flip, 0.97f, 0.0f},
                                                              {"flip 0.97", Transfer::flip, 0.97f, 0.001f},
                                                              {"flip 1.0", Transfer::flip, 1.0f, 0.0f},
                                                              {"apic", Transfer::apic, 0.0f, 0.0f}}) {
            LiquidParams p = water();
            p.transfer = transfer, p.flip = flip, p.viscosity = viscosity, p.sources = {ball(cells * kVoxel)};
            const auto liquid = started_liquid(p, 0, 100);
            const auto gyration = [&] {
                const Vec3d center = center_of(liquid->particles());
                double sum = 0;
                for (const Vec3f& x : liquid->particles().P) sum += (x.cast<double>() - center).squaredNorm();
                return std::sqrt(sum / static_cast<double>(liquid->particles().size()));
            };
            const double first = gyration();
            for (int frame = 0; frame < 40; ++frame) liquid->advance();
            double energy = 0;
            for (const Vec3f& v : liquid->particles().v) energy += static_cast<double>(v.squaredNorm());
            const double rms = std::sqrt(energy / static_cast<double>(liquid->particles().size()));
            fmt::print("| {} | {} | {} | {:.3f} | {:+.1f}% |\n", cells, name, viscosity,
                       rms / std::sqrt(kTension / (kDensity * static_cast<double>(cells * kVoxel))),
                       100 * (gyration() / first - 1));
            std::fflush(stdout);
        }
}

void oscillating_drop()
{
    fmt::print("\nA drop stretched by 15% oscillates.\n\n"
               "| radius [cells] | frequency over Rayleigh's | amplitude after a period |\n|---|---|---|\n");
    for (const float cells : {4.0f, 8.0f, 16.0f}) {
        LiquidParams p = water();
        p.sources = {ball(cells * kVoxel)};
        const double exact = std::sqrt(8 * kTension / (kDensity * std::pow(static_cast<double>(cells * kVoxel), 3)));
        const auto fps = static_cast<float>(40 * exact / (2 * kPi)); // 40 samples a period
        const auto liquid = started_liquid(p, 0, fps);
        Liquid::State state = liquid->state();
        constexpr float stretch = 1.15f;
        for (Vec3f& x : state.particles.P)
            x = x.cwiseProduct(Vec3f(1 / std::sqrt(stretch), stretch, 1 / std::sqrt(stretch)));
        liquid->restore(std::move(state));
        std::vector<double> zeros;
        double last = 0, first = 0, least = 0, most = 0;
        for (int frame = 0; zeros.size() < 4 && frame < 120; ++frame) {
            if (frame > 0) liquid->advance();
            const Vec3d center = center_of(liquid->particles());
            Vec3d moments = Vec3d::Zero();
            for (const Vec3f& x : liquid->particles().P) moments += (x.cast<double>() - center).cwiseAbs2();
            const double now = (moments.y() - 0.5 * (moments.x() + moments.z())) / moments.sum();
            if (frame == 0) first = now;
            if (frame > 0 && now * last < 0) zeros.push_back(frame - 1 + last / (last - now));
            if (zeros.size() == 1) least = std::min(least, now);
            if (zeros.size() == 2) most = std::max(most, now);
            last = now;
        }
        const double period = zeros.size() > 2 ? zeros[2] - zeros[0] : 0;
        fmt::print("| {} | {:.3f} | {:.2f} |\n", cells, 40 / period, most / first);
        std::fflush(stdout);
    }
}

// Particles in each run of consecutive non-empty slices, each one cell thick.
std::vector<double> parts_along_x(const Particles& particles, float length)
{
    std::vector<int> slices(static_cast<size_t>(length) + 1);
    for (const Vec3f& x : particles.P) ++slices[static_cast<size_t>(std::clamp(x.x() / kVoxel, 0.0f, length))];
    std::vector<double> parts;
    for (size_t i = 0; i < slices.size(); ++i) {
        if (slices[i] == 0) continue;
        if (i == 0 || slices[i - 1] == 0) parts.push_back(0);
        parts.back() += slices[i];
    }
    return parts;
}

// Break-up of a thread of liquid between two walls. Its fastest-growing wave is 9.02 radii long [Rayleigh 1879].
void thread()
{
    fmt::print(
        "\nA thread of water, 1 mm cells, in the frame with the most beads.\n\n"
        "| radius [cells] | length [radii] | beads | satellites | after [s] | spacing [radii] | Plateau-Rayleigh |\n"
        "|---|---|---|---|---|---|---|\n");
    for (const auto& [cells, length] : {std::pair{2.0f, 144.0f}, {3.0f, 162.0f}}) {
        LiquidParams p = water();
        p.domain.min = kVoxel * Vec3f(0, -40, -40), p.domain.max = kVoxel * Vec3f(length, 40, 40);
        p.domain.y_min = p.domain.y_max = p.domain.z_min = p.domain.z_max = DomainParams::Side::open;
        SourceParams box;
        box.min = kVoxel * Vec3f(0, -cells, -cells), box.max = kVoxel * Vec3f(length, cells, cells);
        p.sources = {box};
        const auto liquid = started_liquid(p, 0, 100);
        Liquid::State state = liquid->state();
        std::vector<uint8_t> keep;
        for (const Vec3f& x : state.particles.P)
            keep.push_back(x.y() * x.y() + x.z() * x.z() < cells * cells * kVoxel * kVoxel);
        remove_particles(state.particles, keep);
        liquid->restore(std::move(state));
        // Look for the frame with the most beads: later they meet and merge.
        const double wave = 9.02 * kPi * std::pow(static_cast<double>(cells), 3) * 8; // particles in one wave
        double beads = 0;
        int satellites = 0, when = 0;
        for (int frame = 1; frame <= 60; ++frame) {
            liquid->advance();
            double whole = 0;
            int small = 0;
            const std::vector<double> parts = parts_along_x(liquid->particles(), length);
            for (size_t i = 0; i < parts.size(); ++i) {
                const bool at_wall = i == 0 || i + 1 == parts.size(); // where half a bead may sit
                if (parts[i] < 0.15 * wave)
                    ++small;
                else
                    whole += at_wall && parts[i] < 0.6 * wave ? 0.5 : 1;
            }
            if (whole > beads) beads = whole, satellites = small, when = frame;
        }
        fmt::print("| {} | {} | {} | {} | {:.2f} | {:.1f} | 9.0 |\n", cells, length / cells, beads, satellites,
                   0.01 * when, static_cast<double>(length / cells) / beads);
        std::fflush(stdout);
    }
}

} // namespace

void surface_tension(Figures&)
{
    still_drop();
    oscillating_drop();
    thread();
}
