// make bench: every figure of the table comes from this one run.
//
//     spindrift_bench            everything
//     spindrift_bench poisson    the pressure engine alone
//     spindrift_bench liquid     the liquid alone
//     spindrift_bench surface    the surface alone
//     spindrift_bench spray      the spray alone
//     spindrift_bench render     pictures alone
//     spindrift_bench expression expressions alone
//     spindrift_bench smoke      smoke alone
//     spindrift_bench turbulence turbulence alone
//     spindrift_bench multiscale [scene]  table 3.1 of document 000, or one scene of it
//     spindrift_bench crowd      crowds alone
//     spindrift_bench plan       floor plans of crowds alone
//     spindrift_bench sand [scene]        sand as grains alone, one scene of table 5.1, or growth
//     spindrift_bench fluid_sand sand as a fluid alone
#include "bench.h"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <sys/resource.h>

namespace spindrift {

void BenchTable::add(const std::string& what, const std::string& measured, const std::string& wanted, bool reached)
{
    if (rows_.empty()) fmt::print("{:<58} {:>26}  {:<26}\n{:-<112}\n", "what", "measured", "wanted", "");
    rows_.push_back({what, measured, wanted, reached});
    fmt::print("{:<58} {:>26}  {:<26} {}\n", what, measured, wanted, wanted.empty() ? "" : reached ? "yes" : "NO");
    std::fflush(stdout);
}

void BenchTable::note(const std::string& text)
{
    fmt::print("  {}\n", text);
    std::fflush(stdout);
}

bool BenchTable::all_reached() const
{
    for (const BenchRow& row : rows_)
        if (!row.reached) return false;
    return true;
}

double cpu_seconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

} // namespace spindrift

int main(int argc, char** argv)
{
    using namespace spindrift;
    const std::string mode = argc > 1 ? argv[1] : "";
    if (mode == "--liquid-child") return run_liquid_child(argc, argv);
    if (mode == "--surface-child") return run_surface_child(argc, argv);
    if (mode == "--spray-child") return run_spray_child(argc, argv);
    BenchTable table;
    const auto folder = std::filesystem::absolute(argv[0]).parent_path();
    // First: compiling is timed as a program that has done nothing else would do it.
    if (mode.empty() || mode == "expression") bench_expression(table);
    if (mode.empty() || mode == "poisson") bench_poisson(table, folder.string());
    if (mode.empty() || mode == "liquid") bench_liquid(table, std::filesystem::absolute(argv[0]).string());
    if (mode.empty() || mode == "surface") bench_surface(table, std::filesystem::absolute(argv[0]).string());
    if (mode.empty() || mode == "spray") bench_spray(table, std::filesystem::absolute(argv[0]).string());
    if (mode.empty() || mode == "render") bench_render(table);
    if (mode.empty() || mode == "smoke") bench_smoke(table);
    if (mode.empty() || mode == "turbulence") bench_turbulence(table);
    if (mode.empty() || mode == "multiscale") bench_multiscale(table, argc > 2 ? argv[2] : "");
    if (mode.empty() || mode == "crowd") bench_crowd(table);
    if (mode.empty() || mode == "plan") bench_plan(table);
    if (mode.empty() || mode == "sand") bench_sand(table, argc > 2 ? argv[2] : "");
    if (mode.empty() || mode == "fluid_sand") bench_fluid_sand(table);
    fmt::print("{}\n", table.all_reached() ? "every figure reached" : "some figures not reached");
    return 0;
}
