// Runs the program as a child process and inspects the files that it writes.
#pragma once

#include "io/temp_folder.h"
#include "spindrift/io/atomic_file.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <map>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace spindrift {

struct RunResult {
    int code = -1; // exit code, or minus the signal that ended the process
    std::string out, err;
};

// Runs a Python script in Blender, which must find the system's Python before any other: it takes its modules.
inline std::vector<std::string> blender_command(const std::string& script,
                                                const std::vector<std::string>& arguments = {})
{
    std::vector<std::string> command = {
        "env", "PATH=/usr/bin:/bin", "blender", "--background", "--factory-startup", "--python-exit-code",
        "3",   "--python",           script};
    if (!arguments.empty()) command.emplace_back("--");
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
}

// A child process whose output is captured. Never outlives this object.
class Child {
  public:
    // The first word of `command` is looked up on the PATH; `file_limit` (bytes) simulates a full disk.
    Child(const std::vector<std::string>& command, const std::string& folder, rlim_t file_limit = RLIM_INFINITY)
        : out_(std::tmpfile()), err_(std::tmpfile())
    {
        std::vector<char*> words;
        for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
        words.push_back(nullptr);
        process_ = ::fork();
        if (process_ != 0) return;
        ::setpgid(0, 0);
        const rlimit limit = {file_limit, file_limit};
        const int nothing = ::open("/dev/null", O_RDONLY);
        const bool ready = ::chdir(folder.c_str()) == 0 && ::setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
                           ::dup2(nothing, STDIN_FILENO) >= 0 && ::dup2(::fileno(out_), STDOUT_FILENO) >= 0 &&
                           ::dup2(::fileno(err_), STDERR_FILENO) >= 0;
        if (ready) ::execvp(words[0], words.data());
        ::_exit(127);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child()
    {
        if (!ended_) send(SIGKILL), wait();
        std::fclose(out_), std::fclose(err_);
    }

    void send(int signal) const
    {
        if (!ended_) ::kill(process_, signal);
    }
    bool is_running()
    {
        if (!ended_ && ::waitpid(process_, &status_, WNOHANG) == process_) ended_ = true;
        return !ended_;
    }
    RunResult wait()
    {
        while (!ended_) ended_ = ::waitpid(process_, &status_, 0) == process_ || errno != EINTR;
        return {WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_), text_of(out_), text_of(err_)};
    }
    // False if the process is still running after that time; it is then killed with all its children.
    bool ends_within(double seconds)
    {
        using Clock = std::chrono::steady_clock;
        const auto end = Clock::now() + std::chrono::duration<double>(seconds);
        while (is_running() && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        if (ended_) return true;
        ::kill(-process_, SIGKILL);
        wait();
        return false;
    }

  private:
    static std::string text_of(std::FILE* file)
    {
        std::string text;
        std::rewind(file);
        for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
        return text;
    }

    std::FILE *out_, *err_;
    pid_t process_ = -1;
    int status_ = 0;
    bool ended_ = false;
};

inline std::string program_path()
{
    const char* path = std::getenv("SPINDRIFT_PROGRAM");
    if (!path) throw std::runtime_error("the environment variable SPINDRIFT_PROGRAM must hold the program's path");
    return std::filesystem::absolute(path).string();
}

inline std::vector<std::string> program_command(std::vector<std::string> arguments)
{
    arguments.insert(arguments.begin(), program_path());
    return arguments;
}

// The program kills itself at the n-th rename of a file ("KILL_AT_RENAME") or call that changes one ("KILL_AT_CALL"),
// see engine/kill_at_call.c.
inline std::vector<std::string> program_that_kills_itself(const std::string& when, int n,
                                                          const std::vector<std::string>& arguments)
{
    const auto library = std::filesystem::path(program_path()).parent_path() / "libspindrift_kill.so";
    std::vector<std::string> command = {"env", "LD_PRELOAD=" + library.string(),
                                        "ASAN_OPTIONS=verify_asan_link_order=0", when + "=" + std::to_string(n),
                                        program_path()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
}

// A folder with scenes in which the program runs.
class Workplace : public TempFolder {
  public:
    RunResult run(const std::vector<std::string>& arguments, rlim_t file_limit = RLIM_INFINITY) const
    {
        return Child(program_command(arguments), path(), file_limit).wait();
    }
    // Runs the program, which must succeed.
    RunResult succeed(const std::vector<std::string>& arguments) const
    {
        const RunResult outcome = run(arguments);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_EQ(outcome.err, "");
        return outcome;
    }
    void write(const std::string& name, const std::string& text) const { write_file(*this / name, text); }
    std::string read(const std::string& name) const { return read_file(*this / name); }
    void remove(const std::string& name) const { std::filesystem::remove_all(*this / name); }
    bool has(const std::string& name) const { return std::filesystem::exists(*this / name); }
};

using Files = std::map<std::string, std::string>; // by path relative to a folder

namespace detail {
template <class Value> Files collect(const std::string& folder, const Value& value)
{
    namespace fs = std::filesystem;
    Files files;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file()) files[fs::relative(entry.path(), folder).string()] = value(entry.path().string());
    return files;
}
} // namespace detail

// The contents of all frames, pictures and films: everything that must not depend on interruptions.
inline Files results_in(const std::string& folder)
{
    Files files = detail::collect(folder, [](const std::string& path) { return read_file(path); });
    std::erase_if(files, [](const auto& file) {
        const std::string name = std::filesystem::path(file.first).filename().string();
        return name == ".lock" || name.starts_with("spindrift.");
    });
    return files;
}

// The modification time of each file.
inline Files times_in(const std::string& folder)
{
    return detail::collect(folder, [](const std::string& path) {
        struct stat info = {};
        ::stat(path.c_str(), &info);
        return std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec);
    });
}

inline std::vector<std::string> leftovers_in(const std::string& folder)
{
    std::vector<std::string> names;
    for (const auto& [name, contents] : detail::collect(folder, [](const std::string&) { return std::string(); }))
        if (name.ends_with(".tmp")) names.push_back(name);
    return names;
}

// Names that are missing on one side or whose contents differ: more readable than the bytes.
inline std::vector<std::string> differences(const Files& a, const Files& b)
{
    std::vector<std::string> names;
    for (const auto& [name, contents] : a)
        if (!b.contains(name) || b.at(name) != contents) names.push_back(name);
    for (const auto& [name, contents] : b)
        if (!a.contains(name)) names.push_back(name);
    return names;
}

// Runs a command repeatedly, killing it at later and later points until it finishes, and expects the files in `folder`
// to equal those of an undisturbed run.
inline void expect_same_after_kills(const Workplace& place, const std::vector<std::string>& command,
                                    const std::string& folder, const Files& expected)
{
    place.remove(folder);
    int kills = 0;
    for (int at = 3;; at = 2 * at + 1) {
        const RunResult result = Child(program_that_kills_itself("KILL_AT_CALL", at, command), place.path()).wait();
        if (result.code == -SIGKILL && ++kills) continue;
        ASSERT_EQ(result.code, 0) << result.err;
        break;
    }
    EXPECT_GT(kills, 1);
    EXPECT_EQ(differences(expected, results_in(place / folder)), std::vector<std::string>());
}

// A dam break of 20 x 16 x 12 cells, 6 frames, with surface and pictures: less than a second of work.
inline std::string small_scene()
{
    return R"([shot]
frames = "1-6"

[liquid]
voxel = 0.05

[liquid.domain]
min = [0, 0, 0]
max = [1, 0.8, 0.6]

[[liquid.source]]
shape = "box"
min = [0, 0, 0]
max = [0.4, 0.5, 0.6]

[surface]

[render]
width = 96
height = 54
samples = 2
floor = false
)";
}

// The files of an undisturbed run of small_scene(). Computed once.
inline const Files& undisturbed()
{
    static const Files files = [] {
        const Workplace place;
        place.write("small.toml", small_scene());
        place.succeed({"run", "small.toml", "-o", "out"});
        return results_in(place / "out");
    }();
    return files;
}

} // namespace spindrift
