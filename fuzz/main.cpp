// Reads many bad files of each format that Spindrift reads, and reports those that are neither accepted nor refused
// with a message: crashes, hangs, excessive memory, exceptions other than Error.
//
//     spindrift_fuzz --seconds 60                      all formats, a minute each
//     spindrift_fuzz --target ply --cases 100000       one of them
//     spindrift_fuzz --target ply --first 4711 --cases 1 --here    one case in this process, for a debugger
//
// A case depends only on the seed, its number, the good files made by the code and the bad ones in fuzz/found, so that
// it can be repeated. Cases run in a child process, which is restarted after each crash. The file that caused it is
// kept; add it to fuzz/found once the fault is fixed.
#include "fuzz/targets.h"
#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/io/atomic_file.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace spindrift::fuzz {

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
    std::vector<std::string> targets;
    uint64_t seed = 1, first = 0, cases = 0;
    double seconds = 0;
    std::string keep = "fuzz-findings", write;
    bool here = false;
};

constexpr int kFound = 3, kSecondsPerCase = 120; // of CPU time: a step may be divided into 500 substeps
constexpr size_t kMostMemory = size_t(2) << 30, kMostFindings = 20;

// Memory shared by parent and child.
struct Shared {
    uint64_t next = 0, refused = 0; // number of the next or running case; number of refused ones
    char what[400] = {};            // message of the last finding
};

// Bad files that once were findings, named fuzz/found/<target>-<description>.<ending>: the first cases of each run.
std::vector<std::string> kept_files(const Target& target)
{
    std::vector<std::string> paths, files;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(SPINDRIFT_SOURCE_DIR "/fuzz/found", none))
        if (entry.path().filename().string().starts_with(target.name + "-")) paths.push_back(entry.path().string());
    std::ranges::sort(paths);
    for (const std::string& path : paths) files.push_back(read_file(path));
    return files;
}

std::string folder_of(pid_t process) { return fmt::format("{}/spindrift_fuzz_{}", scratch_folder(), process); }

void remove_folder(const std::string& folder)
{
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
}

class Worker {
  public:
    Worker(const Target& target, const Options& options)
        : target_(target), options_(options), folder_(folder_of(::getpid()))
    {
    }
    ~Worker() { remove_folder(folder_); }

    std::string bytes_of(uint64_t number)
    {
        if (seeds_.empty()) seeds_ = target_.seeds(), kept_ = kept_files(target_);
        if (number < kept_.size()) return kept_[number];
        Random random(hash64(options_.seed, hash_bytes(target_.name)), number);
        const std::string& seed = seeds_[pick(random, seeds_.size())];
        if (is_good(number)) return seed;
        if (!kept_.empty() && pick(random, 8) == 0) return target_.mutate(kept_[pick(random, kept_.size())], random);
        return target_.mutate(seed, random);
    }

    // Returns whether the file was accepted.
    bool run(uint64_t number)
    {
        std::filesystem::create_directories(folder_);
        const std::string bytes = bytes_of(number);
        try {
            target_.run(bytes, folder_);
            return true;
        } catch (const Error& error) {
            if (is_good(number)) found(fmt::format("a good file was refused: {}", error.what()));
            return false;
        }
    }

  private:
    // Every thousandth case is a good file, which must be accepted.
    bool is_good(uint64_t number) const { return number % 1000 == 0 && number >= kept_.size(); }

    const Target& target_;
    const Options& options_;
    std::string folder_;
    std::vector<std::string> seeds_, kept_;
};

void limit_process()
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const rlimit none = {0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
}

// The memory limit counts from the memory of the process after its good files are made.
void limit_memory()
{
#if !defined(__SANITIZE_ADDRESS__)
    unsigned long pages = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
        std::fclose(file);
    }
    const rlim_t most = pages * static_cast<rlim_t>(::sysconf(_SC_PAGE_SIZE)) + kMostMemory;
    const rlimit limit = {most, most};
    if (pages > 0) ::setrlimit(RLIMIT_AS, &limit);
#endif
}

// Limits the CPU time, since a busy machine is slow, and the wall-clock time in case the process sleeps.
void limit_case(int seconds)
{
    const itimerval work = {{0, 0}, {seconds, 0}}, clock = {{0, 0}, {10 * seconds, 0}};
    ::setitimer(ITIMER_PROF, &work, nullptr);
    ::setitimer(ITIMER_REAL, &clock, nullptr);
}

// The child: runs cases until one is a finding or the time is up.
int work(const Target& target, const Options& options, Shared& shared, uint64_t last, Clock::time_point end)
{
    limit_process();
    Worker worker(target, options);
    const auto finding = [&](const std::string& what) {
        shared.what[what.copy(shared.what, sizeof shared.what - 1)] = 0;
        return kFound;
    };
    try {
        limit_case(kSecondsPerCase);
        worker.bytes_of(shared.next); // makes the good files
        limit_memory();
        for (; shared.next < last && (options.seconds <= 0 || Clock::now() < end); ++shared.next) {
            limit_case(kSecondsPerCase);
            if (!worker.run(shared.next)) ++shared.refused;
            limit_case(0);
        }
    } catch (const std::bad_alloc&) {
        return finding("out of memory");
    } catch (const std::exception& error) {
        return finding(error.what());
    }
    return 0;
}

std::string reason_of(int status, const Shared& shared)
{
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGPROF))
        return fmt::format("timed out after {} s", kSecondsPerCase);
    if (WIFSIGNALED(status)) return ::strsignal(WTERMSIG(status));
    if (WEXITSTATUS(status) == kFound) return shared.what;
    return fmt::format("exit code {}", WEXITSTATUS(status));
}

void keep(const Target& target, const Options& options, uint64_t number, const std::string& reason)
{
    std::string path = fmt::format("{}/{}-{}-{}.{}", options.keep, target.name, options.seed, number, target.ending);
    // Good files are made by simulations, which start threads; this process stays without, since it forks again.
    const pid_t child = ::fork();
    if (child == 0) {
        limit_process();
        limit_case(kSecondsPerCase);
        try {
            write_file(path, Worker(target, options).bytes_of(number));
        } catch (...) {
            ::_exit(1);
        }
        ::_exit(0);
    }
    int status = 1;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0) path = "(could not be written)";
    fmt::print("FOUND {} case {}: {}\n  file   {}\n  again  spindrift_fuzz --target {} --seed {} --first {} --cases 1 "
               "--here\n",
               target.name, number, reason, path, target.name, options.seed, number);
    std::fflush(stdout);
}

// Returns the number of findings.
size_t fuzz(const Target& target, const Options& options)
{
    void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("cannot map shared memory");
    Shared& shared = *new (memory) Shared;
    shared.next = options.first;
    const uint64_t last = options.cases > 0 ? options.first + options.cases : ~uint64_t(0);
    const auto start = Clock::now();
    const auto end =
        start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
    size_t findings = 0;
    while (shared.next < last && findings < kMostFindings) {
        const pid_t child = ::fork();
        if (child < 0) fail("cannot start a child process");
        if (child == 0) ::_exit(work(target, options, shared, last, end));
        int status = 0;
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
        remove_folder(folder_of(child));
        ++findings;
        keep(target, options, shared.next, reason_of(status, shared));
        ++shared.next;
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    fmt::print("{:<14} {} cases, {} refused, {} findings, {:.1f} s\n", target.name, shared.next - options.first,
               shared.refused, findings, seconds);
    std::fflush(stdout);
    ::munmap(memory, sizeof(Shared));
    return findings;
}

void run_here(const Target& target, const Options& options)
{
    Worker worker(target, options);
    for (uint64_t i = options.first; i < options.first + std::max<uint64_t>(options.cases, 1); ++i) {
        if (!options.write.empty()) {
            write_file(fmt::format("{}/{}-{}.{}", options.write, target.name, i, target.ending), worker.bytes_of(i));
            continue;
        }
        const auto start = Clock::now();
        const bool taken = worker.run(i);
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        fmt::print("{} case {}: {} in {:.4f} s\n", target.name, i, taken ? "accepted" : "refused", seconds);
    }
}

std::vector<Target> chosen_targets(const Options& options)
{
    std::vector<Target> all, chosen;
    for (const auto& make : {text_targets, mesh_targets, vdb_targets, cache_targets, state_targets})
        for (Target& target : make()) all.push_back(std::move(target));
    if (options.targets.empty()) return all;
    for (const std::string& name : options.targets) {
        const auto target = std::ranges::find(all, name, &Target::name);
        std::vector<std::string> names;
        for (const Target& t : all) names.push_back(t.name);
        if (target == all.end()) bad_input("there is no target {}; the targets are: {}", name, fmt::join(names, ", "));
        chosen.push_back(*target);
    }
    return chosen;
}

int run(int argc, char** argv)
{
    Options options;
    CLI::App app("Feeds bad files to the readers of Spindrift.", "spindrift_fuzz");
    app.add_option("--target", options.targets, "Formats; default all");
    app.add_option("--seconds", options.seconds, "Time for each format");
    app.add_option("--cases", options.cases, "Cases of each format");
    app.add_option("--first", options.first, "Number of the first case");
    app.add_option("--seed", options.seed, "Seed of the cases");
    app.add_option("--keep", options.keep, "Folder for files that are findings");
    app.add_option("--write", options.write, "Write the cases to this folder instead of reading them");
    app.add_flag("--here", options.here, "Run the cases in this process");
    CLI11_PARSE(app, argc, argv);
    if (options.seconds <= 0 && options.cases == 0) options.seconds = 10;
    size_t findings = 0;
    for (const Target& target : chosen_targets(options)) {
        if (options.here || !options.write.empty())
            run_here(target, options);
        else
            findings += fuzz(target, options);
    }
    return findings > 0 ? 1 : 0;
}

} // namespace

void found(const std::string& what) { throw std::logic_error(what); }

std::string scratch_folder()
{
    std::error_code error;
    if (std::filesystem::is_directory("/dev/shm", error)) return "/dev/shm";
    return std::filesystem::temp_directory_path().string();
}

void put_file(const std::string& path, const std::string& bytes)
{
    std::FILE* file = std::fopen(path.c_str(), "wb");
    const bool done = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    if (file) std::fclose(file);
    if (!done) found("cannot write " + path);
}

} // namespace spindrift::fuzz

int main(int argc, char** argv)
{
    try {
        return spindrift::fuzz::run(argc, argv);
    } catch (const std::exception& error) {
        fmt::print(stderr, "spindrift_fuzz: {}\n", error.what());
        return 2;
    }
}
