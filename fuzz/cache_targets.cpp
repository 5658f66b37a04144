// Files read back from caches: the record of a stage's frames, and the positions of bodies.
#include "fuzz/targets.h"
#include "spindrift/base/error.h"
#include "spindrift/engine/cache.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/stages/body_files.h"

#include <filesystem>
#include <fmt/format.h>
#include <sstream>
#include <unistd.h>

namespace spindrift::fuzz {

namespace {

constexpr const char* kMadeFrom = "version = 1\nfps = 24\nliquid.voxel = 0.1\nliquid: 0123\n";

// A record with four frames, the last one unfinished.
std::vector<std::string> records()
{
    const std::string folder = fmt::format("{}/spindrift_fuzz_record_{}", scratch_folder(), ::getpid());
    std::filesystem::create_directories(folder);
    std::string text;
    {
        StageCache cache(folder, "liquid", {"vdb", "bodies.json"}, kMadeFrom);
        for (int frame = 1; frame <= 4; ++frame) {
            cache.begin(frame);
            for (const std::string& path : cache.paths(frame)) put_file(path, "contents");
            if (frame < 4) cache.finish(frame, frame == 2 ? "12:34.000000056" : "");
        }
        text = read_file(folder + "/spindrift.record");
    }
    std::filesystem::remove_all(folder);
    return {text};
}

void use_record(const std::string& bytes, const std::string& folder)
{
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    put_file(folder + "/spindrift.record", bytes);
    for (int frame = 1; frame <= 3; ++frame)
        for (const char* ending : {"vdb", "bodies.json"})
            put_file(fmt::format("{}/liquid.{:04}.{}", folder, frame, ending), "contents");
    put_file(folder + "/notes.txt", "not ours");
    StageCache cache(folder, "liquid", {"vdb", "bodies.json"}, kMadeFrom);
    if (cache.outdated()) cache.what_changed();
    for (int frame = 0; frame < 6; ++frame) cache.complete(frame), cache.has(frame, "12:34.000000056");
    cache.expect_only_ours({1, 4});
    if (cache.outdated()) cache.clear();
    if (!std::filesystem::exists(folder + "/notes.txt")) found("a file that is not a frame was removed");
}

// Changes lines and gives each a valid checksum, as a forger could.
std::string forge(const std::string& record, const std::vector<std::string>& words, Random& random)
{
    const auto each_line = [](const std::string& text, const auto& change) {
        std::istringstream lines(text);
        std::string result, line;
        for (bool title = true; std::getline(lines, line); title = false)
            result += (title ? line : change(line)) + "\n";
        return result;
    };
    const std::string open = each_line(record, [](const std::string& line) { return line.substr(0, line.rfind(' ')); });
    return each_line(mutate_text(open, words, random), [](const std::string& line) {
        return fmt::format("{} {:08x}", line, static_cast<uint32_t>(hash_bytes(line, 3)));
    });
}

constexpr const char* kBodies = R"({"frame": 7, "bodies": [
  {"id": 0, "name": "crate", "mesh": "bodies/0_crate.ply",
   "P": [0.5, 1.25, -3e-05], "orient": [0, 0, 0.6, 0.8],
   "v": [0, -9.81, 0], "w": [0.1, 0.2, 0.3]},
  {"id": 1, "name": "b\u00e4r", "mesh": "bodies/1_b_r.ply",
   "P": [-1, 0, 2], "orient": [0, 0, 0, 1],
   "v": [0, 0, 0], "w": [0, 0, 0]}
]}
)";

void use_bodies(const std::string& bytes, const std::string& folder)
{
    const std::string path = folder + "/liquid.0007.bodies.json";
    put_file(path, bytes);
    for (const RigidMotion& m : read_bodies(path, 2))
        if (!(m.position.norm() < 1e10) || !(m.orientation.norm() > 0.5)) found("the position of a body is not finite");
}

} // namespace

std::vector<Target> cache_targets()
{
    const auto mutate = [](const std::string& seed, Random& random) {
        const std::vector<std::string> words = {"begin",
                                                "done",
                                                "from",
                                                "done 3 - vdb 8",
                                                "-",
                                                "../notes.txt",
                                                "vdb",
                                                "spindrift record 3",
                                                "done 2147483647 - vdb 8",
                                                "begin 4 /notes.txt",
                                                "done 2 - /../notes.txt 8"};
        if (pick(random, 8) == 0) return mutate_bytes(seed, random);
        return pick(random, 4) == 0 ? mutate_text(seed, words, random) : forge(seed, words, random);
    };
    const auto mutate_bodies = [](const std::string& seed, Random& random) {
        return mutate_text(seed, {"null", "[]", "{}", "\"P\": [1e308, 0, 0]", "\"orient\"", "\"\\ud800\"", "1e-320"},
                           random);
    };
    return {{"record", "record", records, mutate, use_record},
            {"bodies", "json", [] { return std::vector<std::string>{kBodies}; }, mutate_bodies, use_bodies}};
}

} // namespace spindrift::fuzz
