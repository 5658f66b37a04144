// The liquid against exact volumes, conservation laws and an experiment.
//
//     spindrift_validate still     and rest, front, disc, emitter, column
#include "checks.h"

#include "liquid/scenes.h"

using namespace spindrift;

// Still water in a tilted box for 5 s: the largest kinetic energy.
void still_water(Figures& figures)
{
    constexpr double kAllowed = 1e-5;
    fmt::print(
        "\n| cells across | tilt | largest kinetic energy / (g x box height) in 5 s | allowed |\n|---|---|---|---|\n");
    for (const int cells : {32, 64})
        for (const float degrees : {0.0f, 20.0f, 45.0f}) {
            LiquidParams p;
            p.voxel = 1.0f / static_cast<float>(cells);
            p.domain = closed_domain(Vec3f::Constant(-1), Vec3f::Constant(2));
            p.domain.y_max = DomainParams::Side::open;
            ColliderParams box;
            box.min = Vec3f::Zero(), box.max = Vec3f::Ones(), box.invert = true, box.rotate = {{0, 0, 0, 1, degrees}};
            p.colliders.push_back(box);
            p.sources = {pool_source(0.5f)};
            const auto liquid = started_liquid(p);
            double worst = 0;
            for (int f = 0; f < 120; ++f) {
                liquid->advance();
                worst = std::max(worst, kinetic_energy(liquid->particles()) / 9.81);
            }
            fmt::print("| {} | {} degrees | {:.2g} | 1e-5 |\n", cells, degrees, worst);
            figures.require(
                fmt::format("still water, {} cells, {} degrees: kinetic energy / (g x box height)", cells, degrees),
                worst, at_most(kAllowed));
        }
}

// A dam break until rest. The depth of the water is twice the mean height of the particles.
void dam_break_to_rest(Figures&)
{
    fmt::print("\n| seconds | kinetic energy [J/kg] | depth [m] | exact [m] | error |\n|---|---|---|---|---|\n");
    LiquidParams p;
    p.voxel = 1.0f / 64;
    p.domain = closed_domain(Vec3f::Zero(), Vec3f::Ones());
    p.sources = {box_source(Vec3f::Zero(), Vec3f(0.4f, 0.6f, 1))};
    p.transfer = Transfer::pic; // with FLIP it sloshes for minutes
    const auto liquid = started_liquid(p);
    // The floor has an area of 1 m2, so the volume of the particles is the exact depth.
    const double exact = static_cast<double>(liquid->particles().size()) * liquid->particle_volume();
    int quiet = 0;
    for (int f = 1; f <= 24 * 240; ++f) {
        liquid->advance();
        const double energy = kinetic_energy(liquid->particles()), depth = 2 * mean_height(liquid->particles());
        quiet =
            energy < 1e-4 ? quiet + 1 : 0; // 1.4 cm/s, for two seconds: each reversal of the slosh is slow for a moment
        const bool at_rest = quiet == 48;
        if (f % 480 == 0 || at_rest)
            fmt::print("| {:.1f} | {:.2g} | {:.4f} | {:.4f} | {:+.2f}% |\n", f / 24.0, energy, depth, exact,
                       100 * (depth / exact - 1));
        std::fflush(stdout);
        if (at_rest) break;
    }
}

// The front of a collapsing column twice as high as wide, against the experiment of [Martin 1952].
void martin_moyce(Figures& figures)
{
    constexpr double kAllowed = 8; // [%]
    constexpr double times[] = {0.41, 0.84, 1.19, 1.43, 1.63, 1.83, 1.98, 2.20, 2.32, 2.51, 2.65, 2.83, 2.98, 3.11};
    constexpr double fronts[] = {1.11, 1.22, 1.44, 1.67, 1.89, 2.11, 2.33, 2.56, 2.78, 3.00, 3.22, 3.44, 3.67, 3.89};
    constexpr float a = 0.05715f; // the experiment's 2.25 inches
    constexpr int cells = 32;
    LiquidParams p;
    p.voxel = a / cells;
    p.domain = closed_domain(Vec3f::Zero(), Vec3f(6 * a, 3 * a, 8 * p.voxel));
    p.sources = {box_source(Vec3f::Zero(), Vec3f(a, 2 * a, 8 * p.voxel))};
    const double unit = std::sqrt(2 * 9.81 / a); // t* = t unit
    constexpr double step = 0.02;                // of t*, one frame
    const auto liquid = started_liquid(p, 0, static_cast<float>(unit / step));
    // The front ends where the water is less than a quarter of a cell deep.
    const auto front = [&] {
        std::vector<int> count(6 * cells, 0);
        for (const Vec3f& x : liquid->particles().P) {
            const auto bin = static_cast<size_t>(std::clamp(x.x() / p.voxel, 0.0f, 6.0f * cells - 1));
            ++count[bin];
        }
        size_t last = 0;
        while (last + 1 < count.size() && count[last + 1] >= 0.25 * 8 * 8) ++last;
        return static_cast<double>(last + 1) / cells;
    };
    std::vector<double> found;
    double now = 0, before = 1;
    while (found.size() < std::size(times) && now < 5) {
        liquid->advance();
        now += step;
        const double z = front();
        while (found.size() < std::size(times) && z >= fronts[found.size()])
            found.push_back(z > before ? now - step * (z - fronts[found.size()]) / (z - before) : now);
        before = z;
    }
    // Mean delay of the experiment, without the first point.
    double late = 0;
    for (size_t i = 1; i < found.size(); ++i) late += (times[i] - found[i]) / static_cast<double>(found.size() - 1);
    fmt::print("\n| z* | t* measured 1952 | t* here | difference | t* here + {:.2f} | difference |\n"
               "|---|---|---|---|---|---|\n",
               late);
    for (size_t i = 0; i < found.size(); ++i)
        fmt::print("| {:.2f} | {:.2f} | {:.2f} | {:+.1f}% | {:.2f} | {:+.1f}% |\n", fronts[i], times[i], found[i],
                   100 * (found[i] / times[i] - 1), found[i] + late, 100 * ((found[i] + late) / times[i] - 1));
    double worst = found.size() < std::size(times) ? kInfinity : 0;
    for (size_t i = 0; i < found.size(); ++i) worst = std::max(worst, 100 * std::abs(found[i] / times[i] - 1));
    figures.require("front of a collapsing column: largest difference of arrival times from [Martin 1952]", worst,
                    at_most(kAllowed, "%"));
}

namespace {

// Angular momentum of a round tank full of liquid in rigid rotation, without gravity, one cell deep.
void spinning_disc_at(float cfl)
{
    for (const auto& [name, transfer, flip] : {std::tuple{"pic", Transfer::pic, 0.0f},
                                               {"flip 0.97", Transfer::flip, 0.97f},
                                               {"flip 1.0", Transfer::flip, 1.0f},
                                               {"apic", Transfer::apic, 0.0f}}) {
        LiquidParams p;
        p.voxel = 1.0f / 64, p.transfer = transfer, p.flip = flip, p.gravity = Vec3f::Zero(), p.cfl = cfl;
        p.domain = closed_domain(Vec3f::Zero(), Vec3f(1, 1, p.voxel));
        SourceParams disc;
        disc.shape = ShapeParams::Kind::sphere, disc.center = Vec3f(0.5f, 0.5f, 0.5f * p.voxel), disc.radius = 0.3f;
        ColliderParams tank;
        tank.shape = disc.shape, tank.center = disc.center, tank.radius = disc.radius, tank.invert = true;
        p.sources = {disc}, p.colliders = {tank};
        const auto liquid = started_liquid(p);
        Liquid::State state = liquid->state();
        const double turn = 1; // seconds
        for (size_t i = 0; i < state.particles.size(); ++i) {
            const Vec3f r = state.particles.P[i] - disc.center;
            const auto omega = static_cast<float>(2 * kPi / turn);
            state.particles.v[i] = Vec3f(-omega * r.y(), omega * r.x(), 0);
            if (transfer == Transfer::apic) {
                state.particles.attribute<Vec3f>(kAffine[0])[i] = Vec3f(0, -omega, 0);
                state.particles.attribute<Vec3f>(kAffine[1])[i] = Vec3f(omega, 0, 0);
            }
        }
        const auto momentum = [&](const Particles& all) {
            double sum = 0;
            for (size_t i = 0; i < all.size(); ++i) {
                const Vec3f r = all.P[i] - disc.center;
                sum += r.x() * all.v[i].y() - r.y() * all.v[i].x();
            }
            return sum;
        };
        const double start = momentum(state.particles);
        liquid->restore(std::move(state));
        for (int f = 0; f < 24; ++f) liquid->advance();
        fmt::print("| {} | {} | {:.1f}% |\n", name, cfl, 100 * momentum(liquid->particles()) / start);
    }
}

} // namespace

void spinning_disc(Figures&)
{
    fmt::print("\n| transfer | cells a substep | angular momentum after one turn |\n|---|---|---|\n");
    for (const float cfl : {0.25f, 1.0f, 5.0f}) spinning_disc_at(cfl);
}

// A jet fills a closed tank for 200 frames; then the water settles.
void emitter(Figures&)
{
    fmt::print("\n| frame | volume that went in [m3] | depth x floor [m3] | difference |\n|---|---|---|---|\n");
    LiquidParams p;
    p.voxel = 1.0f / 40;
    p.domain = closed_domain(Vec3f::Zero(), Vec3f::Ones());
    SourceParams jet = box_source(Vec3f(0.1f, 0.7f, 0.4f), Vec3f(0.2f, 0.85f, 0.55f));
    jet.mode = SourceParams::Mode::flow, jet.velocity = Vec3f(1.5f, 0, 0), jet.last_frame = 200;
    p.sources = {jet};
    const auto liquid = started_liquid(p);
    for (int f = 1; f <= 480; ++f) {
        liquid->advance();
        const double in = static_cast<double>(liquid->particles().size()) * liquid->particle_volume(),
                     there = 2 * mean_height(liquid->particles());
        if (f == 200 || f == 300 || f == 400 || f == 480)
            fmt::print("| {} | {:.4f} | {:.4f} | {:+.2f}% |\n", f, in, there, 100 * (there / in - 1));
        std::fflush(stdout);
    }
}

// The column of [Zhu 2005]: 100 x 60 x 60 cells, 433,479 particles, 12 s per frame.
void column(Figures&)
{
    LiquidParams p;
    p.voxel = 0.01f;
    p.domain = closed_domain(Vec3f::Zero(), Vec3f(1, 0.6f, 0.6f));
    p.sources = {box_source(Vec3f(0.01f, 0, 0.1f), Vec3f(0.34f, 0.41f, 0.5f))};
    const auto liquid = started_liquid(p);
    double seconds = 0;
    constexpr int frames = 24;
    for (int f = 0; f < frames; ++f) seconds += liquid->advance().times.total();
    fmt::print("\nColumn of [Zhu 2005] on a 100 x 60 x 60 grid: {} particles, {:.2f} s per frame (paper: "
               "433,479 particles, about 12 s).\n",
               liquid->particles().size(), seconds / frames);
}
