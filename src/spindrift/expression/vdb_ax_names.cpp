#include "spindrift/expression/vdb_ax_names.h"

#include "spindrift/expression/functions.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <openvdb_ax/ast/Scanners.h>
#include <set>

namespace spindrift {

namespace ast = openvdb::ax::ast;
using ast::tokens::CoreType;

namespace {

// Replaces AX's token names by the symbols themselves.
std::string with_symbols(std::string text)
{
    static const std::pair<const char*, const char*> table[] = {
        {"SEMICOLON", "';'"}, {"AT", "'@'"},      {"DOLLAR", "'$'"},  {"EQUALSEQUALS", "'=='"},
        {"EQUALS", "'='"},    {"RPARENS", "')'"}, {"LPARENS", "'('"}, {"LCURLY", "'{'"},
        {"RCURLY", "'}'"},    {"LSQUARE", "'['"}, {"RSQUARE", "']'"}, {"COMMA", "','"},
        {"QUESTION", "'?'"},  {"COLON", "':'"},   {"PLUS", "'+'"},    {"MINUS", "'-'"},
        {"MULTIPLY", "'*'"},  {"DIVIDE", "'/'"},  {"MODULO", "'%'"},  {"IDENTIFIER", "a name"},
        {"DOT_X", "'.x'"},    {"DOT_Y", "'.y'"},  {"DOT_Z", "'.z'"},  {"LESSTHAN", "'<'"},
        {"MORETHAN", "'>'"},
    };
    for (const auto& [name, symbol] : table)
        for (const std::string before : {"unexpected ", "expecting "})
            if (const size_t at = text.find(before + name); at != std::string::npos) {
                const size_t end = at + before.size() + std::strlen(name);
                if (end == text.size() || text[end] == ',' || text[end] == ' ')
                    text.replace(at + before.size(), std::strlen(name), symbol);
            }
    return text;
}

// AX messages have the form "message LINE:COLUMN".
CompileFault split_message(std::string text)
{
    CompileFault fault;
    const size_t space = text.find_last_of(" \n");
    int line = 0, column = 0;
    if (space != std::string::npos && std::sscanf(text.c_str() + space + 1, "%d:%d", &line, &column) == 2) {
        fault.position = {line, column};
        text.resize(space);
    }
    while (!text.empty() && (std::isspace(static_cast<unsigned char>(text.back())) || text.back() == ':' ||
                             text.back() == '.' || text.back() == '!'))
        text.pop_back();
    fault.text = with_symbols(std::move(text));
    return fault;
}

class NameCollector {
  public:
    NameCollector(const ast::Tree& tree, KernelTarget target, Messages& messages)
        : tree_(tree), target_(target), messages_(messages)
    {
        std::vector<const ast::Variable*> written, read_and_written;
        ast::catalogueVariables(tree, nullptr, &written, &read_and_written, /*locals=*/false, /*attributes=*/true);
        for (const auto& list : {written, read_and_written})
            for (const ast::Variable* variable : list) written_.insert(variable->name());
        if (target == KernelTarget::points)
            types_ = {{"P", CoreType::VEC3F}, {"v", CoreType::VEC3F}, {"id", CoreType::INT32}};
        ast::visitNodeType<ast::Attribute>(tree, [this](const ast::Attribute& node) {
            if (!node.inferred()) types_.emplace(node.name(), node.type());
            return true;
        });
    }

    Names collect()
    {
        ast::visitNodeType<ast::Attribute>(tree_, [this](const ast::Attribute& node) { return attribute(node), true; });
        ast::visitNodeType<ast::FunctionCall>(tree_,
                                              [this](const ast::FunctionCall& node) { return call(node), true; });
        return std::move(names_);
    }

  private:
    void add_attribute(const KernelName& name, CoreType type, const ast::Node& node)
    {
        const size_t i = Names::find(names_.attributes, name.name);
        if (i == names_.attributes.size()) {
            names_.attributes.push_back(name);
            names_.types.push_back(type);
        } else if (names_.types[i] != type) {
            fault(messages_, node, "@{} is used as {} and as {}; give it one type", name.name,
                  ast::tokens::typeStringFromToken(names_.types[i]), ast::tokens::typeStringFromToken(type));
        }
        names_.attributes[i].written |= name.written;
    }

    // An untyped attribute has the type given elsewhere in the expression, or float.
    void attribute(const ast::Attribute& node)
    {
        const auto known = types_.find(node.name());
        const CoreType type = node.inferred() && known != types_.end() ? known->second : node.type();
        const auto stored = stored_as(type);
        if (!stored)
            fault(messages_, node, "@{} is a {}; {} hold float, int32 and vec3f", node.name(), node.typestr(),
                  target_ == KernelTarget::points ? "particles" : "volumes");
        add_attribute({node.name(), *stored, written_.contains(node.name()), messages_.position(node)}, type, node);
    }

    void call(const ast::FunctionCall& node)
    {
        const ExpressionFunction* function = find_expression_function(node.name());
        if (!function) return;
        using Where = ExpressionFunction::Where;
        const bool on_points = target_ == KernelTarget::points;
        if (function->where == (on_points ? Where::volumes : Where::points))
            fault(messages_, node, "{}() is available on {} only", node.name(), on_points ? "volumes" : "points");
        names_.deletes_points |= node.name() == "deletepoint";
        names_.needs_collider |= node.name().starts_with("collider_");
        names_.needs_neighbours |= node.name().starts_with("neighbours");
        if (function->takes_name) add_name(node);
    }

    void add_name(const ast::FunctionCall& node)
    {
        const auto* literal =
            node.children() > 0 ? dynamic_cast<const ast::Value<std::string>*>(node.child(0)) : nullptr;
        if (!literal) fault(messages_, node, "the first argument of {}() must be a name in quotes", node.name());
        const std::string& function = node.name();
        const SourcePosition position = messages_.position(*literal);
        const auto add = [&](std::vector<KernelName>& list, ElementType type) {
            const size_t i = Names::find(list, literal->value());
            if (i == list.size()) list.push_back({literal->value(), type, false, position});
            if (list[i].type != type)
                fault(messages_, node, "\"{}\" is used both as a scalar and as a vector", literal->value());
        };
        if (function == "volume") add(names_.volumes, ElementType::float32);
        if (function == "volumev") add(names_.volumes, ElementType::vec3f);
        if (function == "neighbours_mean" || function == "neighbours_gradient")
            add(names_.neighbour_attributes, ElementType::float32);
        if (function == "neighbours_meanv") add(names_.neighbour_attributes, ElementType::vec3f);
        if (function.ends_with("group")) {
            if (node.children() != 1) fault(messages_, node, "{}() takes one name", function);
            const bool usable =
                !literal->value().empty() && std::all_of(literal->value().begin(), literal->value().end(),
                                                         [](unsigned char c) { return std::isalnum(c) || c == '_'; });
            if (!usable) fault(messages_, *literal, "a group name may contain only letters, digits and _");
            add_attribute({kGroupPrefix + literal->value(), ElementType::int32, function != "ingroup", position},
                          CoreType::INT32, node);
        }
    }

    const ast::Tree& tree_;
    KernelTarget target_;
    Messages& messages_;
    Names names_;
    std::set<std::string> written_;
    std::map<std::string, CoreType> types_; // of attributes with a known type
};

} // namespace

Messages::Messages()
    : logger_([this](const std::string& text) { error_ = split_message(text); },
              [this](const std::string& text) { warning_ = split_message(text); })
{
    logger_.setMaxErrors(1);
    logger_.setNumberedOutput(false);
    logger_.setPrintLines(false);
    logger_.setErrorPrefix("");
    logger_.setWarningPrefix("");
}

// AX reports positions only in its messages.
SourcePosition Messages::position(const ast::Node& node)
{
    logger_.warning("here", &node);
    return warning_.position;
}

std::optional<ElementType> stored_as(CoreType type)
{
    switch (type) {
    case CoreType::FLOAT:
    case CoreType::DOUBLE:
        return ElementType::float32;
    case CoreType::BOOL:
    case CoreType::INT16:
    case CoreType::INT32:
    case CoreType::INT64:
        return ElementType::int32;
    case CoreType::VEC3F:
    case CoreType::VEC3D:
        return ElementType::vec3f;
    default:
        return std::nullopt;
    }
}

Names collect_names(const ast::Tree& tree, KernelTarget target, Messages& messages)
{
    return NameCollector(tree, target, messages).collect();
}

} // namespace spindrift
