#include "spindrift/io/atomic_file.h"

#include "spindrift/base/error.h"
#include "spindrift/base/random.h"

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace spindrift {

namespace {

namespace fs = std::filesystem;

// Closes a file descriptor in its destructor.
struct Descriptor {
    int fd;
    explicit Descriptor(int descriptor) : fd(descriptor) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor()
    {
        if (fd >= 0) ::close(fd);
    }
};

std::string reason(int error)
{
    switch (error) {
    case ENOSPC:
        return "no space left on the disk";
    case EDQUOT:
        return "the disk quota is exceeded";
    case EFBIG:
        return "the file is larger than the system allows";
    case EROFS:
        return "the folder is read-only";
    case EACCES:
    case EPERM:
        return "no permission to write there";
    case ENOTDIR:
        return "part of the path is a file, not a folder";
    case EISDIR:
        return "a folder of that name exists";
    case ENOENT:
        return "no such file or folder";
    default:
        return std::strerror(error);
    }
}

[[noreturn]] void cannot_write(const std::string& path, int error) { fail("cannot write {}: {}", path, reason(error)); }

fs::path folder_of(const std::string& path)
{
    const fs::path folder = fs::path(path).parent_path();
    return folder.empty() ? fs::path(".") : folder;
}

// A new directory entry survives a power failure only once the folder itself is flushed. Some network file systems
// refuse to flush folders; this is ignored.
void flush_folder(const fs::path& folder)
{
    const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.fd >= 0) ::fsync(directory.fd);
}

void make_folders(const fs::path& folder, const std::string& path)
{
    std::error_code error;
    if (fs::is_directory(folder, error)) return;
    const fs::path parent = folder.has_parent_path() ? folder.parent_path() : fs::path(".");
    if (parent != folder) make_folders(parent, path);
    // Another process may have created it in the meantime.
    if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) cannot_write(path, errno);
    if (!fs::is_directory(folder, error)) cannot_write(path, ENOTDIR);
    flush_folder(parent);
}

// Unique among threads (counter), processes of this machine (pid) and, with high probability, machines that share a
// disk (a random number drawn once).
std::string temporary_name(const std::string& path)
{
    static std::atomic<unsigned> counter{0};
    static const unsigned machine = std::random_device{}();
    return fmt::format("{}.{}-{:08x}-{}.tmp", path, ::getpid(), machine, counter++);
}

// True if temporary_name() could have made this name.
bool is_temporary(std::string_view name)
{
    constexpr std::string_view ending = ".tmp", digits = "0123456789", hex = "0123456789abcdef";
    if (!name.ends_with(ending)) return false;
    name.remove_suffix(ending.size());
    // Removes "<separator><characters>" from the end.
    const auto take = [&](char separator, std::string_view characters) {
        const size_t last = name.find_last_not_of(characters);
        const bool found = last != name.npos && name[last] == separator && last + 1 < name.size();
        if (found) name = name.substr(0, last);
        return found;
    };
    return take('-', digits) && take('-', hex) && take('.', digits) && !name.empty();
}

void flush_file(const std::string& temporary, const std::string& path)
{
    const Descriptor file(::open(temporary.c_str(), O_RDONLY | O_CLOEXEC));
    // Reports a disk that fills up late at the latest here.
    if (file.fd < 0 || ::fsync(file.fd) != 0) cannot_write(path, errno);
}

void write_bytes(const std::string& temporary, const std::string& path, std::string_view bytes)
{
    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.fd < 0) cannot_write(path, errno);
    while (!bytes.empty()) {
        const ssize_t written = ::write(file.fd, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) cannot_write(path, errno);
        bytes.remove_prefix(written);
    }
    // Network file systems may report a full disk only on close.
    if (::close(std::exchange(file.fd, -1)) != 0) cannot_write(path, errno);
}

} // namespace

void write_atomically(const std::string& path, const std::function<void(const std::string& temporary)>& write)
{
    const fs::path folder = folder_of(path);
    make_folders(folder, path);
    const std::string temporary = temporary_name(path);
    try {
        write(temporary);
        flush_file(temporary, path);
        if (::rename(temporary.c_str(), path.c_str()) != 0) cannot_write(path, errno);
    } catch (const Error&) {
        ::unlink(temporary.c_str());
        throw;
    } catch (const std::exception& e) {
        ::unlink(temporary.c_str());
        fail("cannot write {}: {}", path, e.what());
    } catch (...) {
        ::unlink(temporary.c_str());
        throw;
    }
    flush_folder(folder);
}

void remove_leftovers(const std::string& folder, const std::string& prefix)
{
    std::error_code error;
    std::vector<fs::path> leftovers;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
        if (const std::string name = it->path().filename().string(); is_temporary(name) && name.starts_with(prefix))
            leftovers.push_back(it->path());
    for (const fs::path& path : leftovers) ::unlink(path.c_str());
}

void write_file(const std::string& path, std::string_view bytes)
{
    write_atomically(path, [&](const std::string& temporary) { write_bytes(temporary, path, bytes); });
}

std::string read_file(const std::string& path)
{
    const auto give_up = [&](int error) { fail("cannot read {}: {}", path, std::strerror(error)); };
    // Without O_NONBLOCK, opening a pipe would block until another process writes to it.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat status = {};
    if (file.fd < 0 || ::fstat(file.fd, &status) != 0) give_up(errno);
    if (S_ISDIR(status.st_mode)) give_up(EISDIR);
    if (!S_ISREG(status.st_mode))
        fail("cannot read {}: it is a pipe or a device; save its output to a file and use that", path);
    const size_t most = static_cast<size_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGE_SIZE) / 2;
    const auto expect_room = [&](size_t size) {
        if (size > most)
            fail("cannot read {}: it has {} bytes, which is more than half of this machine's memory", path, size);
    };
    expect_room(status.st_size);

    // The size is only a hint: a file may grow while it is read.
    std::string bytes(static_cast<size_t>(status.st_size) + 1, '\0');
    size_t size = 0;
    for (;;) {
        if (size == bytes.size()) bytes.resize(2 * size);
        const ssize_t got = ::read(file.fd, bytes.data() + size, bytes.size() - size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) give_up(errno);
        if (got == 0) break;
        size += got;
        expect_room(size);
    }
    bytes.resize(size);
    return bytes;
}

bool file_exists(const std::string& path)
{
    std::error_code error;
    return fs::is_regular_file(path, error);
}

uint64_t hash_bytes(std::string_view bytes, uint64_t seed)
{
    // Four independent lanes allow four multiplications in flight. Each step is a bijection of its lane, so changing
    // any single word always changes the result. A rotation between two multiplications carries changes of the highest
    // bits down (as in Collet's xxHash), so that no small change of the next word can cancel them. Words are
    // little-endian.
    constexpr uint64_t kWord = 0x9e3779b97f4a7c15ull, kLane = 0xbf58476d1ce4e5b9ull;
    uint64_t a = hash64(seed, 0), b = hash64(seed, 1), c = hash64(seed, 2), d = hash64(seed, 3);
    const auto take = [&](const char* block) {
        std::array<uint64_t, 4> words;
        std::memcpy(words.data(), block, sizeof words);
        a = std::rotl(a + words[0] * kWord, 31) * kLane;
        b = std::rotl(b + words[1] * kWord, 31) * kLane;
        c = std::rotl(c + words[2] * kWord, 31) * kLane;
        d = std::rotl(d + words[3] * kWord, 31) * kLane;
    };
    const size_t whole = bytes.size() / 32 * 32;
    for (size_t at = 0; at < whole; at += 32) take(bytes.data() + at);
    if (whole < bytes.size()) {
        std::array<char, 32> rest = {};
        std::memcpy(rest.data(), bytes.data() + whole, bytes.size() - whole);
        take(rest.data());
    }
    // The length distinguishes a text from the same text followed by zeros.
    uint64_t result = hash64(seed, bytes.size());
    for (const uint64_t lane : {a, b, c, d}) result = hash64(result, lane);
    return result;
}

} // namespace spindrift
