// A temporary folder that lives as long as the test, and a helper that returns the message of an expected Error.
#pragma once

#include "spindrift/base/error.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace spindrift {

class TempFolder {
  public:
    TempFolder()
    {
        std::string pattern = (std::filesystem::temp_directory_path() / "spindrift_XXXXXX").string();
        if (!::mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
        path_ = pattern;
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    ~TempFolder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    const std::string& path() const { return path_; }

    std::vector<std::string> files() const
    {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(path_))
            names.push_back(entry.path().filename().string());
        return names;
    }

  private:
    std::string path_;
};

// Message of the Error with this code that `body` must throw.
template <class Body> std::string error_of(ExitCode code, const Body& body)
{
    try {
        body();
    } catch (const Error& e) {
        EXPECT_EQ(static_cast<int>(e.code), static_cast<int>(code)) << e.what();
        return e.what();
    }
    ADD_FAILURE() << "no error";
    return "";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace spindrift
