/* Loaded into the program with LD_PRELOAD: kills it with SIGKILL at a chosen point of its progress on disk.
   KILL_AT_RENAME=n   just before the n-th rename or removal of a file. Every commit to disk is a rename, so increasing n
                      covers every critical moment.
   KILL_AT_CALL=n     at the n-th write, flush, rename or removal; a write is done by half. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static int is_due(const char* variable, atomic_long* count)
{
    const char* at = getenv(variable);
    return at && atomic_fetch_add(count, 1) + 1 == atol(at);
}

static atomic_long calls, renames;

static void before_rename(void)
{
    if (is_due("KILL_AT_RENAME", &renames) | is_due("KILL_AT_CALL", &calls)) raise(SIGKILL);
}

int rename(const char* from, const char* to)
{
    before_rename();
    return ((int (*)(const char*, const char*))dlsym(RTLD_NEXT, "rename"))(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags)
{
    before_rename();
    return ((int (*)(int, const char*, int, const char*, unsigned))dlsym(RTLD_NEXT, "renameat2"))(from_folder, from,
                                                                                                 to_folder, to, flags);
}

int remove(const char* path)
{
    before_rename();
    return ((int (*)(const char*))dlsym(RTLD_NEXT, "remove"))(path);
}

ssize_t write(int file, const void* bytes, size_t size)
{
    ssize_t (*next)(int, const void*, size_t) = (ssize_t (*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
    if (file > STDERR_FILENO && is_due("KILL_AT_CALL", &calls)) {
        next(file, bytes, size / 2);
        raise(SIGKILL);
    }
    return next(file, bytes, size);
}

int fsync(int file)
{
    if (is_due("KILL_AT_CALL", &calls)) raise(SIGKILL);
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}
