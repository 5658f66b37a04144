// Shared by the sources about VDB points, and for them alone, like vdb_archive.h: access to the values of OpenVDB's
// attribute arrays of any type and codec.
#pragma once

#include "spindrift/base/parallel.h"
#include "spindrift/io/vdb_archive.h"

#include <map>
#include <openvdb/points/AttributeArray.h>
#include <openvdb/points/AttributeSet.h>
#include <openvdb/points/PointDataGrid.h>

namespace spindrift::vdb {

using openvdb::points::AttributeArray;
using openvdb::points::AttributeHandle;
using openvdb::points::AttributeSet;
using openvdb::points::PointDataGrid;
using openvdb::points::PointDataTree;
using openvdb::points::TypedAttributeArray;
using Descriptor = AttributeSet::Descriptor;
using Leaf = PointDataTree::LeafNodeType;
using PositionArray = TypedAttributeArray<openvdb::Vec3f, openvdb::points::FixedPointCodec<false>>;

// Writable memory of the array. OpenVDB returns a const pointer only; the array itself is not const.
template <class Array> auto* storage_of(AttributeArray& array)
{
    auto& typed = static_cast<Array&>(array);
    typed.expand(/*fill=*/false);
    return const_cast<typename Array::StorageType*>(typed.constData());
}

// Rounds to the nearest 16-bit step. OpenVDB's own encoder rounds down, which doubles the error and shifts every point.
inline openvdb::math::Vec3<uint16_t> encode(const Vec3f& within)
{
    const auto step = [](float w) {
        return static_cast<uint16_t>(std::clamp((w + 0.5f) * 65535.0f + 0.5f, 0.0f, 65535.0f));
    };
    return {step(within.x()), step(within.y()), step(within.z())};
}

// Calls body(zero) with a zero of the array's value type if it is a supported number or vector of three; the codec does
// not matter.
template <class Body> bool with_value_type(const AttributeArray& array, const Body& body)
{
    if (!array.hasConstantStride() || array.stride() != 1) return false;
    const std::string type = array.valueType();
    if (type == "float")
        body(0.0f);
    else if (type == "double")
        body(0.0);
    else if (type == "bool")
        body(false);
    else if (type == "int8")
        body(int8_t(0));
    else if (type == "int16")
        body(int16_t(0));
    else if (type == "int32")
        body(int32_t(0));
    else if (type == "int64")
        body(int64_t(0));
    else if (type == "vec3s")
        body(openvdb::Vec3f(0));
    else if (type == "vec3d")
        body(openvdb::Vec3d(0));
    else if (type == "vec3i")
        body(openvdb::Vec3i(0));
    else
        return false; // groups, strings, matrices, quaternions
    return true;
}

template <class T> constexpr bool kIsVector = openvdb::VecTraits<T>::IsVec;

template <class To, class From> void convert(const From& from, To& to)
{
    if constexpr (std::is_same_v<To, Vec3f>)
        to = Vec3f(static_cast<float>(from[0]), static_cast<float>(from[1]), static_cast<float>(from[2]));
    else
        to = static_cast<To>(from);
}

// Copies the values of an array as T; false if they are of another kind (a vector for a number).
template <class T> bool copy_values(const AttributeArray& array, T* out)
{
    bool fits = false;
    with_value_type(array, [&]<class V>(const V&) {
        if constexpr (kIsVector<V> == std::is_same_v<T, Vec3f>) {
            const AttributeHandle<V> handle(array);
            for (openvdb::Index i = 0, count = array.size(); i < count; ++i) convert(handle.get(i), out[i]);
            fits = true;
        }
    });
    return fits;
}

inline const AttributeArray* find_array(const Leaf& leaf, const std::string& name)
{
    return leaf.attributeSet().getConst(name);
}

inline void check_leaf(const Leaf& leaf, const std::string& path)
{
    const auto damaged = [&](const char* what) {
        fail("{} is damaged: the points of the leaf at {} {}", path, leaf.origin().asVec3i().str(), what);
    };
    const AttributeSet& attributes = leaf.attributeSet();
    // OpenVDB terminates the process when it accesses a missing attribute position.
    if (attributes.size() != attributes.descriptor().size()) damaged("have attributes without values");
    for (const auto& [name, position] : attributes.descriptor().map())
        if (position >= attributes.size()) damaged("have attributes without values");
    if (attributes.size() == 0) {
        if (leaf.getLastValue() != 0) damaged("have no attributes");
        return;
    }
    if (attributes.find("P") == AttributeSet::INVALID_POS) damaged("have no positions");
    leaf.validateOffsets(); // checks the first array only
    for (size_t a = 0; a < attributes.size(); ++a)
        if (attributes.getConst(a)->size() != leaf.getLastValue()) damaged("have arrays of different lengths");
}

// Leaves of a point grid, and the range of particles that each one fills.
struct Leaves {
    std::vector<const Leaf*> leaves;
    std::vector<size_t> begin = {0};

    Leaves(const PointDataGrid& grid, const std::string& path)
    {
        for (auto it = grid.tree().cbeginLeaf(); it; ++it) {
            check_leaf(*it, path);
            leaves.push_back(&*it);
            begin.push_back(begin.back() + it->pointCount());
        }
    }
    size_t point_count() const { return begin.back(); }

    // Reads a named attribute; particles of leaves without a matching one keep their values.
    template <class T> void read(const std::string& name, std::vector<T>& out) const
    {
        parallel_for(leaves.size(), [&](size_t l) {
            const AttributeArray* array = find_array(*leaves[l], name);
            if (array) copy_values(*array, out.data() + begin[l]);
        });
    }

    // An example array of each attribute, from the first leaf that has it.
    std::map<std::string, const AttributeArray*> attributes() const
    {
        std::map<std::string, const AttributeArray*> found;
        const Descriptor* last = nullptr;
        for (const Leaf* leaf : leaves) {
            const Descriptor* descriptor = &leaf->attributeSet().descriptor();
            if (std::exchange(last, descriptor) == descriptor) continue; // usually shared by all leaves
            for (const auto& [name, position] : descriptor->map())
                found.emplace(name, leaf->attributeSet().getConst(position));
        }
        return found;
    }
};

// Name of the velocity attribute: `asked`, or one of the usual names; empty if none.
std::string velocity_among(const std::map<std::string, const AttributeArray*>& attributes, const std::string& asked,
                           const std::string& path);

// All points of some grids as one set, as described at read_particles().
ParticleFile particles_of(const openvdb::GridPtrVec& grids, const PointNames& names, const std::string& path);

} // namespace spindrift::vdb
