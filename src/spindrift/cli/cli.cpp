#include "spindrift/cli/cli.h"

#include "spindrift/base/child_process.h"
#include "spindrift/base/error.h"
#include "spindrift/base/interrupt.h"
#include "spindrift/base/memory.h"
#include "spindrift/base/parallel.h"
#include "spindrift/base/printable.h"
#include "spindrift/cli/ax_command.h"
#include "spindrift/cli/file_info.h"
#include "spindrift/cli/scene_template.h"
#include "spindrift/cli/video_commands.h"
#include "spindrift/engine/forecast.h"
#include "spindrift/engine/shot.h"
#include "spindrift/engine/versions.h"
#include "spindrift/expression/functions.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/stages/all_stages.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fmt/ranges.h>

namespace spindrift {

namespace {

struct Options {
    ShotOptions shot;
    AxOptions ax;
    std::string frames, stage, file, name, effect;
    std::vector<std::string> deleted;
    bool json = false, markdown = false, quiet = false, list = false;
    int threads = 0;
    double seconds = 0;
};

// ------------------------------------------------------------------------------------------------------- the commands

void run(Options& options)
{
    if (!options.frames.empty()) options.shot.frames = parse_frame_range(options.frames);
    Shot shot(options.shot, all_stages());
    Progress progress(options.json    ? Progress::Style::json
                      : options.quiet ? Progress::Style::quiet
                                      : Progress::suitable());
    catch_interrupts();
    try {
        shot.run(progress);
    } catch (const Error& error) {
        if (error.code != ExitCode::interrupted) throw;
        throw Error(ExitCode::interrupted,
                    "interrupted; run the same command again to resume from the last complete frame");
    }
}

void check(const Options& options) { fmt::print("{}\n", printable(Shot(options.shot, all_stages()).needs())); }

void graph(const Options& options)
{
    const Shot shot(options.shot, all_stages());
    if (options.file.empty())
        fmt::print("{}", printable(shot.graph().text()));
    else
        write_file(options.file, shot.graph().svg());
}

// Started by `check` in a child process; see engine/forecast.h.
void rehearse(Options& options)
{
    end_with_parent();
    options.shot.only = options.stage, options.shot.frames = parse_frame_range(options.frames);
    rehearse_stage(options.shot, all_stages(), options.seconds);
}

// Does not read the scene: it may no longer exist or be valid.
void versions(const Options& options)
{
    ShotPaths paths;
    paths.shot = std::filesystem::path(options.shot.scene).stem().string();
    paths.folder = options.shot.folder.empty() ? "out/" + paths.shot : options.shot.folder;
    if (!std::filesystem::is_directory(paths.folder))
        bad_input("there is no folder {}; name the shot's folder with -o", paths.folder);
    options.deleted.empty() ? list_versions(paths) : delete_versions(paths, options.deleted, all_stages());
}

// One table of a scene for `describe`.
struct Description {
    std::string name, help;
    VisitFunction visit;
};

void describe(const Options& options)
{
    if (options.stage == "ax") {
        if (options.json)
            bad_input("describe ax: the functions of expressions are available as text or Markdown, not as JSON");
        fmt::print("{}", options.markdown ? describe_expressions_markdown() : describe_expressions());
        return;
    }
    ShotParams shot;
    std::vector<Description> tables = {
        {"shot", "Parameters that all stages share.", [&](ParamVisitor& v) { shot.visit(v); }}};
    for (const StageKind& kind : all_stages()) {
        const std::shared_ptr<Stage> stage = kind.make({kind.name, kind.name});
        tables.push_back({kind.name, kind.help, [stage](ParamVisitor& v) { visit_stage(*stage, v); }});
    }

    std::vector<std::string> names, texts;
    for (const Description& table : tables) {
        names.push_back(table.name);
        if (!options.stage.empty() && options.stage != table.name) continue;
        texts.push_back(options.json       ? describe_json(table.name, table.visit)
                        : options.markdown ? describe_markdown(table.name, table.visit)
                                           : table.help + "\n" + describe_text(table.name, table.visit));
    }
    if (texts.empty()) {
        const std::string near = nearest_name(options.stage, names);
        bad_input("there is no stage '{}'; {}", options.stage,
                  near.empty() ? fmt::format("there are: {}", fmt::join(names, ", "))
                               : fmt::format("did you mean '{}'?", near));
    }
    if (options.json && options.stage.empty())
        fmt::print("[{}]\n", fmt::join(texts, ","));
    else
        fmt::print("{}", fmt::join(texts, "\n"));
}

void new_scene(const Options& options)
{
    if (options.list) {
        size_t width = 0;
        for (const SceneTemplate& t : scene_templates()) width = std::max(width, t.name.size());
        for (const SceneTemplate& t : scene_templates()) fmt::print("{:<{}}  {}\n", t.name, width, t.help);
        return;
    }
    if (options.name.empty())
        bad_input("new: give the scene a name, as in: spindrift new splash; see: spindrift new --list");
    std::string name = options.name;
    if (name.ends_with(".toml")) name.resize(name.size() - 5);
    const bool usable = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '-' || c == '_';
    });
    if (!usable) bad_input("'{}' is not a name for a scene; use letters, digits, - and _", options.name);
    const std::string path = name + ".toml";
    if (file_exists(path)) bad_input("{} exists already; choose another name", path);
    write_file(path, new_scene_text(name, options.effect));
    fmt::print("wrote {}; run it with: spindrift run {}\n", path, path);
}

// --------------------------------------------------------------------------------------------------------- the parser

void add_shot_options(CLI::App* command, Options& options)
{
    command->add_option("scene", options.shot.scene, "The scene file")->required();
    command->add_option("-o,--out", options.shot.folder, "Folder for the caches; default out/<scene name>");
    command
        ->add_option("--set", options.shot.overrides,
                     "Override a value for this run: --set liquid.voxel=0.01. Existing frames are kept; those of "
                     "this run go to a version folder of their own")
        ->take_all()
        ->allow_extra_args(false);
    command->add_option("-j,--threads", options.threads, "Number of threads; default all cores")
        ->check(CLI::Range(1, 1024));
}

void add_run_command(CLI::App& app, Options& options, std::function<void()>& action, const std::string& name,
                     const std::string& help, const std::string& stage)
{
    CLI::App* command = app.add_subcommand(name, help);
    add_shot_options(command, options);
    command->add_option(
        "--frames", options.frames,
        "Only these frames: 10-40, 7, or 1-30x2 for every second one; simulations also compute all earlier frames");
    if (stage.empty()) command->add_option("--stage", options.shot.only, "Only this stage, or all stages of this kind");
    CLI::Option* json = command->add_flag("--json", options.json, "Print progress as one JSON object per line");
    command->add_flag("-q,--quiet", options.quiet, "Only warnings and errors")->excludes(json);
    command->callback([&options, &action, stage] {
        if (!stage.empty()) options.shot.only = stage;
        action = [&options] { run(options); };
    });
}

void add_ax_command(CLI::App& app, Options& options, std::function<void()>& action)
{
    CLI::App* command =
        app.add_subcommand("ax", "Apply an OpenVDB AX expression to the points or volumes of any cache");
    AxOptions& ax = options.ax;
    command->add_option("expression", ax.expression, "Its text, or a file that ends in .ax")->required();
    command->add_option("--in", ax.in, "The cache: splash.####.vdb, or one file")->required();
    command->add_option("-o,--out", ax.out, "The file or pattern to write")->required();
    command->add_option("--frames", ax.frames, "Only these frames: 10-40, 7, or 1-30x2 for every second one");
    command
        ->add_option("--set", ax.parameters, "Set a parameter: --set speed=2 for $speed, --set wind=1,0,0 for v$wind")
        ->take_all()
        ->allow_extra_args(false);
    command->add_option("--volumes", ax.volumes, "Another cache whose volumes volume() and volumev() can sample");
    command->add_option("--on", ax.target, "points or volumes; default points if the cache has any")
        ->check(CLI::IsMember({"points", "volumes"}));
    command->add_option("--fps", ax.fps, "Frames per second, for $time and $dt; default 24")
        ->check(CLI::Range(1e-3, 1e6));
    command->add_option("--loop-limit", ax.loop_limit, "Maximum number of loop iterations per point or voxel")
        ->check(CLI::Range(int64_t(1), int64_t(1) << 40));
    command->add_flag("--force", ax.force, "Overwrite existing files");
    command->add_option("-j,--threads", options.threads, "Number of threads; default all cores")
        ->check(CLI::Range(1, 1024));
    command->callback([&] { action = [&] { run_ax_command(options.ax); }; });
}

constexpr const char* kHidden = ""; // group of commands for internal use

void add_commands(CLI::App& app, Options& options, std::function<void()>& action)
{
    add_run_command(app, options, action, "run", "Run all stages of a scene that are out of date", "");
    for (const StageKind& kind : all_stages())
        add_run_command(app, options, action, kind.name, fmt::format("Run only [{}]: {}", kind.name, kind.help),
                        kind.name);

    CLI::App* command = app.add_subcommand("check", "Validate a scene and forecast its memory and disk space");
    add_shot_options(command, options);
    command->callback([&] { action = [&] { check(options); }; });

    command = app.add_subcommand("graph", "Print the stages of a scene and their inputs as text, or draw them as SVG");
    add_shot_options(command, options);
    command->add_option("--svg", options.file, "Write a picture to this file instead");
    command->callback([&] { action = [&] { graph(options); }; });

    command = app.add_subcommand("rehearse", "Run one stage for a forecast of check")->group(kHidden);
    add_shot_options(command, options);
    command->add_option("--stage", options.stage)->required();
    command->add_option("--frames", options.frames)->required();
    command->add_option("--seconds", options.seconds)->required();
    command->callback([&] { action = [&] { rehearse(options); }; });

    command = app.add_subcommand("describe", "List every parameter with unit, default, range and help");
    command->add_option("stage", options.stage,
                        "One stage, or ax for the functions and variables of expressions; default all stages");
    CLI::Option* markdown = command->add_flag("--markdown", options.markdown, "As Markdown tables");
    command->add_flag("--json", options.json, "As JSON")->excludes(markdown);
    command->callback([&] { action = [&] { describe(options); }; });

    command = app.add_subcommand("versions", "List or delete frames that a shot keeps from other settings");
    command->add_option("scene", options.shot.scene, "The scene file")->required();
    command->add_option("-o,--out", options.shot.folder, "Folder of the caches; default out/<scene name>");
    command->add_option("--delete", options.deleted, "Ids of versions to delete permanently, or all");
    command->callback([&] { action = [&] { versions(options); }; });

    add_ax_command(app, options, action);
    add_video_commands(app, action, options.threads);

    command = app.add_subcommand("info", "Print the contents of a cache file: VDB, PLY, OBJ, PNG, EXR");
    command->add_option("file", options.file, "The file, or a pattern like splash.####.vdb")->required();
    command->callback([&] { action = [&] { fmt::print("{}", printable(describe_file(options.file))); }; });

    command = app.add_subcommand("new", "Write a new scene from a template to the current folder");
    CLI::Option* name = command->add_option("name", options.name, "Name of the scene");
    command->add_option("-t,--template", options.effect,
                        "The template, see --list; default: the template with the scene's name, or splash");
    command->add_flag("--list", options.list, "List the templates")->excludes(name);
    command->callback([&] { action = [&] { new_scene(options); }; });
}

// "; did you mean 'run'?", or a pointer to --help.
std::string suggestion(const std::string& word, const std::vector<std::string>& names, const std::string& help)
{
    const std::string near = nearest_name(word, names);
    return near.empty() ? fmt::format("; see: {} --help", help) : fmt::format("; did you mean '{}'?", near);
}

void expect_command(const CLI::App& app, int argc, char** argv)
{
    const std::string word = argc < 2 ? "" : argv[1];
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({}))
        if (command->get_group() != kHidden || command->get_name() == word) names.push_back(command->get_name());
    if (argc < 2) bad_input("give a command: {}; see: spindrift --help", fmt::join(names, ", "));
    if (!word.starts_with('-') && std::find(names.begin(), names.end(), word) == names.end())
        bad_input("there is no command '{}'{}", word, suggestion(word, names, "spindrift"));
}

// Reports a command line error in one line instead of the parser's two.
[[noreturn]] void explain(const CLI::App& app, const CLI::ParseError& error)
{
    const auto commands = app.get_subcommands();
    const CLI::App& command = commands.empty() ? app : *commands.front();
    const std::string name = command.get_name(), help = commands.empty() ? name : "spindrift " + name;
    std::vector<std::string> options;
    for (const CLI::Option* option : command.get_options())
        for (const std::string& long_name : option->get_lnames()) options.push_back("--" + long_name);
    for (const std::string& word : app.remaining(true)) {
        if (!word.starts_with('-')) continue;
        const std::string option = word.substr(0, word.find('='));
        bad_input("{} has no option {}{}", name, option, suggestion(option, options, help));
    }
    for (const std::string& word : app.remaining(true)) bad_input("{}: '{}' is one argument too many", name, word);
    bad_input("{}: {}; see: {} --help", name, error.what(), help);
}

} // namespace

int run_command_line(int argc, char** argv)
{
    return_freed_memory();
    limit_memory();
    // With SIGXFSZ ignored, exceeding a file size limit fails in write() instead of ending the process.
    std::signal(SIGXFSZ, SIG_IGN);
    CLI::App app("Spindrift: liquids, spray, smoke, sand and crowds for visual effects.", "spindrift");
    app.set_version_flag("--version", std::string("spindrift ") + SPINDRIFT_VERSION);
    app.require_subcommand(1);
    Options options;
    std::function<void()> action;
    add_commands(app, options, action);
    expect_command(app, argc, argv);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& wanted) { // --help, --version
        return app.exit(wanted);
    } catch (const CLI::ParseError& error) {
        explain(app, error);
    }
    set_thread_count(options.threads);
    action();
    if (std::fflush(stdout) != 0) fail("cannot write to the standard output: {}", std::strerror(errno));
    return static_cast<int>(ExitCode::ok);
}

} // namespace spindrift
