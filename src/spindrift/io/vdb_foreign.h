// Reading VDB files of other programs in a process of their own. OpenVDB trusts the counts in a file: on a damaged one
// it may corrupt memory, allocate gigabytes or never return, and then only that process dies.
//
// The process is a program (spindrift_read_vdb, found like the expression compiler), not a fork: a fork of a process
// with threads inherits the locks that they hold at that moment (TBB's, OpenVDB's, the host's), and would wait for them
// forever.
#pragma once

#include "spindrift/io/vdb_archive.h"

namespace spindrift::vdb {

// Like read_grids(). The limits on memory and time follow from the size of the file.
Contents read_foreign_grids(const std::string& path, size_t file_bytes, const Wanted& wanted);

// Of the program: reads the file and talks to read_foreign_grids() over its standard input, a socket. Limits the memory
// to `memory` bytes beyond what the process has at the start. Returns the exit code.
int serve_foreign_grids(const std::string& path, size_t memory, unsigned cpu_seconds);

} // namespace spindrift::vdb
