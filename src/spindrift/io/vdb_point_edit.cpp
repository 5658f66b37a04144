#include "spindrift/io/point_edit.h"
#include "spindrift/io/vdb_point_values.h"

#include <array>
#include <cstring>
#include <openvdb/points/PointAttribute.h>
#include <openvdb/points/PointGroup.h>
#include <tbb/task_arena.h>

namespace spindrift {

namespace {

using namespace vdb;
using openvdb::Coord;
using openvdb::Index;
using openvdb::points::AttributeWriteHandle;
using vdb::AttributeArray; // not that of Particles

constexpr const char* kGroupPrefix = "group_";

// Writable leaves of a grid, and the index of each leaf's first point in the file.
struct EditLeaves {
    std::vector<Leaf*> leaves;
    std::vector<size_t> begin;

    EditLeaves(PointDataGrid& grid, size_t& next)
    {
        for (auto it = grid.tree().beginLeaf(); it; ++it) {
            leaves.push_back(&*it), begin.push_back(next);
            next += it->pointCount();
        }
    }
    bool empty() const { return leaves.empty(); }
};

// OpenVDB adds, drops and copies attributes of all leaves by their positions in the first leaf.
void expect_one_descriptor(const EditLeaves& leaves, const std::string& path)
{
    const AttributeSet& first = leaves.leaves.front()->attributeSet();
    const auto alike = [](const AttributeArray& a, const AttributeArray& b) {
        return a.hasConstantStride() == b.hasConstantStride() && (!a.hasConstantStride() || a.stride() == b.stride());
    };
    for (const Leaf* leaf : leaves.leaves) {
        const AttributeSet& own = leaf->attributeSet();
        bool same = &own.descriptor() == &first.descriptor() || own.descriptor() == first.descriptor();
        for (size_t a = 0; same && a < first.size(); ++a) same = alike(*own.getConst(a), *first.getConst(a));
        if (!same) fail("the points of {} cannot be changed: its leaves have different attributes", path);
    }
}

template <class T> auto as_vdb(const T& value)
{
    if constexpr (std::is_same_v<T, Vec3f>)
        return openvdb::Vec3f(value.x(), value.y(), value.z());
    else
        return value;
}

// ---------------------------------------------------------------------------------------------------------- values --

// True if the array's type holds every T without loss, so that it can stay when T are written to it.
template <class T> bool holds(const AttributeArray& array)
{
    if (array.codecType() != openvdb::points::NullCodec::name() || !array.hasConstantStride() || array.stride() != 1)
        return false;
    const std::string type = array.valueType();
    if constexpr (std::is_same_v<T, float>) return type == "float" || type == "double";
    if constexpr (std::is_same_v<T, int32_t>) return type == "int32" || type == "int64";
    if constexpr (std::is_same_v<T, Vec3f>) return type == "vec3s" || type == "vec3d";
}

// Writes only the values of one leaf that differ from the present ones.
template <class T> void set_values(AttributeArray& array, const T* values)
{
    std::vector<T> before(array.size());
    copy_values(array, before.data());
    const auto same = [&](Index i) { return std::memcmp(&before[i], &values[i], sizeof(T)) == 0; };
    Index first = 0;
    while (first < array.size() && same(first)) ++first;
    if (first == array.size()) return;
    const bool was_uniform = array.isUniform();
    with_value_type(array, [&]<class V>(const V&) {
        if constexpr (kIsVector<V> == std::is_same_v<T, Vec3f>) {
            AttributeWriteHandle<V> handle(array);
            for (Index i = first; i < array.size(); ++i)
                if (!same(i)) handle.set(i, V(as_vdb(values[i])));
        }
    });
    if (was_uniform) array.compact();
}

template <class T> openvdb::NamePair type_for()
{
    if constexpr (std::is_same_v<T, Vec3f>)
        return TypedAttributeArray<openvdb::Vec3f>::attributeType();
    else
        return TypedAttributeArray<T>::attributeType();
}

// Writes an attribute of a grid; adds it if missing, and replaces one whose type cannot hold all values.
template <class T>
void write_attribute(PointDataGrid& grid, const EditLeaves& leaves, const std::string& name, const std::vector<T>& all)
{
    auto& tree = grid.tree();
    const AttributeArray* there = find_array(*leaves.leaves.front(), name);
    if (there && !holds<T>(*there)) openvdb::points::dropAttribute(tree, name), there = nullptr;
    if (!there) openvdb::points::appendAttribute(tree, name, type_for<T>());
    parallel_for(leaves.leaves.size(), [&](size_t l) {
        Leaf& leaf = *leaves.leaves[l];
        set_values(leaf.attributeArray(name), all.data() + leaves.begin[l]);
    });
}

void write_group(const EditLeaves& leaves, const std::string& group, const std::vector<int32_t>& all)
{
    parallel_for(leaves.leaves.size(), [&](size_t l) {
        Leaf& leaf = *leaves.leaves[l];
        const int32_t* member = all.data() + leaves.begin[l];
        auto handle = leaf.groupWriteHandle(group);
        for (Index i = 0, count = static_cast<Index>(leaf.pointCount()); i < count; ++i)
            if (handle.get(i) != (member[i] != 0)) handle.set(i, member[i] != 0);
    });
}

bool has_group(const EditLeaves& leaves, const std::string& group)
{
    return !leaves.empty() && leaves.leaves.front()->attributeSet().descriptor().hasGroup(group);
}

// ------------------------------------------------------------------------------------------------------- regrouping --

// Destination of a point: a voxel of a leaf.
struct Move {
    Coord leaf;
    uint16_t voxel = 0;
    Index index = 0; // in the source leaf
    bool moved = false;
    openvdb::Vec3f within; // position in the voxel, if it moved
};

// Points that move from one leaf to another.
struct Run {
    size_t from;       // source leaf
    size_t begin, end; // range of its moves
};

// Values to copy, in the form that AttributeArray::copyValues() expects.
struct CopyList {
    const Index *source, *target, *end;
    explicit operator bool() const { return source != end; }
    CopyList& operator++() { return ++source, ++target, *this; }
    Index sourceIndex() const { return *source; }
    Index targetIndex() const { return *target; }
};

// Moves points to the leaves and voxels of their positions, and drops those that are not kept. Attributes are copied as
// stored.
class Regrouping {
  public:
    // `positions` is null if no point has moved.
    Regrouping(PointDataGrid& grid, const EditLeaves& leaves, const std::vector<Vec3f>* positions,
               const std::vector<uint8_t>& keep, const std::string& path)
        : grid_(grid), leaves_(leaves), positions_(positions), keep_(keep), moves_(leaves.leaves.size())
    {
        for (const Leaf* leaf : leaves_.leaves) {
            const AttributeSet& set = leaf->attributeSet();
            for (size_t a = 0; a < set.size(); ++a)
                if (!set.getConst(a)->hasConstantStride())
                    fail("cannot move or delete points of {}: they have an attribute of varying length", path);
        }
    }

    void run()
    {
        parallel_for(moves_.size(), [&](size_t l) { find_moves(l); });
        std::map<Coord, std::vector<Run>> runs;
        for (size_t l = 0; l < moves_.size(); ++l)
            for (size_t begin = 0, end; begin < moves_[l].size(); begin = end) {
                const Coord leaf = moves_[l][begin].leaf;
                for (end = begin; end < moves_[l].size() && moves_[l][end].leaf == leaf;) ++end;
                runs[leaf].push_back({l, begin, end});
            }
        std::vector<std::pair<Coord, std::vector<Run>>> targets(runs.begin(), runs.end());
        std::vector<std::unique_ptr<Leaf>> made(targets.size());
        tbb::this_task_arena::isolate([&] { // see write_particles()
            const AttributeArray::ScopedRegistryLock lock;
            parallel_for(targets.size(),
                         [&](size_t t) { made[t] = make_leaf(targets[t].first, targets[t].second, lock); });
        });
        auto tree = std::make_shared<PointDataTree>();
        for (auto& leaf : made) tree->addLeaf(leaf.release());
        grid_.setTree(tree);
    }

  private:
    void find_moves(size_t l)
    {
        const Leaf& leaf = *leaves_.leaves[l];
        std::vector<Move>& moves = moves_[l];
        std::vector<Vec3f> before;
        if (positions_) before = positions_of(leaf);
        Index point = 0;
        for (Index offset = 0; offset < Leaf::SIZE; ++offset)
            for (const Index end = leaf.getValue(offset); point < end; ++point) {
                const size_t i = leaves_.begin[l] + point;
                if (!keep_.empty() && !keep_[i]) continue;
                Move move{leaf.origin(), static_cast<uint16_t>(offset), point, false, {}};
                if (positions_ && (*positions_)[i] != before[point]) place((*positions_)[i], move);
                moves.push_back(move);
            }
        std::stable_sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) { return a.leaf < b.leaf; });
    }

    // Positions exactly as read_particles() computes them, bit for bit.
    std::vector<Vec3f> positions_of(const Leaf& leaf) const
    {
        std::vector<Vec3f> positions(leaf.pointCount());
        copy_values(*find_array(leaf, "P"), positions.data());
        Index i = 0;
        for (Index offset = 0; offset < Leaf::SIZE; ++offset)
            for (const Index end = leaf.getValue(offset); i < end; ++i) {
                const openvdb::Vec3d at(positions[i].x(), positions[i].y(), positions[i].z());
                convert(grid_.transform().indexToWorld(leaf.offsetToGlobalCoord(offset).asVec3d() + at), positions[i]);
            }
        return positions;
    }

    void place(const Vec3f& x, Move& move) const
    {
        const openvdb::Vec3d at = grid_.transform().worldToIndex(openvdb::Vec3d(x.x(), x.y(), x.z()));
        constexpr double kReach = 1 << 30;
        for (int a = 0; a < 3; ++a)
            if (!(std::abs(at[a]) < kReach))
                fail("a point at {}, {}, {} is too far from the origin", x.x(), x.y(), x.z());
        const Coord voxel = Coord::round(at);
        move.moved = true, move.within = openvdb::Vec3f(at - voxel.asVec3d());
        move.leaf = voxel & ~(Leaf::DIM - 1);
        move.voxel = static_cast<uint16_t>(Leaf::coordToOffset(voxel));
    }

    std::unique_ptr<Leaf> make_leaf(const Coord& origin, const std::vector<Run>& runs,
                                    const AttributeArray::ScopedRegistryLock& lock) const
    {
        // Points are ordered by voxel, then by source leaf.
        std::array<Index, Leaf::SIZE> next = {};
        for (const Run& run : runs)
            for (size_t m = run.begin; m < run.end; ++m) ++next[moves_[run.from][m].voxel];
        std::vector<Leaf::ValueType> ends(Leaf::SIZE);
        Index count = 0;
        for (Index v = 0; v < Leaf::SIZE; ++v) count += std::exchange(next[v], count), ends[v] = count;

        auto leaf = std::make_unique<Leaf>(origin);
        const AttributeSet& like = leaves_.leaves[runs.front().from]->attributeSet();
        leaf->replaceAttributeSet(new AttributeSet(like, count, &lock), /*allowMismatchingDescriptors=*/true);
        leaf->setOffsets(ends);
        std::vector<uint8_t> uniform(like.size(), 1);
        for (const Run& run : runs) {
            const AttributeSet& from = leaves_.leaves[run.from]->attributeSet();
            std::vector<Index> source, target;
            for (size_t m = run.begin; m < run.end; ++m) {
                source.push_back(moves_[run.from][m].index);
                target.push_back(next[moves_[run.from][m].voxel]++);
            }
            for (size_t a = 0; a < like.size(); ++a) {
                uniform[a] &= from.getConst(a)->isUniform();
                leaf->attributeArray(a).copyValues(
                    *from.getConst(a), CopyList{source.data(), target.data(), source.data() + source.size()}, false);
            }
            for (size_t k = 0; k < target.size(); ++k)
                if (const Move& move = moves_[run.from][run.begin + k]; move.moved)
                    set_position(leaf->attributeArray("P"), target[k], move.within);
        }
        for (size_t a = 0; a < like.size(); ++a)
            if (uniform[a] && !loses_when_encoded(leaf->attributeArray(a))) leaf->attributeArray(a).compact();
        return leaf;
    }

    // Compacting re-encodes the value, and these codecs round down each time.
    static bool loses_when_encoded(const AttributeArray& array)
    {
        const std::string codec = array.codecType();
        return codec.find("fxpt") != std::string::npos || codec == openvdb::points::UnitVecCodec::name();
    }

    static void set_position(AttributeArray& array, Index i, const openvdb::Vec3f& within)
    {
        if (array.isType<PositionArray>())
            storage_of<PositionArray>(array)[i] = encode({within.x(), within.y(), within.z()});
        else
            with_value_type(array, [&]<class V>(const V&) {
                if constexpr (kIsVector<V>) AttributeWriteHandle<V>(array).set(i, V(within));
            });
    }

    PointDataGrid& grid_;
    const EditLeaves& leaves_;
    const std::vector<Vec3f>* positions_;
    const std::vector<uint8_t>& keep_;
    std::vector<std::vector<Move>> moves_; // of each leaf, ordered by destination leaf
};

} // namespace

struct PointEdit::File {
    Contents contents;
    openvdb::GridPtrVec points; // the point grids among contents.grids
    std::vector<std::map<std::string, const vdb::AttributeArray*>> attributes;
    std::vector<std::string> velocity; // per grid: name of the velocity
};

PointEdit::PointEdit(const std::string& path) : path_(path), file_(std::make_unique<File>())
{
    File& file = *file_;
    file.contents = read_grids(path, [](const std::string&, const std::string&) { return true; });
    for (const auto& grid : file.contents.grids)
        if (grid->isType<PointDataGrid>()) file.points.push_back(grid);
    if (file.points.empty()) fail("{} holds no points (grids: {})", path, fmt::join(file.contents.names, ", "));
    ParticleFile read = particles_of(file.points, {}, path);
    particles = std::move(read.particles);

    reading(path, [&] {
        size_t begin = 0;
        for (const auto& grid : file.points) {
            const Leaves leaves(static_cast<const PointDataGrid&>(*grid), path);
            file.attributes.push_back(leaves.attributes());
            file.velocity.push_back(velocity_among(file.attributes.back(), "", path));
            if (file.attributes.back().contains("pscale") && !particles.attributes.contains("pscale"))
                particles.attribute<float>("pscale").assign(particles.size(), read.pscale);
            if (const std::string& name = file.velocity.back(); !name.empty() && name != "v") // also by its own name
                std::copy_n(particles.v.begin() + static_cast<std::ptrdiff_t>(begin), leaves.point_count(),
                            particles.attribute<Vec3f>(name).begin() + static_cast<std::ptrdiff_t>(begin));
            for (size_t l = 0; l < leaves.leaves.size(); ++l) {
                const Leaf& leaf = *leaves.leaves[l];
                for (const auto& [group, index] : leaf.attributeSet().descriptor().groupMap()) {
                    const std::string name = kGroupPrefix + group;
                    if (file.attributes.back().contains(name)) continue; // an attribute has this name
                    int32_t* member = particles.attribute<int32_t>(name).data() + begin + leaves.begin[l];
                    const auto handle = leaf.groupHandle(group);
                    for (Index i = 0, count = static_cast<Index>(leaf.pointCount()); i < count; ++i)
                        member[i] = handle.get(i);
                }
            }
            begin += leaves.point_count();
        }
    });
}

PointEdit::~PointEdit() = default;

void PointEdit::expect_usable(const std::set<std::string>& read, const std::set<std::string>& written) const
{
    for (size_t g = 0; g < file_->points.size(); ++g) {
        const auto& grid = static_cast<const PointDataGrid&>(*file_->points[g]);
        for (const auto& [name, example] : file_->attributes[g]) {
            const bool usable = with_value_type(*example, [](const auto&) {});
            if (written.contains(name) && !usable)
                bad_input("{}: the attribute \"{}\" holds {} values, which expressions cannot change; write to another "
                          "name",
                          path_, name, example->valueType());
            if (!read.contains(name) || example->valueType() != "int64") continue;
            for (auto leaf = grid.tree().cbeginLeaf(); leaf; ++leaf) {
                const AttributeHandle<int64_t> handle(leaf->constAttributeArray(name));
                for (Index i = 0; i < handle.size(); ++i)
                    if (handle.get(i) != static_cast<int32_t>(handle.get(i)))
                        bad_input("{}: the attribute \"{}\" has the value {}, which does not fit the 32 bits of an "
                                  "expression's integers",
                                  path_, name, handle.get(i));
            }
        }
    }
}

void PointEdit::write(const std::string& path, const std::set<std::string>& changed, const std::vector<uint8_t>& keep)
{
    const bool deletes = std::ranges::count(keep, 0) > 0;
    reading(path_, [&] {
        size_t begin = 0;
        for (size_t g = 0; g < file_->points.size(); ++g) {
            auto& grid = static_cast<PointDataGrid&>(*file_->points[g]);
            const size_t first = begin;
            const EditLeaves leaves(grid, begin);
            if (begin == first) continue; // no points: leaves, if any, have no attributes
            if (deletes || !changed.empty()) expect_one_descriptor(leaves, path_);
            particles.for_each_array([&]<class T>(const std::string& name, const std::vector<T>& array) {
                if (name == "P" || !changed.contains(name)) return;
                const std::string group = name.starts_with(kGroupPrefix) ? name.substr(6) : "";
                if constexpr (std::is_same_v<T, int32_t>)
                    if (!file_->attributes[g].contains(name) && has_group(leaves, group))
                        return write_group(leaves, group, array);
                const bool own_name = name == "v" && !file_->velocity[g].empty();
                write_attribute(grid, leaves, own_name ? file_->velocity[g] : name, array);
            });
            const bool moves = changed.contains("P");
            if (moves || deletes) Regrouping(grid, leaves, moves ? &particles.P : nullptr, keep, path_).run();
        }
    });
    write_grids(path, {file_->contents.grids.begin(), file_->contents.grids.end()}, file_->contents.typed_metadata);
}

} // namespace spindrift
