#include "spindrift/io/vdb_foreign.h"

#include "spindrift/base/companion.h"
#include "spindrift/base/interrupt.h"
#include "spindrift/io/atomic_file.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace spindrift::vdb {

namespace {

constexpr const char* kProgram = "spindrift_read_vdb";

// What the program sends: name and type of each grid, to which the answer is one byte (wanted or not); then the wanted
// grids as a file, or why there are none.
enum class Tag : char {
    name = 'n',
    type = 't',
    grids = 'g',
    failed = 'f',
    bad_input = 'b',
    out_of_memory = 'm',
    end = 0
};

struct Message {
    Tag tag = Tag::end; // `end` if the other side has closed the socket
    std::string bytes;
};

bool send_all(int socket, std::string_view bytes)
{
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes.remove_prefix(sent);
    }
    return true;
}

bool send_message(int socket, Tag tag, std::string_view bytes)
{
    char head[1 + sizeof(uint64_t)] = {static_cast<char>(tag)};
    const uint64_t size = bytes.size();
    std::memcpy(head + 1, &size, sizeof size);
    return send_all(socket, {head, sizeof head}) && send_all(socket, bytes);
}

bool receive_all(int socket, char* bytes, size_t size)
{
    while (size > 0) {
        wait_for_input(socket);
        const ssize_t got = ::recv(socket, bytes, size, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        bytes += got;
        size -= static_cast<size_t>(got);
    }
    return true;
}

Message receive_message(int socket)
{
    char head[1 + sizeof(uint64_t)];
    if (!receive_all(socket, head, sizeof head)) return {};
    uint64_t size = 0;
    std::memcpy(&size, head + 1, sizeof size);
    Message message{static_cast<Tag>(head[0]), {}};
    // In pieces: the size comes from a process whose memory the file may have corrupted.
    constexpr size_t piece = size_t(16) << 20;
    while (message.bytes.size() < size) {
        const size_t had = message.bytes.size(), more = std::min<size_t>(size - had, std::max(piece, had));
        message.bytes.resize(had + more);
        if (!receive_all(socket, message.bytes.data() + had, more)) return {};
    }
    return message;
}

// --------------------------------------------------------------------------------------------------- the other process

struct Limits {
    size_t memory; // [bytes]
    size_t cpu_seconds;
};

// More than any well-formed file needs: a leaf of equal vectors takes 80 bytes in a file, 6 kB in memory, and several
// times that during the transfer. Small files, which may be malicious, get little.
Limits limits_for(size_t file_bytes)
{
    const size_t machine = static_cast<size_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGE_SIZE);
    return {std::min(machine, (size_t(256) << 20) + 512 * file_bytes), 30 + std::min<size_t>(file_bytes >> 22, 100000)};
}

class Reader {
  public:
    Reader(const std::string& path, const Limits& limits)
    {
        const std::string program = find_companion(kProgram, "VDB files of other programs are read by");
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) give_up(program, errno);
        const std::string memory = std::to_string(limits.memory), seconds = std::to_string(limits.cpu_seconds);
        const char* const words[] = {kProgram, path.c_str(), memory.c_str(), seconds.c_str(), nullptr};

        posix_spawn_file_actions_t files;
        ::posix_spawn_file_actions_init(&files);
        ::posix_spawn_file_actions_adddup2(&files, ends[1], STDIN_FILENO);
        for (const int output : {STDOUT_FILENO, STDERR_FILENO}) // our own message says more than what is printed there
            ::posix_spawn_file_actions_addopen(&files, output, "/dev/null", O_WRONLY, 0);
        // The host may block or ignore signals that the limits use.
        posix_spawnattr_t attributes;
        ::posix_spawnattr_init(&attributes);
        sigset_t none, all;
        ::sigemptyset(&none);
        ::sigfillset(&all);
        ::posix_spawnattr_setsigmask(&attributes, &none);
        ::posix_spawnattr_setsigdefault(&attributes, &all);
        ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        const int error =
            ::posix_spawn(&process_, program.c_str(), &files, &attributes, const_cast<char**>(words), environ);
        ::posix_spawnattr_destroy(&attributes);
        ::posix_spawn_file_actions_destroy(&files);
        ::close(ends[1]);
        socket_ = ends[0];
        if (error != 0) {
            ::close(socket_);
            give_up(program, error);
        }
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader() { end(); }

    int socket() const { return socket_; }

    // Kills the process unless it has ended: what it does after its last message is of no interest.
    void end()
    {
        if (process_ > 0) ::kill(process_, SIGKILL);
        wait();
    }
    // Waits for a process that has closed its socket; returns whether one of the limits on time ended it.
    bool wait()
    {
        if (process_ < 0) return false;
        ::close(socket_);
        int status = 0;
        pid_t ended = 0;
        while ((ended = ::waitpid(process_, &status, 0)) < 0 && errno == EINTR) {
        }
        process_ = -1;
        return ended > 0 && WIFSIGNALED(status) && (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGXCPU);
    }

  private:
    [[noreturn]] static void give_up(const std::string& program, int error)
    {
        fail("cannot start {} to read files safely: {}; end other programs", program, std::strerror(error));
    }

    pid_t process_ = -1;
    int socket_ = -1;
};

void lower(__rlimit_resource resource, rlim_t value)
{
    rlimit limit = {};
    ::getrlimit(resource, &limit);
    limit.rlim_cur = std::min(limit.rlim_max, value);
    ::setrlimit(resource, &limit);
}

void limit_time(unsigned cpu_seconds)
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    lower(RLIMIT_CPU, cpu_seconds);
    ::alarm(4 * cpu_seconds + 60); // in case it sleeps
}

// Beyond what the process has now.
void limit_memory(size_t memory)
{
    lower(RLIMIT_CORE, 0);
    unsigned long pages = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
        std::fclose(file);
    }
    if (pages > 0) lower(RLIMIT_AS, pages * static_cast<size_t>(::sysconf(_SC_PAGE_SIZE)) + memory);
}

} // namespace

int serve_foreign_grids(const std::string& path, size_t memory, unsigned cpu_seconds)
{
    const int socket = STDIN_FILENO;
    limit_time(cpu_seconds);
    initialize();
    limit_memory(memory);
    const auto ask = [&](const std::string& name, const std::string& type) {
        char answer = 0;
        if (!send_message(socket, Tag::name, name) || !send_message(socket, Tag::type, type) ||
            !receive_all(socket, &answer, 1))
            ::_exit(1); // nobody listens
        return answer != 0;
    };
    try {
        const std::string bytes = reading(path, [&] {
            const Contents contents = grids_from_bytes(read_file(path), ask);
            for (const openvdb::GridBase::Ptr& grid : contents.grids) validate_points(*grid, path);
            return grids_to_plain_bytes(contents);
        });
        return send_message(socket, Tag::grids, bytes) ? 0 : 1;
    } catch (const Error& error) {
        send_message(socket, error.code == ExitCode::bad_input ? Tag::bad_input : Tag::failed, error.what());
    } catch (const std::bad_alloc&) {
        send_message(socket, Tag::out_of_memory, {});
    }
    return 1;
}

Contents read_foreign_grids(const std::string& path, size_t file_bytes, const Wanted& wanted)
{
    std::vector<std::string> names;
    Message message;
    bool too_slow = false;
    try {
        Reader reader(path, limits_for(file_bytes));
        while ((message = receive_message(reader.socket())).tag == Tag::name) {
            const std::string type = receive_message(reader.socket()).bytes;
            const char answer = wanted(message.bytes, type) ? 1 : 0;
            names.push_back(std::move(message.bytes));
            send_all(reader.socket(), {&answer, 1});
        }
        if (message.tag == Tag::end) too_slow = reader.wait();
    } catch (const std::bad_alloc&) {
        message = {Tag::out_of_memory, {}};
    }
    check_interrupt(); // Ctrl-C ends the other process, too
    constexpr const char* remedy = "write it again with the program that made it";
    switch (message.tag) {
    case Tag::grids:
        break;
    case Tag::failed:
        fail("{}", message.bytes);
    case Tag::bad_input:
        bad_input("{}", message.bytes);
    case Tag::out_of_memory:
        fail("{} is damaged or too large: it needs more memory than is available; {}", path, remedy);
    default:
        if (too_slow) fail("{} is damaged or too large: reading it takes too long; {}", path, remedy);
        fail("{} is damaged: the VDB reader crashes on it; {}", path, remedy);
    }
    Contents contents = reading(path, [&] {
        return grids_from_bytes(std::move(message.bytes), [](const auto&, const auto&) { return true; });
    });
    contents.names = std::move(names);
    return contents;
}

} // namespace spindrift::vdb
