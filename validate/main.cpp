// make validate: the solvers against experiments, exact solutions and conservation laws. Prints the tables of
// docs/validation.md, or the one of the check that is named, and at the end the figures asked for that are missed.
// Exits with 1 if there are any, with 2 if there is no such check.
//
//     spindrift_validate [check]     spindrift_validate --list prints their names
#include "checks.h"

#include "spindrift/io/atomic_file.h"

#include <exception>
#include <filesystem>
#include <fmt/format.h>

std::string output_path(const std::string& name)
{
    const std::filesystem::path folder = "out/validation";
    std::filesystem::create_directories(folder);
    return (folder / name).string();
}

void write_plot(const std::string& name, const spindrift::Plot& plot)
{
    const std::string path = output_path(name);
    spindrift::write_file(path, spindrift::svg_of(plot));
    fmt::print("{}\n", path);
}

int main(int argc, char** argv)
{
    using spindrift::Figures;
    const std::pair<const char*, void (*)(Figures&)> checks[] = {{"still", still_water},
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
                                                                 {"shaped_smoke", shaped_smoke},
                                                                 {"track", track},
                                                                 {"track_shapes", track_shapes},
                                                                 {"track_liquid", track_liquid},
                                                                 {"texture", texture},
                                                                 {"texture_decay", texture_decay},
                                                                 {"texture_stretch", texture_stretch},
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
    const std::string only = argc > 1 ? argv[1] : "";
    if (only == "--list") {
        for (const auto& [name, check] : checks) fmt::print("{}\n", name);
        return 0;
    }
    Figures figures;
    bool known = only.empty();
    for (const auto& [name, check] : checks) {
        if (!only.empty() && only != name) continue;
        known = true;
        fmt::print("\n## {}\n", name);
        try {
            check(figures);
        } catch (const std::exception& error) {
            figures.fail(name, error.what());
        }
        std::fflush(stdout);
    }
    if (!known) {
        fmt::print(stderr, "spindrift_validate: there is no check {}; --list prints their names\n", only);
        return 2;
    }
    return figures.report();
}
