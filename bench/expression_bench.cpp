// Expressions on ten million points: the kernels of [Jones 2018, figures 6.2 and 6.3], against the same in C++ over
// flat arrays and over attribute handles of VDB points. The kernels are for timing and make no physical sense.
#include "expression_bench.h"

#include "bench.h"
#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"
#include "spindrift/expression/expression.h"
#include "spindrift/expression/random_numbers.h"

#include <fmt/format.h>
#include <optional>

namespace spindrift {

namespace {

constexpr int kRuns = 5;

const char* const kParticleStep = R"(
// get timestep
float dt = 1.0f / (4.0f * 24.0f);
// gravity
vec3f gravity = {0.0f, -9.81f, 0.0f};
// drag
vec3f dV = {2.0f, 0.0f, 0.0f} - vec3f@v;
float lengthV = length(dV);

float Re = lengthV * float@rad / 1.225f;
float C = 0.0f;
if (Re > 1000.0f) C = 24.0f / Re;
else C = 0.424f;
vec3f drag = 0.5f * 1.2f * C * lengthV * dV * 4.0f * 3.14f * pow(@rad, 2.0f);
vec3f@v += (gravity - drag / ((4.0f / 3.0f) * 3.14f * pow(float@rad, 3.0f))) * dt;
vec3f@P += v@v * dt;
)";

const char* const kDecimate = R"(
int offset = 12345;
float threshold = 0.5;
if (rand(offset+int@id) > threshold) {
    deletepoint();
}
)";

// Jittered, eight per unit voxel. Radii are large enough to keep the drag step stable.
Particles points(size_t count)
{
    Particles particles;
    particles.resize(count);
    auto& radius = particles.attribute<float>("rad");
    const auto side = static_cast<size_t>(std::ceil(std::cbrt(static_cast<double>(count))));
    parallel_for(
        count,
        [&](size_t i) {
            Random random(11, i);
            const Vec3f cell(static_cast<float>(i / side / side), static_cast<float>(i / side % side),
                             static_cast<float>(i % side));
            particles.P[i] = 0.5f * (cell + Vec3f(random.uniform(), random.uniform(), random.uniform()));
            particles.v[i] = Vec3f(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1));
            particles.id[i] = static_cast<int32_t>(i);
            radius[i] = random.uniform(0.1f, 0.2f);
        },
        4096);
    return particles;
}

void step_flat(Particles& particles)
{
    auto& radius = particles.attribute<float>("rad");
    parallel_chunks(particles.size(), 8192, [&](size_t begin, size_t end) {
        Vec3f *P = particles.P.data(), *v = particles.v.data();
        for (size_t i = begin; i < end; ++i) step_particle(P[i], v[i], radius[i]);
    });
}

void decimate_flat(Particles& particles)
{
    std::vector<uint8_t> keep(particles.size(), 1);
    parallel_chunks(particles.size(), 8192, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i)
            if (is_decimated(particles.id[i])) keep[i] = 0;
    });
    remove_particles(particles, keep);
}

// Deletion needs fresh particles in each run; copying them is not timed.
template <class Body> double best_of_fresh(int runs, const Particles& fresh, const Body& body)
{
    double best = 1e30;
    for (int run = 0; run < runs; ++run) {
        Particles particles = fresh;
        best = std::min(best, seconds_of([&] { body(particles); }));
    }
    return best;
}

void compare(BenchTable& table, const std::string& what, size_t count, double ours, double flat, double handles,
             std::optional<double> least_rate)
{
    const auto rate = [&](double seconds) { return 1e-6 * static_cast<double>(count) / seconds; };
    const std::string name = fmt::format("{}: expression", what);
    const std::string measured = fmt::format("{:.1f} million points/s", rate(ours));
    if (least_rate)
        table.add(name, measured, rate(ours), at_least(*least_rate));
    else
        table.add(name, measured);
    table.add("  C++ over the handles of VDB points",
              fmt::format("{:.1f}, ours {:.2f}x", rate(handles), handles / ours), handles / ours, at_least(0.9, "x"));
    table.add("  C++ over flat arrays", fmt::format("{:.1f}, ours {:.2f}x", rate(flat), flat / ours), flat / ours,
              at_least(0.5, "x"));
}

} // namespace

void bench_expression(BenchTable& table)
{
    constexpr size_t count = 10'000'000;
    std::optional<Expression> step, decimate;
    const double first = seconds_of([&] { step.emplace("bench", kParticleStep); });
    const double second = seconds_of([&] { decimate.emplace("bench", kDecimate); });
    table.add("expressions: compiling figure 6.2", fmt::format("{:.3f} s", first), first, at_most(0.2, " s"));
    table.add("expressions: compiling figure 6.3", fmt::format("{:.3f} s", second), second, at_most(0.2, " s"));

    const ExpressionContext context;
    const Particles fresh = points(count);
    Particles particles = fresh;
    const double ours = best_seconds(kRuns, [&] { step->run(particles, context); });
    particles = fresh;
    const double flat = best_seconds(kRuns, [&] { step_flat(particles); });
    const OpenvdbPoints vdb(fresh);
    compare(table, "figure 6.2, 10 million points", count, ours, flat, vdb.best_step_seconds(kRuns), 40);
    table.add("  stock AX on VDB points, which moves them between leaves",
              fmt::format("{:.1f}", 1e-6 * count / vdb.ax_seconds(kParticleStep)));

    const double our_decimation = best_of_fresh(2, fresh, [&](Particles& some) { decimate->run(some, context); });
    const double flat_decimation = best_of_fresh(2, fresh, [](Particles& some) { decimate_flat(some); });
    compare(table, "figure 6.3, 10 million points", count, our_decimation, flat_decimation,
            vdb.best_decimation_seconds(2), {});
    table.add("  stock AX on VDB points", fmt::format("{:.1f}", 1e-6 * count / vdb.ax_seconds(kDecimate)));
}

} // namespace spindrift
