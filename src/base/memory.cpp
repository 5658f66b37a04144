#include "base/memory.h"

#include <malloc.h>

namespace spindrift {

void return_freed_memory() { ::mallopt(M_MMAP_THRESHOLD, 512 << 10); }

} // namespace spindrift
