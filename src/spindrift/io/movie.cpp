// write_movie(): decodes pictures and pipes them to ffmpeg as raw video. Any format that read_image() supports can be
// used, frame numbers may have gaps, and damaged pictures are named.
#include "spindrift/base/error.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/image.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace spindrift {

namespace {

// Child process with its standard input connected to us and its standard error captured. Never outlives this object.
class Child {
  public:
    explicit Child(const std::vector<std::string>& command) : errors_(std::tmpfile(), &std::fclose)
    {
        if (!errors_) fail("cannot run {}: no temporary file: {}", command[0], std::strerror(errno));
        // A socket instead of a pipe, because send() can suppress SIGPIPE when the child has died. Close-on-exec: a
        // copy of our end in the child would keep its input open forever.
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
            fail("cannot run {}: {}", command[0], std::strerror(errno));
        input_ = ends[0];

        std::vector<char*> arguments;
        arguments.reserve(command.size() + 1);
        for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
        arguments.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
        ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        ::posix_spawn_file_actions_adddup2(&actions, ::fileno(errors_.get()), STDERR_FILENO);
        const int error = ::posix_spawnp(&process_, arguments[0], &actions, nullptr, arguments.data(), environ);
        ::posix_spawn_file_actions_destroy(&actions);
        ::close(ends[1]);
        if (error == 0) return;
        process_ = -1;
        close_input();
        if (error == ENOENT) fail("{} was not found; install it or add it to the PATH to write movies", command[0]);
        fail("cannot run {}: {}", command[0], std::strerror(error));
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child()
    {
        close_input();
        if (process_ > 0) ::kill(process_, SIGKILL), wait();
    }

    // False if the child no longer reads.
    bool send(const std::vector<uint8_t>& bytes)
    {
        for (size_t sent = 0; sent < bytes.size();) {
            const ssize_t now = ::send(input_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
            if (now < 0 && errno == EINTR) continue;
            if (now < 0) return false;
            sent += now;
        }
        return true;
    }

    // Closes the input and waits; true if the child succeeded.
    bool finish()
    {
        close_input();
        const int status = wait();
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }

    std::string last_error_line()
    {
        std::string text, line;
        std::rewind(errors_.get());
        for (int c; (c = std::fgetc(errors_.get())) != EOF;) {
            if (c != '\n')
                line += static_cast<char>(c);
            else if (!line.empty())
                text = std::exchange(line, "");
        }
        return line.empty() ? text : line;
    }

  private:
    void close_input()
    {
        if (input_ >= 0) ::close(std::exchange(input_, -1));
    }
    int wait()
    {
        int status = -1;
        while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
        }
        process_ = -1;
        return status;
    }

    std::unique_ptr<std::FILE, int (*)(std::FILE*)> errors_;
    int input_ = -1;
    pid_t process_ = -1;
};

// yuv420p halves the chroma resolution, so both sizes must be even: repeats an odd edge.
Image evened(const Image& image)
{
    Image even((image.width + 1) / 2 * 2, (image.height + 1) / 2 * 2);
    for (int y = 0; y < even.height; ++y)
        for (int x = 0; x < even.width; ++x)
            even.at(x, y) = image.at(std::min(x, image.width - 1), std::min(y, image.height - 1));
    return even;
}

std::vector<std::string> ffmpeg_command(const Image& first, int fps, const std::string& output)
{
    std::vector<std::string> command = {"ffmpeg", "-hide_banner", "-nostdin", "-loglevel", "error", "-y"};
    const auto add = [&command](std::initializer_list<std::string> words) { command.insert(command.end(), words); };
    add({"-f", "rawvideo", "-pix_fmt", "rgb24", "-video_size", fmt::format("{}x{}", first.width, first.height)});
    add({"-framerate", std::to_string(fps), "-i", "pipe:0", "-an"});
    // Players assume BT.709 for H.264; ffmpeg's default conversion is BT.601.
    add({"-vf", "scale=out_color_matrix=bt709:out_range=tv:flags=accurate_rnd+full_chroma_int,format=yuv420p"});
    add({"-c:v", "libx264", "-preset", "medium", "-crf", "18"});
    add({"-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "iec61966-2-1", "-color_range", "tv"});
    // Reproducible: no time or program version in the file. Index first, so that browsers start playback at once.
    add({"-fflags", "+bitexact", "-flags:v", "+bitexact", "-movflags", "+faststart", "-f", "mp4", "file:" + output});
    return command;
}

} // namespace

void write_movie(const std::string& path, const std::vector<std::string>& pictures, int fps)
{
    if (pictures.empty()) fail("cannot write {}: there are no pictures", path);
    if (fps <= 0) bad_input("{}: {} frames per second is not possible", path, fps);
    const Image first = read_image(pictures.front());
    write_atomically(path, [&](const std::string& temporary) {
        Child ffmpeg(ffmpeg_command(evened(first), fps, temporary));
        bool taken = true;
        for (size_t i = 0; i < pictures.size() && taken; ++i) {
            const Image picture = i == 0 ? first : read_image(pictures[i]);
            if (picture.width != first.width || picture.height != first.height)
                fail("{} is {} x {} pixels but the first picture of the movie is {} x {}", pictures[i], picture.width,
                     picture.height, first.width, first.height);
            taken = ffmpeg.send(srgb_bytes(evened(picture)));
        }
        if (!ffmpeg.finish() || !taken) fail("cannot write {}: ffmpeg: {}", path, ffmpeg.last_error_line());
    });
}

double memory_of_encoder(int width, int height, int pictures)
{
    // x264 looks 40 pictures ahead and holds one per thread, with three threads per two cores. It stores each picture
    // in several sizes, plus the residual to be coded.
    constexpr double kProgram = 5.4e7, kBytesPerPixel = 5.5;
    const double threads = 1.5 * std::max(1u, std::thread::hardware_concurrency());
    return kProgram + kBytesPerPixel * width * height * std::min<double>(pictures, 42 + threads);
}

} // namespace spindrift
