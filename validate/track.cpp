// Tracked surfaces: the deformation field of [LeVeque 1996] beside OpenVDB's level sets, a shape with thin ears,
// revolutions past the point of tearing, the slotted sphere of [Zalesak 1979], the map between frames, flicker, and the
// volume of a sloshing liquid.
//
//     spindrift_validate track
//     spindrift_validate track_shapes
//     spindrift_validate track_liquid
#include "checks.h"

#include "mesh/manifold.h"
#include "spindrift/base/random.h"
#include "spindrift/liquid/liquid.h"
#include "spindrift/surface/surface.h"
#include "track/flows.h"
#include "vdb_level_set_advection.h"

#include <fmt/format.h>

using namespace spindrift;

namespace {

constexpr float kCellsPerStep = 8;
const Vec3f kBallCenter = Vec3f::Constant(0.35f);
constexpr float kBallRadius = 0.15f;

double percent(double volume, double exact) { return 100 * (volume / exact - 1); }

// Distances of the vertices from a surface.
struct Distances {
    double mean = 0, most = 0;
    template <class Distance> Distances(const Mesh& mesh, const Distance& distance)
    {
        for (const Vec3f& x : mesh.positions) {
            const double d = std::abs(static_cast<double>(distance(x)));
            mean += d / static_cast<double>(mesh.positions.size()), most = std::max(most, d);
        }
    }
};

// Counts the steps after which the mesh is not closed, manifold and consistently oriented.
struct Watch {
    int steps = 0, open = 0;
    void look(const SurfaceTracker& tracker) { ++steps, open += !is_manifold(tracker.mesh()); }
    void look(const Liquid& liquid) { ++steps, open += !is_manifold(liquid.surface()); }
};

// Of points that cover a ball evenly, about one a cell of its area, from a mesh.
double farthest_from_mesh(const Mesh& mesh, const Vec3f& center, float radius, int cells)
{
    const MeshDistance surface(mesh);
    const auto count = static_cast<size_t>(4 * kPi * std::pow(static_cast<double>(radius) * cells, 2));
    return parallel_reduce(
        count, 0.0,
        [&](size_t i) {
            const double z = 1 - 2 * (static_cast<double>(i) + 0.5) / static_cast<double>(count),
                         r = std::sqrt(1 - z * z);
            const double turn = 2.399963 * static_cast<double>(i); // the golden angle
            const Vec3f out = Vec3d(r * std::cos(turn), r * std::sin(turn), z).cast<float>();
            return std::abs(static_cast<double>(surface.distance(center + radius * out)));
        },
        [](double a, double b) { return std::max(a, b); }, 256);
}

void report_closed(const Watch& watch, const std::string& what, Figures& figures)
{
    fmt::print("\nMeshes that are not closed, manifold and consistently oriented: {} of {}.\n", watch.open,
               watch.steps);
    figures.require("track: open meshes of " + what, watch.open, at_most(0));
}

void deformation(Figures& figures)
{
    fmt::print("\n| method | cells | steps | volume | order | mean distance [cells] | Hausdorff distance [cells] |\n");
    fmt::print("|---|---|---|---|---|---|---|\n");
    const double exact = 4 * kPi / 3 * std::pow(static_cast<double>(kBallRadius), 3);
    const auto from_ball = [](const Vec3f& x) { return (x - kBallCenter).norm() - kBallRadius; };
    Watch watch;
    double last = 0;
    const auto row = [&](const char* name, int cells, size_t steps, const Mesh& mesh) {
        const double volume = percent(volume_of(mesh), exact);
        const Distances distances(mesh, from_ball);
        const std::string order = last > 0 ? fmt::format("{:.1f}", std::log2(last / distances.mean)) : "";
        fmt::print("| {} | {} | {} | {:+.2f}% | {} | {:.3f} | {:.2f} |\n", name, cells, steps, volume, order,
                   distances.mean * cells,
                   std::max(distances.most, farthest_from_mesh(mesh, kBallCenter, kBallRadius, cells)) * cells);
        last = distances.mean;
        return std::abs(volume);
    };
    for (const bool curved : {true, false}) {
        last = 0;
        for (const int cells : {64, 128, 256, 512}) {
            if (!curved && cells == 512) continue;
            const float voxel = 1.0f / static_cast<float>(cells);
            SurfaceTracker tracker({.voxel = voxel, .curved = curved});
            tracker.start({ball_source(kBallCenter, kBallRadius)});
            size_t steps = 0;
            deform(tracker, voxel, kCellsPerStep, [&](int) { watch.look(tracker), ++steps; });
            const double volume = row(curved ? "tracked" : "tracked, flat triangles", cells, steps, tracker.mesh());
            if (curved && cells == 128)
                figures.require("track: volume of the deformed ball at 128 cells [%]", volume, at_most(1));
        }
    }
    last = 0;
    for (const int cells : {64, 128, 256}) {
        size_t steps = 0;
        const Mesh mesh = vdb_deformed_ball(1.0f / static_cast<float>(cells), steps);
        row("OpenVDB, WENO5 and TVD-RK2", cells, steps, mesh);
    }
    report_closed(watch, "the deformed ball", figures);
}

// A head with two ears, each a disc thinner than two cells at 64.
std::vector<SurfaceTracker::Source> head_with_ears()
{
    const auto ear = [](const Vec3f& center) -> SurfaceTracker::Source {
        const Vec3f axes(0.05f, 0.09f, 0.016f);
        return {[=](const Vec3f& x) { // about the distance to an ellipsoid
                    const Vec3f q = (x - center).cwiseQuotient(axes);
                    const float k = q.norm(), slope = q.cwiseQuotient(axes).norm();
                    return slope > 0 ? k * (k - 1) / slope : -axes.minCoeff();
                },
                {center - axes, center + axes},
                {}};
    };
    return {ball_source(kBallCenter, 0.1f), ear({0.29f, 0.46f, 0.35f}), ear({0.41f, 0.46f, 0.35f})};
}

void ears(Figures& figures)
{
    fmt::print(
        "\n| a head with thin ears, cells | ear's thickness [cells] | volume | mean distance [cells] | Hausdorff "
        "distance [cells] |\n|---|---|---|---|---|\n");
    Watch watch;
    for (const int cells : {64, 128, 256, 512}) {
        const float voxel = 1.0f / static_cast<float>(cells);
        SurfaceTracker tracker({.voxel = voxel});
        tracker.start(head_with_ears());
        const Mesh before = tracker.mesh();
        deform(tracker, voxel, kCellsPerStep, [&](int) { watch.look(tracker); });
        const MeshDistance surface(before);
        const MeshDistance after(tracker.mesh());
        const Distances there(tracker.mesh(), [&](const Vec3f& x) { return surface.distance(x); });
        const Distances back(before, [&](const Vec3f& x) { return after.distance(x); });
        fmt::print("| {} | {:.1f} | {:+.2f}% | {:.3f} | {:.2f} |\n", cells, 0.032 * cells,
                   percent(volume_of(tracker.mesh()), volume_of(before)), 0.5 * (there.mean + back.mean) * cells,
                   std::max(there.most, back.most) * cells);
    }
    report_closed(watch, "the head with ears", figures);
}

// The field does not turn back: the ball becomes a sheet that thins until it tears.
void tearing(Figures& figures)
{
    fmt::print("\n| seconds in a steady field, 128 cells | volume | triangles | volume, kept | triangles |\n"
               "|---|---|---|---|---|\n");
    Watch watch;
    const float voxel = 1.0f / 128;
    SurfaceTracker free({.voxel = voxel}), kept({.voxel = voxel, .keep_volume = true});
    for (SurfaceTracker* tracker : {&free, &kept}) tracker->start({ball_source(kBallCenter, kBallRadius)});
    const double before = volume_of(free.mesh());
    Deformation flow;
    flow.begin = 0.5, flow.seconds = 0; // at full strength
    for (int i = 1; i <= 96; ++i) {
        for (SurfaceTracker* tracker : {&free, &kept})
            tracker->step(flow, kCellsPerStep * voxel / 2), watch.look(*tracker);
        if (i % 16 == 0)
            fmt::print("| {:.2f} | {:+.1f}% | {} | {:+.1f}% | {} |\n",
                       i * static_cast<double>(kCellsPerStep * voxel) / 2, percent(volume_of(free.mesh()), before),
                       free.mesh().triangles.size(), percent(volume_of(kept.mesh()), before),
                       kept.mesh().triangles.size());
    }
    report_closed(watch, "the torn sheet", figures);
}

constexpr const char* kSlotted = "slotted sphere";
// A ball with a slot [Zalesak 1979], and two other shapes with sharp edges, around the same centre.
std::vector<std::pair<const char*, SurfaceTracker::Source>> sharp_shapes(const Vec3f& center)
{
    const auto box = [&](const Vec3f& half) { return box_source({center - half, center + half}); };
    const SurfaceTracker::Source ball = ball_source(center, 0.15f);
    const auto slotted = [ball](const Vec3f& x) {
        return std::max(ball.distance(x), -std::max(std::abs(x.x() - 0.5f) - 0.025f, x.y() - 0.85f));
    };
    return {{kSlotted, {slotted, ball.bounds, {}}},
            {"cube, edge 0.2", box(Vec3f::Constant(0.1f))},
            {"slab, 0.05 thick", box({0.15f, 0.025f, 0.15f})}};
}

void zalesak(Figures& figures)
{
    fmt::print("\n| a turn, cells | cells a step | steps | volume | mean distance [cells] |\n|---|---|---|---|---|\n");
    Watch watch;
    const Vec3f center(0.5f, 0.75f, 0.5f);
    const SteadyFlow flow([](const Vec3f& x) { return Vec3f(0.5f - x.y(), x.x() - 0.5f, 0); }, 0.5f);
    for (const auto& [name, source] : sharp_shapes(center))
        for (const auto& [cells, cells_per_step] :
             {std::pair(64, 4.0), {64, 8.0}, {128, 4.0}, {128, 8.0}, {128, 16.0}}) {
            const float voxel = 1.0f / static_cast<float>(cells);
            SurfaceTracker tracker({.voxel = voxel});
            tracker.start({source});
            const Mesh before = tracker.mesh();
            const int steps = static_cast<int>(std::ceil(2 * kPi * 0.4 * cells / cells_per_step));
            for (int i = 0; i < steps; ++i)
                tracker.step(flow, static_cast<float>(2 * kPi / steps)), watch.look(tracker);
            const MeshDistance surface(before);
            const Distances distances(tracker.mesh(), [&](const Vec3f& x) { return surface.distance(x); });
            const double volume = percent(volume_of(tracker.mesh()), volume_of(before));
            fmt::print("| {}, {} | {} | {} | {:+.2f}% | {:.3f} |\n", name, cells, cells_per_step, steps, volume,
                       distances.mean * cells);
            if (cells == 128 && cells_per_step == kCellsPerStep && std::string_view(name) == kSlotted)
                figures.require("track: volume of the slotted sphere [%]", std::abs(volume), at_most(1));
        }
    report_closed(watch, "shapes with sharp edges", figures);
}

void map_between_frames(Figures& figures)
{
    const int cells = 128;
    const float voxel = 1.0f / cells;
    SurfaceTracker tracker({.voxel = voxel, .reference = true});
    tracker.start({ball_source(kBallCenter, kBallRadius)});
    // Frames of eight steps: their origins lie on the mesh that the frame began with, and flow to their vertices.
    constexpr int kFrame = 8;
    const double forth = steps_forth(voxel, kCellsPerStep);
    double off = 0, astray = 0;
    Watch watch;
    size_t vertices = 0;
    Mesh before = tracker.mesh();
    tracker.begin_frame();
    deform(tracker, voxel, kCellsPerStep, [&](int step) {
        watch.look(tracker);
        if (step % kFrame != kFrame - 1) return;
        const MeshDistance surface(before);
        const std::vector<SurfacePoint> origins = tracker.origins();
        for (size_t i = 0; i < origins.size(); ++i) {
            const Vec3f on = blended(before.positions, before, origins[i]);
            off = std::max(off, std::abs(static_cast<double>(surface.distance(on))));
            const Vec3f moved = deformed(on, (step + 1 - kFrame) / forth, (step + 1) / forth);
            astray += static_cast<double>((moved - tracker.mesh().positions[i]).norm()) * cells;
        }
        vertices += origins.size();
        before = tracker.mesh();
        tracker.begin_frame();
    });
    astray /= static_cast<double>(vertices);
    const auto& reference = std::get<std::vector<Vec3f>>(tracker.mesh().attributes.at(kReference));
    double mean = 0;
    for (size_t i = 0; i < reference.size(); ++i)
        mean += static_cast<double>((reference[i] - tracker.mesh().positions[i]).norm()) * cells /
                static_cast<double>(reference.size());
    fmt::print("\n| the map, {} cells | wanted | found |\n|---|---|---|\n", cells);
    fmt::print("| distance of origins from the old surface, of the domain | 1e-6 | {:.1e} |\n", off);
    fmt::print("| distance of vertices from where the exact flow takes their origins in eight steps, mean [cells] |  | "
               "{:.3f} |\n",
               astray);
    fmt::print("| reference coordinates, forth and back: mean distance [cells] | 1 | {:.3f} |\n", mean);
    report_closed(watch, "the map", figures);
    figures.require("track: distance of origins from the old surface", off, at_most(1e-6));
    figures.require("track: return of reference coordinates [cells]", mean, at_most(1));
}

// A bumpy ball that moves by fractions of a voxel a frame: how much the normals change where nothing should.
void flicker(Figures& figures)
{
    const auto bumpy = [](const Vec3f& x) {
        return x.norm() - 0.3f * (1 + 0.1f * std::sin(7 * x.x()) * std::sin(8 * x.y()) * std::sin(6 * x.z()));
    };
    const float voxel = 1.0f / 64;
    const Vec3f shift = 0.37f * voxel * Vec3f(1, 0.7f, 0.4f);
    const auto angle = [](const Vec3f& a, const Vec3f& b) {
        return std::acos(std::clamp(static_cast<double>(a.normalized().dot(b.normalized())), -1.0, 1.0)) * 180 / kPi;
    };
    SurfaceTracker tracker({.voxel = voxel});
    tracker.start({SurfaceTracker::Source{bumpy, {Vec3f::Constant(-0.4f), Vec3f::Constant(0.4f)}, {}}});
    const SteadyFlow flow([&](const Vec3f&) { return shift; }, shift.norm());
    double tracked = 0;
    Watch watch;
    constexpr int kFrames = 24;
    for (int frame = 0; frame < kFrames; ++frame) {
        tracker.begin_frame();
        const Mesh before = tracker.mesh();
        tracker.step(flow, 1);
        watch.look(tracker);
        const std::vector<SurfacePoint> origins = tracker.origins();
        for (size_t i = 0; i < origins.size(); ++i)
            tracked += angle(tracker.mesh().normals[i], blended(before.normals, before, origins[i])) /
                       static_cast<double>(origins.size() * kFrames);
    }
    // The same ball of particles, meshed in each frame at the same voxel.
    Particles particles;
    Random random(1);
    const int half = static_cast<int>(0.4f / voxel);
    for (int x = -half; x < half; ++x)
        for (int y = -half; y < half; ++y)
            for (int z = -half; z < half; ++z) {
                const Vec3f jitter(random.uniform(), random.uniform(), random.uniform());
                const Vec3f at =
                    voxel * (Vec3f(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)) + jitter);
                if (bumpy(at) < 0) particles.P.push_back(at);
            }
    particles.v.assign(particles.size(), Vec3f::Zero()), particles.id.assign(particles.size(), 0);
    double meshed = 0;
    Mesh last = make_surface(particles, voxel, {}).mesh;
    for (int frame = 0; frame < kFrames; ++frame) {
        for (Vec3f& x : particles.P) x += shift;
        const Mesh mesh = make_surface(particles, voxel, {}).mesh;
        const MeshDistance surface(last);
        for (size_t i = 0; i < mesh.positions.size(); ++i) {
            const auto at = surface.nearest(mesh.positions[i] - shift);
            meshed += angle(mesh.normals[i], blended(last.normals, last, {at.triangle, at.weights})) /
                      static_cast<double>(mesh.positions.size() * kFrames);
        }
        last = mesh;
    }
    fmt::print("\n| change of normals of a bumpy ball in a frame, mean, 38 cells across | degrees |\n|---|---|\n");
    fmt::print("| tracked | {:.2f} |\n| meshed from particles | {:.2f} |\n", tracked, meshed);
    report_closed(watch, "the bumpy ball", figures);
    figures.require("track: flicker [degrees]", tracked, at_most(1));
}

// Volumes of tracked liquids around solids, against that of the start, without keeping it.
void solids(Figures& figures)
{
    fmt::print("\n| tracked liquid around, 24 frames | volume, most off | deepest vertex in the solid [voxels of the "
               "surface] | open meshes |\n|---|---|---|---|\n");
    ColliderParams ball, plate;
    ball.shape = ShapeParams::Kind::sphere, ball.center = Vec3f(0.5f, 0.65f, 0.3f), ball.radius = 0.15f;
    ball.translate = {{1, 0, 0, 0}, {12, 0.05f, -0.4f, 0}, {24, 0, 0, 0}};
    plate.min = Vec3f(0.5f, -0.1f, -0.1f), plate.max = Vec3f(0.51f, 0.9f, 0.7f), plate.rotate = {{1, 0, 0, 1, 20}};
    for (const auto& [name, solid] : {std::pair("a ball that dips in and out", ball), {"a tilted plate", plate}}) {
        LiquidParams params;
        params.voxel = 0.025f, params.surface = LiquidParams::Surface::tracked, params.tracked.keep_volume = false;
        params.domain.min = Vec3f(0, 0, 0), params.domain.max = Vec3f(1, 0.8f, 0.6f);
        SourceParams source;
        source.max = Vec3f(1, 0.4f, 0.6f);
        params.sources = {source}, params.colliders = {solid};
        Shape shape(solid, name);
        Liquid liquid(params);
        liquid.start(1);
        const double before = volume_of(liquid.surface());
        double off = 0, depth = 0;
        int open = 0;
        for (int frame = 1; frame <= 24; ++frame) {
            const Mesh mesh = liquid.surface();
            shape.prepare(static_cast<float>(frame));
            off = std::max(off, std::abs(percent(volume_of(mesh), before)));
            for (const Vec3f& x : mesh.positions)
                depth = std::max(depth, static_cast<double>(-shape.distance(x, static_cast<float>(frame))));
            open += !is_closed(mesh);
            liquid.advance();
        }
        fmt::print("| {} | {:.2f}% | {:.3f} | {} |\n", name, off, depth / (0.5 * static_cast<double>(params.voxel)),
                   open);
        figures.require(fmt::format("track: vertices in {} [voxels]", name),
                        depth / (0.5 * static_cast<double>(params.voxel)), at_most(0.05));
    }
}

void sloshing(Figures& figures)
{
    fmt::print("\n| frames of sloshing | volume of the mesh, kept | not kept |\n|---|---|---|\n");
    const auto liquid_of = [](bool keep) {
        LiquidParams params;
        params.voxel = 0.05f;
        params.surface = LiquidParams::Surface::tracked;
        params.tracked.keep_volume = keep;
        params.domain.min = Vec3f(0, 0, 0), params.domain.max = Vec3f(1, 1, 0.5f);
        SourceParams source;
        source.max = Vec3f(0.5f, 0.6f, 0.5f);
        params.sources = {source};
        return std::make_unique<Liquid>(params);
    };
    const auto kept = liquid_of(true), free = liquid_of(false);
    for (auto* liquid : {kept.get(), free.get()}) liquid->start(1);
    Watch watch;
    for (int frame = 0; frame <= 500; ++frame) {
        for (auto* liquid : {kept.get(), free.get()}) watch.look(*liquid);
        if (frame % 100 == 0 || frame == 10 || frame == 30)
            fmt::print("| {} | {:+.2f}% | {:+.2f}% |\n", frame, percent(volume_of(kept->surface()), 0.15),
                       percent(volume_of(free->surface()), 0.15));
        kept->advance(), free->advance();
    }
    report_closed(watch, "the sloshing liquid, frames", figures);
}

} // namespace

void track(Figures& figures) { deformation(figures); }

void track_shapes(Figures& figures)
{
    ears(figures);
    tearing(figures);
    zalesak(figures);
    map_between_frames(figures);
    flicker(figures);
}

void track_liquid(Figures& figures)
{
    solids(figures);
    sloshing(figures);
}
