// Compiles the text of an expression. AX parses it and generates the code for one element; this file handles
// attributes, parameters and quoted names, and llvm_loop.h the loop and machine code.
#include "spindrift/expression/functions.h"
#include "spindrift/expression/llvm_loop.h"
#include "spindrift/expression/vdb_ax_functions.h"
#include "spindrift/expression/vdb_ax_names.h"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <mutex>
#include <openvdb_ax/ast/Parse.h>
#include <openvdb_ax/ax.h>
#include <openvdb_ax/codegen/ComputeGenerator.h>
#include <openvdb_ax/codegen/Functions.h>
#include <openvdb_ax/codegen/Utils.h>
#include <openvdb_ax/compiler/CompilerOptions.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace spindrift {

namespace {

namespace ax = openvdb::ax;
namespace ast = openvdb::ax::ast;
using ast::tokens::CoreType;

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

    // The function for one element, before define_undefined(); null after an error.
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

    // Replaces a quoted name by its slot number. Other strings are refused: they would allocate memory per point,
    // without bound in a loop.
    bool visit(const ast::Value<std::string>* node) override
    {
        const auto* call = dynamic_cast<const ast::FunctionCall*>(node->parent());
        const ExpressionFunction* function = call ? find_expression_function(call->name()) : nullptr;
        if (!function || !function->takes_name || call->child(0) != node)
            fault(messages_, *node,
                  "a quoted text can only be the name argument of a function, as in volume(\"density\", vec3f@P)");
        const bool volume = call->name().starts_with("volume");
        const size_t slot = Names::find(volume ? names_.volumes : names_.neighbour_attributes, node->value());
        mValues.push(mBuilder.getInt32(static_cast<uint32_t>(slot)));
        return true;
    }

    bool visit(const ast::DeclareLocal* node) override
    {
        if (node->type() == CoreType::STRING) fault(messages_, *node, "string variables are not supported");
        return Base::visit(node);
    }

    // Work around AX, which drops the value of a cast to the same type.
    bool visit(const ast::Cast* node) override
    {
        llvm::Type* type = mValues.top()->getType();
        if (type->isPointerTy()) type = type->getPointerElementType();
        return type == ax::codegen::llvmTypeFromToken(node->type(), mContext) || Base::visit(node);
    }

    // AX requires both indices of a matrix to have the same type.
    bool visit(const ast::ArrayUnpack* node) override
    {
        llvm::Value* array = mValues.top();
        mValues.pop();
        std::vector<llvm::Value*> indices(node->isMatrixIndex() ? 2 : 1);
        for (llvm::Value*& index : indices) {
            index = mValues.top();
            mValues.pop();
            llvm::Type* type = index->getType();
            if (type->isPointerTy() && type->getPointerElementType()->isIntegerTy())
                index = mBuilder.CreateLoad(type->getPointerElementType(), index);
            if (index->getType()->isIntegerTy())
                index = ax::codegen::arithmeticConversion(index, mBuilder.getInt32Ty(), mBuilder);
        }
        for (auto index = indices.rbegin(); index != indices.rend(); ++index) mValues.push(*index);
        mValues.push(array);
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
            fault(messages_, *node, "{}() returns no value", node->name());
        return true;
    }

  private:
    llvm::Value* attribute(const std::string& name)
    {
        return mFunction->getArg(static_cast<unsigned>(Names::find(names_.attributes, name)));
    }

    // AX's own message would show the slot number instead of the quoted name.
    bool explain_signature(const ast::FunctionCall& node)
    {
        const ExpressionFunction* function = find_expression_function(node.name());
        if (!function || !function->takes_name) return false;
        fault(messages_, node, "wrong arguments for {}(); the signature is {}", node.name(), function->signature);
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
        throw CompileFault{"there is no parameter $" + node.name() + " (set with --set, in a scene with parameters)",
                           messages_.position(node), "$" + node.name(), known};
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

// The code for one element and its metadata.
struct Generated {
    Names names;
    std::vector<llvm::Type*> values; // attribute types
    std::unique_ptr<llvm::Module> module;
    llvm::Function* element = nullptr;
    Symbols symbols;
};

Generated generate(const ast::Tree& tree, const CompileRequest& request, Messages& messages, llvm::LLVMContext& context)
{
    Generated made;
    made.names = collect_names(tree, request.target, messages);
    made.module = std::make_unique<llvm::Module>("expression", context);
    for (const CoreType type : made.names.types) made.values.push_back(ax::codegen::llvmTypeFromToken(type, context));
    const ax::FunctionOptions options;
    const auto registry = make_function_registry(request.target, options);
    Generator generator(*made.module, options, *registry, messages, made.names, request.parameters);
    made.element = generator.generate_element(tree, made.values);
    if (!made.element) throw messages.error();
    made.symbols = symbols_of(*registry);
    return made;
}

// AX aborts the process on some invalid expressions because of its own bugs. Try code generation in a child process
// first; it skips optimisation, which takes most of the time.
bool is_safe_to_generate(const ast::Tree& tree, const CompileRequest& request, Messages& messages)
{
    constexpr unsigned timeout_seconds = 20;
    const pid_t child = ::fork();
    if (child < 0) return true; // fork failed; most expressions are harmless
    if (child == 0) {
        const rlimit none = {0, 0};
        ::setrlimit(RLIMIT_CORE, &none);
        const int nothing = ::open("/dev/null", O_WRONLY);
        ::dup2(nothing, STDERR_FILENO);
        for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM}) std::signal(signal, SIG_DFL);
        ::alarm(timeout_seconds);
        try {
            llvm::LLVMContext context;
            generate(tree, request, messages, context);
        } catch (...) { // the parent reports errors
        }
        ::_exit(0);
    }
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(child, &status, 0)) < 0 && errno == EINTR) {
    }
    return ended < 0 || WIFEXITED(status);
}

struct Program final : CompiledKernel {
    std::unique_ptr<llvm::LLVMContext> context = std::make_unique<llvm::LLVMContext>();
    std::unique_ptr<llvm::ExecutionEngine> engine; // destroyed before its context

    explicit Program(const CompileRequest& request)
    {
        Messages messages;
        const ast::Tree::ConstPtr tree = ast::parse(request.text.c_str(), messages.logger());
        if (!tree || messages.logger().hasError()) throw messages.error();
        if (!is_safe_to_generate(*tree, request, messages))
            throw CompileFault{"this expression crashes the AX compiler; rewrite it", {}, {}, {}};
        Generated made = generate(*tree, request, messages, *context);
        const bool loops = limit_loops(*made.element);
        define_undefined(*made.module);
        add_loop(*made.element, made.names.attributes, made.values, loops);
        engine = make_engine(std::move(made.module), made.symbols);
        function = reinterpret_cast<decltype(function)>(engine->getFunctionAddress(kernel_name));
        static_cast<KernelNames&>(*this) = made.names;
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
