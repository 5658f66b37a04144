// How the process holds its memory, and how much it may have.
#pragma once

namespace spindrift {

// From now on large blocks are given back to the system when they are freed. By default the allocator learns to keep
// them, and grids that grow from step to step would leave holes behind as large as themselves. Call once, at the start.
void return_freed_memory();

// Bytes that this process may use: the machine's memory, or less if the process or its control group is limited.
double available_memory();
// From now on an allocation beyond that throws std::bad_alloc, instead of the system ending some process later.
void limit_memory();

// What the process holds now, and the most that it has held so far [bytes]; 0 if the system does not tell.
double held_memory();
double peak_memory();

// Throws Error(failed) if something will need more than that: "what needs about 40 GB ..., and there are 16 GB;
// remedy".
void expect_memory(double bytes, const char* what, const char* remedy);

} // namespace spindrift
