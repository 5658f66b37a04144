// The documentation does what it says. Blocks of README.md and docs/*.md are run one by one, page by page, in a folder
// with a copy of scenes/:
//   - the commands of ```sh;
//   - the scenes of ```toml: the first two frames of all stages, with small pictures;
//   - the scripts of ```python in Blender, where it is installed.
// Two things are left out:
//   - a block after the line <!-- not run by tests -->, for what needs minutes, a network or a display;
//   - commands that start with `make`: they build this very program, and continuous integration runs them.
#include "cli/program.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/frame_path.h"

#include <fmt/format.h>
#include <regex>
#include <sstream>

namespace spindrift {

namespace {

namespace fs = std::filesystem;
constexpr double kSecondsPerBlock = 60;

struct Block {
    std::string where; // README.md:12
    std::string language, text;
};

bool is_make(const std::string& line) { return line == "make" || line.starts_with("make "); }

// The blocks of a page that are run.
std::vector<Block> blocks_of(const std::string& text, const std::string& page)
{
    std::vector<Block> blocks;
    bool inside = false, runs = false, skip_next = false;
    int number = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        ++number;
        if (line.starts_with("```")) {
            const std::string language = line.substr(3);
            runs = !inside && !skip_next && (language == "sh" || language == "toml" || language == "python");
            inside = !inside;
            if (runs) blocks.push_back({page + ":" + std::to_string(number), language, ""});
            if (inside) skip_next = false;
        } else if (!inside && !line.empty()) {
            skip_next = line == "<!-- not run by tests -->";
        } else if (runs && inside && !(blocks.back().language == "sh" && is_make(line))) {
            blocks.back().text += line + "\n";
        }
    }
    return blocks;
}

std::vector<std::string> pages()
{
    const fs::path root = SPINDRIFT_SOURCE_DIR;
    std::vector<std::string> result;
    if (fs::exists(root / "README.md")) result.push_back("README.md");
    if (fs::exists(root / "docs"))
        for (const auto& entry : fs::directory_iterator(root / "docs"))
            if (entry.path().extension() == ".md") result.push_back("docs/" + entry.path().filename().string());
    std::sort(result.begin(), result.end());
    return result;
}

// What a scene is tried with: its first two frames, and small pictures if it has any.
std::string command_for_scene(const std::string& file, const std::string& scene)
{
    std::smatch frames;
    const bool says = std::regex_search(scene, frames, std::regex("\\nframes = \"([^\"]+)\""));
    const FrameRange range = parse_frame_range(says ? frames[1].str() : "1-2");
    std::string run =
        fmt::format("spindrift run {} --frames {}-{}", file, range.first, std::min(range.first + 1, range.last));
    if (contains("\n" + scene, "\n[render"))
        run += " --set render.width=96 --set render.height=54 --set render.samples=2";
    return run + "\n";
}

// The shell script that tries a block; empty if nothing here can.
std::string script_for(const Block& block, const Workplace& place)
{
    if (block.language == "sh") return block.text;
    const std::string name = std::regex_replace(block.where, std::regex("[^A-Za-z0-9]"), "_");
    if (block.language == "toml") {
        place.write(name + ".toml", block.text);
        return command_for_scene(name + ".toml", block.text);
    }
    if (std::system("command -v blender > /dev/null 2>&1") != 0) return {};
    place.write(name + ".py", block.text);
    return fmt::format("{}\n", fmt::join(blender_command(name + ".py"), " "));
}

TEST(Docs, BlocksAreFoundAsMarked)
{
    const std::vector<Block> blocks = blocks_of("Text\n```sh\nmake demo\nspindrift new a\nmaker\n```\n\n"
                                                "<!-- not run by tests -->\n\n```sh\nrm -r everything\n```\n"
                                                "```toml\n[liquid]\n```\n```\noutput\n```\n```sh\necho\n```\n"
                                                "```python\nimport bpy\n```\n",
                                                "page.md");
    ASSERT_EQ(blocks.size(), 4u);
    EXPECT_EQ(blocks[0].where, "page.md:2");
    EXPECT_EQ(blocks[0].text, "spindrift new a\nmaker\n");
    EXPECT_EQ(blocks[1].language, "toml");
    EXPECT_EQ(blocks[1].text, "[liquid]\n");
    EXPECT_EQ(blocks[2].text, "echo\n");
    EXPECT_EQ(blocks[3].language, "python");
}

TEST(Docs, EveryBlockInThemWorks)
{
    const fs::path root = SPINDRIFT_SOURCE_DIR;
    if (!fs::exists(root / "README.md")) GTEST_SKIP() << "there is no README.md";
    const std::string path = fs::path(program_path()).parent_path().string() + ":" + std::getenv("PATH");
    std::map<std::string, size_t> tried; // blocks by language
    for (const std::string& page : pages()) {
        const Workplace place; // commands of a page build on each other
        fs::copy(root / "scenes", place / "scenes", fs::copy_options::recursive);
        for (const Block& block : blocks_of(read_file((root / page).string()), page)) {
            const std::string script = script_for(block, place);
            if (script.empty()) continue;
            ++tried[block.language];
            Child shell({"env", "PATH=" + path, "bash", "-euo", "pipefail", "-c", script}, place.path());
            const bool in_time = shell.ends_within(kSecondsPerBlock);
            const RunResult outcome = shell.wait();
            EXPECT_TRUE(in_time) << block.where << ": takes more than " << kSecondsPerBlock << " s:\n" << script;
            EXPECT_TRUE(!in_time || outcome.code == 0) << block.where << ":\n" << script << outcome.err;
        }
    }
    EXPECT_GT(tried["sh"], 0u) << "no ```sh block in README.md or docs/";
    EXPECT_GT(tried["toml"], 0u) << "no ```toml block in README.md or docs/";
}

} // namespace

} // namespace spindrift
