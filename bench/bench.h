// Shared by the benchmarks: timing by the best of several runs, and the table with the figures asked for.
#pragma once

#include "figures.h"
#include "spindrift/base/math.h"

#include <chrono>
#include <string>
#include <vector>

namespace spindrift {

// Rows are printed as they are added, to show the progress of a long run. A row whose name is indented belongs to the
// last one that is not.
class BenchTable {
  public:
    // A row that only informs.
    void add(const std::string& what, const std::string& measured);
    // A row with a figure asked for: its value, compared with the target, and how it is printed.
    void add(const std::string& what, const std::string& measured, double value, const Target& target);
    void note(const std::string& text);
    // A benchmark that could not be run.
    void fail(const std::string& what, const std::string& reason) { figures_.fail(what, reason); }
    // Prints the missed figures and returns the exit code of the program.
    int report() const { return figures_.report(); }

  private:
    void print(const std::string& what, const std::string& measured, const std::string& wanted, const char* reached);

    Figures figures_;
    std::string group_; // the last row that is not indented
    bool begun_ = false;
};

template <class Body> double seconds_of(const Body& body)
{
    const auto start = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The shortest of several runs, since other work on the machine disturbs some of them.
template <class Body> double best_seconds(int runs, const Body& body)
{
    double best = seconds_of(body);
    for (int i = 1; i < runs; ++i) best = std::min(best, seconds_of(body));
    return best;
}

// Processor time of this process so far.
double cpu_seconds();

void bench_poisson(BenchTable& table, const std::string& program_folder);
void bench_liquid(BenchTable& table, const std::string& program);
// Measures one liquid shot in a process of its own, for its peak memory. bench_liquid starts it through the command
// line.
int run_liquid_child(int argc, char** argv);
void bench_spray(BenchTable& table, const std::string& program);
int run_spray_child(int argc, char** argv);
void bench_surface(BenchTable& table, const std::string& program);
int run_surface_child(int argc, char** argv);
void bench_expression(BenchTable& table);
void bench_render(BenchTable& table);
void bench_shaped_smoke(BenchTable& table, const std::string& program);
int run_shaped_smoke_child(int argc, char** argv);
void bench_texture(BenchTable& table);
void bench_track(BenchTable& table);
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
