// How the process holds its memory.
#pragma once

namespace spindrift {

// From now on large blocks are given back to the system when they are freed. By default the allocator learns to keep
// them, and grids that grow from step to step would leave holes behind as large as themselves. Call once, at the start.
void return_freed_memory();

} // namespace spindrift
