// Stock AX on VDB points and volumes is the reference: the same text gives the same values.
#include "samples.h"
#include "spindrift/expression/volume_files.h"

#include <openvdb/openvdb.h>
#include <openvdb/points/PointConversion.h>
#include <openvdb/points/PointGroup.h>
#include <openvdb/tools/Interpolation.h>
#include <openvdb/tools/LevelSetSphere.h>
#include <openvdb_ax/ax.h>
#include <openvdb_ax/compiler/Compiler.h>
#include <openvdb_ax/compiler/PointExecutable.h>
#include <openvdb_ax/compiler/VolumeExecutable.h>

namespace spindrift {

namespace {

using namespace openvdb::points;
using Vector = openvdb::Vec3f;

void initialise()
{
    openvdb::initialize();
    openvdb::ax::initialize();
}

template <class Stored, class T> std::vector<Stored> as_vdb(const std::vector<T>& values)
{
    std::vector<Stored> stored;
    for (const T& value : values)
        if constexpr (std::is_same_v<T, Vec3f>)
            stored.emplace_back(value.x(), value.y(), value.z());
        else
            stored.push_back(value);
    return stored;
}

// All points lie in the voxel at the origin, of edge one, so that positions within the voxel are world positions.
PointDataGrid::Ptr to_grid(const Particles& particles)
{
    initialise();
    const auto transform = openvdb::math::Transform::createLinearTransform(1.0);
    const auto positions = as_vdb<Vector>(particles.P);
    const PointAttributeVector<Vector> wrapped(positions);
    const auto index = openvdb::tools::createPointIndexGrid<openvdb::tools::PointIndexGrid>(wrapped, *transform);
    const auto grid = createPointDataGrid<NullCodec, PointDataGrid>(*index, wrapped, *transform);
    particles.for_each_array([&]<class T>(const std::string& name, const std::vector<T>& values) {
        if (name == "P") return;
        using Stored = std::conditional_t<std::is_same_v<T, Vec3f>, Vector, T>;
        appendAttribute<Stored>(grid->tree(), name);
        const auto stored = as_vdb<Stored>(values);
        populateAttribute(grid->tree(), index->tree(), name, PointAttributeVector<Stored>(stored));
    });
    return grid;
}

// The attribute of the remaining points by id, as numbers; three per vector.
std::map<int32_t, std::vector<float>> attribute_by_id(const PointDataGrid& grid, const std::string& name)
{
    std::map<int32_t, std::vector<float>> values;
    for (auto leaf = grid.tree().cbeginLeaf(); leaf; ++leaf) {
        const AttributeHandle<int32_t> id(leaf->constAttributeArray("id"));
        const auto& array = leaf->constAttributeArray(name);
        for (auto point = leaf->beginIndexOn(); point; ++point) {
            std::vector<float>& value = values[id.get(*point)];
            if (array.valueType() == "float") value = {AttributeHandle<float>(array).get(*point)};
            if (array.valueType() == "int32") value = {static_cast<float>(AttributeHandle<int32_t>(array).get(*point))};
            if (array.valueType() == "vec3s") {
                Vector v = AttributeHandle<Vector>(array).get(*point);
                if (name == "P") v += Vector(point.getCoord().asVec3s());
                value = {v.x(), v.y(), v.z()};
            }
        }
    }
    return values;
}

std::map<int32_t, std::vector<float>> attribute_by_id(const Particles& particles, const std::string& name)
{
    std::map<int32_t, std::vector<float>> values;
    particles.for_each_array([&]<class T>(const std::string& other, const std::vector<T>& array) {
        if (other != name) return;
        for (size_t i = 0; i < array.size(); ++i)
            if constexpr (std::is_same_v<T, Vec3f>)
                values[particles.id[i]] = {array[i].x(), array[i].y(), array[i].z()};
            else
                values[particles.id[i]] = {static_cast<float>(array[i])};
    });
    return values;
}

} // namespace

TEST(ExpressionAgainstStockAx, GivesTheSameValuesOnPoints)
{
    const char* const kernels[] = {
        "@age = @age * 2.5f + sin(@age);",
        "i@kind = (i@kind * 7 + 3) % 5; @age = i@kind / 2;",
        "vec3f@Cd = normalize(vec3f@v) * length(vec3f@Cd);",
        "@age = simplexnoise(vec3f@P * 3.0f); vec3f@Cd = curlsimplexnoise(vec3f@P);",
        "@age = rand(int@id); @rad = rand(@age); @age += rand32(int@id) + rand32(@rad);",
        "int offset = 12345; float threshold = 0.5; if (rand(offset+int@id) > threshold) { deletepoint(); }",
        "mat3f m = {1,2,3,4,5,6,7,8,10}; vec3f@Cd = vec3f@v * m; @age = determinant(m) + trace(m);",
        "mat4f m = identity4(); prescale(m, {2,3,4}); vec3f@Cd = transform(vec3f@v, m);",
        "float s = 0; for (int i = 0; i < 5; ++i) { if (i == 3) continue; s += @age * i; } @age = s;",
        "vec3f@Cd = hsvtorgb(vec3f@Cd); @age = fit(@age, 0.0f, 4.0f, 1.0f, 2.0f);",
        "@age = i@kind > 0 ? @rad : -@rad; i@kind = signbit(@age);",
        "vec3f@Cd = sort(vec3f@v); vec3i order = argsort(vec3f@v); i@kind = order[0];",
        "@fresh = clamp(@age, 1.0f, 3.0f); vec3f@other = cross(vec3f@v, vec3f@Cd); int@count += 3;",
        "@age = pow(@age, 3) + pow(@rad, 0.5f) + exp(-@age) + log(@age + 1.0f) + atan2(@age, @rad);",
        "@age = lerp(@age, 2.0f, 0.25f) + floormod(@age, 0.7f) + truncatemod(i@kind, 3) + euclideanmod(i@kind, 3);",
        "vec3f@P = vec3f@P * 0.5f + vec3f@v * 0.01f;",
        // [Jones 2018, figure 6.2].
        "float dt = 1.0f / (4.0f * 24.0f); vec3f gravity = {0.0f, -9.81f, 0.0f}; vec3f dV = {2.0f, 0.0f, 0.0f} - "
        "vec3f@v;"
        "float lengthV = length(dV); float Re = lengthV * float@rad / 1.225f; float C = 0.0f;"
        "if (Re > 1000.0f) C = 24.0f / Re; else C = 0.424f;"
        "vec3f drag = 0.5f * 1.2f * C * lengthV * dV * 4.0f * 3.14f * pow(@rad, 2.0f);"
        "vec3f@v += (gravity - drag / ((4.0f / 3.0f) * 3.14f * pow(float@rad, 3.0f))) * dt; vec3f@P += v@v * dt;",
    };
    const Particles before = sample_particles(400);
    const auto compiler = openvdb::ax::Compiler::create();
    for (const char* text : kernels) {
        const auto grid = to_grid(before);
        compiler->compile<openvdb::ax::PointExecutable>(text)->execute(*grid);
        const Particles after = run(text, before);
        after.for_each_array([&](const std::string& name, const auto&) {
            const auto stock = attribute_by_id(*grid, name), ours = attribute_by_id(after, name);
            ASSERT_EQ(stock.size(), ours.size()) << text;
            // Positions outside their voxel were rounded.
            const float tolerance = name == "P" ? 1e-6f : 0;
            for (const auto& [id, value] : stock)
                for (size_t c = 0; c < value.size(); ++c)
                    ASSERT_NEAR(value[c], ours.at(id)[c], tolerance) << text << " @" << name << " of " << id;
        });
    }
}

TEST(ExpressionAgainstStockAx, GivesTheSameValuesOnVolumes)
{
    initialise();
    const TempFolder folder;
    const auto sphere = openvdb::tools::createLevelSetSphere<openvdb::FloatGrid>(1.0f, Vector(0.2f, 0, 0), 0.1f);
    sphere->setName("surface");
    const auto velocity = openvdb::Vec3SGrid::create(Vector(0));
    velocity->setTransform(sphere->transform().copy());
    velocity->tree().topologyUnion(sphere->tree());
    for (auto voxel = velocity->beginValueOn(); voxel; ++voxel)
        voxel.setValue(Vector(velocity->indexToWorld(voxel.getCoord()) * 2.0));
    velocity->setName("vel");
    const std::string in = folder / "in.vdb", out = folder / "out.vdb";
    openvdb::io::File(in).write({sphere, velocity});

    const char* const kernels[] = {
        "f@surface = f@surface * 2.0f - 0.01f;",
        "vec3f@vel = vec3f@vel * f@surface + {0.0f, 1.0f, 0.0f}; f@surface += length(vec3f@vel);",
        "f@surface = getcoordx() + 10 * getcoordy() + 100 * getcoordz();",
        "vec3f@vel = getvoxelpws() * 0.5f; if (getcoordx() % 2 == 0) f@surface = 7;",
    };
    const auto compiler = openvdb::ax::Compiler::create();
    for (const char* text : kernels) {
        openvdb::GridPtrVec stock = {sphere->deepCopy(), velocity->deepCopy()};
        compiler->compile<openvdb::ax::VolumeExecutable>(text)->execute(stock);
        run_on_volumes(VolumeExpression("test", text), in, out, {});
        openvdb::io::File file(out);
        file.open();
        const auto surface = openvdb::gridPtrCast<openvdb::FloatGrid>(file.readGrid("surface"));
        const auto vel = openvdb::gridPtrCast<openvdb::Vec3SGrid>(file.readGrid("vel"));
        const auto expected_surface = openvdb::gridPtrCast<openvdb::FloatGrid>(stock[0]);
        const auto expected_vel = openvdb::gridPtrCast<openvdb::Vec3SGrid>(stock[1]);
        EXPECT_EQ(surface->activeVoxelCount(), sphere->activeVoxelCount());
        for (auto voxel = expected_surface->cbeginValueOn(); voxel; ++voxel)
            ASSERT_EQ(surface->tree().getValue(voxel.getCoord()), *voxel) << text << voxel.getCoord();
        for (auto voxel = expected_vel->cbeginValueOn(); voxel; ++voxel)
            ASSERT_EQ(vel->tree().getValue(voxel.getCoord()), *voxel) << text << voxel.getCoord();
    }
}

TEST(VolumeExpression, AddsVolumesAndSamplesOthers)
{
    initialise();
    const TempFolder folder;
    const auto density = openvdb::FloatGrid::create(0.0f);
    density->setTransform(openvdb::math::Transform::createLinearTransform(0.25));
    density->fill(openvdb::CoordBBox({-20, -4, 0}, {20, 9, 17}), 1.0f); // includes tiles of constant value
    density->setName("density");
    const auto heat = openvdb::FloatGrid::create(0.0f);
    heat->setTransform(openvdb::math::Transform::createLinearTransform(0.1));
    heat->denseFill(openvdb::CoordBBox({-80, -40, -10}, {80, 40, 70}), 1.0f);
    for (auto voxel = heat->beginValueOn(); voxel; ++voxel)
        voxel.setValue(static_cast<float>(heat->indexToWorld(voxel.getCoord()).x()));
    heat->setName("heat");
    const std::string in = folder / "in.vdb", out = folder / "out.vdb";
    openvdb::io::File(in).write({density, heat});

    ExpressionContext context;
    add_volumes(in, context);
    const char* text = "@warm = @density * 2; @density = volume(\"heat\", getvoxelpws() + {0.1f, 0, 0}) + @heat;";
    run_on_volumes(VolumeExpression("test", text), in, out, context);
    openvdb::io::File file(out);
    file.open();
    const auto warm = openvdb::gridPtrCast<openvdb::FloatGrid>(file.readGrid("warm"));
    const auto result = openvdb::gridPtrCast<openvdb::FloatGrid>(file.readGrid("density"));
    EXPECT_EQ(warm->activeVoxelCount(), density->activeVoxelCount());
    EXPECT_EQ(result->activeVoxelCount(), density->activeVoxelCount());
    for (auto voxel = density->cbeginValueOn(); voxel; ++voxel) {
        const openvdb::Vec3d x = density->indexToWorld(voxel.getCoord());
        ASSERT_EQ(warm->tree().getValue(voxel.getCoord()), 2.0f);
        ASSERT_NEAR(result->tree().getValue(voxel.getCoord()), 2 * x.x() + 0.1, 1e-5) << voxel.getCoord();
    }
}

TEST(VolumeExpression, RunsOnFieldsOfASimulation)
{
    const Topology topology({morton_of_tile({0, 0, 0}), morton_of_tile({-1, 2, 0})});
    Field<float> density(topology, 1.0f);
    Field<Vec3f> velocity(topology, Vec3f(1, 2, 3));
    const VolumeExpression expression("test", "vec3f x = getvoxelpws(); @density += x.y; vec3f@vel *= @density;");
    expression.run({&topology, 0.5f, {{"density", &density}, {"vel", &velocity}}}, {});
    for (int t = 0; t < topology.tile_count(); ++t)
        for (int i = 0; i < kTileCells; ++i) {
            const Vec3i cell = topology.first_cell(t) + cell_in_tile(i);
            const float expected = 1 + (static_cast<float>(cell.y()) + 0.5f) * 0.5f;
            ASSERT_EQ(density.tile(t)[i], expected);
            ASSERT_EQ(velocity.tile(t)[i], Vec3f(1, 2, 3) * expected);
        }
    EXPECT_THROW(VolumeExpression("test", "@other = 1;").run({&topology, 0.5f, {{"density", &density}}}, {}), Error);
    EXPECT_THROW(VolumeExpression("test", "vec3f@density = 1;").run({&topology, 0.5f, {{"density", &density}}}, {}),
                 Error);
    EXPECT_THROW(VolumeExpression("test", "while (1) {}").run({&topology, 0.5f, {}}, {}), Error);
    EXPECT_THROW(
        VolumeExpression("test", "@density = 1.0f / 0.0f;").run({&topology, 0.5f, {{"density", &density}}}, {}), Error);
    EXPECT_THROW(VolumeExpression("test", "deletepoint();"), Error);
}

TEST(VolumeExpression, NamesMissingVolumes)
{
    initialise();
    const TempFolder folder;
    const auto density = openvdb::FloatGrid::create(0.0f);
    density->setName("density");
    const auto flags = openvdb::BoolGrid::create(false);
    flags->setName("flags");
    const std::string in = folder / "in.vdb", out = folder / "out.vdb";
    openvdb::io::File(in).write({density, flags});
    const auto complaint_of = [&](const char* text) {
        return error_of(ExitCode::bad_input, [&] { run_on_volumes(VolumeExpression("test", text), in, out, {}); });
    };
    EXPECT_NE(complaint_of("@density = @heat;").find("has no volume \"heat\"; there are: density, flags"),
              std::string::npos);
    EXPECT_NE(complaint_of("v@density = 1;").find("holds float values, not vec3f"), std::string::npos);
    EXPECT_NE(complaint_of("i@flags = 1;").find("holds bool values, not int32"), std::string::npos);
    EXPECT_NE(complaint_of("@heat = 1;").find("names no existing volume to copy the voxels of"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(out));
}

} // namespace spindrift
