#include "spindrift/base/error.h"
#include "spindrift/base/printable.h"
#include "spindrift/cli/cli.h"

#include <cstdio>
#include <new>

namespace {

int report(spindrift::ExitCode code, const std::string& message)
{
    std::fflush(stdout);
    std::fputs(("spindrift: " + spindrift::printable(message) + "\n").c_str(), stderr);
    return static_cast<int>(code);
}

} // namespace

// The only place where errors are caught and printed.
int main(int argc, char** argv)
{
    using namespace spindrift;
    try {
        return run_command_line(argc, argv);
    } catch (const Error& error) {
        return report(error.code, error.what());
    } catch (const std::bad_alloc&) {
        return report(ExitCode::failed, "out of memory; see what the shot needs with: spindrift check SCENE");
    } catch (const std::exception& error) {
        return report(ExitCode::failed, error.what());
    }
}
