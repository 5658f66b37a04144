#include "spindrift/io/file_start.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace spindrift {

bool may_start_with(const std::string& path, std::string_view start)
{
    const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return true;
    struct stat status = {};
    std::string begin(start.size(), '\0');
    ssize_t got = -1;
    if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode)) got = ::read(file, begin.data(), begin.size());
    ::close(file);
    return got < 0 || start.starts_with(std::string_view(begin).substr(0, got));
}

} // namespace spindrift
