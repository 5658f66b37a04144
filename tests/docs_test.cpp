// The documentation does what it says: every command in a ```sh block of README.md and docs/*.md is run, block by block
// and page by page, in a folder with a copy of scenes/. Two things are left out:
//   - a block after the line <!-- not run by tests -->, for what needs minutes, a network or a display;
//   - commands that start with `make`: they build this very program, and continuous integration runs them.
#include "io/atomic_file.h"
#include "pipeline/program.h"

#include <sstream>

namespace spindrift {

namespace {

namespace fs = std::filesystem;
constexpr double kSecondsPerBlock = 60;

struct Block {
    std::string where; // README.md:12
    std::string script;
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
            runs = !inside && line == "```sh" && !skip_next;
            inside = !inside;
            if (runs) blocks.push_back({page + ":" + std::to_string(number), ""});
            if (inside) skip_next = false;
        } else if (!inside && !line.empty()) {
            skip_next = line == "<!-- not run by tests -->";
        } else if (runs && inside && !is_make(line)) {
            blocks.back().script += line + "\n";
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

TEST(Docs, BlocksAreFoundAsMarked)
{
    const std::vector<Block> blocks = blocks_of("Text\n```sh\nmake demo\nspindrift new a\nmaker\n```\n\n"
                                                "<!-- not run by tests -->\n\n```sh\nrm -r everything\n```\n"
                                                "```toml\n[liquid]\n```\n```sh\necho\n```\n",
                                                "page.md");
    ASSERT_EQ(blocks.size(), 2u);
    EXPECT_EQ(blocks[0].where, "page.md:2");
    EXPECT_EQ(blocks[0].script, "spindrift new a\nmaker\n");
    EXPECT_EQ(blocks[1].script, "echo\n");
}

TEST(Docs, EveryCommandInThemWorks)
{
    const fs::path root = SPINDRIFT_SOURCE_DIR;
    if (!fs::exists(root / "README.md")) GTEST_SKIP() << "there is no README.md";
    const std::string path = fs::path(program_path()).parent_path().string() + ":" + std::getenv("PATH");
    size_t blocks = 0;
    for (const std::string& page : pages()) {
        const Workplace place; // commands of a page build on each other
        fs::copy(root / "scenes", place / "scenes", fs::copy_options::recursive);
        for (const Block& block : blocks_of(read_file((root / page).string()), page)) {
            ++blocks;
            Child shell({"env", "PATH=" + path, "bash", "-euo", "pipefail", "-c", block.script}, place.path());
            const bool in_time = shell.ends_within(kSecondsPerBlock);
            const RunResult outcome = shell.wait();
            EXPECT_TRUE(in_time) << block.where << ": takes more than " << kSecondsPerBlock << " s:\n" << block.script;
            EXPECT_TRUE(!in_time || outcome.code == 0) << block.where << ":\n" << block.script << outcome.err;
        }
    }
    EXPECT_GT(blocks, 0u) << "no ```sh block in README.md or docs/";
}

} // namespace

} // namespace spindrift
