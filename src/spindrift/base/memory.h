// Memory of the process: allocator setup, limits and usage.
#pragma once

namespace spindrift {

// Makes the allocator return large freed blocks to the system. By default glibc raises its threshold and keeps them,
// and grids that grow from step to step leave holes as large as themselves. Call once, at the start.
void return_freed_memory();

// Bytes that this process may use: the physical memory, or less if the process or its control group has a limit.
double available_memory();
// Makes allocations beyond available_memory() throw std::bad_alloc, so that the kernel's out-of-memory killer is never
// triggered.
void limit_memory();

// Current and peak resident memory [bytes]; 0 if the system does not report them.
double held_memory();
double peak_memory();

// Throws Error(failed) if `bytes` exceeds available_memory(): "<what> needs about 40 GB of memory, and there are 16 GB;
// <remedy>".
void expect_memory(double bytes, const std::string& what, const std::string& remedy);

} // namespace spindrift
