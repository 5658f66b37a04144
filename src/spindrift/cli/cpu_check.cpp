// Checks the processor before anything else runs and reports missing features, instead of letting the first AVX2
// instruction end the process with a signal. This file is compiled for any x86-64, unlike the rest of the program.
#if defined(__x86_64__) && defined(SPINDRIFT_NEEDS_AVX2)
#include <unistd.h>

__attribute__((constructor(101))) static void check_processor()
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) return;
    static const char message[] = "spindrift: this processor has no AVX2 and FMA (x86-64-v3). Build for it with: make "
                                  "build CMAKE_FLAGS=-DSPINDRIFT_AVX2=OFF\n";
    (void)!::write(STDERR_FILENO, message, sizeof message - 1);
    ::_exit(2);
}
#endif
