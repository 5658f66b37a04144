#include "spindrift/engine/versions.h"

#include "spindrift/base/error.h"
#include "spindrift/base/printable.h"
#include "spindrift/engine/cache.h"
#include "spindrift/engine/progress.h"
#include "spindrift/io/atomic_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/ranges.h>
#include <unistd.h>

namespace spindrift {

namespace {

namespace fs = std::filesystem;

constexpr const char* kVersions = "versions";
constexpr size_t kIdDigits = 12;

bool is_there(const std::string& path)
{
    std::error_code error;
    return fs::exists(fs::symlink_status(path, error));
}

std::string record_of(const std::string& folder) { return folder + "/" + StageCache::kRecord; }

// The record of a folder, ignoring what its frames were made from.
StageCache cache_in(const std::string& folder, const std::string& stage) { return {folder, stage, {}, ""}; }

ShotPaths with_version(ShotPaths paths, const std::string& stage, const std::string& folder)
{
    paths.versions[stage] = folder;
    return paths;
}

struct Move {
    std::string from, to;
};

// Makes renames in a folder survive a power cut, if the file system supports it.
void flush_folder(const std::string& folder)
{
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    ::fsync(descriptor);
    ::close(descriptor);
}

// Frames and products. The state is excluded: it may be overwritten.
std::vector<Move> moves_of(const Stage& stage, const ShotPaths& from, const ShotPaths& to)
{
    const std::string& name = stage.name();
    const std::string old_folder = from.stage_folder(name), new_folder = to.stage_folder(name);
    std::vector<Move> moves;
    for (const std::string& file : cache_in(old_folder, name).files())
        moves.push_back({old_folder + "/" + file, new_folder + "/" + file});
    const std::vector<std::string> old_products = stage.products(from), new_products = stage.products(to);
    for (size_t i = 0; i < old_products.size(); ++i) moves.push_back({old_products[i], new_products[i]});
    std::erase_if(moves, [](const Move& move) { return !is_there(move.from); });
    return moves;
}

// After a kill between copying to another disk and removing the source, both files exist.
bool is_copied(const Move& move)
{
    return file_exists(move.from) && file_exists(move.to) && read_file(move.from) == read_file(move.to);
}

void rename_file(const Move& move)
{
    if (is_copied(move)) {
        fs::remove(move.from);
        return;
    }
    int result = ::renameat2(AT_FDCWD, move.from.c_str(), AT_FDCWD, move.to.c_str(), RENAME_NOREPLACE);
    // Some file systems do not support RENAME_NOREPLACE; expect_movable() has checked the target before.
    if (result != 0 && (errno == EINVAL || errno == ENOSYS) && !is_there(move.to))
        result = ::rename(move.from.c_str(), move.to.c_str());
    if (result == 0) return;
    // The film is in the shot's folder, which may be on another disk than the stage's folder.
    if (errno == EXDEV && file_exists(move.from)) {
        write_file(move.to, read_file(move.from));
        fs::remove(move.from);
        return;
    }
    fail("cannot move {} to {}: {}", move.from, move.to, std::strerror(errno));
}

// Removes a version's folder and its parent if they are empty.
void remove_if_empty(const std::string& folder)
{
    std::error_code not_empty;
    fs::remove(folder, not_empty);
    fs::remove(fs::path(folder).parent_path(), not_empty);
}

// Removes a file, or a folder of meshes.
void remove_product(const std::string& path)
{
    std::error_code not_empty;
    if (fs::is_directory(path, not_empty)) {
        std::vector<fs::path> meshes;
        for (const fs::directory_entry& entry : fs::directory_iterator(path))
            if (entry.path().extension() == ".ply") meshes.push_back(entry.path());
        for (const fs::path& mesh : meshes) fs::remove(mesh);
    }
    fs::remove(path, not_empty);
}

// The differences between a version and the current one, on one line.
std::string shown_differences(const std::string& made_from, const std::string& current)
{
    constexpr size_t kMost = 4;
    std::vector<std::string> all = all_differences(made_from, current);
    const size_t more = all.size() - std::min(all.size(), kMost);
    all.resize(all.size() - more);
    return fmt::format("{}{}", fmt::join(all, "; "), more > 0 ? fmt::format("; and {} more", more) : "");
}

// Folder names and scene values may contain any characters.
void print(const std::string& text) { fmt::print("{}\n", printable(text)); }

double bytes_in(const std::string& folder)
{
    double bytes = 0;
    std::error_code error;
    for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
        if (std::error_code gone; it->is_regular_file(gone))
            if (const auto size = it->file_size(gone); !gone) bytes += static_cast<double>(size);
    return bytes;
}

} // namespace

std::string version_folder(const std::string& stage_folder, const std::string& made_from)
{
    return fmt::format("{}/{}/{}", stage_folder, kVersions, fingerprint_of(made_from).substr(0, kIdDigits));
}

bool has_products(const Stage& stage, const ShotPaths& paths)
{
    return std::ranges::any_of(stage.products(paths), is_there);
}

void expect_movable(const Stage& stage, const ShotPaths& from, const ShotPaths& to)
{
    const std::string& name = stage.name();
    const std::string new_record = record_of(to.stage_folder(name));
    const StageCache moved = cache_in(from.stage_folder(name), name);
    moved.expect_unchanged();
    // An identical record remains from an interrupted move.
    if (is_there(new_record) && cache_in(to.stage_folder(name), name).recorded() != moved.recorded())
        fail("{} is in the way: it is the record of other frames. Move its folder away", new_record);
    for (const Move& move : moves_of(stage, from, to))
        if (is_there(move.to) && !is_copied(move))
            fail("{} is in the way of {}: it was not written by this shot. Move it away or choose another folder "
                 "with -o",
                 move.to, move.from);
}

void move_version(const Stage& stage, const ShotPaths& from, const ShotPaths& to)
{
    expect_movable(stage, from, to);
    const std::string& name = stage.name();
    const std::string old_folder = from.stage_folder(name), new_folder = to.stage_folder(name);
    const std::vector<Move> moves = moves_of(stage, from, to);
    write_file(record_of(new_folder), read_file(record_of(old_folder)));
    for (const Move& move : moves) rename_file(move);
    const std::string old_state = old_folder + "/" + StageCache::kState;
    if (is_there(old_state)) fs::rename(old_state, new_folder + "/" + StageCache::kState);
    flush_folder(new_folder), flush_folder(old_folder);
    fs::remove(record_of(old_folder)); // last: after a kill before this line, every file is still recorded
    if (from.versions.contains(name)) remove_if_empty(old_folder);
}

void finish_move(const Stage& stage, const ShotPaths& current)
{
    const std::string& name = stage.name();
    const std::string folder = current.stage_folder(name);
    if (!is_there(record_of(folder))) return;
    const StageCache cache = cache_in(folder, name);
    const std::string kept = version_folder(folder, cache.recorded());
    if (is_there(record_of(kept)) && cache_in(kept, name).recorded() == cache.recorded())
        move_version(stage, with_version(current, name, kept), current);
}

std::vector<Version> kept_versions(const ShotPaths& current)
{
    const auto folders_in = [](const std::string& around) {
        std::vector<fs::path> folders;
        std::error_code error;
        for (fs::directory_iterator it(around, error), end; !error && it != end; it.increment(error))
            if (std::error_code gone; it->is_directory(gone)) folders.push_back(it->path());
        std::sort(folders.begin(), folders.end());
        return folders;
    };
    std::vector<Version> versions;
    for (const fs::path& of_stage : folders_in(current.folder))
        for (const fs::path& folder : folders_in((of_stage / kVersions).string())) {
            if (!is_there(record_of(folder.string()))) continue;
            const std::string stage = of_stage.filename().string();
            const StageCache cache = cache_in(folder.string(), stage);
            const std::vector<int> frames = cache.frames();
            Version version{stage,
                            folder.string(),
                            folder.filename().string(),
                            int(frames.size()),
                            0,
                            0,
                            bytes_in(folder.string()),
                            cache.recorded()};
            if (!frames.empty()) version.first = frames.front(), version.last = frames.back();
            versions.push_back(std::move(version));
        }
    return versions;
}

std::string kept_text(const std::vector<Version>& versions)
{
    if (versions.empty()) return {};
    double bytes = 0;
    for (const Version& version : versions) bytes += version.bytes;
    return fmt::format("{} with other settings {} {}",
                       versions.size() == 1 ? "1 version" : fmt::format("{} versions", versions.size()),
                       versions.size() == 1 ? "takes" : "take", size_text(bytes));
}

void list_versions(const ShotPaths& current)
{
    const std::vector<Version> versions = kept_versions(current);
    if (versions.empty()) {
        print(fmt::format("{} has no frames with other settings", current.folder));
        return;
    }
    for (const Version& version : versions) {
        const std::string folder = current.stage_folder(version.stage);
        std::string difference;
        if (is_there(record_of(folder)))
            difference = "   " + shown_differences(version.made_from, cache_in(folder, version.stage).recorded());
        const std::string frames = version.frames == 0 ? "no frame"
                                   : version.frames == 1
                                       ? fmt::format("frame {}", version.first)
                                       : fmt::format("{} frames, {}-{}", version.frames, version.first, version.last);
        print(fmt::format("{:<8} {}   {:>8}   {}{}", version.stage, version.id, size_text(version.bytes), frames,
                          difference));
    }
    print(fmt::format("{} in {}", kept_text(versions), current.folder));
}

namespace {

// The stage of a version; null if this program does not know its kind.
std::unique_ptr<Stage> stage_of(const Version& version, const StageKinds& kinds)
{
    for (const StageKind& kind : kinds)
        if (version.made_from.find(fmt::format("\nkind = \"{}\"\n", kind.name)) != std::string::npos ||
            version.stage == kind.name)
            return kind.make({version.stage, kind.name});
    return nullptr;
}

} // namespace

void delete_versions(const ShotPaths& current, const std::vector<std::string>& ids, const StageKinds& kinds)
{
    const FolderLock lock(current.folder);
    const std::vector<Version> versions = kept_versions(current);
    std::vector<std::string> known;
    for (const Version& version : versions) known.push_back(version.id);
    const bool all = std::ranges::count(ids, "all") > 0;
    for (const std::string& id : ids)
        if (id != "all" && std::ranges::count(known, id) == 0)
            bad_input("--delete {}: there is no such version; {}", id,
                      known.empty() ? fmt::format("{} has none", current.folder)
                                    : fmt::format("there are: {}, or all", fmt::join(known, ", ")));
    for (const Version& version : versions) {
        if (!all && std::ranges::count(ids, version.id) == 0) continue;
        const std::unique_ptr<Stage> stage = stage_of(version, kinds);
        const StageCache cache = cache_in(version.folder, version.stage);
        cache.expect_unchanged();
        for (const std::string& file : cache.files()) fs::remove(version.folder + "/" + file);
        if (stage)
            for (const std::string& product : stage->products(with_version(current, version.stage, version.folder)))
                remove_product(product);
        remove_leftovers(version.folder);
        fs::remove(version.folder + "/" + StageCache::kState);
        // Last: after a kill before this line, the remaining files are still recorded.
        fs::remove(record_of(version.folder));
        remove_if_empty(version.folder);
        print(fmt::format(
            "deleted {} {}: {}{}", version.stage, version.id, size_text(version.bytes),
            is_there(version.folder) ? fmt::format("; {} still holds files of other programs", version.folder) : ""));
    }
}

} // namespace spindrift
