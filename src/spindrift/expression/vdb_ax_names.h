// What the half of the compiler that knows AX shares: its messages, and what an expression names. Internal to this
// folder, because it includes AX.
#pragma once

#include "spindrift/expression/compiler.h"

#include <fmt/format.h>
#include <openvdb_ax/ast/AST.h>
#include <openvdb_ax/compiler/Logger.h>
#include <optional>

namespace spindrift {

// A group is an attribute of this name and the group's.
inline constexpr const char* kGroupPrefix = "group_";

// Takes AX's messages. It stops at the first error, because AX's generator may not go on safely after one.
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

// Thrown through AX's generator and caught where it was started.
template <class... Args> [[noreturn]] void fault(Messages& messages, const openvdb::ax::ast::Node& node,
                                                 fmt::format_string<Args...> format, Args&&... args)
{
    throw CompileFault{fmt::format(format, std::forward<Args>(args)...), messages.position(node), {}, {}};
}

// How a type of the language is stored; nothing for types that particles and volumes do not have.
std::optional<ElementType> stored_as(openvdb::ax::ast::tokens::CoreType type);

struct Names : KernelNames {
    std::vector<openvdb::ax::ast::tokens::CoreType> types; // of the attributes, in the language

    static size_t find(const std::vector<KernelName>& list, const std::string& name)
    {
        size_t i = 0;
        while (i < list.size() && list[i].name != name) ++i;
        return i;
    }
};

// Throws CompileFault for what cannot be named so.
Names collect_names(const openvdb::ax::ast::Tree& tree, KernelTarget target, Messages& messages);

} // namespace spindrift
