#include "pipeline/cli.h"

#include "base/error.h"
#include "base/interrupt.h"
#include "base/parallel.h"
#include "io/atomic_file.h"
#include "pipeline/file_info.h"
#include "pipeline/scene_template.h"
#include "pipeline/shot.h"

#include <CLI/CLI.hpp>
#include <filesystem>

namespace spindrift {

namespace {

struct Options {
    ShotOptions shot;
    std::string frames, stage, file, name;
    bool json = false, markdown = false;
    int threads = 0;
};

// Runs all stages (or one) of a shot.
void run_shot(Options& options, const std::string& stage)
{
    if (!options.frames.empty()) options.shot.frames = parse_frame_range(options.frames);
    Shot shot(options.shot);
    Progress progress(options.json ? Progress::Style::json : Progress::suitable());
    catch_interrupts();
    try {
        shot.run(stage, progress);
    } catch (const Error& error) {
        if (error.code != ExitCode::interrupted) throw;
        throw Error(ExitCode::interrupted, "interrupted; run the same command again to go on from the last complete frame");
    }
}

void describe(const Options& options)
{
    std::vector<std::string> names = {"shot"};
    const auto show = [&](const std::string& name, const std::string& help, const VisitFunction& visit) {
        if (options.json)
            fmt::print("{}\n", describe_json(name, visit));
        else
            fmt::print("{}{}\n", options.markdown ? describe_markdown(name, visit) : describe_text(name + ": " + help, visit), options.markdown ? "" : "");
    };
    bool found = false;
    const auto wanted = [&](const std::string& name) {
        const bool yes = options.stage.empty() || options.stage == name;
        found |= yes;
        return yes;
    };
    ShotParams shot;
    if (wanted("shot")) show("shot", "What all stages of a shot share.", [&](ParamVisitor& v) { shot.visit(v); });
    for (const auto& stage : make_stages()) {
        names.push_back(stage->name());
        if (wanted(stage->name())) show(stage->name(), stage->help(), [&](ParamVisitor& v) { stage->visit(v); });
    }
    if (!found) {
        const std::string near = nearest_name(options.stage, names);
        bad_input("there is no stage '{}'; {} {}", options.stage, near.empty() ? "there are:" : "did you mean",
                  near.empty() ? fmt::format("{}", fmt::join(names, ", ")) : near + "?");
    }
}

void new_scene(const Options& options)
{
    const std::string path = options.name + ".toml";
    if (options.name.empty() || options.name.find('/') != std::string::npos)
        bad_input("'{}' is not a name for a scene; use letters, digits, - and _", options.name);
    if (file_exists(path)) bad_input("{} exists already; choose another name", path);
    write_file(path, scene_template(options.name));
    fmt::print("wrote {}; run it with: spindrift run {}\n", path, path);
}

void check(const Options& options)
{
    const Shot shot(options.shot);
    fmt::print("{}\n", shot.needs());
}

void add_shot_options(CLI::App* command, Options& options, bool frames)
{
    command->add_option("scene", options.shot.scene, "The scene file")->required();
    command->add_option("-o,--out", options.shot.folder, "Folder for the caches; default out/<scene name>");
    command->add_option("--set", options.shot.overrides, "Override a value: --set liquid.voxel=0.01")->take_all()->allow_extra_args(false);
    if (frames) command->add_option("--frames", options.frames, "Only these frames: 10-40, or 7");
    command->add_option("-j,--threads", options.threads, "Number of threads; default all cores")->check(CLI::Range(1, 1024));
    if (frames) command->add_flag("--json", options.json, "Progress as one JSON object a line");
}

int parse_and_run(int argc, char** argv)
{
    CLI::App app("Spindrift: liquids, spray, smoke, sand and crowds for visual effects.", "spindrift");
    app.set_version_flag("--version", std::string("spindrift ") + SPINDRIFT_VERSION);
    app.require_subcommand(1);
    Options options;

    const std::pair<const char*, const char*> stage_commands[] = {{"run", "All stages of a scene that are out of date"},
                                                                  {"sim", "The simulation alone"},
                                                                  {"surface", "The surface alone"},
                                                                  {"render", "The pictures alone"}};
    for (const auto& [name, help] : stage_commands) {
        CLI::App* command = app.add_subcommand(name, help);
        add_shot_options(command, options, true);
        const std::string stage = std::string(name) == "run" ? "" : std::string(name) == "sim" ? "liquid" : name;
        command->callback([&options, stage] { run_shot(options, stage); });
    }
    CLI::App* command = app.add_subcommand("check", "Validate a scene and say what the shot needs, without computing");
    add_shot_options(command, options, false);
    command->callback([&] { check(options); });
    command = app.add_subcommand("describe", "Every parameter with unit, default, range and help");
    command->add_option("stage", options.stage, "One stage; default all");
    command->add_flag("--markdown", options.markdown, "As a Markdown table");
    command->add_flag("--json", options.json, "As JSON");
    command->callback([&] { describe(options); });
    command = app.add_subcommand("info", "What is in a cache file: VDB, PLY, OBJ, PNG, EXR");
    command->add_option("file", options.file, "The file, or a pattern like splash.####.vdb")->required();
    command->callback([&] { fmt::print("{}", describe_file(options.file)); });
    command = app.add_subcommand("new", "A new scene from a template, in the current folder");
    command->add_option("name", options.name, "Name of the scene, without .toml")->required();
    command->callback([&] { new_scene(options); });

    app.parse_complete_callback([&] { set_thread_count(options.threads); });
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        // --help and --version end up here too, with exit code 0.
        return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::bad_input);
    }
    return 0;
}

} // namespace

int run_command_line(int argc, char** argv)
{
    try {
        return parse_and_run(argc, argv);
    } catch (const Error& error) {
        std::fflush(stdout);
        fmt::print(stderr, "spindrift: {}\n", error.what());
        return static_cast<int>(error.code);
    } catch (const std::bad_alloc&) {
        fmt::print(stderr, "spindrift: out of memory; raise liquid.voxel, or see what the shot needs with: spindrift check SCENE\n");
    } catch (const std::exception& error) {
        fmt::print(stderr, "spindrift: {}\n", error.what());
    }
    return static_cast<int>(ExitCode::failed);
}

} // namespace spindrift
