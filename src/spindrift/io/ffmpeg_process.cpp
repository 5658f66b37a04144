#include "spindrift/io/ffmpeg_process.h"

#include "spindrift/base/error.h"
#include "spindrift/base/interrupt.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace spindrift {

FfmpegProcess::FfmpegProcess(const std::vector<std::string>& command, Data data) : errors_(std::tmpfile(), &std::fclose)
{
    if (!errors_) fail("cannot run {}: no temporary file: {}", command[0], std::strerror(errno));
    // A socket instead of a pipe, because send() can suppress SIGPIPE when the child has died. Close-on-exec: a copy of
    // our end in the child would keep its input open forever.
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        fail("cannot run {}: {}", command[0], std::strerror(errno));
    connection_ = ends[0];

    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    const bool writes = data == Data::from_it;
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], writes ? STDOUT_FILENO : STDIN_FILENO);
    if (writes)
        ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    else
        ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, ::fileno(errors_.get()), STDERR_FILENO);
    const int error = ::posix_spawnp(&process_, arguments[0], &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error == 0) return;
    process_ = -1;
    close_connection();
    if (error == ENOENT)
        fail("{} was not found; install it or add it to the PATH to {} movies", command[0], writes ? "read" : "write");
    fail("cannot run {}: {}", command[0], std::strerror(error));
}

FfmpegProcess::~FfmpegProcess()
{
    close_connection();
    if (process_ > 0) ::kill(process_, SIGKILL), wait();
}

void FfmpegProcess::limit(size_t memory, unsigned cpu_seconds) const
{
    const rlimit space = {memory, memory}, time = {cpu_seconds, cpu_seconds};
    ::prlimit(process_, RLIMIT_AS, &space, nullptr);
    ::prlimit(process_, RLIMIT_CPU, &time, nullptr);
}

bool FfmpegProcess::send(const std::vector<uint8_t>& bytes)
{
    for (size_t sent = 0; sent < bytes.size();) {
        const ssize_t now = ::send(connection_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (now < 0 && errno == EINTR) continue;
        if (now < 0) return false;
        sent += now;
    }
    return true;
}

size_t FfmpegProcess::receive(uint8_t* bytes, size_t size)
{
    size_t received = 0;
    while (received < size) {
        wait_for_input(connection_);
        const ssize_t now = ::recv(connection_, bytes + received, size - received, 0);
        if (now < 0 && errno == EINTR) continue;
        if (now <= 0) break;
        received += now;
    }
    return received;
}

bool FfmpegProcess::finish()
{
    close_connection();
    const int status = wait();
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string FfmpegProcess::last_error_line()
{
    std::string text, line;
    std::rewind(errors_.get());
    for (int c; (c = std::fgetc(errors_.get())) != EOF;) {
        if (c != '\n')
            line += static_cast<char>(c);
        else if (!line.empty())
            text = std::exchange(line, "");
    }
    return line.empty() ? text : line;
}

void FfmpegProcess::close_connection()
{
    if (connection_ >= 0) ::close(std::exchange(connection_, -1));
}

int FfmpegProcess::wait()
{
    int status = -1;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    return status;
}

} // namespace spindrift
