/* Loaded into the program with LD_PRELOAD: kills it with SIGKILL just before the n-th rename or removal of a file, n being
   KILL_AT_RENAME. Every commit to disk is a rename, so increasing n covers every critical moment. */
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
