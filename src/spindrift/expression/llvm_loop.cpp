#include "spindrift/expression/llvm_loop.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/ExecutionEngine/MCJIT.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/Host.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <stdexcept>

namespace spindrift {

namespace {

using Builder = llvm::IRBuilder<>;

constexpr unsigned kMaxLoopDepth = 12; // optimisation time grows fast with loop depth

// LLVM types of the fields of KernelArguments.
struct ArgumentTypes {
    explicit ArgumentTypes(llvm::LLVMContext& context)
        : bytes(llvm::Type::getInt8PtrTy(context)), arrays(bytes->getPointerTo()),
          parameters(llvm::Type::getDoublePtrTy(context)), count(llvm::Type::getInt64Ty(context)),
          overrun(llvm::Type::getInt32PtrTy(context))
    {
    }
    llvm::Type *bytes, *arrays, *parameters, *count, *overrun;

    llvm::StructType* kernel_arguments() const
    {
        return llvm::StructType::get(bytes->getContext(), {arrays, parameters, bytes, bytes, count, overrun});
    }
};

llvm::Type* storage_type(ElementType type, llvm::LLVMContext& context)
{
    switch (type) {
    case ElementType::float32:
        return llvm::Type::getFloatTy(context);
    case ElementType::int32:
        return llvm::Type::getInt32Ty(context);
    case ElementType::vec3f:
        return llvm::ArrayType::get(llvm::Type::getFloatTy(context), 3);
    }
    return nullptr;
}

// --- Undefined operations ---

void define_division(llvm::BinaryOperator& division)
{
    const auto opcode = division.getOpcode();
    const bool is_signed = opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::SRem;
    llvm::Value *number = division.getOperand(0), *divisor = division.getOperand(1);
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(divisor))
        if (!constant->isZero() && !constant->isMinusOne()) return;
    Builder b(&division);
    llvm::Type* type = division.getType();
    llvm::Value* by_zero = b.CreateICmpEQ(divisor, llvm::ConstantInt::get(type, 0));
    llvm::Value* bad = by_zero;
    if (is_signed) {
        const auto smallest = llvm::APInt::getSignedMinValue(type->getIntegerBitWidth());
        bad = b.CreateOr(bad, b.CreateAnd(b.CreateICmpEQ(number, llvm::ConstantInt::get(type, smallest)),
                                          b.CreateICmpEQ(divisor, llvm::ConstantInt::getSigned(type, -1))));
    }
    division.setOperand(1, b.CreateSelect(bad, llvm::ConstantInt::get(type, 1), divisor));
    if (opcode != llvm::Instruction::SDiv && opcode != llvm::Instruction::UDiv) return; // x % 1 is already zero
    b.SetInsertPoint(division.getNextNode());
    auto* result = llvm::cast<llvm::Instruction>(b.CreateSelect(by_zero, llvm::ConstantInt::get(type, 0), &division));
    division.replaceUsesWithIf(result, [&](const llvm::Use& use) { return use.getUser() != result; });
}

void define_shift(llvm::BinaryOperator& shift)
{
    Builder b(&shift);
    const unsigned width = shift.getType()->getIntegerBitWidth();
    shift.setOperand(1, b.CreateAnd(shift.getOperand(1), llvm::ConstantInt::get(shift.getType(), width - 1)));
}

void define_conversion(llvm::CastInst& conversion)
{
    Builder b(&conversion);
    const bool is_signed = conversion.getOpcode() == llvm::Instruction::FPToSI;
    llvm::Value* number = conversion.getOperand(0);
    llvm::Value* result = b.CreateIntrinsic(is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                                            {conversion.getType(), number->getType()}, {number});
    conversion.replaceAllUsesWith(result);
}

void define_index(llvm::GetElementPtrInst& element)
{
    auto* array = llvm::dyn_cast<llvm::ArrayType>(element.getSourceElementType());
    if (!array || element.getNumIndices() != 2) return;
    llvm::Value* index = element.getOperand(2);
    const uint64_t count = array->getNumElements();
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(index))
        if (constant->getValue().ult(count)) return;
    Builder b(&element);
    index = b.CreateSExtOrTrunc(index, b.getInt64Ty());
    element.setOperand(2, b.CreateSelect(b.CreateICmpULT(index, b.getInt64(count)), index, b.getInt64(count - 1)));
}

// Constant folding leaves poison behind, for example for 1 / 0.
void define_operands(llvm::Instruction& instruction)
{
    for (llvm::Use& operand : instruction.operands())
        if (llvm::isa<llvm::UndefValue>(operand.get())) operand.set(llvm::Constant::getNullValue(operand->getType()));
}

// Zero-initialises variables.
void define_variables(llvm::Function& function)
{
    std::vector<llvm::AllocaInst*> variables;
    for (llvm::Instruction& instruction : llvm::instructions(function))
        if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) variables.push_back(variable);
    for (llvm::AllocaInst* variable : variables) {
        Builder b(variable->getNextNode());
        b.CreateStore(llvm::Constant::getNullValue(variable->getAllocatedType()), variable);
    }
}

void define_undefined(llvm::Function& function)
{
    define_variables(function);
    std::vector<llvm::Instruction*> instructions;
    for (llvm::Instruction& instruction : llvm::instructions(function)) instructions.push_back(&instruction);
    for (llvm::Instruction* instruction : instructions) {
        define_operands(*instruction);
        switch (instruction->getOpcode()) {
        case llvm::Instruction::SDiv:
        case llvm::Instruction::SRem:
        case llvm::Instruction::UDiv:
        case llvm::Instruction::URem:
            define_division(llvm::cast<llvm::BinaryOperator>(*instruction));
            break;
        case llvm::Instruction::Shl:
        case llvm::Instruction::LShr:
        case llvm::Instruction::AShr:
            define_shift(llvm::cast<llvm::BinaryOperator>(*instruction));
            break;
        case llvm::Instruction::FPToSI:
        case llvm::Instruction::FPToUI:
            define_conversion(llvm::cast<llvm::CastInst>(*instruction));
            break;
        case llvm::Instruction::GetElementPtr:
            define_index(llvm::cast<llvm::GetElementPtrInst>(*instruction));
            break;
        default:
            break;
        }
    }
}

// --- Loop over the arrays ---

llvm::Value* convert_scalar(Builder& b, llvm::Value* value, llvm::Type* to)
{
    llvm::Type* from = value->getType();
    if (from == to) return value;
    if (from->isFloatingPointTy()) return b.CreateFPCast(value, to);
    if (to->isIntegerTy(1)) return b.CreateICmpNE(value, llvm::ConstantInt::get(from, 0));
    return from->isIntegerTy(1) ? b.CreateZExt(value, to) : b.CreateSExtOrTrunc(value, to);
}

// Copies one element component by component, with conversion.
void copy_element(Builder& b, llvm::Type* from_type, llvm::Value* from, llvm::Type* to_type, llvm::Value* to)
{
    if (!from_type->isArrayTy()) {
        b.CreateStore(convert_scalar(b, b.CreateLoad(from_type, from), to_type), to);
        return;
    }
    for (unsigned c = 0; c < 3; ++c) {
        llvm::Value* number =
            b.CreateLoad(from_type->getArrayElementType(), b.CreateConstInBoundsGEP2_32(from_type, from, 0, c));
        b.CreateStore(convert_scalar(b, number, to_type->getArrayElementType()),
                      b.CreateConstInBoundsGEP2_32(to_type, to, 0, c));
    }
}

// The loop is a separate function because only function parameters can be marked noalias.
llvm::Function* make_loop(llvm::Function& element, const std::vector<KernelName>& attributes,
                          const std::vector<llvm::Type*>& values, bool can_overrun)
{
    llvm::Module& module = *element.getParent();
    llvm::LLVMContext& context = module.getContext();
    const ArgumentTypes types(context);
    std::vector<llvm::Type*> parameter_types;
    parameter_types.reserve(attributes.size() + 7);
    for (const KernelName& attribute : attributes)
        parameter_types.push_back(storage_type(attribute.type, context)->getPointerTo());
    for (llvm::Type* type :
         {types.count, types.count, types.parameters, types.bytes, types.bytes, types.count, types.overrun})
        parameter_types.push_back(type);
    auto* loop = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), parameter_types, false),
                                        llvm::Function::InternalLinkage, "spindrift.loop", module);
    loop->addFnAttr(llvm::Attribute::NoInline);
    for (llvm::Argument& argument : loop->args())
        if (argument.getType()->isPointerTy()) argument.addAttr(llvm::Attribute::NoAlias);
    const auto n = static_cast<unsigned>(attributes.size());
    const auto argument = [&](unsigned i) { return loop->getArg(n + i); };
    llvm::Value *begin = argument(0), *end = argument(1), *overrun = argument(6);

    auto* entry = llvm::BasicBlock::Create(context, "entry", loop);
    auto* body = llvm::BasicBlock::Create(context, "body", loop);
    auto* exit = llvm::BasicBlock::Create(context, "exit", loop);
    Builder b(entry);
    std::vector<llvm::Value*> call;
    call.reserve(values.size() + 6);
    for (llvm::Type* type : values) call.push_back(b.CreateAlloca(type));
    b.CreateCondBr(b.CreateICmpULT(begin, end), body, exit);

    b.SetInsertPoint(body);
    llvm::PHINode* index = b.CreatePHI(types.count, 2, "index");
    std::vector<llvm::Value*> places;
    for (unsigned a = 0; a < n; ++a) {
        llvm::Type* stored = storage_type(attributes[a].type, context);
        places.push_back(b.CreateInBoundsGEP(stored, loop->getArg(a), index));
        copy_element(b, stored, places[a], values[a], call[a]);
    }
    call.push_back(index);
    for (unsigned i = 2; i < 7; ++i) call.push_back(argument(i));
    b.CreateCall(&element, call);
    for (unsigned a = 0; a < n; ++a)
        if (attributes[a].written)
            copy_element(b, values[a], call[a], storage_type(attributes[a].type, context), places[a]);
    llvm::Value* next = b.CreateAdd(index, b.getInt64(1), "next", true, true);
    llvm::Value* more = b.CreateICmpULT(next, end);
    if (can_overrun) {
        auto* flag = b.CreateAlignedLoad(b.getInt32Ty(), overrun, llvm::Align(4));
        flag->setAtomic(llvm::AtomicOrdering::Monotonic);
        more = b.CreateAnd(more, b.CreateICmpEQ(flag, b.getInt32(0)));
    }
    index->addIncoming(begin, entry);
    index->addIncoming(next, b.GetInsertBlock());
    b.CreateCondBr(more, body, exit);
    b.SetInsertPoint(exit);
    b.CreateRetVoid();
    return loop;
}

void optimise(llvm::Module& module, llvm::TargetMachine& target)
{
    llvm::PipelineTuningOptions tuning;
    tuning.LoopVectorization = true;
    tuning.SLPVectorization = true;
    llvm::PassBuilder passes(&target, tuning);
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager calls;
    llvm::ModuleAnalysisManager modules;
    passes.registerModuleAnalyses(modules);
    passes.registerCGSCCAnalyses(calls);
    passes.registerFunctionAnalyses(functions);
    passes.registerLoopAnalyses(loops);
    passes.crossRegisterProxies(loops, functions, calls, modules);
    passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

std::vector<std::string> processor_features()
{
    llvm::StringMap<bool> features;
    llvm::sys::getHostCPUFeatures(features);
    std::vector<std::string> names;
    for (const auto& feature : features) names.push_back((feature.second ? "+" : "-") + feature.first().str());
    return names;
}

} // namespace

llvm::Function* declare_element(llvm::Module& module, const std::vector<llvm::Type*>& values)
{
    const ArgumentTypes types(module.getContext());
    std::vector<llvm::Type*> parameters;
    parameters.reserve(values.size() + 6);
    for (llvm::Type* value : values) parameters.push_back(value->getPointerTo());
    const auto n = static_cast<unsigned>(values.size());
    for (llvm::Type* type : {types.count, types.parameters, types.bytes, types.bytes, types.count, types.overrun})
        parameters.push_back(type);
    auto* element =
        llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), parameters, false),
                               llvm::Function::InternalLinkage, "spindrift.element", module);
    unsigned a = n;
    for (const char* name : {element_argument::index, element_argument::parameters, element_argument::callbacks,
                             element_argument::keep, element_argument::loop_limit, element_argument::overrun})
        element->getArg(a++)->setName(name);
    element->addFnAttr(llvm::Attribute::AlwaysInline);
    return element;
}

void define_undefined(llvm::Module& module)
{
    for (llvm::Function& function : module)
        if (!function.isDeclaration()) define_undefined(function);
}

bool limit_loops(llvm::Function& element)
{
    llvm::DominatorTree dominators(element);
    const llvm::LoopInfo loops(dominators);
    std::vector<llvm::BasicBlock*> headers;
    for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
        if (loop->getLoopDepth() > kMaxLoopDepth)
            throw std::runtime_error("loops nest deeper than " + std::to_string(kMaxLoopDepth));
        headers.push_back(loop->getHeader());
    }
    if (headers.empty()) return false;
    const auto n = static_cast<unsigned>(element.arg_size());
    llvm::Value *limit = element.getArg(n - 2), *overrun = element.getArg(n - 1);
    Builder b(&*element.getEntryBlock().begin());
    llvm::Value* left = b.CreateAlloca(b.getInt64Ty());
    b.CreateStore(limit, left);
    for (llvm::BasicBlock* header : headers) {
        b.SetInsertPoint(&*header->getFirstInsertionPt());
        llvm::Value* rounds = b.CreateLoad(b.getInt64Ty(), left);
        b.CreateStore(b.CreateSub(rounds, b.getInt64(1)), left);
        llvm::Value* over = b.CreateICmpSLT(rounds, b.getInt64(0));
        llvm::Instruction* end = llvm::SplitBlockAndInsertIfThen(over, &*b.GetInsertPoint(), /*Unreachable=*/true);
        b.SetInsertPoint(end);
        b.CreateAlignedStore(b.getInt32(1), overrun, llvm::Align(4))->setAtomic(llvm::AtomicOrdering::Monotonic);
        b.CreateRetVoid();
        end->eraseFromParent();
    }
    return true;
}

void add_loop(llvm::Function& element, const std::vector<KernelName>& attributes,
              const std::vector<llvm::Type*>& values, bool can_overrun)
{
    llvm::Function* loop = make_loop(element, attributes, values, can_overrun);
    llvm::Module& module = *element.getParent();
    llvm::LLVMContext& context = module.getContext();
    const ArgumentTypes types(context);
    llvm::StructType* arguments = types.kernel_arguments();
    auto* kernel =
        llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                                       {arguments->getPointerTo(), types.count, types.count}, false),
                               llvm::Function::ExternalLinkage, kernel_name, module);
    Builder b(llvm::BasicBlock::Create(context, "entry", kernel));
    const auto field = [&](unsigned i) {
        return b.CreateLoad(arguments->getElementType(i), b.CreateStructGEP(arguments, kernel->getArg(0), i));
    };
    std::vector<llvm::Value*> call;
    llvm::Value* arrays = field(0);
    for (unsigned a = 0; a < attributes.size(); ++a) {
        llvm::Value* array = b.CreateLoad(types.bytes, b.CreateConstGEP1_32(types.bytes, arrays, a));
        call.push_back(b.CreateBitCast(array, loop->getArg(a)->getType()));
    }
    call.push_back(kernel->getArg(1)), call.push_back(kernel->getArg(2));
    for (unsigned i = 1; i < 6; ++i) call.push_back(field(i));
    b.CreateCall(loop, call);
    b.CreateRetVoid();
}

std::unique_ptr<llvm::ExecutionEngine> make_engine(std::unique_ptr<llvm::Module> owned, const Symbols& symbols)
{
    llvm::Module& module = *owned;
    for (llvm::Function& function : module)
        if (!function.isDeclaration() && function.getName() != kernel_name)
            function.setLinkage(llvm::Function::InternalLinkage);
    std::string message;
    llvm::raw_string_ostream stream(message);
    if (llvm::verifyModule(module, &stream)) throw std::runtime_error("the generated code is invalid: " + stream.str());

    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict; // as -ffp-contract=off
    llvm::EngineBuilder builder(std::move(owned));
    builder.setErrorStr(&message)
        .setEngineKind(llvm::EngineKind::JIT)
        .setOptLevel(llvm::CodeGenOpt::Aggressive)
        .setTargetOptions(options)
        .setMCPU(llvm::sys::getHostCPUName())
        .setMAttrs(processor_features());
    llvm::TargetMachine* target = builder.selectTarget(); // owned by the engine
    if (!target) throw std::runtime_error("expressions cannot be compiled on this machine: " + message);
    module.setDataLayout(target->createDataLayout());
    module.setTargetTriple(target->getTargetTriple().str());
    optimise(module, *target);
    std::unique_ptr<llvm::ExecutionEngine> engine(builder.create(target));
    if (!engine) throw std::runtime_error("expressions cannot be compiled on this machine: " + message);
    for (const auto& [name, address] : symbols)
        if (const llvm::Function* function = module.getFunction(name); function && function->isDeclaration())
            engine->addGlobalMapping(function, reinterpret_cast<void*>(address));
    engine->finalizeObject();
    return engine;
}

} // namespace spindrift
