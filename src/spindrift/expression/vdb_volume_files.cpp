#include "spindrift/base/interrupt.h"
#include "spindrift/base/parallel.h"
#include "spindrift/expression/context_callbacks.h"
#include "spindrift/expression/volume_files.h"
#include "spindrift/io/vdb_archive.h"

#include <fmt/ranges.h>
#include <openvdb/points/PointDataGrid.h>
#include <openvdb/tools/Interpolation.h>
#include <openvdb/tools/Prune.h>
#include <optional>

namespace spindrift {

namespace {

using openvdb::Coord;
using openvdb::FloatGrid;
using openvdb::GridBase;
using openvdb::Int32Grid;
using openvdb::Vec3SGrid;

constexpr size_t kLeafCells = FloatGrid::TreeType::LeafNodeType::SIZE;
// Limit on active voxels: more is most likely a filled box that was never meant to be dense.
constexpr uint64_t kMaxCells = uint64_t(1) << 31;
// Limit on voxels in tiles of constant value: half a gigabyte of numbers from a few bytes.
constexpr uint64_t kMaxTileCells = uint64_t(1) << 27;

std::optional<ElementType> type_of(const GridBase& grid)
{
    if (grid.isType<FloatGrid>()) return ElementType::float32;
    if (grid.isType<Int32Grid>()) return ElementType::int32;
    if (grid.isType<Vec3SGrid>()) return ElementType::vec3f;
    return std::nullopt;
}

// Calls body(typed grid).
template <class Grid, class Body> auto with_type(Grid& grid, const Body& body)
{
    const auto as = [&]<class T>(const T*) -> auto&
    {
        return static_cast<std::conditional_t<std::is_const_v<Grid>, const T, T>&>(grid);
    };
    if (grid.template isType<FloatGrid>()) return body(as(static_cast<const FloatGrid*>(nullptr)));
    if (grid.template isType<Int32Grid>()) return body(as(static_cast<const Int32Grid*>(nullptr)));
    return body(as(static_cast<const Vec3SGrid*>(nullptr)));
}

vdb::Contents read_all(const std::string& path)
{
    return vdb::read_grids(path, [](const std::string&, const std::string&) { return true; });
}

// Reads a grid at the 512 voxels of another grid's leaf.
class BlockReader {
  public:
    BlockReader(const GridBase& grid, const openvdb::math::Transform& target)
        : grid_(grid), target_(target), same_voxels_(grid.transform() == target)
    {
    }

    void read(const Coord& origin, void* out) const
    {
        with_type(grid_, [&](const auto& grid) { read_typed(grid, origin, out); });
    }

  private:
    template <class Grid> void read_typed(const Grid& grid, const Coord& origin, void* out) const
    {
        using Value = typename Grid::ValueType;
        auto* values = static_cast<Value*>(out);
        if (!same_voxels_) {
            using Leaf = typename Grid::TreeType::LeafNodeType;
            openvdb::tree::ValueAccessor<const typename Grid::TreeType, /*IsSafe=*/false> accessor(grid.tree());
            for (size_t i = 0; i < kLeafCells; ++i) {
                const Coord cell = Leaf::offsetToLocalCoord(static_cast<openvdb::Index>(i)) + origin;
                const auto at = grid.transform().worldToIndex(target_.indexToWorld(cell));
                if constexpr (std::is_same_v<Value, int32_t>)
                    values[i] = openvdb::tools::PointSampler::sample(accessor, at);
                else
                    values[i] = openvdb::tools::BoxSampler::sample(accessor, at);
            }
        } else if (const auto* leaf = grid.tree().probeConstLeaf(origin)) {
            std::copy_n(leaf->buffer().data(), kLeafCells, values);
        } else {
            std::fill_n(values, kLeafCells, grid.tree().getValue(origin));
        }
    }

    const GridBase& grid_;
    const openvdb::math::Transform& target_;
    bool same_voxels_;
};

class LeafCallbacks final : public VoxelCallbacks {
  public:
    LeafCallbacks(const KernelCallbacks& outer, const Coord& origin, const openvdb::math::Transform& transform)
        : VoxelCallbacks(outer), origin_(origin), transform_(transform)
    {
    }
    void voxel_coordinate(size_t i, int32_t* out) const override
    {
        const Coord c = cell(i);
        for (int a = 0; a < 3; ++a) out[a] = c[a];
    }
    void voxel_position(size_t i, float* out) const override
    {
        const openvdb::Vec3d x = transform_.indexToWorld(cell(i));
        for (int a = 0; a < 3; ++a) out[a] = static_cast<float>(x[a]);
    }

  private:
    Coord cell(size_t i) const
    {
        return FloatGrid::TreeType::LeafNodeType::offsetToLocalCoord(static_cast<openvdb::Index>(i)) + origin_;
    }

    Coord origin_;
    const openvdb::math::Transform& transform_;
};

bool is_finite(float x) { return std::isfinite(x); }
bool is_finite(int32_t) { return true; }
bool is_finite(const openvdb::Vec3f& x) { return x.isFinite(); }

// Runs one expression on the grids of one file.
class VolumeRun {
  public:
    VolumeRun(const VolumeExpression& expression, const ExpressionContext& context, openvdb::GridPtrVec& grids,
              const std::string& path)
        : expression_(expression), kernel_(expression.kernel()), context_(context), grids_(grids), path_(path),
          callbacks_(kernel_, context), parameters_(parameter_values(expression.options().parameters, context))
    {
        for (const KernelName& name : kernel_.attributes()) sources_.push_back(find_or_add(name));
    }

    void run()
    {
        std::vector<std::pair<size_t, GridBase::Ptr>> results; // separate, so that reads never see writes
        for (size_t a = 0; a < kernel_.attributes().size(); ++a)
            if (kernel_.attributes()[a].written) results.emplace_back(a, sources_[a]->deepCopyGrid());
        for (const auto& [a, result] : results) with_type(*result, [&, a = a](auto& grid) { write(a, grid); });
        for (const auto& [a, result] : results) std::replace(grids_.begin(), grids_.end(), sources_[a], result);
    }

  private:
    template <class... Args>
    [[noreturn]] void complain(const KernelName& name, fmt::format_string<Args...> format, Args&&... args) const
    {
        source_error(expression_.label(), expression_.text(), name.position,
                     fmt::format(format, std::forward<Args>(args)...));
    }

    GridBase::Ptr find(const std::string& name) const
    {
        for (const GridBase::Ptr& grid : grids_)
            if (grid->getName() == name) return grid;
        return nullptr;
    }

    GridBase::Ptr find_or_add(const KernelName& name)
    {
        GridBase::Ptr grid = find(name.name);
        if (!grid && name.written) grid = add(name);
        if (!grid) {
            std::vector<std::string> known;
            for (const GridBase::Ptr& other : grids_) known.push_back(other->getName());
            complain(name, "{} has no volume \"{}\"; there are: {}", path_, name.name, fmt::join(known, ", "));
        }
        const auto type = type_of(*grid);
        if (type != name.type)
            complain(name, "the volume \"{}\" of {} holds {} values, not {}", name.name, path_,
                     type ? element_type_name(*type) : grid->valueType(), element_type_name(name.type));
        return grid;
    }

    GridBase::Ptr add(const KernelName& name)
    {
        const auto like = [&]() -> GridBase::Ptr {
            for (const KernelName& other : kernel_.attributes())
                if (GridBase::Ptr grid = find(other.name); grid && type_of(*grid)) return grid;
            return nullptr;
        }();
        if (!like)
            complain(name, "{} has no volume \"{}\", and the expression names no existing volume to copy the voxels of",
                     path_, name.name);
        GridBase::Ptr grid = with_type(*like, [&](const auto& model) -> GridBase::Ptr {
            const auto made = [&]<class Grid>(const Grid*) -> GridBase::Ptr {
                using Tree = typename Grid::TreeType;
                return Grid::create(std::make_shared<Tree>(model.tree(), openvdb::zeroVal<typename Grid::ValueType>(),
                                                           openvdb::TopologyCopy()));
            };
            if (name.type == ElementType::float32) return made(static_cast<const FloatGrid*>(nullptr));
            if (name.type == ElementType::int32) return made(static_cast<const Int32Grid*>(nullptr));
            return made(static_cast<const Vec3SGrid*>(nullptr));
        });
        grid->setTransform(like->transform().copy());
        grid->setName(name.name);
        grid->setCreator("Spindrift");
        grids_.push_back(grid);
        return grid;
    }

    template <class Grid> void write(size_t target, Grid& grid)
    {
        auto& tree = grid.tree();
        const uint64_t active = tree.activeVoxelCount();
        if (active > kMaxCells || active - tree.activeLeafVoxelCount() > kMaxTileCells)
            fail("the volume \"{}\" of {} is too large: {} active voxels", grid.getName(), path_,
                 tree.activeVoxelCount());
        tree.voxelizeActiveTiles();
        std::vector<typename Grid::TreeType::LeafNodeType*> leaves;
        tree.getNodes(leaves);
        std::vector<BlockReader> readers;
        for (const GridBase::Ptr& source : sources_) readers.emplace_back(*source, grid.transform());
        int32_t overrun = 0;
        std::atomic<bool> finite = true;
        parallel_for(leaves.size(), [&](size_t l) {
            check_interrupt();
            if (std::atomic_ref(overrun).load(std::memory_order_relaxed)) return;
            auto& leaf = *leaves[l];
            std::vector<float> numbers(3 * kLeafCells * sources_.size()); // also holds the integers
            std::vector<void*> arrays;
            for (size_t a = 0; a < sources_.size(); ++a) {
                arrays.push_back(&numbers[3 * kLeafCells * a]);
                readers[a].read(leaf.origin(), arrays[a]);
            }
            const LeafCallbacks callbacks(callbacks_, leaf.origin(), grid.transform());
            kernel_.run(
                {arrays.data(), parameters_.data(), &callbacks, nullptr, expression_.options().loop_limit, &overrun}, 0,
                kLeafCells);
            const auto* values = static_cast<const typename Grid::ValueType*>(arrays[target]);
            for (auto voxel = leaf.beginValueOn(); voxel; ++voxel) {
                if (!is_finite(values[voxel.pos()])) finite = false;
                voxel.setValue(values[voxel.pos()]);
            }
        });
        callbacks_.rethrow();
        if (overrun) fail_at_loop_limit(expression_.label(), context_.frame, expression_.options().loop_limit);
        if (!finite)
            fail("{}: frame {}: the expression gives \"{}\" values that are not finite; does it divide by zero?",
                 expression_.label(), context_.frame, grid.getName());
        openvdb::tools::prune(tree);
    }

    const VolumeExpression& expression_;
    const Kernel& kernel_;
    const ExpressionContext& context_;
    openvdb::GridPtrVec& grids_;
    const std::string& path_;
    ContextCallbacks callbacks_;
    std::vector<double> parameters_;
    std::vector<GridBase::Ptr> sources_; // of the attributes, before any write
};

template <class Grid> auto sampler(const typename Grid::ConstPtr& grid)
{
    return [grid](const Vec3f& x) {
        const auto at = grid->transform().worldToIndex(openvdb::Vec3d(x.x(), x.y(), x.z()));
        // Background far outside, and where x is not finite.
        const bool near = std::abs(at[0]) < 1e9 && std::abs(at[1]) < 1e9 && std::abs(at[2]) < 1e9;
        openvdb::tree::ValueAccessor<const typename Grid::TreeType, /*IsSafe=*/false> accessor(grid->tree());
        return near ? openvdb::tools::BoxSampler::sample(accessor, at) : grid->background();
    };
}

} // namespace

bool has_points(const std::string& path)
{
    bool found = false;
    vdb::read_grids(path, [&](const std::string&, const std::string& type) {
        found |= type == openvdb::points::PointDataGrid::gridType();
        return false;
    });
    return found;
}

void run_on_volumes(const VolumeExpression& expression, const std::string& in, const std::string& out,
                    const ExpressionContext& context)
{
    vdb::Contents contents = read_all(in);
    check_context(expression.label(), expression.text(), expression.kernel(), context);
    vdb::reading(in, [&] { VolumeRun(expression, context, contents.grids, in).run(); });
    vdb::write_grids(out, {contents.grids.begin(), contents.grids.end()}, contents.typed_metadata);
}

void add_volumes(const std::string& path, ExpressionContext& context)
{
    for (const GridBase::Ptr& grid : read_all(path).grids) {
        if (const auto numbers = openvdb::GridBase::grid<FloatGrid>(grid))
            context.volumes[grid->getName()] = sampler<FloatGrid>(numbers);
        if (const auto vectors = openvdb::GridBase::grid<Vec3SGrid>(grid))
            context.vector_volumes[grid->getName()] = [sample = sampler<Vec3SGrid>(vectors)](const Vec3f& x) {
                const openvdb::Vec3f v = sample(x);
                return Vec3f(v.x(), v.y(), v.z());
            };
    }
}

void write_particles_beside_volumes(const std::string& path, const ParticleFile& points, const std::string& volumes)
{
    const auto is_volume = [](const std::string&, const std::string& type) {
        return type != openvdb::points::PointDataGrid::gridType();
    };
    const vdb::Contents others = vdb::read_grids(volumes, is_volume);
    openvdb::GridCPtrVec grids = {vdb::points_to_write(path, points.particles, points.voxel, points.pscale)};
    grids.insert(grids.end(), others.grids.begin(), others.grids.end());
    vdb::write_grids(path, grids, points.metadata);
}

} // namespace spindrift
