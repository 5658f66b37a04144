// From the text of an expression to machine code: AX parses it and generates the code for one element, with attributes,
// parameters and names in quotes treated here; the rest is llvm_loop.h.
#include "expression/compiler.h"
#include "expression/functions.h"
#include "expression/llvm_loop.h"
#include "expression/vdb_ax_functions.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <openvdb_ax/ast/AST.h>
#include <openvdb_ax/ast/Parse.h>
#include <openvdb_ax/ast/Scanners.h>
#include <openvdb_ax/ax.h>
#include <openvdb_ax/codegen/ComputeGenerator.h>
#include <openvdb_ax/codegen/Functions.h>
#include <openvdb_ax/codegen/Utils.h>
#include <openvdb_ax/compiler/CompilerOptions.h>
#include <openvdb_ax/compiler/Logger.h>
#include <optional>
#include <set>

namespace spindrift {

namespace {

namespace ax = openvdb::ax;
namespace ast = openvdb::ax::ast;
using ast::tokens::CoreType;

constexpr const char* kGroupPrefix = "group_";

// ---------------------------------------------------------------------------------------------------------- messages
// --

// AX's parser speaks of its own names for symbols.
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

// AX writes "what is wrong LINE:COLUMN".
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

// Takes AX's messages. It stops at the first error, because AX's generator may not go on safely after one.
class Messages {
  public:
    Messages()
        : logger_([this](const std::string& text) { error_ = split_message(text); },
                  [this](const std::string& text) { warning_ = split_message(text); })
    {
        logger_.setMaxErrors(1);
        logger_.setNumberedOutput(false);
        logger_.setPrintLines(false);
        logger_.setErrorPrefix("");
        logger_.setWarningPrefix("");
    }
    ax::Logger& logger() { return logger_; }
    const CompileFault& error() const { return error_; }
    SourcePosition position(const ast::Node& node)
    {
        logger_.warning("here", &node);
        return warning_.position;
    }

  private:
    CompileFault error_, warning_;
    ax::Logger logger_;
};

// Thrown through AX's generator and caught at the end of this file.
template <class... Args>
[[noreturn]] void fault(Messages& messages, const ast::Node& node, fmt::format_string<Args...> format, Args&&... args)
{
    throw CompileFault{fmt::format(format, std::forward<Args>(args)...), messages.position(node), {}, {}};
}

// ------------------------------------------------------------------------------------------- what an expression names
// --

// How a type of the language is stored.
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

struct Names : KernelNames {
    std::vector<CoreType> types; // of the attributes, in the language

    static size_t find(const std::vector<KernelName>& list, const std::string& name)
    {
        size_t i = 0;
        while (i < list.size() && list[i].name != name) ++i;
        return i;
    }
};

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

    // An attribute without a type has the one that it is given elsewhere; otherwise it is a float.
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
            fault(messages_, node, "{}() works on {} only", node.name(), on_points ? "volumes" : "points");
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
                fault(messages_, node, "\"{}\" is used as numbers and as vectors", literal->value());
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
            if (!usable) fault(messages_, *literal, "a group's name has letters, digits and _ only");
            add_attribute({kGroupPrefix + literal->value(), ElementType::int32, function != "ingroup", position},
                          CoreType::INT32, node);
        }
    }

    const ast::Tree& tree_;
    KernelTarget target_;
    Messages& messages_;
    Names names_;
    std::set<std::string> written_;
    std::map<std::string, CoreType> types_; // where they are known
};

// --------------------------------------------------------------------------------------------------------- generator
// --

class Generator final : public ax::codegen::codegen_internal::ComputeGenerator {
    using Base = ax::codegen::codegen_internal::ComputeGenerator;

  public:
    Generator(llvm::Module& module, const ax::FunctionOptions& options, ax::codegen::FunctionRegistry& registry,
              Messages& messages, const Names& names, const std::vector<KernelParameter>& parameters)
        : Base(module, options, registry, messages.logger()), registry_(registry), messages_(messages), names_(names),
          parameters_(parameters)
    {
    }

    using Base::traverse;
    using Base::visit;

    // The function for one element, complete but for its undefined operations; null after an error.
    llvm::Function* generate_element(const ast::Tree& tree, const std::vector<llvm::Type*>& values)
    {
        mFunction = declare_element(mModule, values);
        mBuilder.SetInsertPoint(llvm::BasicBlock::Create(mContext, "entry", mFunction));
        const bool done = this->traverse(&tree) && !mLog.hasError();
        return done ? mFunction : nullptr;
    }

    bool visit(const ast::Attribute* node) override
    {
        mValues.push(attribute(node->name()));
        return true;
    }

    bool visit(const ast::ExternalVariable* node) override
    {
        size_t slot = 0;
        while (slot < parameters_.size() && parameters_[slot].name != node->name()) ++slot;
        if (slot == parameters_.size()) unknown_parameter(*node);
        const auto stored = stored_as(node->type());
        if (!stored) fault(messages_, *node, "${} must be a number or a vec3f", node->name());
        const bool wants_vector = *stored == ElementType::vec3f;
        if (wants_vector != parameters_[slot].is_vector)
            fault(messages_, *node, "${0} is a {1}; write {2}${0}", node->name(), wants_vector ? "number" : "vector",
                  wants_vector ? "" : "v");
        llvm::Value* numbers = ax::codegen::extractArgument(mFunction, element_argument::parameters);
        llvm::Type* type = ax::codegen::llvmTypeFromToken(node->type(), mContext);
        const auto number = [&](unsigned c, llvm::Type* to) {
            const auto at = static_cast<unsigned>(3 * slot) + c;
            llvm::Value* value = mBuilder.CreateLoad(
                mBuilder.getDoubleTy(), mBuilder.CreateConstInBoundsGEP1_32(mBuilder.getDoubleTy(), numbers, at));
            return ax::codegen::arithmeticConversion(value, to, mBuilder);
        };
        if (!wants_vector) {
            mValues.push(number(0, type));
            return true;
        }
        llvm::Value* vector = ax::codegen::insertStaticAlloca(mBuilder, type);
        for (unsigned c = 0; c < 3; ++c)
            mBuilder.CreateStore(number(c, type->getArrayElementType()),
                                 mBuilder.CreateConstInBoundsGEP2_32(type, vector, 0, c));
        mValues.push(vector);
        return true;
    }

    // A name in quotes becomes the number of its slot. There are no other strings: they would allocate memory for each
    // point, without a bound in a loop.
    bool visit(const ast::Value<std::string>* node) override
    {
        const auto* call = dynamic_cast<const ast::FunctionCall*>(node->parent());
        const ExpressionFunction* function = call ? find_expression_function(call->name()) : nullptr;
        if (!function || !function->takes_name || call->child(0) != node)
            fault(messages_, *node, "text in quotes can only name something, as in volume(\"density\", vec3f@P)");
        const bool volume = call->name().starts_with("volume");
        const size_t slot = Names::find(volume ? names_.volumes : names_.neighbour_attributes, node->value());
        mValues.push(mBuilder.getInt32(static_cast<uint32_t>(slot)));
        return true;
    }

    bool visit(const ast::DeclareLocal* node) override
    {
        if (node->type() == CoreType::STRING) fault(messages_, *node, "there are no variables that hold text");
        return Base::visit(node);
    }

    bool visit(const ast::FunctionCall* node) override
    {
        if (node->name().ends_with("group") && find_expression_function(node->name()))
            visit_group(*node);
        else if (!registry_.getOrInsert(node->name(), mOptions, /*allowInternalAccess=*/false))
            unknown_function(*node);
        else if (!Base::visit(node))
            return explain_signature(*node);
        const bool is_statement = dynamic_cast<const ast::Block*>(node->parent()) != nullptr;
        if (!is_statement && !mValues.empty() && mValues.top()->getType()->isVoidTy())
            fault(messages_, *node, "{}() gives no value", node->name());
        return true;
    }

  private:
    llvm::Value* attribute(const std::string& name)
    {
        return mFunction->getArg(static_cast<unsigned>(Names::find(names_.attributes, name)));
    }

    // A name in quotes has become a number by now, which would be confusing to read.
    bool explain_signature(const ast::FunctionCall& node)
    {
        const ExpressionFunction* function = find_expression_function(node.name());
        if (!function || !function->takes_name) return false;
        fault(messages_, node, "{}() wants other arguments: {}", node.name(), function->signature);
    }

    void visit_group(const ast::FunctionCall& node)
    {
        mValues.pop(); // the name
        const std::string& group = static_cast<const ast::Value<std::string>*>(node.child(0))->value();
        llvm::Value* member = attribute(kGroupPrefix + group);
        if (node.name() == "ingroup")
            mValues.push(
                mBuilder.CreateICmpNE(mBuilder.CreateLoad(mBuilder.getInt32Ty(), member), mBuilder.getInt32(0)));
        else
            mValues.push(mBuilder.CreateStore(mBuilder.getInt32(node.name() == "addtogroup" ? 1 : 0), member));
    }

    [[noreturn]] void unknown_function(const ast::FunctionCall& node)
    {
        std::vector<std::string> known;
        for (const auto& [name, function] : registry_.map())
            if (!function.isInternal()) known.push_back(name);
        std::sort(known.begin(), known.end());
        throw CompileFault{"there is no function " + node.name() + "()", messages_.position(node), node.name(), known};
    }

    [[noreturn]] void unknown_parameter(const ast::ExternalVariable& node)
    {
        std::vector<std::string> known;
        for (const KernelParameter& parameter : parameters_) known.push_back("$" + parameter.name);
        throw CompileFault{"there is no parameter $" + node.name(), messages_.position(node), "$" + node.name(), known};
    }

    ax::codegen::FunctionRegistry& registry_;
    Messages& messages_;
    const Names& names_;
    const std::vector<KernelParameter>& parameters_;
};

Symbols symbols_of(const ax::codegen::FunctionRegistry& registry)
{
    Symbols symbols;
    for (const auto& [name, registered] : registry.map()) {
        if (!registered.function()) continue; // never called
        for (const auto& function : registered.function()->list())
            if (const auto* in_cpp = dynamic_cast<const ax::codegen::CFunctionBase*>(function.get()))
                symbols.emplace_back(in_cpp->symbol(), in_cpp->address());
    }
    return symbols;
}

struct Program final : CompiledKernel {
    std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
    std::unique_ptr<llvm::ExecutionEngine> engine; // goes before its context

    explicit Program(const CompileRequest& request)
    {
        Messages messages;
        const ast::Tree::ConstPtr tree = ast::parse(request.text.c_str(), messages.logger());
        if (!tree || messages.logger().hasError()) throw messages.error();
        const Names names = NameCollector(*tree, request.target, messages).collect();

        auto module = std::make_unique<llvm::Module>("expression", *context);
        std::vector<llvm::Type*> values;
        for (const CoreType type : names.types) values.push_back(ax::codegen::llvmTypeFromToken(type, *context));
        const ax::FunctionOptions options;
        const auto registry = make_function_registry(request.target, options);
        Generator generator(*module, options, *registry, messages, names, request.parameters);
        llvm::Function* element = generator.generate_element(*tree, values);
        if (!element) throw messages.error();
        const bool loops = limit_loops(*element);
        define_undefined(*module);
        add_loop(*element, names.attributes, values, loops);
        engine = make_engine(std::move(module), symbols_of(*registry));
        function = reinterpret_cast<decltype(function)>(engine->getFunctionAddress(kernel_name));
        static_cast<KernelNames&>(*this) = names;
    }
};

} // namespace
} // namespace spindrift

spindrift::CompiledKernel* spindrift_compile_kernel(const spindrift::CompileRequest& request,
                                                    spindrift::CompileFault& fault)
{
    static std::once_flag once;
    try {
        std::call_once(once, [] { openvdb::ax::initialize(); });
        return new spindrift::Program(request);
    } catch (const spindrift::CompileFault& found) {
        fault = found;
    } catch (const std::exception& e) {
        fault.text = e.what();
    }
    return nullptr;
}
