#include "base/parallel.h"

#include <memory>
#include <tbb/global_control.h>
#include <tbb/info.h>

namespace spindrift {

namespace {
std::unique_ptr<tbb::global_control> limit; // TBB keeps the limit while this lives
int threads_asked = 0;
} // namespace

void set_thread_count(int threads)
{
    threads_asked = threads;
    limit.reset();
    if (threads > 0)
        limit = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                      static_cast<size_t>(threads));
}

int thread_count() { return threads_asked > 0 ? threads_asked : tbb::info::default_concurrency(); }

} // namespace spindrift
