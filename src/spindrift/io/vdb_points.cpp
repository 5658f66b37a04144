// Particle sets as VDB points. OpenVDB's own conversion goes through a generic index grid and one virtual call per
// value; here particles are bucketed by leaf first, and the arrays of every leaf are filled directly, in parallel.
#include "spindrift/base/parallel.h"
#include "spindrift/io/finite.h"
#include "spindrift/io/point_buckets.h"
#include "spindrift/io/vdb_point_values.h"

#include <array>
#include <cstring>
#include <numeric>
#include <tbb/task_arena.h>

namespace spindrift {

namespace {

using namespace vdb;       // OpenVDB's point types
using vdb::AttributeArray; // not that of Particles
using Members = std::span<const uint32_t>;

static_assert(sizeof(Vec3f) == sizeof(openvdb::Vec3f), "vectors are copied as they lie in memory");

// ---------------------------------------------------------------------------------------------------------- writing --

// One attribute to write: fill(array, members) stores the values of these particles in the array of a leaf.
struct Column {
    std::string name;
    openvdb::NamePair type;
    std::function<void(AttributeArray&, Members)> fill;
};

template <class Stored, class T> Column column(const std::string& name, const std::vector<T>& source)
{
    static_assert(sizeof(Stored) == sizeof(T));
    using Array = TypedAttributeArray<Stored>;
    const auto fill = [&source](AttributeArray& array, Members members) {
        auto* out = storage_of<Array>(array);
        for (const uint32_t i : members) std::memcpy(static_cast<void*>(out++), &source[i], sizeof(Stored));
    };
    return {name, Array::attributeType(), fill};
}
Column column_of(const std::string& name, const std::vector<float>& source) { return column<float>(name, source); }
Column column_of(const std::string& name, const std::vector<int32_t>& source) { return column<int32_t>(name, source); }
Column column_of(const std::string& name, const std::vector<Vec3f>& source)
{
    return column<openvdb::Vec3f>(name, source);
}

Column uniform_column(const std::string& name, float value)
{
    using Array = TypedAttributeArray<float>;
    return {name, Array::attributeType(),
            [value](AttributeArray& array, Members) { static_cast<Array&>(array).collapse(value); }};
}

Column quaternion_column(const std::string& name, const std::vector<Eigen::Vector4f>& source)
{
    return column<openvdb::Quats>(name, source);
}

// Every attribute except P, which also needs the voxel.
std::vector<Column> columns_of(const Particles& particles, float pscale, const std::vector<Eigen::Vector4f>& orient)
{
    std::vector<Column> columns = {column_of("v", particles.v), column_of("id", particles.id)};
    if (!particles.attributes.contains("pscale")) columns.push_back(uniform_column("pscale", pscale));
    for (const auto& [name, array] : particles.attributes)
        columns.push_back(std::visit([&, &n = name](const auto& a) { return column_of(n, a); }, array));
    if (!orient.empty()) columns.push_back(quaternion_column("orient", orient));
    return columns;
}

void check_arrays(const std::string& path, const Particles& particles)
{
    for (const auto& [name, array] : particles.attributes) {
        if (name == "P" || name == "v" || name == "id" || !Descriptor::validName(name))
            fail("cannot write {}: \"{}\" is not a valid attribute name", path, name);
    }
    particles.for_each_array([&](const std::string& name, const auto& array) {
        if (array.size() != particles.size())
            fail("cannot write {}: there are {} particles but {} values of \"{}\"", path, particles.size(),
                 array.size(), name);
        expect_finite(path, name, std::span(array));
    });
}

// Points in a leaf are sorted by voxel. Counting sort: `members` arrive in tile order and leave in voxel order, stably.
struct VoxelOrder {
    std::vector<uint32_t> members;
    std::vector<openvdb::math::Vec3<uint16_t>> positions;
    std::vector<Leaf::ValueType> ends; // end of each voxel's points, as the leaf stores them

    VoxelOrder(const Particles& particles, Members unsorted, double cells_per_metre)
        : members(unsorted.size()), positions(unsorted.size()), ends(kTileCells)
    {
        std::array<uint32_t, kTileCells> next = {};
        std::vector<uint16_t> voxel(unsorted.size());
        std::vector<openvdb::math::Vec3<uint16_t>> codes(unsorted.size());
        for (size_t k = 0; k < unsorted.size(); ++k) {
            const CellPoint point = cell_point(particles.P[unsorted[k]], cells_per_metre);
            voxel[k] = static_cast<uint16_t>(offset_of_cell(point.cell));
            codes[k] = encode(point.within);
            ++next[voxel[k]];
        }
        uint32_t end = 0;
        for (size_t offset = 0; offset < kTileCells; ++offset) {
            end += std::exchange(next[offset], end);
            ends[offset] = end;
        }
        for (size_t k = 0; k < unsorted.size(); ++k) {
            const uint32_t to = next[voxel[k]]++;
            members[to] = unsorted[k];
            positions[to] = codes[k];
        }
    }
};

std::unique_ptr<Leaf> make_leaf(const Vec3i& tile, const VoxelOrder& order, const std::vector<Column>& columns,
                                const Descriptor::Ptr& descriptor, const AttributeArray::ScopedRegistryLock& lock)
{
    const openvdb::Coord origin(tile.x() * kTileSize, tile.y() * kTileSize, tile.z() * kTileSize);
    auto leaf = std::make_unique<Leaf>(origin);
    const auto count = static_cast<openvdb::Index>(order.members.size());
    // initializeAttributes() supports P only; here the leaf takes ownership of a whole set.
    leaf->replaceAttributeSet(new AttributeSet(descriptor, count, &lock), /*allowMismatchingDescriptors=*/true);
    leaf->setOffsets(order.ends);
    std::copy(order.positions.begin(), order.positions.end(), storage_of<PositionArray>(leaf->attributeArray(0)));
    for (size_t c = 0; c < columns.size(); ++c) columns[c].fill(leaf->attributeArray(c + 1), order.members);
    return leaf;
}

PointDataGrid::Ptr make_grid(const Particles& particles, float voxel, float pscale,
                             const std::vector<Eigen::Vector4f>& orient)
{
    const TileBuckets buckets = bucket_by_tile(particles.P, voxel);
    const std::vector<Column> columns = columns_of(particles, pscale, orient);
    Descriptor::Ptr descriptor = Descriptor::create(PositionArray::attributeType());
    for (const Column& c : columns) descriptor = descriptor->duplicateAppend(c.name, c.type);

    std::vector<std::unique_ptr<Leaf>> leaves(buckets.tiles.size());
    // The lock on OpenVDB's type registry is held for all threads of the loop. Without isolation, this thread could
    // steal another writer's task while it waits, which would then wait for the same lock.
    tbb::this_task_arena::isolate([&] {
        const AttributeArray::ScopedRegistryLock lock;
        parallel_for(leaves.size(), [&](size_t t) {
            const VoxelOrder order(particles, buckets.members(t), 1.0 / static_cast<double>(voxel));
            leaves[t] = make_leaf(buckets.tiles[t], order, columns, descriptor, lock);
        });
    });

    auto grid = PointDataGrid::create();
    for (auto& leaf : leaves) grid->tree().addLeaf(leaf.release());
    grid->setName("particles");
    grid->setCreator("Spindrift");
    grid->setTransform(vdb::make_transform(voxel, /*corners=*/false));
    return grid;
}

// ---------------------------------------------------------------------------------------------------------- reading --

void read_positions(const Leaves& leaves, const openvdb::math::Transform& transform, std::vector<Vec3f>& positions)
{
    leaves.read("P", positions); // within the voxel
    parallel_for(leaves.leaves.size(), [&](size_t l) {
        const Leaf& leaf = *leaves.leaves[l];
        Vec3f* points = positions.data() + leaves.begin[l];
        openvdb::Index point = 0;
        for (openvdb::Index offset = 0; offset < Leaf::SIZE; ++offset) {
            const openvdb::Index end = leaf.getValue(offset);
            if (point == end) continue;
            const openvdb::Vec3d voxel = leaf.offsetToGlobalCoord(offset).asVec3d();
            for (; point < end; ++point) {
                const Vec3f& within = points[point];
                const openvdb::Vec3d at(within.x(), within.y(), within.z());
                convert(transform.indexToWorld(voxel + at), points[point]);
            }
        }
    });
}

// pscale as one number if it is uniform, otherwise as an attribute.
void read_pscale(const Leaves& leaves, ParticleFile& file)
{
    std::vector<float> radii(leaves.point_count(), 0.0f);
    leaves.read("pscale", radii);
    const bool varies = std::adjacent_find(radii.begin(), radii.end(), std::not_equal_to<>()) != radii.end();
    if (varies)
        file.particles.attributes["pscale"] = std::move(radii);
    else if (!radii.empty())
        file.pscale = radii.front();
}

void read_other(const Leaves& leaves, const std::string& name, const AttributeArray& example, Particles& particles)
{
    with_value_type(example, [&]<class V>(const V&) {
        if constexpr (kIsVector<V>)
            leaves.read(name, particles.attribute<Vec3f>(name));
        else if constexpr (std::is_floating_point_v<V>)
            leaves.read(name, particles.attribute<float>(name));
        else
            leaves.read(name, particles.attribute<int32_t>(name));
    });
}

ParticleFile read_grid(const PointDataGrid& grid, const std::string& velocity_name, const std::string& path)
{
    ParticleFile file;
    Particles& particles = file.particles;
    const Leaves leaves(grid, path);
    const auto attributes = leaves.attributes();
    particles.resize(leaves.point_count());
    file.voxel = static_cast<float>(grid.voxelSize()[0]);

    read_positions(leaves, grid.transform(), particles.P);
    const std::string velocity = velocity_among(attributes, velocity_name, path);
    if (!velocity.empty()) leaves.read(velocity, particles.v);
    if (attributes.contains("id"))
        leaves.read("id", particles.id);
    else
        std::iota(particles.id.begin(), particles.id.end(), 0);
    if (attributes.contains("pscale")) read_pscale(leaves, file);
    for (const auto& [name, example] : attributes)
        if (name != "P" && name != velocity && name != "id" && name != "pscale")
            read_other(leaves, name, *example, particles);
    return file;
}

// Appends the points of another grid of the file.
void append(ParticleFile more, const std::string& path, ParticleFile& file)
{
    if (more.pscale != file.pscale)
        for (ParticleFile* part : {&file, &more})
            if (!part->particles.attributes.contains("pscale"))
                part->particles.attributes["pscale"] =
                    std::vector<float>(part->particles.size(), std::exchange(part->pscale, 0.0f));
    const size_t before = file.particles.size();
    file.particles.resize(before + more.particles.size());
    const auto copy = [&](const auto& from, auto& to) {
        std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(before));
    };
    copy(more.particles.P, file.particles.P), copy(more.particles.v, file.particles.v);
    copy(more.particles.id, file.particles.id);
    for (const auto& [name, array] : more.particles.attributes)
        std::visit(
            [&, &n = name]<class T>(const std::vector<T>& from) {
                if (file.particles.attributes.contains(n) && !file.particles.find<T>(n))
                    fail("{}: the attribute \"{}\" has different types in its point grids; read one of them", path, n);
                copy(from, file.particles.attribute<T>(n));
            },
            array);
}

// ------------------------------------------------------------------------------------------------------- describing --

std::string range_of(const Leaves& leaves, const std::string& name, bool is_vector)
{
    const auto range = [&]<class T>(std::vector<T> values) {
        leaves.read(name, values);
        T low = values.front(), high = values.front();
        for (const T& value : values) {
            if constexpr (std::is_same_v<T, Vec3f>)
                low = low.cwiseMin(value), high = high.cwiseMax(value);
            else
                low = std::min(low, value), high = std::max(high, value);
        }
        if constexpr (std::is_same_v<T, Vec3f>)
            return fmt::format("({}, {}, {}) to ({}, {}, {})", low.x(), low.y(), low.z(), high.x(), high.y(), high.z());
        else
            return fmt::format("{} to {}", low, high);
    };
    const size_t count = leaves.point_count();
    if (count == 0) return "none";
    if (is_vector) return range(std::vector<Vec3f>(count, Vec3f::Zero()));
    return range(std::vector<double>(count, 0.0)); // exact for integers up to 2^53
}

} // namespace

std::string vdb::velocity_among(const std::map<std::string, const AttributeArray*>& attributes,
                                const std::string& asked, const std::string& path)
{
    const auto is_vector = [&](const std::string& name) {
        const auto found = attributes.find(name);
        bool vector = false;
        if (found != attributes.end())
            with_value_type(*found->second, [&]<class V>(const V&) { vector = kIsVector<V>; });
        return vector;
    };
    if (!asked.empty() && !attributes.empty()) { // a grid without points has none
        if (is_vector(asked)) return asked;
        std::string known;
        for (const auto& [name, example] : attributes)
            if (name != "P" && is_vector(name)) known += (known.empty() ? "" : ", ") + name;
        fail("{} has no vector \"{}\" for the velocity (vectors: {})", path, asked, known.empty() ? "none" : known);
    }
    for (const char* name : {"v", "vel", "velocity"})
        if (is_vector(name)) return name;
    return {};
}

std::string vdb::describe_points(const openvdb::GridBase& grid, const std::string& path)
{
    if (!grid.isType<PointDataGrid>()) return "";
    const auto& points = static_cast<const PointDataGrid&>(grid);
    const Leaves leaves(points, path);
    std::string text = fmt::format("  points        {}\n", leaves.point_count());
    for (const auto& [name, example] : leaves.attributes()) {
        std::string range = "(not read)";
        with_value_type(*example, [&, &n = name]<class V>(const V&) { range = range_of(leaves, n, kIsVector<V>); });
        if (name == "P") range = "within voxels";
        text += fmt::format("  attribute     {} {}:{}, {}\n", name, example->valueType(), example->codecType(), range);
    }
    return text;
}

void vdb::validate_points(const openvdb::GridBase& grid, const std::string& path)
{
    if (grid.isType<PointDataGrid>()) reading(path, [&] { Leaves(static_cast<const PointDataGrid&>(grid), path); });
}

std::optional<openvdb::BBoxd> vdb::bounds_of_points(const openvdb::GridBase& grid, const std::string& path)
{
    if (!grid.isType<PointDataGrid>()) return std::nullopt;
    const Leaves leaves(static_cast<const PointDataGrid&>(grid), path);
    if (leaves.point_count() == 0) return std::nullopt;
    std::vector<Vec3f> positions(leaves.point_count());
    read_positions(leaves, grid.transform(), positions);
    openvdb::BBoxd box;
    for (const Vec3f& x : positions) box.expand(openvdb::Vec3d(x.x(), x.y(), x.z()));
    return box;
}

openvdb::GridBase::Ptr vdb::points_to_write(const std::string& path, const Particles& particles, float voxel,
                                            float pscale, const std::vector<Eigen::Vector4f>& orient)
{
    if (!(voxel > 0) || !std::isfinite(voxel)) fail("cannot write {}: the voxel size {} is not above 0", path, voxel);
    check_arrays(path, particles);
    if (!orient.empty() && orient.size() != particles.size())
        fail("cannot write {}: there are {} particles but {} orientations", path, particles.size(), orient.size());
    initialize();
    return make_grid(particles, voxel, pscale, orient);
}

void write_particles(const std::string& path, const Particles& particles, float voxel, float pscale,
                     const FileMetadata& metadata, const std::vector<Eigen::Vector4f>& orient)
{
    vdb::write_grids(path, {vdb::points_to_write(path, particles, voxel, pscale, orient)}, metadata);
}

ParticleFile read_particles(const std::string& path, const PointNames& names)
{
    vdb::initialize();
    const auto wanted = [&](const std::string& name, const std::string& type) {
        return type == PointDataGrid::gridType() && (names.grid.empty() || name == names.grid);
    };
    const vdb::Contents contents = vdb::read_grids(path, wanted);
    if (contents.grids.empty() && names.grid.empty())
        fail("{} holds no points (grids: {})", path, fmt::join(contents.names, ", "));
    if (contents.grids.empty())
        fail("{} holds no points named \"{}\" (grids: {})", path, names.grid, fmt::join(contents.names, ", "));
    ParticleFile file = vdb::particles_of(contents.grids, names, path);
    file.metadata = contents.metadata;
    return file;
}

ParticleFile vdb::particles_of(const openvdb::GridPtrVec& grids, const PointNames& names, const std::string& path)
{
    return reading(path, [&] {
        const auto read = [&](const openvdb::GridBase::Ptr& grid) {
            return read_grid(static_cast<const PointDataGrid&>(*grid), names.velocity, path);
        };
        ParticleFile file = read(grids.front());
        for (size_t g = 1; g < grids.size(); ++g) append(read(grids[g]), path, file);
        return file;
    });
}

} // namespace spindrift
