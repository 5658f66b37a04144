#include "bench.h"
#include "expression_bench.h"

#include <openvdb/openvdb.h>
#include <openvdb/points/PointAttribute.h>
#include <openvdb/points/PointConversion.h>
#include <openvdb/points/PointDelete.h>
#include <openvdb/points/PointGroup.h>
#include <openvdb/tree/LeafManager.h>
#include <openvdb_ax/ax.h>
#include <openvdb_ax/compiler/Compiler.h>
#include <openvdb_ax/compiler/PointExecutable.h>

namespace spindrift {

namespace {

using namespace openvdb::points;
using Vector = openvdb::Vec3f;
using Leaf = PointDataTree::LeafNodeType;

template <class T, class From> void add_attribute(PointDataGrid& grid, const openvdb::tools::PointIndexGrid& index,
                                                  const std::string& name, const std::vector<From>& values)
{
    static_assert(sizeof(T) == sizeof(From));
    appendAttribute<T>(grid.tree(), name);
    const PointAttributeVector<T> source(*reinterpret_cast<const std::vector<T>*>(&values));
    populateAttribute(grid.tree(), index.tree(), name, source);
}

Vec3f to_ours(const Vector& v) { return {v.x(), v.y(), v.z()}; }
Vector to_vdb(const Vec3f& v) { return {v.x(), v.y(), v.z()}; }

} // namespace

struct OpenvdbPoints::Grid {
    PointDataGrid::Ptr points;
};

OpenvdbPoints::OpenvdbPoints(const Particles& particles) : grid_(std::make_unique<Grid>())
{
    openvdb::initialize();
    openvdb::ax::initialize();
    const auto transform = openvdb::math::Transform::createLinearTransform(1.0);
    const PointAttributeVector<Vector> positions(*reinterpret_cast<const std::vector<Vector>*>(&particles.P));
    const auto index = openvdb::tools::createPointIndexGrid<openvdb::tools::PointIndexGrid>(positions, *transform);
    grid_->points = createPointDataGrid<NullCodec, PointDataGrid>(*index, positions, *transform);
    add_attribute<Vector>(*grid_->points, *index, "v", particles.v);
    add_attribute<int32_t>(*grid_->points, *index, "id", particles.id);
    add_attribute<float>(*grid_->points, *index, "rad", *particles.find<float>("rad"));
}

OpenvdbPoints::~OpenvdbPoints() = default;

double OpenvdbPoints::best_step_seconds(int runs) const
{
    const auto points = grid_->points->deepCopy();
    return best_seconds(runs, [&] {
        // Positions are stored relative to their voxel, whose edge is one, so a displacement can be added as it is.
        // Points that leave their voxel are not moved to another.
        openvdb::tree::LeafManager<PointDataTree> leaves(points->tree());
        leaves.foreach ([](Leaf& leaf, size_t) {
            AttributeWriteHandle<Vector> P(leaf.attributeArray("P")), v(leaf.attributeArray("v"));
            const AttributeHandle<float> rad(leaf.constAttributeArray("rad"));
            for (openvdb::Index i = 0; i < P.size(); ++i) {
                Vec3f position = to_ours(P.get(i)), velocity = to_ours(v.get(i));
                step_particle(position, velocity, rad.get(i));
                P.set(i, to_vdb(position)), v.set(i, to_vdb(velocity));
            }
        });
    });
}

double OpenvdbPoints::best_decimation_seconds(int runs) const
{
    double best = 1e30;
    for (int run = 0; run < runs; ++run) {
        const auto points = grid_->points->deepCopy();
        best = std::min(best, seconds_of([&] {
                            appendGroup(points->tree(), "dead");
                            openvdb::tree::LeafManager<PointDataTree> leaves(points->tree());
                            leaves.foreach ([](Leaf& leaf, size_t) {
                                GroupWriteHandle dead = leaf.groupWriteHandle("dead");
                                const AttributeHandle<int32_t> id(leaf.constAttributeArray("id"));
                                for (openvdb::Index i = 0; i < id.size(); ++i) dead.set(i, is_decimated(id.get(i)));
                            });
                            deleteFromGroup(points->tree(), "dead", false);
                        }));
    }
    return best;
}

double OpenvdbPoints::ax_seconds(const char* text) const
{
    const auto points = grid_->points->deepCopy();
    const auto executable = openvdb::ax::Compiler::create()->compile<openvdb::ax::PointExecutable>(text);
    return seconds_of([&] { executable->execute(*points); });
}

} // namespace spindrift
