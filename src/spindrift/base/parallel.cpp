#include "spindrift/base/parallel.h"

#include <memory>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#ifdef SPINDRIFT_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace spindrift {

namespace {
std::unique_ptr<tbb::global_control> limit; // the limit holds while this object lives
int threads_asked = 0;

// The thread sanitizer does not understand TBB's synchronisation, so this file is compiled without it and declares the
// happens-before relations itself.
#ifdef SPINDRIFT_THREAD_SANITIZER
void happens_before(char& mark) { __tsan_release(&mark); }
void happens_after(char& mark) { __tsan_acquire(&mark); }
#else
void happens_before(char&) {}
void happens_after(char&) {}
#endif
} // namespace

void set_thread_count(int threads)
{
    threads_asked = threads;
    limit.reset();
    if (threads > 0)
        limit = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, threads);
}

int thread_count() { return threads_asked > 0 ? threads_asked : tbb::info::default_concurrency(); }

void parallel_parts(size_t count, size_t grain, const std::function<void(size_t, size_t)>& body)
{
    // Subranges are not ordered among each other, so the sanitizer reports races between them even if they did not
    // overlap in time.
    char begin = 0, end = 0;
    happens_before(begin);
    tbb::parallel_for(tbb::blocked_range<size_t>(0, count, grain), [&](const tbb::blocked_range<size_t>& part) {
        happens_after(begin);
        body(part.begin(), part.end());
        happens_before(end);
    });
    happens_after(end);
}

} // namespace spindrift
