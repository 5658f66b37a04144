// Smoke: the three advection schemes on a slotted disc and on a steady vortex, the mass in a closed box, and a plume at
// three resolutions.
//
//     spindrift_validate smoke
#include "checks.h"

#include "field/flows.h"
#include "smoke/smokes.h"

#include <fmt/format.h>

using namespace spindrift;

namespace {

constexpr std::pair<Advection, const char*> kSchemes[] = {{Advection::semi_lagrangian, "semi_lagrangian"},
                                                          {Advection::maccormack, "maccormack"},
                                                          {Advection::bfecc, "bfecc"}};

// Error of Zalesak's disc after one turn, as a share of its area.
double disc_error(Advection scheme, int cells)
{
    const auto disc = [&](const Vec3f& x) { return zalesak_disc(x, static_cast<float>(cells)); };
    const Topology topology = Topology::covering(Vec3i(0, 0, 0), Vec3i(cells, cells, 1));
    const int steps = 628 * cells / 100; // at most half a cell each
    MacField velocity;
    set_velocity(velocity, topology, Turning{0.5f * static_cast<float>(cells), static_cast<float>(2 * kPi / steps)});
    Field<float> value;
    set_values(value, topology, disc);
    advect_steps(velocity, scheme, steps, value);
    return relative_error(value, cells, disc);
}

// A Taylor-Green vortex between free-slip walls after one second, in which the fastest air crosses the box once:
// relative error of the velocity (2-norm), and the share of the energy that is left.
struct VortexError {
    double velocity, energy;
};
VortexError vortex_error(Advection scheme, int cells)
{
    SmokeParams p;
    p.voxel = 1.0f / static_cast<float>(cells);
    p.domain.min = Vec3f(0, 0, 0), p.domain.max = Vec3f(1, 1, p.voxel);
    close_all_sides(p.domain);
    p.sparse = false, p.advection = scheme, p.cfl = 1, p.gravity = Vec3f::Zero();
    p.sources = {ball_source(Vec3f(0.5f, 0.5f, 0), 0.1f, 0)};
    const auto smoke = started_smoke(p);
    const Topology topology = smoke->topology(); // a copy: restore() replaces that of the smoke
    MacField exact;
    const auto pi = static_cast<float>(kPi);
    set_velocity(exact, topology, [&](const Vec3f& x) {
        const Vec3f y = pi * p.voxel * x;
        return Vec3f(std::sin(y.x()) * std::cos(y.y()), -std::cos(y.x()) * std::sin(y.y()), 0);
    });
    Smoke::State state = smoke->state();
    for (int a = 0; a < 3; ++a)
        state.fields[std::string("vel.") + "xyz"[a]].assign(exact.u[a].values().begin(), exact.u[a].values().end());
    smoke->restore(state);
    for (int i = 0; i < 24; ++i) smoke->advance();
    double off = 0, before = 0, after = 0;
    for (int a = 0; a < 2; ++a)
        for (int x = 0; x < cells; ++x)
            for (int y = 0; y < cells; ++y) {
                const double u = smoke->velocity().u[a].at(Vec3i(x, y, 0)), v = exact.u[a].at(Vec3i(x, y, 0));
                off += (u - v) * (u - v), before += v * v, after += u * u;
            }
    return {std::sqrt(off / before), after / before};
}

void advection_table()
{
    fmt::print(
        "\n| | cells | slotted disc, a turn: area that is wrong | order | Taylor-Green vortex, 1 s: error of the "
        "velocity | order | energy left |\n|---|---|---|---|---|---|---|\n");
    for (const auto& [scheme, name] : kSchemes) {
        double disc_before = 0, vortex_before = 0;
        for (const int cells : {50, 100, 200}) {
            const double disc = disc_error(scheme, cells);
            const VortexError vortex = vortex_error(scheme, cells);
            const auto order = [](double before, double now) {
                return before > 0 ? fmt::format("{:.2f}", std::log2(before / now)) : std::string();
            };
            fmt::print("| {} | {} | {:.1f}% | {} | {:.3f}% | {} | {:.2f}% |\n", name, cells, 100 * disc,
                       order(disc_before, disc), 100 * vortex.velocity, order(vortex_before, vortex.velocity),
                       100 * vortex.energy);
            disc_before = disc, vortex_before = vortex.velocity;
        }
    }
}

void mass_table()
{
    fmt::print("\n| closed box, a warm ball, 32x48x32 cells, 200 frames | change of mass | without keep_mass "
               "|\n|---|---|---|\n");
    for (const auto& [scheme, name] : kSchemes) {
        double change[2];
        for (const bool keep : {true, false}) {
            SmokeParams p = warm_ball(32);
            close_all_sides(p.domain);
            p.advection = scheme, p.keep_mass = keep;
            p.sources[0].last_frame = 1;
            const auto smoke = started_smoke(p);
            smoke->advance(), smoke->advance();
            const double mass = smoke->mass();
            for (int i = 0; i < 200; ++i) smoke->advance();
            change[keep ? 0 : 1] = 100 * (smoke->mass() / mass - 1);
        }
        fmt::print("| {} | {:+.4f}% | {:+.1f}% |\n", name, change[0], change[1]);
    }
}

// Height [m] of the plume's top, above which a fiftieth of the smoke is.
double top_of(const Smoke& smoke, float voxel)
{
    std::map<int, double> layers;
    double sum = 0;
    const Field<float>& density = smoke.scalars()[0].value;
    const Topology& topology = density.topology();
    for (int tile = 0; tile < topology.tile_count(); ++tile)
        for (int c = 0; c < kTileCells; ++c) {
            const double d = density.tile(tile)[c];
            layers[topology.first_cell(tile).y() + cell_in_tile(c).y()] += d, sum += d;
        }
    double above = 0;
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
        if (above + layer->second > 0.02 * sum)
            return (layer->first + 1 - (0.02 * sum - above) / layer->second) * voxel;
        above += layer->second;
    }
    return 0;
}

void plume_table()
{
    fmt::print("\n| plume in 1x2x1 m | cells across | top after 1 s [m] | speed of the top, 0.75 to 1.5 s [m/s] | "
               "against the finest |\n|---|---|---|---|---|\n");
    for (const bool sparse : {false, true}) {
        std::vector<std::tuple<int, double, double>> rows;
        for (const int cells : {32, 64, 128}) {
            SmokeParams p = warm_ball(cells);
            p.domain.max = Vec3f(1, 2, 1);
            p.domain.y_min = DomainParams::Side::closed;
            p.sparse = sparse;
            p.sources = {ball_source(Vec3f(0.5f, 0.25f, 0.5f), 0.15f, 100)};
            const auto smoke = started_smoke(p);
            double at[37] = {};
            for (int i = 1; i <= 36; ++i) smoke->advance(), at[i] = top_of(*smoke, p.voxel);
            rows.emplace_back(cells, at[24], (at[36] - at[18]) / 0.75);
        }
        for (const auto& [cells, top, speed] : rows)
            fmt::print("| {} | {} | {:.3f} | {:.3f} | {:+.1f}% |\n", sparse ? "sparse" : "whole domain", cells, top,
                       speed, 100 * (speed / std::get<2>(rows.back()) - 1));
    }
}

} // namespace

void smoke_advection(Figures&)
{
    advection_table();
    mass_table();
    plume_table();
}
