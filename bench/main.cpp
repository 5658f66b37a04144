// make bench: prints one table, and at the end the figures asked for that are missed. Exits with 1 if there are any,
// with 2 if there is no such benchmark.
//
//     spindrift_bench            everything
//     spindrift_bench poisson    the pressure engine alone
//     spindrift_bench liquid     the liquid alone
//     spindrift_bench surface    the surface alone
//     spindrift_bench spray      the spray alone
//     spindrift_bench render     pictures alone
//     spindrift_bench expression expressions alone
//     spindrift_bench smoke      smoke alone
//     spindrift_bench shaped_smoke smoke that takes shapes alone
//     spindrift_bench texture    textures on a turning ball alone
//     spindrift_bench track      tracked surfaces alone
//     spindrift_bench turbulence turbulence alone
//     spindrift_bench multiscale [scene]  [Narain 2011, table 3.1], or one scene of it
//     spindrift_bench crowd      crowds alone
//     spindrift_bench plan       floor plans of crowds alone
//     spindrift_bench sand [scene]        sand as grains alone, one scene of [Narain 2011, table 5.1], or growth
//     spindrift_bench fluid_sand sand as a fluid alone
#include "bench.h"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <sys/resource.h>

namespace spindrift {

void BenchTable::print(const std::string& what, const std::string& measured, const std::string& wanted,
                       const char* reached)
{
    if (!begun_) fmt::print("{:<58} {:>26}  {:<26}\n{:-<112}\n", "what", "measured", "wanted", "");
    begun_ = true;
    if (!what.starts_with(' ')) group_ = what;
    fmt::print("{:<58} {:>26}  {:<26} {}\n", what, measured, wanted, reached);
    std::fflush(stdout);
}

void BenchTable::add(const std::string& what, const std::string& measured) { print(what, measured, "", ""); }

void BenchTable::add(const std::string& what, const std::string& measured, double value, const Target& target)
{
    print(what, measured, target.text, target.holds(value) ? "yes" : "NO");
    figures_.require(what.starts_with(' ') ? fmt::format("{}, {}", group_, what.substr(what.find_first_not_of(' ')))
                                           : what,
                     value, target, measured);
}

void BenchTable::note(const std::string& text)
{
    fmt::print("  {}\n", text);
    std::fflush(stdout);
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
    if (mode == "--shaped-smoke-child") return run_shaped_smoke_child(argc, argv);
    const auto program = std::filesystem::absolute(argv[0]);
    const std::string part = argc > 2 ? argv[2] : "";
    const std::pair<const char*, std::function<void(BenchTable&)>> benchmarks[] = {
        {"expression", bench_expression}, // first: compiling is timed in a fresh process
        {"poisson", [&](BenchTable& table) { bench_poisson(table, program.parent_path().string()); }},
        {"liquid", [&](BenchTable& table) { bench_liquid(table, program.string()); }},
        {"surface", [&](BenchTable& table) { bench_surface(table, program.string()); }},
        {"spray", [&](BenchTable& table) { bench_spray(table, program.string()); }},
        {"render", bench_render},
        {"smoke", bench_smoke},
        {"shaped_smoke", [&](BenchTable& table) { bench_shaped_smoke(table, program.string()); }},
        {"texture", bench_texture},
        {"track", bench_track},
        {"turbulence", bench_turbulence},
        {"multiscale", [&](BenchTable& table) { bench_multiscale(table, part); }},
        {"crowd", bench_crowd},
        {"plan", bench_plan},
        {"sand", [&](BenchTable& table) { bench_sand(table, part); }},
        {"fluid_sand", bench_fluid_sand}};
    BenchTable table;
    bool known = mode.empty();
    for (const auto& [name, run] : benchmarks) {
        if (!mode.empty() && mode != name) continue;
        known = true;
        try {
            run(table);
        } catch (const std::exception& error) {
            table.fail(name, error.what());
        }
    }
    if (!known) {
        fmt::print(stderr, "spindrift_bench: there is no benchmark {}\n", mode);
        return 2;
    }
    return table.report();
}
