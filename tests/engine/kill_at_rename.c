/* Loaded into the program by LD_PRELOAD: ends it with SIGKILL just before the n-th change of a file's name, where n is
   KILL_AT_RENAME. Every commit to disk is such a change, so that counting n up tries every moment that matters. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

static void step(void)
{
    static atomic_long count;
    const char* at = getenv("KILL_AT_RENAME");
    if (at && atomic_fetch_add(&count, 1) + 1 == atol(at)) raise(SIGKILL);
}

int rename(const char* from, const char* to)
{
    step();
    return ((int (*)(const char*, const char*))dlsym(RTLD_NEXT, "rename"))(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags)
{
    step();
    return ((int (*)(int, const char*, int, const char*, unsigned))dlsym(RTLD_NEXT, "renameat2"))(from_folder, from,
                                                                                                 to_folder, to, flags);
}

int remove(const char* path)
{
    step();
    return ((int (*)(const char*))dlsym(RTLD_NEXT, "remove"))(path);
}
