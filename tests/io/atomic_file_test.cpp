#include "spindrift/io/atomic_file.h"

#include "temp_folder.h"

#include <csignal>
#include <fstream>
#include <set>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace spindrift;

TEST(AtomicFile, WritesAllBytesAndCreatesMissingFolders)
{
    const TempFolder folder;
    const std::string path = folder / "a/b/c.bin";
    const std::string bytes("zero\0inside\n", 12);
    write_file(path, bytes);
    EXPECT_EQ(read_file(path), bytes);
    EXPECT_TRUE(file_exists(path));
    EXPECT_FALSE(file_exists(folder / "a/b"));
    EXPECT_FALSE(file_exists(folder / "nothing"));
}

TEST(AtomicFile, OverwritesAndLeavesNoTemporaryFileBehind)
{
    const TempFolder folder;
    write_file(folder / "file", "a longer text");
    write_file(folder / "file", "short");
    EXPECT_EQ(read_file(folder / "file"), "short");
    EXPECT_EQ(folder.files(), std::vector<std::string>{"file"});
}

TEST(AtomicFile, TemporaryFileIsInTheSameFolderAndEndsInTmp)
{
    const TempFolder folder;
    std::set<std::string> names;
    for (int i = 0; i < 3; ++i)
        write_atomically(folder / "file", [&](const std::string& temporary) {
            EXPECT_TRUE(temporary.starts_with(folder.path() + "/file."));
            EXPECT_TRUE(temporary.ends_with(".tmp"));
            names.insert(temporary);
            std::ofstream(temporary) << i;
            EXPECT_NE(read_file(temporary), file_exists(folder / "file") ? read_file(folder / "file") : "");
        });
    EXPECT_EQ(names.size(), 3u);
    EXPECT_EQ(read_file(folder / "file"), "2");
}

TEST(AtomicFile, FailedWriteKeepsTheExistingFile)
{
    const TempFolder folder;
    write_file(folder / "file", "precious");
    const auto half_written = [&](const std::string& temporary) {
        std::ofstream(temporary) << "half of i";
        throw std::runtime_error("the writer failed");
    };
    const std::string message = error_of(ExitCode::failed, [&] { write_atomically(folder / "file", half_written); });
    EXPECT_TRUE(contains(message, folder / "file"));
    EXPECT_TRUE(contains(message, "the writer failed"));
    EXPECT_EQ(read_file(folder / "file"), "precious");
    EXPECT_EQ(folder.files(), std::vector<std::string>{"file"});
}

TEST(AtomicFile, WriterThatWritesNothingIsAnError)
{
    const TempFolder folder;
    const std::string message = error_of(ExitCode::failed, [&] { write_atomically(folder / "f", [](const auto&) {}); });
    EXPECT_TRUE(contains(message, folder / "f"));
    EXPECT_TRUE(folder.files().empty());
}

// A file-size limit stands in for a full disk: write() takes some bytes and then fails.
TEST(AtomicFile, FullDiskIsAnErrorAndKeepsTheExistingFile)
{
    const TempFolder folder;
    write_file(folder / "file", "precious");
    const pid_t child = ::fork();
    if (child == 0) {
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit = {1000, 1000};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        try {
            write_file(folder / "file", std::string(5000, 'x'));
        } catch (const Error& e) {
            const std::string message = e.what();
            ::_exit(e.code == ExitCode::failed && contains(message, folder / "file") && contains(message, "larger")
                        ? 7
                        : 8);
        } catch (...) {
        }
        ::_exit(9);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 7);
    EXPECT_EQ(read_file(folder / "file"), "precious");
    EXPECT_EQ(folder.files(), std::vector<std::string>{"file"});
}

TEST(AtomicFile, FileInPlaceOfAFolderIsExplained)
{
    const TempFolder folder;
    write_file(folder / "plain", "");
    const std::string message = error_of(ExitCode::failed, [&] { write_file(folder / "plain/sub/file", "x"); });
    EXPECT_TRUE(contains(message, folder / "plain/sub/file"));
    EXPECT_TRUE(contains(message, "not a folder"));
}

TEST(AtomicFile, FolderInPlaceOfTheFileIsExplained)
{
    const TempFolder folder;
    std::filesystem::create_directory(folder / "name");
    const std::string message = error_of(ExitCode::failed, [&] { write_file(folder / "name", "x"); });
    EXPECT_TRUE(contains(message, "a folder of that name"));
    EXPECT_EQ(folder.files(), std::vector<std::string>{"name"});
}

TEST(AtomicFile, FolderWithoutPermissionIsExplained)
{
    if (::geteuid() == 0) GTEST_SKIP() << "permissions do not apply to root";
    const TempFolder folder;
    std::filesystem::create_directory(folder / "locked");
    std::filesystem::permissions(folder / "locked", std::filesystem::perms::owner_read);
    const std::string message = error_of(ExitCode::failed, [&] { write_file(folder / "locked/file", "x"); });
    std::filesystem::permissions(folder / "locked", std::filesystem::perms::owner_all);
    EXPECT_TRUE(contains(message, "permission"));
}

TEST(AtomicFile, ConcurrentWritersLeaveOneCompleteFile)
{
    const TempFolder folder;
    std::vector<std::thread> writers;
    for (char c = 'a'; c < 'i'; ++c)
        writers.emplace_back([&folder, c] {
            for (int i = 0; i < 5; ++i) write_file(folder / "file", std::string(100000, c));
        });
    for (std::thread& writer : writers) writer.join();
    const std::string bytes = read_file(folder / "file");
    EXPECT_EQ(bytes, std::string(100000, bytes[0]));
    EXPECT_EQ(folder.files(), std::vector<std::string>{"file"});
}

TEST(AtomicFile, ReadErrorsNameTheFile)
{
    const TempFolder folder;
    EXPECT_TRUE(contains(error_of(ExitCode::failed, [&] { read_file(folder / "missing"); }), folder / "missing"));
    EXPECT_TRUE(contains(error_of(ExitCode::failed, [&] { read_file(folder.path()); }), folder.path()));
    write_file(folder / "empty", "");
    EXPECT_EQ(read_file(folder / "empty"), "");
}

TEST(Hash, DependsOnEveryBitLengthAndSeed)
{
    std::string bytes(100, 'q');
    std::set<uint64_t> hashes = {hash_bytes(bytes), hash_bytes(bytes, 1), hash_bytes(bytes + '\0'),
                                 hash_bytes(bytes.substr(1))};
    for (size_t i = 0; i < bytes.size(); ++i)
        for (int bit = 0; bit < 8; ++bit) {
            std::string changed = bytes;
            changed[i] = static_cast<char>(changed[i] ^ 1 << bit);
            hashes.insert(hash_bytes(changed));
        }
    EXPECT_EQ(hashes.size(), 804u);
    // Swapped blocks collide in hashes that add up blocks.
    EXPECT_NE(hash_bytes(std::string(32, 'a') + std::string(32, 'b')),
              hash_bytes(std::string(32, 'b') + std::string(32, 'a')));
}

// Records on disk hold these hashes, so they must never change.
TEST(Hash, ValuesNeverChange)
{
    EXPECT_EQ(hash_bytes(""), 11298598012713765599u);
    EXPECT_EQ(hash_bytes("spindrift"), 11037650510953940253u);
    EXPECT_EQ(hash_bytes(std::string(1000, 'x'), 42), 8737150349566005694u);
}
