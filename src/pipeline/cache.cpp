#include "pipeline/cache.h"

#include "base/error.h"
#include "io/atomic_file.h"

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

constexpr const char* kRecordName = "spindrift.record";
constexpr const char* kTitle = "spindrift record 1";

int64_t size_of(const std::string& path)
{
    struct stat info;
    return ::stat(path.c_str(), &info) == 0 ? static_cast<int64_t>(info.st_size) : -1;
}

} // namespace

FolderLock::FolderLock(const std::string& folder)
{
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    const std::string path = folder + "/.lock";
    descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail("cannot write to {}: {}", folder, std::strerror(error ? error.value() : errno));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
        ::close(descriptor_);
        fail("another run is working in {}; wait for it to end, or choose another folder with -o", folder);
    }
}

FolderLock::~FolderLock() { ::close(descriptor_); }

std::string file_signature(const std::string& path)
{
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) return {};
    return fmt::format("{}:{}.{}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

StageCache::StageCache(const std::string& folder, const std::string& pattern, const std::string& fingerprint)
    : folder_(folder), pattern_(pattern), fingerprint_(fingerprint)
{
    const std::string record = folder_ + "/" + kRecordName;
    if (!file_exists(record)) return;
    std::istringstream lines(read_file(record));
    std::string line;
    std::getline(lines, line);
    if (line != kTitle) fail("{} is not a record of this program; move it away or choose another folder with -o", record);
    while (std::getline(lines, line)) {
        if (lines.eof()) break; // a line without its end was cut off by a kill
        std::istringstream words(line);
        std::string word;
        words >> word;
        if (word == "fingerprint") {
            words >> word;
            outdated_ = word != fingerprint_;
            started_ = true;
        } else if (int frame; words >> frame) {
            Entry entry;
            if (word == "done") words >> entry.size >> entry.input;
            entries_[frame] = entry;
        }
    }
}

std::string StageCache::state_path() const { return folder_ + "/state.bin"; }

void StageCache::append(const std::string& line)
{
    const std::string record = folder_ + "/" + kRecordName;
    if (!started_) {
        write_file(record, fmt::format("{}\nfingerprint {}\n", kTitle, fingerprint_));
        started_ = true;
    }
    // One write to the end of the file: lines of a killed run are whole or cut, never mixed.
    const int file = ::open(record.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    const bool written = file >= 0 && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    const int reason = errno;
    if (file >= 0) ::close(file);
    if (!written) fail("cannot write {}: {}", record, std::strerror(reason));
}

void StageCache::clear()
{
    for (const auto& [frame, entry] : entries_) std::filesystem::remove(path(frame));
    std::filesystem::remove(state_path());
    std::filesystem::remove(folder_ + "/" + kRecordName);
    entries_.clear();
    outdated_ = started_ = false;
}

bool StageCache::has(int frame, const std::string& input)
{
    const std::string file = path(frame);
    const int64_t size = size_of(file);
    if (size < 0) return false;
    const auto entry = entries_.find(frame);
    if (entry == entries_.end())
        fail("{} is in the way: it was not written by this shot. Move it away or choose another folder with -o", file);
    if (entry->second.size < 0) return false; // left over from a kill
    if (entry->second.size != size)
        fail("{} is damaged: it has {} bytes and was written with {}. Delete it to have it computed again", file, size,
             entry->second.size);
    return entry->second.input == input;
}

void StageCache::begin(int frame)
{
    append(fmt::format("begin {}\n", frame));
    entries_[frame] = {};
}

void StageCache::finish(int frame, const std::string& input)
{
    const int64_t size = size_of(path(frame));
    append(fmt::format("done {} {} {}\n", frame, size, input));
    entries_[frame] = {size, input};
}

} // namespace spindrift
