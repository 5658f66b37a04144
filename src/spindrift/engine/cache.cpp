#include "spindrift/engine/cache.h"

#include "spindrift/base/error.h"
#include "spindrift/io/atomic_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace spindrift {

namespace {

constexpr const char* kTitle = "spindrift record 3";
constexpr const char* kNoInput = "-";
constexpr const char* kUnconverged = "unconverged"; // takes the place of an ending
constexpr size_t kLongestEnding = 32;

int64_t size_of(const std::string& path)
{
    struct stat info;
    return ::stat(path.c_str(), &info) == 0 ? static_cast<int64_t>(info.st_size) : -1;
}

std::vector<std::string> lines_of(const std::string& text)
{
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

// Every line of the record ends with a checksum.
uint32_t seal_of(std::string_view line) { return static_cast<uint32_t>(hash_bytes(line, 3)); }
std::string sealed(const std::string& line) { return fmt::format("{} {:08x}\n", line, seal_of(line)); }
// Removes the checksum; false if it does not match the line.
bool unseal(std::string& line)
{
    const size_t end = line.rfind(' ');
    if (end == std::string::npos || line.size() - end != 9) return false;
    const bool whole = line.substr(end + 1) == fmt::format("{:08x}", seal_of(std::string_view(line).substr(0, end)));
    line.resize(end);
    return whole;
}

// One line of a `made_from` text: "name = value" or "name: signature".
struct Ingredient {
    std::string name, value, line;
};

std::vector<Ingredient> ingredients_of(const std::string& made_from)
{
    std::vector<Ingredient> result;
    for (const std::string& line : lines_of(made_from)) {
        const size_t equals = line.find(" = ");
        const size_t end = equals != std::string::npos ? equals : line.find(": ");
        result.push_back(
            {line.substr(0, end), equals != std::string::npos ? line.substr(equals + 3) : std::string(), line});
    }
    return result;
}

const Ingredient* find(const std::vector<Ingredient>& ingredients, const std::string& name)
{
    for (const Ingredient& i : ingredients)
        if (i.name == name) return &i;
    return nullptr;
}

} // namespace

// ---------------------------------------------------------------------------------------------------------- the lock

FolderLock::FolderLock(const std::string& folder)
{
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) fail("cannot make the folder {}: {}", folder, error.message());
    const std::string path = folder + "/.lock";
    descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail("cannot write to the folder {}: {}", folder, std::strerror(errno));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
        ::close(descriptor_);
        fail("another run is working in {}; wait for it to end, or choose another folder with -o", folder);
    }
}

FolderLock::~FolderLock() { ::close(descriptor_); }

std::string fingerprint_of(const std::string& made_from)
{
    return fmt::format("{:016x}{:016x}", hash_bytes(made_from), hash_bytes(made_from, 1));
}

std::string file_signature(const std::string& path)
{
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) return {};
    return fmt::format("{}:{}.{:09}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

// -------------------------------------------------------------------------------------------------------- the record

StageCache::StageCache(const std::string& folder, const std::string& name, const std::vector<std::string>& endings,
                       const std::string& made_from)
    : folder_(folder), name_(name), endings_(endings), made_from_(made_from), fingerprint_(fingerprint_of(made_from))
{
    if (size_of(record_path()) >= 0) read_record();
}

void StageCache::read_record()
{
    const std::string text = read_file(record_path());
    const std::string whole = text.substr(0, text.rfind('\n') + 1); // a kill may have truncated the last line
    const std::vector<std::string> lines = lines_of(whole);
    if (lines.empty() || lines[0] != kTitle)
        fail("{} was not written by this version of the program; move it and the frames beside it away, or choose "
             "another folder with -o",
             record_path());
    for (size_t i = 1; i < lines.size(); ++i) {
        std::string line = lines[i];
        if (!unseal(line))
            fail("{} is damaged in line {} (\"{}\"). If the line starts with begin or done, delete it and the files of "
                 "the frame that it names to have them computed again; otherwise move the record and the frames beside "
                 "it away, or choose another folder with -o",
                 record_path(), i + 1, line.substr(0, 60));
        if (!read_line(line))
            fail("{} has an invalid line {} (\"{}\"); move it and the frames beside it away, or choose "
                 "another folder with -o",
                 record_path(), i + 1, line.substr(0, 60));
    }
    exists_ = true;
    outdated_ = recorded_made_from_ != made_from_;
    appendable_ = whole.size() == text.size();
}

// Parses a line of the record; false if append() cannot have written it. File names are built from the line, so it must
// not be able to name a file outside the folder.
bool StageCache::read_line(const std::string& line)
{
    if (line.starts_with("from ")) {
        recorded_made_from_ += line.substr(5) + "\n";
        return true;
    }
    std::istringstream words(line);
    std::string word;
    words >> word;
    int frame = 0;
    if ((word != "begin" && word != "done") || !(words >> frame)) return false;
    Entry entry;
    if (word == "done" && !(words >> entry.input)) return false;
    if (entry.input == kNoInput) entry.input.clear();
    for (std::string ending; words >> ending;) {
        if (ending == kUnconverged) {
            if (!(words >> entry.unconverged) || entry.unconverged < 1) return false;
            continue;
        }
        int64_t size = kUnfinished;
        if (word == "done" && (!(words >> size) || size < 0)) return false;
        if (ending.size() > kLongestEnding || ending.find_first_of("/#%$") != std::string::npos) return false;
        entry.sizes[ending] = size;
    }
    entries_[frame] = entry;
    return true;
}

std::string StageCache::line_of(int frame, const Entry& entry)
{
    const bool done = !entry.sizes.empty() && entry.sizes.begin()->second != kUnfinished;
    std::string line = fmt::format("{} {}", done ? "done" : "begin", frame);
    if (done) line += fmt::format(" {}", entry.input.empty() ? kNoInput : entry.input);
    for (const auto& [ending, size] : entry.sizes)
        line += done ? fmt::format(" {} {}", ending, size) : fmt::format(" {}", ending);
    if (entry.unconverged > 0) line += fmt::format(" {} {}", kUnconverged, entry.unconverged);
    return sealed(line);
}

void StageCache::append(const std::string& line)
{
    if (!appendable_) {
        std::string text = fmt::format("{}\n", kTitle);
        for (const std::string& part : lines_of(made_from_)) text += sealed("from " + part);
        for (const auto& [frame, entry] : entries_) text += line_of(frame, entry);
        write_file(record_path(), text);
        appendable_ = true;
    }
    // Append with one write and flush it before the frame is written: after a kill or a power cut, every frame on disk
    // is recorded.
    const int file = ::open(record_path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    const bool written = file >= 0 && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
                         ::fdatasync(file) == 0;
    const int reason = errno;
    if (file >= 0) ::close(file);
    if (!written) fail("cannot write {}: {}", record_path(), std::strerror(reason));
}

std::vector<std::string> all_differences(const std::string& made_from_before, const std::string& made_from_now)
{
    const std::vector<Ingredient> before = ingredients_of(made_from_before), now = ingredients_of(made_from_now);
    std::vector<std::string> differences;
    for (const Ingredient& i : now) {
        const Ingredient* old = find(before, i.name);
        if (!old)
            differences.push_back(i.name + " is new");
        else if (old->line != i.line)
            differences.push_back(i.value.empty()
                                      ? i.name + " has changed"
                                      : fmt::format("{} was {} and is {} now", i.name, old->value, i.value));
    }
    for (const Ingredient& i : before)
        if (!find(now, i.name)) differences.push_back(i.name + " is gone");
    if (differences.empty()) differences.emplace_back("the order of its parameters has changed");
    return differences;
}

std::string what_differs(const std::string& before, const std::string& now)
{
    return all_differences(before, now).front();
}

// -------------------------------------------------------------------------------------------------------- the frames

void StageCache::expect_ours(int frame, const std::string& ending) const
{
    const std::string path = file(frame, ending);
    const int64_t size = size_of(path);
    if (size < 0) return;
    const auto entry = entries_.find(frame);
    const auto known = entry == entries_.end() ? std::map<std::string, int64_t>() : entry->second.sizes;
    const auto written = known.find(ending);
    if (written == known.end())
        fail("{} is in the way: it was not written by this shot. Move it away or choose another folder with -o", path);
    if (written->second != kUnfinished && written->second != size)
        fail("{} is damaged: it has {} bytes and was written with {}. Delete it to have it computed again", path, size,
             written->second);
}

void StageCache::expect_only_ours(const FrameRange& range) const
{
    for (int frame = range.first; frame <= range.last; frame += range.step)
        for (const std::string& ending : endings_) expect_ours(frame, ending);
    if (outdated_) expect_unchanged();
}

void StageCache::expect_unchanged() const
{
    for (const auto& [frame, entry] : entries_)
        for (const auto& [ending, size] : entry.sizes) expect_ours(frame, ending);
}

void StageCache::clear()
{
    for (const std::string& name : files()) std::filesystem::remove(folder_ + "/" + name);
    std::filesystem::remove(state_path());
    // Last: after a kill before this line, the remaining files are still recorded.
    std::filesystem::remove(record_path());
    entries_.clear();
    exists_ = outdated_ = appendable_ = false;
}

std::vector<std::string> StageCache::files() const
{
    std::vector<std::string> names;
    for (const auto& [frame, entry] : entries_)
        for (const auto& [ending, size] : entry.sizes)
            names.push_back(std::filesystem::path(file(frame, ending)).filename().string());
    return names;
}

std::vector<int> StageCache::frames() const
{
    std::vector<int> result;
    for (const auto& [frame, entry] : entries_)
        if (std::ranges::all_of(entry.sizes, [&, f = frame](const auto& written) {
                return written.second != kUnfinished && written.second == size_of(file(f, written.first));
            }))
            result.push_back(frame);
    return result;
}

bool StageCache::complete(int frame) const
{
    const auto entry = entries_.find(frame);
    if (entry == entries_.end()) return false;
    return std::all_of(endings_.begin(), endings_.end(), [&](const std::string& ending) {
        const auto written = entry->second.sizes.find(ending);
        return written != entry->second.sizes.end() && written->second != kUnfinished &&
               written->second == size_of(file(frame, ending));
    });
}

bool StageCache::has(int frame, const std::string& input) const
{
    return complete(frame) && entries_.at(frame).input == input;
}

std::vector<std::string> StageCache::paths(int frame) const
{
    std::vector<std::string> result;
    for (const std::string& ending : endings_) result.push_back(file(frame, ending));
    return result;
}

void StageCache::begin(int frame)
{
    Entry entry;
    for (const std::string& ending : endings_) {
        expect_ours(frame, ending);
        entry.sizes[ending] = kUnfinished;
    }
    append(line_of(frame, entry));
    entries_[frame] = entry;
}

std::map<int, int> StageCache::unconverged() const
{
    std::map<int, int> result;
    for (const int frame : frames())
        if (const int solves = entries_.at(frame).unconverged; solves > 0) result[frame] = solves;
    return result;
}

void StageCache::finish(int frame, const std::string& input, int unconverged)
{
    Entry entry;
    entry.input = input, entry.unconverged = unconverged;
    for (const std::string& ending : endings_) entry.sizes[ending] = size_of(file(frame, ending));
    append(line_of(frame, entry));
    entries_[frame] = entry;
}

} // namespace spindrift
