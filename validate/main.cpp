// make validate: the liquid against an experiment, exact volumes and conservation laws. Prints the tables of
// docs/validation.md; with a name, only that check.
//
//     spindrift_validate [still | rest | front | disc | emitter | column | surface | tension | coil | twist |
//                         spray | smoke | turbulence | crowd | streams | crowd_scenes | bodies |
//                         sand_piles | sand_columns | sand_silo | sand_mass | sand_cloud |
//                         sand_spheres | sand_paddles | sand_fluid | sand_models | plates]
#include "checks.h"

#include "spindrift/base/random.h"
#include "spindrift/liquid/liquid.h"
#include "spindrift/surface/surface.h"

#include <fmt/format.h>
#include <string>

using namespace spindrift;

namespace {

struct Setup {
    LiquidParams params;
    float fps = 24;

    SourceParams& add_box(const Vec3f& low, const Vec3f& high)
    {
        SourceParams source;
        source.min = low, source.max = high;
        params.sources.push_back(source);
        return params.sources.back();
    }
    void set_domain(const Vec3f& low, const Vec3f& high) { params.domain.min = low, params.domain.max = high; }
    Liquid make() const
    {
        std::vector<Shape> sources, colliders;
        for (const auto& s : params.sources) sources.emplace_back(s, "validation");
        for (const auto& c : params.colliders) colliders.emplace_back(c, "validation");
        return Liquid(params, {std::move(sources), {}, std::move(colliders)}, fps);
    }
};

double mean_height(const Particles& p)
{
    double sum = 0;
    for (const Vec3f& x : p.P) sum += x.y();
    return sum / static_cast<double>(p.size());
}

double kinetic_energy(const Particles& p) // per unit mass
{
    double sum = 0;
    for (const Vec3f& v : p.v) sum += 0.5 * v.squaredNorm();
    return sum / static_cast<double>(p.size());
}

// Still water in a box tilted by 20 degrees, for 5 s.
void still_water()
{
    fmt::print(
        "\n| cells across | tilt | largest kinetic energy / (g x box height) in 5 s | allowed |\n|---|---|---|---|\n");
    for (const int cells : {32, 64})
        for (const float degrees : {0.0f, 20.0f, 45.0f}) {
            Setup s;
            s.params.voxel = 1.0f / static_cast<float>(cells);
            s.set_domain(Vec3f::Constant(-1), Vec3f::Constant(2));
            s.params.domain.y_max = DomainParams::Side::open;
            ColliderParams box;
            box.min = Vec3f::Zero(), box.max = Vec3f::Ones(), box.invert = true, box.rotate = {{0, 0, 0, 1, degrees}};
            s.params.colliders.push_back(box);
            SourceParams& water = s.add_box(Vec3f::Zero(), Vec3f::Ones());
            water.shape = ShapeParams::Kind::half_space, water.point = Vec3f(0, 0.5f, 0), water.normal = Vec3f(0, 1, 0);
            Liquid liquid = s.make();
            liquid.start(0);
            double worst = 0;
            for (int f = 0; f < 120; ++f) {
                liquid.advance();
                worst = std::max(worst, kinetic_energy(liquid.particles()) / 9.81);
            }
            fmt::print("| {} | {} degrees | {:.2g} | 1e-5 |\n", cells, degrees, worst);
        }
}

// A dam break until rest: twice the mean height of the particles is the depth of the water.
void dam_break_to_rest()
{
    fmt::print("\n| seconds | kinetic energy [J/kg] | depth [m] | exact [m] | error |\n|---|---|---|---|---|\n");
    Setup s;
    s.params.voxel = 1.0f / 64;
    s.set_domain(Vec3f::Zero(), Vec3f::Ones());
    s.add_box(Vec3f::Zero(), Vec3f(0.4f, 0.6f, 1));
    s.params.transfer = Transfer::pic; // with FLIP it sloshes for minutes, as water in a smooth tank does
    Liquid liquid = s.make();
    liquid.start(0);
    // What was filled is what the particles stand for.
    const double exact = static_cast<double>(liquid.particles().size()) * liquid.particle_volume();
    int quiet = 0;
    for (int f = 1; f <= 24 * 240; ++f) {
        liquid.advance();
        const double energy = kinetic_energy(liquid.particles()), depth = 2 * mean_height(liquid.particles());
        quiet = energy < 1e-4 ? quiet + 1 : 0; // a centimetre a second; every turn of the tide has a moment of that
        const bool at_rest = quiet == 48;
        if (f % 480 == 0 || at_rest)
            fmt::print("| {:.1f} | {:.2g} | {:.4f} | {:.4f} | {:+.2f}% |\n", f / 24.0, energy, depth, exact,
                       100 * (depth / exact - 1));
        std::fflush(stdout);
        if (at_rest) break;
    }
}

// The front of a collapsing column twice as high as wide against Martin and Moyce 1952.
void martin_moyce()
{
    constexpr double times[] = {0.41, 0.84, 1.19, 1.43, 1.63, 1.83, 1.98, 2.20, 2.32, 2.51, 2.65, 2.83, 2.98, 3.11};
    constexpr double fronts[] = {1.11, 1.22, 1.44, 1.67, 1.89, 2.11, 2.33, 2.56, 2.78, 3.00, 3.22, 3.44, 3.67, 3.89};
    constexpr float a = 0.05715f; // the experiment's 2.25 inches
    constexpr int cells = 32;
    Setup s;
    s.params.voxel = a / cells;
    s.set_domain(Vec3f::Zero(), Vec3f(6 * a, 3 * a, 8 * s.params.voxel));
    s.add_box(Vec3f::Zero(), Vec3f(a, 2 * a, 8 * s.params.voxel));
    const double unit = std::sqrt(2 * 9.81 / a); // t* = t unit
    constexpr double step = 0.02;                // of t*, one frame
    s.fps = static_cast<float>(unit / step);
    Liquid liquid = s.make();
    liquid.start(0);
    // The front: as far as the water is at least a quarter of a cell deep.
    const auto front = [&] {
        std::vector<int> count(6 * cells, 0);
        for (const Vec3f& x : liquid.particles().P) {
            const auto bin = static_cast<size_t>(std::clamp(x.x() / s.params.voxel, 0.0f, 6.0f * cells - 1));
            ++count[bin];
        }
        size_t last = 0;
        while (last + 1 < count.size() && count[last + 1] >= 0.25 * 8 * 8) ++last;
        return static_cast<double>(last + 1) / cells;
    };
    std::vector<double> found;
    double now = 0, before = 1;
    while (found.size() < std::size(times) && now < 5) {
        liquid.advance();
        now += step;
        const double z = front();
        while (found.size() < std::size(times) && z >= fronts[found.size()])
            found.push_back(z > before ? now - step * (z - fronts[found.size()]) / (z - before) : now);
        before = z;
    }
    // The measured times less ours, but for the first: how much later the experiment began.
    double late = 0;
    for (size_t i = 1; i < found.size(); ++i) late += (times[i] - found[i]) / static_cast<double>(found.size() - 1);
    fmt::print("\n| z* | t* measured 1952 | t* here | difference | t* here + {:.2f} | difference |\n"
               "|---|---|---|---|---|---|\n",
               late);
    for (size_t i = 0; i < found.size(); ++i)
        fmt::print("| {:.2f} | {:.2f} | {:.2f} | {:+.1f}% | {:.2f} | {:+.1f}% |\n", fronts[i], times[i], found[i],
                   100 * (found[i] / times[i] - 1), found[i] + late, 100 * ((found[i] + late) / times[i] - 1));
}

// A round tank full of liquid that spins as a whole, without gravity, in a scene one cell deep.
void spinning_disc_at(float cfl)
{
    for (const auto& [name, transfer, flip] : {std::tuple{"pic", Transfer::pic, 0.0f},
                                               {"flip 0.97", Transfer::flip, 0.97f},
                                               {"flip 1.0", Transfer::flip, 1.0f},
                                               {"apic", Transfer::apic, 0.0f}}) {
        Setup s;
        s.params.voxel = 1.0f / 64, s.params.transfer = transfer, s.params.flip = flip,
        s.params.gravity = Vec3f::Zero(), s.params.cfl = cfl;
        s.set_domain(Vec3f::Zero(), Vec3f(1, 1, s.params.voxel));
        SourceParams& disc = s.add_box(Vec3f::Zero(), Vec3f::Ones());
        disc.shape = ShapeParams::Kind::sphere, disc.center = Vec3f(0.5f, 0.5f, 0.5f * s.params.voxel),
        disc.radius = 0.3f;
        ColliderParams tank;
        tank.shape = disc.shape, tank.center = disc.center, tank.radius = disc.radius, tank.invert = true;
        s.params.colliders.push_back(tank);
        Liquid liquid = s.make();
        liquid.start(0);
        Liquid::State state = liquid.state();
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
        const auto momentum = [&](const Particles& p) {
            double sum = 0;
            for (size_t i = 0; i < p.size(); ++i) {
                const Vec3f r = p.P[i] - disc.center;
                sum += r.x() * p.v[i].y() - r.y() * p.v[i].x();
            }
            return sum;
        };
        const double start = momentum(state.particles);
        liquid.restore(std::move(state));
        for (int f = 0; f < 24; ++f) liquid.advance();
        fmt::print("| {} | {} | {:.1f}% |\n", name, cfl, 100 * momentum(liquid.particles()) / start);
    }
}

void spinning_disc()
{
    fmt::print("\n| transfer | cells a substep | angular momentum after one turn |\n|---|---|---|\n");
    for (const float cfl : {0.25f, 1.0f, 5.0f}) spinning_disc_at(cfl);
}

// A jet fills a closed tank for 200 frames, then the water comes to rest.
void emitter()
{
    fmt::print("\n| frame | volume that went in [m3] | depth x floor [m3] | difference |\n|---|---|---|---|\n");
    Setup s;
    s.params.voxel = 1.0f / 40;
    s.set_domain(Vec3f::Zero(), Vec3f::Ones());
    SourceParams& jet = s.add_box(Vec3f(0.1f, 0.7f, 0.4f), Vec3f(0.2f, 0.85f, 0.55f));
    jet.mode = SourceParams::Mode::flow, jet.velocity = Vec3f(1.5f, 0, 0), jet.last_frame = 200;
    Liquid liquid = s.make();
    liquid.start(0);
    for (int f = 1; f <= 480; ++f) {
        liquid.advance();
        const double in = static_cast<double>(liquid.particles().size()) * liquid.particle_volume(),
                     there = 2 * mean_height(liquid.particles());
        if (f == 200 || f == 300 || f == 400 || f == 480)
            fmt::print("| {} | {:.4f} | {:.4f} | {:+.2f}% |\n", f, in, there, 100 * (there / in - 1));
        std::fflush(stdout);
    }
}

// The column of document 001: 100 x 60 x 60 cells, 433,479 particles, 12 s a frame in 2005.
void column()
{
    Setup s;
    s.params.voxel = 0.01f;
    s.set_domain(Vec3f::Zero(), Vec3f(1, 0.6f, 0.6f));
    s.add_box(Vec3f(0.01f, 0, 0.1f), Vec3f(0.34f, 0.41f, 0.5f));
    Liquid liquid = s.make();
    liquid.start(0);
    double seconds = 0;
    constexpr int frames = 24;
    for (int f = 0; f < frames; ++f) seconds += liquid.advance().times.total();
    fmt::print("\nColumn of document 001 on a 100 x 60 x 60 grid: {} particles, {:.2f} s a frame (the document: "
               "433,479 particles, about 12 s).\n",
               liquid.particles().size(), seconds / frames);
}

// One jittered particle in every cube of edge 1 where `inside` holds.
template <class Inside> Particles jittered(const Vec3i& low, const Vec3i& high, const Inside& inside)
{
    Particles particles;
    Random random(7);
    for (int x = low.x(); x < high.x(); ++x)
        for (int y = low.y(); y < high.y(); ++y)
            for (int z = low.z(); z < high.z(); ++z) {
                const Vec3f jitter(random.uniform(), random.uniform(), random.uniform());
                const Vec3f p = Vec3i(x, y, z).cast<float>() + jitter;
                if (inside(p)) particles.P.push_back(p);
            }
    particles.v.assign(particles.P.size(), Vec3f::Zero()), particles.id.assign(particles.P.size(), 0);
    return particles;
}

struct Spread {
    double sum = 0, sum2 = 0, count = 0;
    void add(double x) { sum += x, sum2 += x * x, ++count; }
    double mean() const { return sum / count; }
    double deviation() const { return std::sqrt(sum2 / count - mean() * mean()); }
};

// The four modes on a flat bed, a ball of radius 16 and a wavy sheet one particle thick; lengths in spacings.
void surface_modes()
{
    const Box3f tank{Vec3f(0, 0, 0), Vec3f(48, 40, 48)};
    const Particles bed = jittered({0, 0, 0}, {48, 20, 48}, [](const Vec3f&) { return true; });
    const Vec3f center(0.3f, 0.2f, 0.1f);
    const auto in_ball = [&](const Vec3f& p) { return (p - center).norm() < 16; };
    const Particles ball = jittered(Vec3i::Constant(-18), Vec3i::Constant(18), in_ball);
    Particles sheet = jittered({0, 0, 0}, {60, 1, 60}, [](const Vec3f&) { return true; });
    for (Vec3f& p : sheet.P) p.y() = 3 * std::sin(0.3f * p.x()) * std::cos(0.25f * p.z());
    const char* names[] = {"spheres", "averaged", "ellipsoids", "corrected"};
    fmt::print(
        "\n| mode | voxel | smoothing | bed: height error | bed: RMS bump | ball: volume | ball: RMS bump | sheet: "
        "holes |\n|---|---|---|---|---|---|---|---|\n");
    for (const float voxel : {1.0f, 0.5f})
        for (int mode = 0; mode < 4; ++mode)
            for (const int smoothing : {0, 2}) {
                SurfaceParams params;
                params.mode = static_cast<SurfaceMode>(mode);
                params.voxel = voxel, params.smoothing = smoothing;
                Spread height, radius;
                for (const Vec3f& x : make_surface(bed, 1, params, tank).mesh.positions)
                    if (x.y() > 15 && tank.grown(-4).contains(x)) height.add(x.y());
                const Mesh round = make_surface(ball, 1, params).mesh, thin = make_surface(sheet, 1, params).mesh;
                for (const Vec3f& x : round.positions) radius.add((x - center).norm());
                // One closed part without holes has the Euler characteristic 2, and each hole takes 2 away.
                const auto euler =
                    static_cast<int>(thin.positions.size()) - static_cast<int>(thin.triangles.size() / 2);
                fmt::print("| {} | {} | {} | {:+.2f} | {:.3f} | {:+.1f}% | {:.3f} | {} |\n", names[mode], voxel,
                           smoothing, height.mean() - 20, height.deviation(),
                           100 * (volume_of(round) / (4 * kPi / 3 * 16 * 16 * 16) - 1), radius.deviation(),
                           1 - euler / 2);
                std::fflush(stdout);
            }
}

// The honey of scenes/honey.toml: how fast its coil turns, beside Ribe's laws for the viscous and the gravitational
// regime (Ribe 2004), from the thread's own radius and flow just above the heap.
void honey_coil()
{
    constexpr float kHeight = 0.06f, kRadius = 0.0045f, kSeconds = 2.5f;
    Setup s;
    s.fps = 48; // several a turn
    s.params.voxel = 0.0011f, s.params.transfer = Transfer::apic, s.params.cfl = 2;
    s.params.density = 1400, s.params.viscosity = 150;
    s.set_domain(Vec3f(-0.06f, 0, -0.06f), Vec3f(0.06f, 0.09f, 0.06f));
    s.params.domain.y_max = DomainParams::Side::open;
    SourceParams& source = s.add_box(Vec3f::Zero(), Vec3f::Zero());
    source.shape = ShapeParams::Kind::sphere, source.center = Vec3f(0.0004f, kHeight, 0.0002f), source.radius = kRadius;
    source.mode = SourceParams::Mode::flow, source.velocity = Vec3f(0, -0.12f, 0.02f);
    Liquid liquid = s.make();
    liquid.start(0);

    // Slices one voxel high; the heap begins where one has much more in it than the thread under the source.
    const double height = static_cast<double>(s.params.voxel);
    struct Slice {
        double count = 0, x = 0, z = 0;
    };
    double angle = 0, turned = 0, turned_before = 0, area = 0, fall = 0, samples = 0;
    size_t particles_before = 0;
    bool begun = false;
    const int frames = static_cast<int>(kSeconds * s.fps), counted_from = frames * 3 / 5;
    for (int f = 1; f <= frames; ++f) {
        liquid.advance();
        std::vector<Slice> slices(static_cast<size_t>(kHeight / s.params.voxel) + 1);
        for (const Vec3f& x : liquid.particles().P) {
            const auto k = static_cast<size_t>(std::max(0.0f, x.y() / s.params.voxel));
            if (k >= slices.size()) continue;
            slices[k].count += 1, slices[k].x += static_cast<double>(x.x()), slices[k].z += static_cast<double>(x.z());
        }
        auto top = static_cast<size_t>((kHeight - 2 * kRadius) / s.params.voxel);
        const double thread = slices[top].count;
        while (top > 0 && slices[top].count < 1.7 * thread) --top;
        const Slice& above = slices[top + 3];
        if (above.count == 0) continue;
        const double now = std::atan2(above.z, above.x);
        if (begun) turned += std::remainder(now - angle, 2 * kPi);
        angle = now, begun = true;
        if (f == counted_from) turned_before = turned, particles_before = liquid.particles().size();
        if (f <= counted_from) continue;
        area += above.count * liquid.particle_volume() / height;
        fall += static_cast<double>(kHeight) - static_cast<double>(top) * height, samples += 1;
    }
    const double seconds = (frames - counted_from) / static_cast<double>(s.fps);
    const double flow =
        static_cast<double>(liquid.particles().size() - particles_before) * liquid.particle_volume() / seconds;
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

// A cylinder of jelly twisted on the floor at several resolutions: see Elasticity.ATwistedCylinder...
void twisted_jelly()
{
    fmt::print(
        "\n| cells high | frequency [Hz] | exact [Hz] | difference | half a cell higher |\n|---|---|---|---|---|\n");
    for (const int cells : {8, 12, 24}) {
        constexpr float kHeight = 0.2f, kRadius = 0.15f;
        Setup s;
        s.fps = 100;
        s.params.voxel = kHeight / static_cast<float>(cells), s.params.transfer = Transfer::apic;
        s.params.elasticity = 1000, s.params.gravity = Vec3f(0, -1e-3f, 0);
        s.set_domain(Vec3f(-1, 0, -1), Vec3f(1, 1, 1));
        s.add_box(Vec3f(-kRadius, 0, -kRadius), Vec3f(kRadius, kHeight, kRadius));
        Liquid liquid = s.make();
        liquid.start(0);
        const auto twist = [](const Vec3f& x) { return std::sin(static_cast<float>(kPi) / 2 * x.y() / kHeight); };
        Liquid::State state = liquid.state();
        std::vector<uint8_t> keep;
        for (const Vec3f& x : state.particles.P) keep.push_back(Vec2f(x.x(), x.z()).norm() < kRadius);
        remove_particles(state.particles, keep);
        for (size_t i = 0; i < state.particles.size(); ++i) {
            const Vec3f& x = state.particles.P[i];
            state.particles.v[i] = 0.3f * twist(x) * Vec3f(-x.z(), 0, x.x());
        }
        state.speed = 0.05f;
        liquid.restore(state);
        double last = 0, time = 0;
        std::vector<double> crossings;
        while (crossings.size() < 3 && time < 3) {
            liquid.advance();
            time += 1.0 / s.fps;
            double now = 0;
            for (size_t i = 0; i < liquid.particles().size(); ++i) {
                const Vec3f &x = liquid.particles().P[i], &v = liquid.particles().v[i];
                now += static_cast<double>(twist(x) * (x.x() * v.z() - x.z() * v.x()));
            }
            if (now * last < 0) crossings.push_back(time - 1.0 / s.fps * now / (now - last));
            last = now;
        }
        const double exact = 1 / (4 * static_cast<double>(kHeight)), found = 1 / (crossings.at(2) - crossings[0]);
        fmt::print("| {} | {:.3f} | {:.3f} | {:+.1f}% | {:+.1f}% |\n", cells, found, exact, 100 * (found / exact - 1),
                   100 * (found / exact * (1 + 0.5 / cells) - 1));
        std::fflush(stdout);
    }
}

} // namespace

int main(int argc, char** argv)
{
    const std::string only = argc > 1 ? argv[1] : "";
    const std::pair<const char*, void (*)()> checks[] = {{"still", still_water},
                                                         {"rest", dam_break_to_rest},
                                                         {"front", martin_moyce},
                                                         {"disc", spinning_disc},
                                                         {"emitter", emitter},
                                                         {"column", column},
                                                         {"surface", surface_modes},
                                                         {"tension", surface_tension},
                                                         {"coil", honey_coil},
                                                         {"twist", twisted_jelly},
                                                         {"spray", spray_regimes},
                                                         {"smoke", smoke_advection},
                                                         {"turbulence", turbulence_spectrum},
                                                         {"crowd", crowd_circle},
                                                         {"streams", crowd_streams},
                                                         {"crowd_scenes", crowd_scenes},
                                                         {"sand_piles", sand_piles},
                                                         {"sand_columns", sand_columns},
                                                         {"sand_silo", sand_silo},
                                                         {"sand_mass", sand_mass},
                                                         {"sand_cloud", sand_cloud},
                                                         {"sand_spheres", sand_spheres},
                                                         {"sand_paddles", sand_paddles},
                                                         {"sand_fluid", sand_fluid},
                                                         {"sand_models", sand_models},
                                                         {"plates", plates},
                                                         {"sand_motion", sand_motion},
                                                         {"bodies", floating_bodies}};
    bool known = only.empty();
    for (const auto& [name, check] : checks)
        if (only.empty() || only == name) fmt::print("\n## {}\n", name), check(), known = true;
    if (!known) fmt::print(stderr, "spindrift_validate: there is no check {}\n", only);
    return known ? 0 : 2;
}
