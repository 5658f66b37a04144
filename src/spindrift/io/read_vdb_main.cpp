// spindrift_read_vdb FILE MEMORY SECONDS: started by read_foreign_grids(), see vdb_foreign.h.
#include "spindrift/io/vdb_foreign.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

int main(int argc, char** argv)
{
    if (argc != 4 || ::isatty(STDIN_FILENO)) {
        std::fputs("spindrift_read_vdb is started by spindrift, to read VDB files of other programs safely\n", stderr);
        return 2;
    }
    // Ends without destructors: freeing what a damaged file left behind may crash.
    ::_exit(spindrift::vdb::serve_foreign_grids(argv[1], std::strtoull(argv[2], nullptr, 10),
                                                static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10))));
}
