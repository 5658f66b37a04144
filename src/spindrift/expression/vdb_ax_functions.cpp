#include "spindrift/expression/vdb_ax_functions.h"

#include "spindrift/expression/llvm_loop.h"
#include "spindrift/expression/random_numbers.h"

#include <openvdb_ax/codegen/FunctionTypes.h>
#include <openvdb_ax/codegen/Functions.h>
#include <openvdb_ax/codegen/Utils.h>

namespace spindrift {

namespace {

using namespace openvdb::ax::codegen;
using openvdb::ax::FunctionOptions;
using Arguments = std::vector<llvm::Value*>;
using Builder = llvm::IRBuilder<>;

// --- C++ functions that the generated code calls ---

float call_volume(const KernelCallbacks* callbacks, int32_t slot, const float* x) { return callbacks->volume(slot, x); }
void call_volumev(const KernelCallbacks* callbacks, float* out, int32_t slot, const float* x)
{
    callbacks->volume_vector(slot, x, out);
}
float call_collider_distance(const KernelCallbacks* callbacks, const float* x)
{
    return callbacks->collider_distance(x);
}
void call_collider_normal(const KernelCallbacks* callbacks, float* out, const float* x)
{
    callbacks->collider_normal(x, out);
}
int32_t call_neighbours(const KernelCallbacks* callbacks, int64_t i, float radius)
{
    return callbacks->neighbours(i, radius);
}
float call_neighbours_mean(const KernelCallbacks* callbacks, int64_t i, int32_t slot, float radius)
{
    return callbacks->neighbours_mean(i, slot, radius);
}
void call_neighbours_meanv(const KernelCallbacks* callbacks, int64_t i, float* out, int32_t slot, float radius)
{
    callbacks->neighbours_mean_vector(i, slot, radius, out);
}
void call_neighbours_gradient(const KernelCallbacks* callbacks, int64_t i, float* out, int32_t slot, float radius)
{
    callbacks->neighbours_gradient(i, slot, radius, out);
}
void call_voxel_position(const KernelCallbacks* callbacks, int64_t i, float* out) { callbacks->voxel_position(i, out); }
void call_voxel_coordinate(const KernelCallbacks* callbacks, int64_t i, int32_t* out)
{
    callbacks->voxel_coordinate(i, out);
}

// --- AX signatures ---

llvm::Value* argument_of_element(Builder& b, const char* name)
{
    return extractArgument(b.GetInsertBlock()->getParent(), name);
}

// Calls a C++ function by its address; vectors are passed as plain pointers.
template <class R, class... A> llvm::Value* call(Builder& b, R (*function)(A...), Arguments arguments)
{
    std::vector<llvm::Type*> types;
    for (llvm::Value*& argument : arguments) {
        if (argument->getType()->isPointerTy()) argument = b.CreateBitCast(argument, b.getInt8PtrTy());
        types.push_back(argument->getType());
    }
    auto* type = llvm::FunctionType::get(LLVMType<R>::get(b.getContext()), types, false);
    llvm::Value* address = b.CreateIntToPtr(b.getInt64(reinterpret_cast<uint64_t>(function)), type->getPointerTo());
    return b.CreateCall(type, address, arguments);
}

// Wrappers that prepend the callbacks, or the callbacks and the element index, to the arguments.
template <auto function> llvm::Value* with_callbacks(const Arguments& arguments, Builder& b)
{
    Arguments all = {argument_of_element(b, element_argument::callbacks)};
    all.insert(all.end(), arguments.begin(), arguments.end());
    llvm::Value* result = call(b, function, all);
    return result->getType()->isVoidTy() ? nullptr : result;
}
template <auto function> llvm::Value* with_callbacks_and_index(const Arguments& arguments, Builder& b)
{
    Arguments all = {argument_of_element(b, element_argument::callbacks),
                     argument_of_element(b, element_argument::index)};
    all.insert(all.end(), arguments.begin(), arguments.end());
    llvm::Value* result = call(b, function, all);
    return result->getType()->isVoidTy() ? nullptr : result;
}

template <class Signature> FunctionGroup::UniquePtr
embedded(const char* name, const IRFunctionBase::GeneratorCb& generate, const std::vector<const char*>& arguments)
{
    constexpr bool returns_vector =
        std::is_void_v<typename FunctionTraits<Signature>::ReturnType> && FunctionTraits<Signature>::N_ARGS > 0;
    return FunctionBuilder(name)
        .addSignature<Signature, returns_vector>(generate)
        .setArgumentNames(arguments)
        .setEmbedIR(true)
        .get();
}

// Quoted names are already slot numbers here.
FunctionGroup::UniquePtr make_volume(const FunctionOptions&)
{
    return embedded<float(int32_t, V3F*)>("volume", with_callbacks<call_volume>, {"name", "position"});
}
FunctionGroup::UniquePtr make_volumev(const FunctionOptions&)
{
    return embedded<void(V3F*, int32_t, V3F*)>("volumev", with_callbacks<call_volumev>, {"name", "position"});
}
FunctionGroup::UniquePtr make_collider_distance(const FunctionOptions&)
{
    return embedded<float(V3F*)>("collider_distance", with_callbacks<call_collider_distance>, {"position"});
}
FunctionGroup::UniquePtr make_collider_normal(const FunctionOptions&)
{
    return embedded<void(V3F*, V3F*)>("collider_normal", with_callbacks<call_collider_normal>, {"position"});
}
FunctionGroup::UniquePtr make_neighbours(const FunctionOptions&)
{
    return embedded<int32_t(float)>("neighbours", with_callbacks_and_index<call_neighbours>, {"radius"});
}
FunctionGroup::UniquePtr make_neighbours_mean(const FunctionOptions&)
{
    return embedded<float(int32_t, float)>("neighbours_mean", with_callbacks_and_index<call_neighbours_mean>,
                                           {"name", "radius"});
}
FunctionGroup::UniquePtr make_neighbours_meanv(const FunctionOptions&)
{
    return embedded<void(V3F*, int32_t, float)>("neighbours_meanv", with_callbacks_and_index<call_neighbours_meanv>,
                                                {"name", "radius"});
}
FunctionGroup::UniquePtr make_neighbours_gradient(const FunctionOptions&)
{
    return embedded<void(V3F*, int32_t, float)>("neighbours_gradient",
                                                with_callbacks_and_index<call_neighbours_gradient>, {"name", "radius"});
}
FunctionGroup::UniquePtr make_getvoxelpws(const FunctionOptions&)
{
    return embedded<void(V3F*)>("getvoxelpws", with_callbacks_and_index<call_voxel_position>, {});
}
FunctionGroup::UniquePtr make_getcoord(const FunctionOptions&)
{
    return embedded<void(V3I*)>("getcoord", with_callbacks_and_index<call_voxel_coordinate>, {});
}
template <int axis> FunctionGroup::UniquePtr make_getcoord_axis(const FunctionOptions&)
{
    constexpr const char* names[] = {"getcoordx", "getcoordy", "getcoordz"};
    const auto generate = [](const Arguments&, Builder& b) -> llvm::Value* {
        auto* type = llvm::ArrayType::get(b.getInt32Ty(), 3);
        llvm::Value* coordinate = insertStaticAlloca(b, type);
        with_callbacks_and_index<call_voxel_coordinate>({coordinate}, b);
        return b.CreateLoad(b.getInt32Ty(), b.CreateConstInBoundsGEP2_32(type, coordinate, 0, axis));
    };
    return embedded<int32_t()>(names[axis], generate, {});
}

FunctionGroup::UniquePtr make_deletepoint(const FunctionOptions&)
{
    const auto generate = [](const Arguments&, Builder& b) -> llvm::Value* {
        llvm::Value* keep = argument_of_element(b, element_argument::keep);
        llvm::Value* index = argument_of_element(b, element_argument::index);
        return b.CreateStore(b.getInt8(0), b.CreateInBoundsGEP(b.getInt8Ty(), keep, index));
    };
    return embedded<void()>("deletepoint", generate, {});
}

// AX's own pow uses an LLVM intrinsic for integer exponents that this LLVM version does not have, and crashes.
FunctionGroup::UniquePtr make_pow(const FunctionOptions&)
{
    const auto generate = [](const Arguments& arguments, Builder& b) -> llvm::Value* {
        llvm::Value *base = arguments[0], *exponent = arguments[1];
        if (exponent->getType()->isIntegerTy()) exponent = b.CreateSIToFP(exponent, base->getType());
        return b.CreateBinaryIntrinsic(llvm::Intrinsic::pow, base, exponent);
    };
    return FunctionBuilder("pow")
        .addSignature<double(double, double)>(generate)
        .addSignature<float(float, float)>(generate)
        .addSignature<double(double, int32_t)>(generate)
        .setArgumentNames({"base", "exp"})
        .setEmbedIR(true)
        .get();
}

FunctionGroup::UniquePtr make_rand(const FunctionOptions&)
{
    return FunctionBuilder("rand")
        .addSignature<double(double)>(rand_of_double)
        .addSignature<double(int64_t)>(rand_of_int)
        .setArgumentNames({"seed"})
        .addFunctionAttribute(llvm::Attribute::ReadNone)
        .addFunctionAttribute(llvm::Attribute::NoUnwind)
        .setPreferredImpl(FunctionBuilder::C)
        .get();
}
FunctionGroup::UniquePtr make_rand32(const FunctionOptions&)
{
    return FunctionBuilder("rand32")
        .addSignature<double(double)>(rand32_of_double)
        .addSignature<double(int32_t)>(rand32_of_int)
        .setArgumentNames({"seed"})
        .addFunctionAttribute(llvm::Attribute::ReadNone)
        .addFunctionAttribute(llvm::Attribute::NoUnwind)
        .setPreferredImpl(FunctionBuilder::C)
        .get();
}

} // namespace

FunctionRegistry::UniquePtr make_function_registry(KernelTarget target, const FunctionOptions& options)
{
    auto registry = std::make_unique<FunctionRegistry>();
    insertStandardFunctions(*registry, &options);
    // Remove functions that print, need strings or AX's own executables, draw thread-dependent random numbers, or
    // crash. FunctionRegistry has no erase function, hence the const_cast.
    auto& functions = const_cast<FunctionRegistry::RegistryMap&>(registry->map());
    for (const char* name :
         {"print", "hash", "atof", "atoi", "external", "externalv", "_external", "rand", "rand32", "pow"})
        functions.erase(name);

    const auto insert = [&](const char* name, FunctionRegistry::ConstructorT make) { registry->insert(name, make); };
    insert("pow", make_pow);
    insert("rand", make_rand), insert("rand32", make_rand32);
    insert("volume", make_volume), insert("volumev", make_volumev);
    insert("collider_distance", make_collider_distance), insert("collider_normal", make_collider_normal);
    if (target == KernelTarget::points) {
        insert("neighbours", make_neighbours), insert("neighbours_mean", make_neighbours_mean);
        insert("neighbours_meanv", make_neighbours_meanv), insert("neighbours_gradient", make_neighbours_gradient);
        insert("deletepoint", make_deletepoint);
    } else {
        insert("getvoxelpws", make_getvoxelpws), insert("getcoord", make_getcoord);
        insert("getcoordx", make_getcoord_axis<0>), insert("getcoordy", make_getcoord_axis<1>);
        insert("getcoordz", make_getcoord_axis<2>);
    }
    return registry;
}

} // namespace spindrift
