// ffmpeg as a child process that reads or writes raw pictures through a socket, for films.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace spindrift {

// Never outlives this object. Its standard error is captured.
class FfmpegProcess {
  public:
    enum class Data { to_it, from_it };
    // Throws Error(failed) if it cannot start.
    FfmpegProcess(const std::vector<std::string>& command, Data data);
    FfmpegProcess(const FfmpegProcess&) = delete;
    FfmpegProcess& operator=(const FfmpegProcess&) = delete;
    ~FfmpegProcess();

    // For files that may be malicious: it is killed beyond these limits.
    void limit(size_t memory, unsigned cpu_seconds) const;

    // False if the child no longer reads.
    bool send(const std::vector<uint8_t>& bytes);
    // Up to `size` bytes; zero at the end. Throws Error(interrupted) on an interrupt.
    size_t receive(uint8_t* bytes, size_t size);

    // Closes the connection and waits; true if the child succeeded.
    bool finish();
    std::string last_error_line();

  private:
    void close_connection();
    int wait();

    std::unique_ptr<std::FILE, int (*)(std::FILE*)> errors_;
    int connection_ = -1;
    pid_t process_ = -1;
};

} // namespace spindrift
