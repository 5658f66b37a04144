#include "spindrift/base/child_process.h"

#include "spindrift/base/interrupt.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace spindrift {

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
            wait_for_input(ends[0]);
            got = ::read(ends[0], buffer, sizeof buffer);
            if (got > 0) result.output.append(buffer, got);
            if (got < 0 && errno != EINTR) break;
        }
    } catch (...) {
        ::kill(child, SIGKILL);
        ::close(ends[0]);
        while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
        }
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
