#include "spindrift/base/memory.h"

#include "spindrift/base/error.h"

#include <algorithm>
#include <fstream>
#include <malloc.h>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace spindrift {

namespace {

double soft_limit(__rlimit_resource resource)
{
    rlimit limit = {};
    const bool limited = ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return limited ? static_cast<double>(limit.rlim_cur) : 1e300;
}

// Memory limit of the control group (v2, then v1) as seen in a container. Without a limit the file holds "max", which
// does not parse as a number.
double group_limit()
{
    double least = 1e300, bytes = 0;
    for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
        if (std::ifstream(path) >> bytes) least = std::min(least, bytes);
    return least;
}

// A field of /proc/self/status, such as VmRSS [bytes].
double status(const std::string& name)
{
    std::ifstream file("/proc/self/status");
    for (std::string word; file >> word;)
        if (double kilobytes = 0; word == name + ":" && file >> kilobytes) return 1024 * kilobytes;
    return 0;
}

} // namespace

double held_memory() { return status("VmRSS"); }
double peak_memory() { return status("VmHWM"); }

void return_freed_memory() { ::mallopt(M_MMAP_THRESHOLD, 512 << 10); }

double available_memory()
{
    const double machine =
        static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGE_SIZE));
    return std::min({machine, group_limit(), soft_limit(RLIMIT_DATA), soft_limit(RLIMIT_AS)});
}

void limit_memory()
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // sanitizers map terabytes that they never touch
    rlimit limit = {};
    if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
    limit.rlim_cur = std::min(limit.rlim_cur, static_cast<rlim_t>(available_memory()));
    ::setrlimit(RLIMIT_DATA, &limit);
#endif
}

void expect_memory(double bytes, const std::string& what, const std::string& remedy)
{
    const double available = available_memory();
    if (!(bytes <= available))
        fail("{} needs about {:.3g} GB of memory, and there are {:.3g} GB; {}", what, 1e-9 * bytes, 1e-9 * available,
             remedy);
}

} // namespace spindrift
