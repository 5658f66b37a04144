// Shared by the AX half of the compiler: error messages and the names that an expression uses. Internal to this folder,
// because it includes AX.
#pragma once

#include "spindrift/expression/compiler.h"

#include <fmt/format.h>
#include <openvdb_ax/ast/AST.h>
#include <openvdb_ax/compiler/Logger.h>
#include <optional>

namespace spindrift {

// A group is stored as the attribute with this prefix and the group's name.
inline constexpr const char* kGroupPrefix = "group_";

// Receives AX's messages. Stops at the first error, because AX's generator is not safe after one.
class Messages {
  public:
    Messages();
    openvdb::ax::Logger& logger() { return logger_; }
    const CompileFault& error() const { return error_; }
    SourcePosition position(const openvdb::ax::ast::Node& node);

  private:
    CompileFault error_, warning_;
    openvdb::ax::Logger logger_;
};

// Throws through AX's generator to the code that started it.
template <class... Args> [[noreturn]] void fault(Messages& messages, const openvdb::ax::ast::Node& node,
                                                 fmt::format_string<Args...> format, Args&&... args)
{
    throw CompileFault{fmt::format(format, std::forward<Args>(args)...), messages.position(node), {}, {}};
}

// Storage type of an AX type; empty for types that particles and volumes cannot hold.
std::optional<ElementType> stored_as(openvdb::ax::ast::tokens::CoreType type);

struct Names : KernelNames {
    std::vector<openvdb::ax::ast::tokens::CoreType> types; // AX types of the attributes

    static size_t find(const std::vector<KernelName>& list, const std::string& name)
    {
        size_t i = 0;
        while (i < list.size() && list[i].name != name) ++i;
        return i;
    }
};

// Throws CompileFault for invalid names.
Names collect_names(const openvdb::ax::ast::Tree& tree, KernelTarget target, Messages& messages);

} // namespace spindrift
