// What the benchmarks share: timing by the best of several runs, and the rows of the one table.
#pragma once

#include "spindrift/base/math.h"

#include <chrono>
#include <string>
#include <vector>

namespace spindrift {

struct BenchRow {
    std::string what, measured, wanted;
    bool reached;
};

class BenchTable {
  public:
    // Prints the row at once, so that a long run shows how far it is.
    void add(const std::string& what, const std::string& measured, const std::string& wanted, bool reached);
    void note(const std::string& text);
    bool all_reached() const;

  private:
    std::vector<BenchRow> rows_;
};

template <class Body> double seconds_of(const Body& body)
{
    const auto start = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Machines are noisy: the shortest of several runs.
template <class Body> double best_seconds(int runs, const Body& body)
{
    double best = seconds_of(body);
    for (int i = 1; i < runs; ++i) best = std::min(best, seconds_of(body));
    return best;
}

// Of the processor, in this process so far.
double cpu_seconds();

void bench_poisson(BenchTable& table, const std::string& program_folder);
void bench_liquid(BenchTable& table, const std::string& program);
// Measures one liquid shot in a process of its own, for its peak memory; called by bench_liquid through the command
// line.
int run_liquid_child(int argc, char** argv);
void bench_spray(BenchTable& table, const std::string& program);
int run_spray_child(int argc, char** argv);
void bench_surface(BenchTable& table, const std::string& program);
int run_surface_child(int argc, char** argv);
void bench_expression(BenchTable& table);
void bench_render(BenchTable& table);
void bench_turbulence(BenchTable& table);
void bench_smoke(BenchTable& table);
void bench_multiscale(BenchTable& table, const std::string& only_scene);
void bench_crowd(BenchTable& table);
void bench_plan(BenchTable& table);
void bench_sand(BenchTable& table, const std::string& only);
void bench_fluid_sand(BenchTable& table);

struct OpenvdbSurfaceSeconds {
    double smooth_spheres, spheres;
};
OpenvdbSurfaceSeconds openvdb_surface_seconds(const std::vector<Vec3f>& positions, float spacing, float voxel,
                                              float radius, int runs);

} // namespace spindrift
