#include "spindrift/base/child_process.h"

#include "spindrift/base/error.h"
#include "spindrift/base/interrupt.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <spawn.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace spindrift {

namespace {

// Exit codes of the child, unless a signal ends it.
enum Exit { kDone = 0, kFailed = 10, kBadInput, kOutOfMemory, kPipeClosed };

size_t memory_of_process()
{
    unsigned long pages = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    if (!file) return 0;
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
    return pages * static_cast<size_t>(::sysconf(_SC_PAGE_SIZE));
}

void lower(__rlimit_resource resource, rlim_t value)
{
    rlimit limit = {};
    ::getrlimit(resource, &limit);
    limit.rlim_cur = std::min(limit.rlim_max, value);
    ::setrlimit(resource, &limit);
}

void set_limits(const ChildLimits& limits, size_t memory_before)
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM, SIGXCPU, SIGINT, SIGTERM, SIGPIPE})
        std::signal(signal, SIG_DFL);
    lower(RLIMIT_CORE, 0);
    lower(RLIMIT_CPU, limits.cpu_seconds);
    if (memory_before > 0) lower(RLIMIT_AS, memory_before + limits.memory);
    ::alarm(4 * limits.cpu_seconds + 60);
    // Discard output: glibc reports heap corruption and OpenVDB prints warnings, and our own message says more.
    const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    for (const int output : {STDOUT_FILENO, STDERR_FILENO})
        if (nothing >= 0) ::dup2(nothing, output);
}

bool send(int to, std::string_view bytes)
{
    while (!bytes.empty()) {
        const ssize_t written = ::write(to, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        bytes.remove_prefix(static_cast<size_t>(written));
    }
    return true;
}

// Body of the child process. Never throws.
int work(const std::function<std::string()>& body, int to)
{
    try {
        return send(to, body()) ? kDone : kPipeClosed;
    } catch (const Error& error) {
        send(to, error.what());
        return error.code == ExitCode::bad_input ? kBadInput : kFailed;
    } catch (const std::bad_alloc&) {
        return kOutOfMemory;
    } catch (const std::exception& error) {
        send(to, error.what());
        return kFailed;
    }
}

std::string receive(int from)
{
    std::string bytes;
    size_t size = 0;
    for (;;) {
        if (bytes.size() - size < (64 << 10)) bytes.resize(std::max<size_t>(2 * bytes.size(), 256 << 10));
        const ssize_t got = ::read(from, bytes.data() + size, bytes.size() - size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        size += static_cast<size_t>(got);
    }
    bytes.resize(size);
    return bytes;
}

} // namespace

ChildResult run_in_child(const ChildLimits& limits, const std::function<std::string()>& body,
                         const std::function<void()>& started)
{
    const auto give_up = [](int error) {
        fail("cannot start a process to read files safely: {}; end other programs", std::strerror(error));
    };
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) give_up(errno);
    const size_t memory = memory_of_process();
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        set_limits(limits, memory);
        ::_exit(work(body, ends[1]));
    }
    const int error = errno;
    started();
    ::close(ends[1]);
    if (child < 0) {
        ::close(ends[0]);
        give_up(error);
    }
    ChildResult result;
    try {
        result.bytes = receive(ends[0]);
    } catch (const std::bad_alloc&) { // closing the pipe ends the child with SIGPIPE
        result.end = ChildEnd::out_of_memory;
    }
    ::close(ends[0]);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        if (signal == SIGALRM || signal == SIGXCPU) result.end = ChildEnd::out_of_time;
        return result;
    }
    switch (WEXITSTATUS(status)) {
    case kDone:
        result.end = ChildEnd::done;
        break;
    case kOutOfMemory:
        result.end = ChildEnd::out_of_memory;
        break;
    case kFailed:
        fail("{}", result.bytes);
    case kBadInput:
        bad_input("{}", result.bytes);
    default:
        break;
    }
    return result;
}

ProgramResult run_this_program(const std::vector<std::string>& arguments)
{
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return {};
    std::vector<char*> words = {const_cast<char*>("spindrift")};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = -1;
    const int error = ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, words.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    ProgramResult result;
    char buffer[4096];
    try {
        for (ssize_t got = 1; error == 0 && got != 0;) {
            got = ::read(ends[0], buffer, sizeof buffer);
            if (got > 0) result.output.append(buffer, static_cast<size_t>(got));
            if (got < 0 && errno != EINTR) break;
            check_interrupt();
        }
    } catch (...) {
        ::kill(child, SIGKILL);
        ::close(ends[0]);
        ::waitpid(child, nullptr, 0);
        throw;
    }
    ::close(ends[0]);
    int status = -1;
    rusage usage = {};
    while (error == 0 && ::wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    check_interrupt();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return {};
    result.memory = 1024.0 * static_cast<double>(usage.ru_maxrss);
    return result;
}

void end_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

} // namespace spindrift
