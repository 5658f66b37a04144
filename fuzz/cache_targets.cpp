// The record of a stage's frames.
#include "base/error.h"
#include "fuzz/targets.h"
#include "io/atomic_file.h"
#include "pipeline/cache.h"

#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace spindrift::fuzz {

namespace {

constexpr const char* kMadeFrom = "version = 1\nfps = 24\nliquid.voxel = 0.1\nliquid: 0123\n";

// A record with four frames, the last of them unfinished.
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
    if (!std::filesystem::exists(folder + "/notes.txt")) found("a file that is not a frame is gone");
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
                                                "done 2147483647 - vdb 8"};
        return pick(random, 4) == 0 ? mutate_bytes(seed, random) : mutate_text(seed, words, random);
    };
    return {{"record", "record", records, mutate, use_record}};
}

} // namespace spindrift::fuzz
