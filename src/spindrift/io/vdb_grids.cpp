// Conversion of fields to VDB grids and back, leaf by leaf, and descriptions of VDB files.
#include "spindrift/io/finite.h"
#include "spindrift/io/vdb_archive.h"

#include <atomic>
#include <set>

namespace spindrift {

namespace {

using Tree = openvdb::FloatTree;
using Leaf = Tree::LeafNodeType;

static_assert(Leaf::DIM == kTileSize && Leaf::SIZE == kTileCells, "a tile is a leaf");

// A grid with more cells than this is damaged, or a filled box that was not meant to become dense.
constexpr uint64_t kMostCells = uint64_t(1) << 31;
// Limit for cells in active tiles: half a gigabyte of numbers from a few bytes.
constexpr uint64_t kMostTileCells = uint64_t(1) << 27;

// Active cells of a tile: those that differ from the background, or those in the band of a level set.
Leaf::NodeMaskType active_cells(const Field<float>& field, bool is_level_set, int tile)
{
    const float background = field.background();
    const float* values = field.tile(tile);
    Leaf::NodeMaskType active;
    for (uint32_t word = 0; word < 8; ++word) {
        uint64_t bits = 0;
        for (uint32_t bit = 0; bit < 64; ++bit) {
            const float value = values[64 * word + bit];
            bits |= uint64_t(is_level_set ? std::abs(value) < background : value != background) << bit;
        }
        active.getWord<uint64_t>(word) = bits;
    }
    return active;
}

// A grid with the values of a field, leaf by leaf. Omits leaves that hold only background.
template <class Grid, class T, class Active> typename Grid::Ptr
make_grid(const std::string& name, const Field<T>& field, float voxel, bool corners, const Active& active_cells_of)
{
    using GridLeaf = typename Grid::TreeType::LeafNodeType;
    using Value = typename Grid::ValueType;
    static_assert(sizeof(Value) == sizeof(T), "values are copied as they lie in memory");
    const Topology& topology = field.topology();
    const T background = field.background();
    const auto vdb_background = [&] {
        if constexpr (std::is_same_v<T, Vec3f>)
            return Value(background.x(), background.y(), background.z());
        else
            return background;
    }();
    std::vector<std::unique_ptr<GridLeaf>> leaves(topology.tile_count());
    for_each_tile(topology, [&](int t) {
        const Leaf::NodeMaskType active = active_cells_of(t);
        const T* values = field.tile(t);
        if (active.isOff() && std::all_of(values, values + kTileCells, [&](const T& v) { return v == background; }))
            return;
        const Vec3i cell = topology.first_cell(t);
        auto leaf = std::make_unique<GridLeaf>(openvdb::Coord(cell.x(), cell.y(), cell.z()), vdb_background);
        std::memcpy(static_cast<void*>(leaf->buffer().data()), values, kTileCells * sizeof(T));
        leaf->setValueMask(active);
        leaves[t] = std::move(leaf);
    });

    auto grid = Grid::create(vdb_background);
    for (auto& leaf : leaves)
        if (leaf) grid->tree().addLeaf(leaf.release());
    grid->setName(name);
    grid->setCreator("Spindrift");
    grid->setTransform(vdb::make_transform(voxel, corners));
    return grid;
}

openvdb::FloatGrid::Ptr make_grid(const NamedField& named, float voxel)
{
    const auto active = [&](int t) { return active_cells(*named.field, named.is_level_set, t); };
    auto grid = make_grid<openvdb::FloatGrid>(named.name, *named.field, voxel, named.corners, active);
    grid->setGridClass(named.is_level_set ? openvdb::GRID_LEVEL_SET : openvdb::GRID_FOG_VOLUME);
    return grid;
}

openvdb::Vec3SGrid::Ptr make_grid(const NamedVectors& named, float voxel)
{
    const auto active = [&](int t) {
        if (named.level_set) return active_cells(*named.level_set, true, t);
        Leaf::NodeMaskType on;
        for (int c = 0; c < kTileCells; ++c)
            if (named.field->tile(t)[c] != named.field->background()) on.setOn(static_cast<uint32_t>(c));
        return on;
    };
    auto grid = make_grid<openvdb::Vec3SGrid>(named.name, *named.field, voxel, false, active);
    if (named.staggered) grid->setGridClass(openvdb::GRID_STAGGERED);
    // A velocity rotates with the grid but does not translate.
    grid->setVectorType(named.is_color ? openvdb::VEC_INVARIANT : openvdb::VEC_CONTRAVARIANT_RELATIVE);
    return grid;
}

// A Field can only hold values on an axis-aligned grid of cubes.
template <class T> void read_transform(const openvdb::GridBase& grid, const std::string& path, FieldFileOf<T>& file)
{
    const openvdb::math::Transform& transform = grid.transform();
    const openvdb::Vec3d origin = transform.indexToWorld(openvdb::Vec3d(0));
    const double voxel = transform.voxelSize()[0];
    bool cubes = transform.isLinear() && voxel > 0;
    for (int axis = 0; axis < 3 && cubes; ++axis) {
        openvdb::Vec3d step(0), expected(0);
        step[axis] = 1, expected[axis] = voxel;
        cubes = (transform.indexToWorld(step) - origin - expected).length() < 1e-4 * voxel;
    }
    if (!cubes) fail("grid \"{}\" of {} is rotated or has cells that are not cubes", grid.getName(), path);
    file.voxel = static_cast<float>(voxel);
    file.origin = Vec3d(origin.x(), origin.y(), origin.z()).cast<float>();
    file.corners = origin.length() < 1e-3 * voxel;
    file.is_level_set = grid.getGridClass() == openvdb::GRID_LEVEL_SET;
    file.staggered = grid.getGridClass() == openvdb::GRID_STAGGERED;
}

float converted(float value) { return value; }
float converted(double value) { return static_cast<float>(value); }
Vec3f converted(const openvdb::Vec3d& value) { return Vec3d(value.x(), value.y(), value.z()).cast<float>(); }
Vec3f converted(const openvdb::Vec3f& value) { return {value.x(), value.y(), value.z()}; }

// x - x is zero or NaN.
bool is_finite(float x) { return x - x == 0; }
bool is_finite(const Vec3f& x) { return is_finite(x.x()) && is_finite(x.y()) && is_finite(x.z()); }

// A region of one active value, which OpenVDB stores as one number.
template <class T> struct Region {
    openvdb::CoordBBox cells;
    T value;
};

template <class Tree> auto active_regions(const Tree& tree)
{
    std::vector<Region<decltype(converted(tree.background()))>> regions;
    auto it = tree.cbeginValueOn();
    it.setMaxDepth(decltype(it)::LEAF_DEPTH - 1);
    for (; it; ++it) regions.push_back({it.getBoundingBox(), converted(*it)});
    return regions;
}

// Copies leaf by leaf. Active tiles (regions that OpenVDB stores as one value) become tiles of the topology.
template <class Grid, class T> void read_values(Grid& grid, const std::string& path, FieldFileOf<T>& file)
{
    using GridLeaf = typename Grid::TreeType::LeafNodeType;
    auto& tree = grid.tree();
    const uint64_t tile_cells = tree.activeVoxelCount() - tree.activeLeafVoxelCount();
    if (tile_cells + uint64_t(tree.leafCount()) * kTileCells > kMostCells)
        fail("grid \"{}\" of {} is too large: {} active cells", grid.getName(), path, tree.activeVoxelCount());
    if (tile_cells > kMostTileCells)
        fail("grid \"{}\" of {} is too large: {} active cells in constant regions, at most {} are supported; "
             "write it with larger voxels, or with unneeded ones inactive",
             grid.getName(), path, tile_cells, kMostTileCells);

    std::vector<const GridLeaf*> leaves;
    std::as_const(tree).getNodes(leaves);
    const auto regions = active_regions(std::as_const(tree));
    std::vector<uint64_t> codes;
    codes.reserve(leaves.size() + tile_cells / kTileCells);
    const auto tile_at = [](const openvdb::Coord& cell) { return tile_of_cell(Vec3i(cell.x(), cell.y(), cell.z())); };
    const auto add = [&](const Vec3i& tile) {
        if ((tile.array() < -kTileReach).any() || (tile.array() >= kTileReach).any())
            fail("grid \"{}\" of {} reaches too far from the origin", grid.getName(), path);
        codes.push_back(morton_of_tile(tile));
    };
    const auto for_each_tile_of = [&](const auto& region, const auto& body) {
        const Vec3i first = tile_at(region.cells.min()), last = tile_at(region.cells.max());
        for (int x = first.x(); x <= last.x(); ++x)
            for (int y = first.y(); y <= last.y(); ++y)
                for (int z = first.z(); z <= last.z(); ++z) body(Vec3i(x, y, z));
    };
    for (const GridLeaf* leaf : leaves) add(tile_at(leaf->origin()));
    for (const auto& region : regions) for_each_tile_of(region, add);
    file.topology = std::make_unique<Topology>(std::move(codes));
    file.field.reset_uninitialized(*file.topology, converted(grid.background()));
    file.active.assign(file.topology->tile_count(), {});
    std::atomic<size_t> bad = 0;
    parallel_for(leaves.size(), [&](size_t l) {
        const auto* values = leaves[l]->buffer().data();
        const int tile = file.topology->find(tile_at(leaves[l]->origin()));
        for (uint32_t word = 0; word < kTileCells / 64; ++word)
            file.active[tile][word] = leaves[l]->valueMask().template getWord<uint64_t>(word);
        T* out = file.field.tile(tile);
        size_t finite = 0;
        for (int i = 0; i < kTileCells; ++i) out[i] = converted(values[i]), finite += is_finite(out[i]);
        if (finite != size_t(kTileCells)) bad += size_t(kTileCells) - finite;
    });
    parallel_for(regions.size(), [&](size_t r) {
        if (!is_finite(regions[r].value)) bad += regions[r].cells.volume();
        for_each_tile_of(regions[r], [&](const Vec3i& tile) {
            const int index = file.topology->find(tile);
            file.active[index].fill(~uint64_t(0));
            std::fill_n(file.field.tile(index), kTileCells, regions[r].value);
        });
    });
    if (bad > 0 || !is_finite(converted(grid.background())))
        fail("grid \"{}\" of {} has {} values that are not finite; fix them in the program that wrote the file",
             grid.getName(), path, bad.load());
}

template <class Grid, class T>
void add_field(openvdb::GridBase& grid, const std::string& path, std::map<std::string, FieldFileOf<T>>& files)
{
    FieldFileOf<T>& file = files[grid.getName()];
    read_transform(grid, path, file);
    read_values(static_cast<Grid&>(grid), path, file);
}

void add_field(openvdb::GridBase& grid, const std::string& path, FieldSet& set)
{
    if (grid.isType<openvdb::FloatGrid>())
        add_field<openvdb::FloatGrid>(grid, path, set.numbers);
    else if (grid.isType<openvdb::DoubleGrid>())
        add_field<openvdb::DoubleGrid>(grid, path, set.numbers);
    else if (grid.isType<openvdb::Vec3SGrid>())
        add_field<openvdb::Vec3SGrid>(grid, path, set.vectors);
    else if (grid.isType<openvdb::Vec3DGrid>())
        add_field<openvdb::Vec3DGrid>(grid, path, set.vectors);
    else
        fail("grid \"{}\" of {} holds {} values, not one number per cell", grid.getName(), path, grid.valueType());
}

std::string class_name(const openvdb::GridBase& grid)
{
    return openvdb::GridBase::gridClassToMenuName(grid.getGridClass());
}

// Lines about one grid.
std::string describe_grid(const openvdb::GridBase& grid, const std::string& path)
{
    std::string text = fmt::format("grid {}\n", grid.getName().empty() ? "(no name)" : grid.getName());
    const auto line = [&text](const char* label, const std::string& value) {
        text += fmt::format("  {:<13} {}\n", label, value);
    };
    const openvdb::Vec3d voxel = grid.voxelSize();
    line("type", grid.valueType() + (grid.saveFloatAsHalf() ? " (half)" : ""));
    line("class", class_name(grid));
    line("voxel", voxel.eq(openvdb::Vec3d(voxel[0]), 1e-9) ? fmt::format("{:.6g} m", voxel[0]) : voxel.str());
    line("active", fmt::format("{}", grid.activeVoxelCount()));
    const openvdb::CoordBBox cells = grid.evalActiveVoxelBoundingBox();
    if (!cells.empty()) {
        line("voxels", fmt::format("{} to {}", cells.min().asVec3i().str(), cells.max().asVec3i().str()));
        // Voxels extend half a step beyond their centres. Corners of a rotated grid may map to any side of the box.
        const openvdb::BBoxd steps(cells.min().asVec3d() - 0.5, cells.max().asVec3d() + 0.5);
        const openvdb::BBoxd box = vdb::bounds_of_points(grid, path).value_or(grid.transform().indexToWorld(steps));
        line("bounds", fmt::format("({:.6g}, {:.6g}, {:.6g}) to ({:.6g}, {:.6g}, {:.6g}) m", box.min()[0], box.min()[1],
                                   box.min()[2], box.max()[0], box.max()[1], box.max()[2]));
    }
    return text + vdb::describe_points(grid, path);
}

vdb::Contents read_everything(const std::string& path)
{
    return vdb::read_grids(path, [](const std::string&, const std::string&) { return true; });
}

} // namespace

void write_fields(const std::string& path, const std::vector<NamedField>& fields, float voxel,
                  const FileMetadata& metadata, const std::vector<NamedVectors>& vectors, bool half)
{
    if (!(voxel > 0) || !std::isfinite(voxel)) fail("cannot write {}: the voxel size {} is not above 0", path, voxel);
    const float largest = half ? kLargestHalf : std::numeric_limits<float>::max();
    for (const NamedField& named : fields) expect_finite(path, named.name, named.field->values(), largest);
    for (const NamedVectors& named : vectors) expect_finite(path, named.name, named.field->values(), largest);
    vdb::initialize();
    openvdb::GridCPtrVec grids;
    const auto add = [&](const auto& grid) {
        grid->setSaveFloatAsHalf(half);
        grids.push_back(grid);
    };
    for (const NamedField& field : fields) add(make_grid(field, voxel));
    for (const NamedVectors& field : vectors) add(make_grid(field, field.voxel > 0 ? field.voxel : voxel));
    vdb::write_grids(path, grids, metadata);
}

FieldFile read_field(const std::string& path, const std::string& name)
{
    FieldSet set = read_fields(path, {name});
    if (set.numbers.empty()) fail("grid \"{}\" of {} holds vec3s values, not one number per cell", name, path);
    return std::move(set.numbers.begin()->second);
}

FieldSet read_fields(const std::string& path, const std::vector<std::string>& names,
                     const std::vector<std::string>& any)
{
    std::set<std::string> found;
    const auto first_of_name = [&](const std::string& grid, const std::string&) {
        const bool wanted = std::ranges::count(names, grid) + std::ranges::count(any, grid) > 0;
        return wanted && found.insert(grid).second;
    };
    const vdb::Contents contents = vdb::read_grids(path, first_of_name);
    for (const std::string& name : names)
        if (!found.contains(name))
            fail("{} has no grid \"{}\" (grids: {})", path, name, fmt::join(contents.names, ", "));
    return vdb::reading(path, [&] {
        FieldSet set;
        for (const openvdb::GridBase::Ptr& grid : contents.grids) add_field(*grid, path, set);
        return set;
    });
}

std::string describe_vdb(const std::string& path)
{
    const vdb::Contents contents = read_everything(path);
    return vdb::reading(path, [&] {
        std::string text =
            fmt::format("{}: {} grid{}\n", path, contents.grids.size(), contents.grids.size() == 1 ? "" : "s");
        for (const auto& [name, value] : contents.metadata) text += fmt::format("metadata {} = {}\n", name, value);
        for (const auto& grid : contents.grids) text += describe_grid(*grid, path);
        return text;
    });
}

void check_vdb(const std::string& path)
{
    for (const auto& grid : read_everything(path).grids) vdb::validate_points(*grid, path);
}

} // namespace spindrift
