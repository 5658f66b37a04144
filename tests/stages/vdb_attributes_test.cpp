// Attributes and metadata that other programs read, inspected with OpenVDB itself. `spindrift ax` must preserve
// everything that it does not write, of any type: compared attribute by attribute, as stored.
#include "cli/program.h"
#include "spindrift/base/random.h"

#include <gtest/gtest.h>
#include <openvdb/openvdb.h>
#include <openvdb/points/PointAttribute.h>
#include <openvdb/points/PointConversion.h>
#include <openvdb/points/PointCount.h>
#include <openvdb/points/PointDelete.h>
#include <openvdb/points/PointGroup.h>

namespace spindrift {

namespace {

namespace points = openvdb::points;
using points::PointDataGrid;

// Sets an attribute of all points, in leaf order.
template <class T, class Codec, class Value>
void add_attribute(PointDataGrid& grid, const std::string& name, const Value& value)
{
    points::appendAttribute<T, Codec>(grid.tree(), name);
    size_t i = 0;
    for (auto leaf = grid.tree().beginLeaf(); leaf; ++leaf) {
        points::AttributeWriteHandle<T> handle(leaf->attributeArray(name));
        for (openvdb::Index k = 0; k < handle.size(); ++k) handle.set(k, value(i++));
    }
}

// Points with every type, codec and kind of attribute that OpenVDB has.
PointDataGrid::Ptr points_of_all_types(int count, uint64_t seed)
{
    Random random(seed);
    std::vector<openvdb::Vec3f> positions;
    for (int i = 0; i < count; ++i)
        positions.emplace_back(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1));
    const auto transform = openvdb::math::Transform::createLinearTransform(0.1);
    auto grid = points::createPointDataGrid<points::FixedPointCodec<false>, PointDataGrid>(positions, *transform);
    PointDataGrid& g = *grid;
    const auto real = [](size_t i) { return 0.1 + static_cast<double>(i) / 7; };
    const auto share = [](size_t i) { return static_cast<float>(i % 97) / 97; };
    using points::NullCodec, points::FixedPointCodec, points::UnitRange;
    add_attribute<openvdb::Vec3f, NullCodec>(g, "v", [&](size_t i) { return openvdb::Vec3f(share(i), 1, 2); });
    add_attribute<int64_t, NullCodec>(g, "id", [](size_t i) { return (int64_t(1) << 40) + static_cast<int64_t>(i); });
    add_attribute<double, NullCodec>(g, "time", real);
    add_attribute<float, points::TruncateCodec>(g, "heat", share);
    add_attribute<float, FixedPointCodec<true, UnitRange>>(g, "wetness", share);
    add_attribute<openvdb::Vec3f, FixedPointCodec<true, UnitRange>>(
        g, "Cd", [&](size_t i) { return openvdb::Vec3f(share(i), share(i + 1), share(i + 2)); });
    add_attribute<openvdb::Vec3f, points::UnitVecCodec>(g, "N", [](size_t i) {
        const auto a = static_cast<float>(i);
        return openvdb::Vec3f(std::sin(a), std::cos(a), 0);
    });
    add_attribute<openvdb::Vec3d, NullCodec>(g, "far", [&](size_t i) { return openvdb::Vec3d(real(i), 1e30, -1); });
    add_attribute<openvdb::Quats, NullCodec>(g, "orient",
                                             [&](size_t i) { return openvdb::Quats(share(i), 0.5f, 0.25f, 1); });
    add_attribute<openvdb::Mat3s, NullCodec>(g, "turn", [&](size_t i) {
        openvdb::Mat3s m = openvdb::Mat3s::identity();
        m(0, 1) = share(i);
        return m;
    });
    add_attribute<openvdb::Mat4d, NullCodec>(g, "frame", [&](size_t i) {
        openvdb::Mat4d m = openvdb::Mat4d::identity();
        m(3, 1) = real(i);
        return m;
    });
    add_attribute<bool, NullCodec>(g, "flag", [](size_t i) { return i % 3 == 0; });
    add_attribute<int16_t, NullCodec>(g, "kind", [](size_t i) { return static_cast<int16_t>(i); });
    add_attribute<openvdb::Vec3i, NullCodec>(g, "cell",
                                             [](size_t i) { return openvdb::Vec3i(static_cast<int>(i), 1 << 30, -2); });
    points::appendAttribute(g.tree(), "pscale", points::TypedAttributeArray<float>::attributeType()); // uniform
    points::appendAttribute<float>(g.tree(), "pair", 0.5f, /*stride=*/2);
    size_t next = 0;
    for (auto leaf = g.tree().beginLeaf(); leaf; ++leaf) {
        points::AttributeWriteHandle<float> pair(leaf->attributeArray("pair"));
        for (openvdb::Index k = 0; k < leaf->pointCount(); ++k, ++next)
            for (openvdb::Index s = 0; s < 2; ++s) pair.set(k, s, static_cast<float>(2 * next + s));
    }
    points::appendAttribute(g.tree(), "name", points::StringAttributeArray::attributeType());
    const auto strings = points::makeDescriptorUnique(g.tree());
    points::StringMetaInserter inserter(strings->getMetadata());
    for (const char* word : {"drop", "foam", "a longer name with spaces"}) inserter.insert(word);
    for (const char* group : {"wet", "dead"}) points::appendGroup(g.tree(), group);
    size_t i = 0;
    for (auto leaf = g.tree().beginLeaf(); leaf; ++leaf) {
        points::StringAttributeWriteHandle name(leaf->attributeArray("name"), strings->getMetadata());
        auto wet = leaf->groupWriteHandle("wet"), dead = leaf->groupWriteHandle("dead");
        for (openvdb::Index k = 0; k < leaf->pointCount(); ++k, ++i) {
            name.set(k, std::array{"drop", "foam", "a longer name with spaces"}[i % 3]);
            wet.set(k, i % 2 == 0), dead.set(k, i % 5 == 0);
        }
    }
    points::compactAttributes(g.tree()); // makes, for example, attributes of lone points in a leaf uniform
    grid->insertMeta("shot", openvdb::StringMetadata("sc010"));
    grid->insertMeta("take", openvdb::Int32Metadata(7));
    return grid;
}

void write_all_types(const std::string& path)
{
    openvdb::initialize();
    const auto one = points_of_all_types(2000, 1), two = points_of_all_types(300, 2);
    one->setName("splash"), two->setName("more");
    auto fog = openvdb::FloatGrid::create(0.5f);
    fog->setName("density"), fog->setSaveFloatAsHalf(true), fog->setGridClass(openvdb::GRID_FOG_VOLUME);
    fog->fill(openvdb::CoordBBox(openvdb::Coord(-3), openvdb::Coord(20)), 0.25f);
    auto number = openvdb::DoubleGrid::create(0);
    number->setName("exact"), number->insertMeta("of", openvdb::Vec3DMetadata(openvdb::Vec3d(1, 2, 0.1)));
    number->tree().setValue(openvdb::Coord(1, 2, 3), 1.0 / 3);
    openvdb::MetaMap metadata;
    metadata.insertMeta("frame", openvdb::Int32Metadata(12));
    metadata.insertMeta("fps", openvdb::DoubleMetadata(23.976));
    openvdb::io::File file(path);
    file.write(openvdb::GridCPtrVec{one, fog, two, number}, metadata);
    file.close();
}

struct Contents {
    std::map<std::string, openvdb::GridBase::Ptr> grids;
    openvdb::MetaMap metadata;
    explicit Contents(const std::string& path)
    {
        openvdb::initialize();
        openvdb::io::File file(path);
        file.open(/*delayLoad=*/false);
        metadata = *file.getMetadata();
        const openvdb::GridPtrVecPtr all = file.getGrids();
        for (const auto& grid : *all) grids[grid->getName()] = grid;
    }
    const PointDataGrid& points(const std::string& name) const
    {
        return static_cast<const PointDataGrid&>(*grids.at(name));
    }
};

// Removes metadata that describe the file itself, which are written anew.
void drop_statistics(openvdb::MetaMap& map)
{
    std::vector<std::string> names;
    for (auto it = map.beginMeta(); it != map.endMeta(); ++it)
        if (it->first.starts_with("file_")) names.push_back(it->first);
    for (const std::string& name : names) map.removeMeta(name);
}

void expect_same_metadata(openvdb::MetaMap a, openvdb::MetaMap b, const std::string& whose)
{
    drop_statistics(a), drop_statistics(b);
    EXPECT_TRUE(a == b) << whose << "\n" << a.str() << "\n  became\n" << b.str();
}

// Attributes of `before` that differ in `after`, leaf by leaf as stored, including whether uniform arrays are stored as
// such.
std::set<std::string> changed_attributes(const PointDataGrid& before, const PointDataGrid& after, bool expand = false)
{
    std::set<std::string> changed;
    EXPECT_EQ(before.tree().leafCount(), after.tree().leafCount());
    for (auto leaf = before.tree().cbeginLeaf(); leaf; ++leaf) {
        const auto* other = after.tree().probeConstLeaf(leaf->origin());
        EXPECT_TRUE(other) << leaf->origin();
        if (!other) return {"all"};
        EXPECT_TRUE(std::equal(leaf->buffer().data(), leaf->buffer().data() + 512, other->buffer().data()));
        const auto &set = leaf->attributeSet(), &more = other->attributeSet();
        for (const auto& [name, position] : set.descriptor().map()) {
            const auto *array = set.getConst(position), *other_array = more.getConst(name);
            if (!other_array) {
                changed.insert(name);
                continue;
            }
            const auto a = array->copy(), b = other_array->copy();
            if (expand) a->expand(), b->expand();
            if (!(*a == *b)) changed.insert(name);
        }
        EXPECT_TRUE(set.descriptor().groupMap() == more.descriptor().groupMap());
        EXPECT_TRUE(set.descriptor().getMetadata() == more.descriptor().getMetadata());
    }
    return changed;
}

void expect_same_volumes(const Contents& before, const Contents& after)
{
    ASSERT_EQ(before.grids.size(), after.grids.size());
    for (const auto& [name, grid] : before.grids) {
        ASSERT_TRUE(after.grids.contains(name)) << name;
        const auto& other = *after.grids.at(name);
        EXPECT_EQ(grid->type(), other.type());
        EXPECT_TRUE(grid->transform() == other.transform());
        expect_same_metadata(*grid, other, name);
        EXPECT_EQ(grid->activeVoxelCount(), other.activeVoxelCount()) << name;
    }
    const auto value = [](const Contents& from, const openvdb::Coord& at) {
        return static_cast<const openvdb::DoubleGrid&>(*from.grids.at("exact")).tree().getValue(at);
    };
    EXPECT_EQ(value(after, openvdb::Coord(1, 2, 3)), value(before, openvdb::Coord(1, 2, 3)));
    expect_same_metadata(before.metadata, after.metadata, "the file");
}

// The stored data of each point, by its 64-bit id, with or without its position; the last entry is membership in
// "dead".
std::map<int64_t, std::vector<std::string>> stored_by_id(const PointDataGrid& grid, bool with_position = false)
{
    std::map<int64_t, std::vector<std::string>> all;
    for (auto leaf = grid.tree().cbeginLeaf(); leaf; ++leaf) {
        const auto& set = leaf->attributeSet();
        const points::AttributeHandle<int64_t> id(*set.getConst("id"));
        const points::AttributeHandle<openvdb::Quats> orient(*set.getConst("orient"));
        const points::AttributeHandle<openvdb::Mat4d> frame(*set.getConst("frame"));
        const points::AttributeHandle<double> time(*set.getConst("time"));
        const points::AttributeHandle<float> heat(*set.getConst("heat")), wetness(*set.getConst("wetness"));
        const points::AttributeHandle<openvdb::Vec3f> normal(*set.getConst("N")), color(*set.getConst("Cd")),
            within(*set.getConst("P"));
        const points::AttributeHandle<openvdb::Vec3d> far(*set.getConst("far"));
        const points::AttributeHandle<float> pair(*set.getConst("pair"));
        const points::StringAttributeHandle name(*set.getConst("name"), set.descriptor().getMetadata());
        const auto wet = leaf->groupHandle("wet"), dead = leaf->groupHandle("dead");
        for (auto point = leaf->beginIndexOn(); point; ++point) {
            const openvdb::Index i = *point;
            std::ostringstream text;
            text.precision(17);
            if (with_position) text << point.getCoord() << within.get(i);
            text << color.get(i) << far.get(i) << pair.get(i, 0) << ' ' << pair.get(i, 1);
            text << orient.get(i) << frame.get(i).str() << time.get(i) << ' ' << heat.get(i) << ' ' << wetness.get(i)
                 << normal.get(i) << name.get(i) << wet.get(i) << dead.get(i);
            all[id.get(i)].push_back(text.str());
        }
    }
    return all;
}

class AxCarries : public ::testing::Test {
  protected:
    AxCarries() { write_all_types(place / "in.vdb"); }
    Contents made(const std::string& code) const
    {
        place.succeed({"ax", code, "--in", "in.vdb", "--out", "out.vdb", "--force"});
        return Contents(place / "out.vdb");
    }
    Workplace place;
};

} // namespace

TEST_F(AxCarries, EverythingThatAnExpressionDoesNotWrite)
{
    const Contents before(place / "in.vdb"), after = made("float@depth = vec3f@P.y;");
    expect_same_volumes(before, after);
    for (const char* grid : {"splash", "more"}) {
        EXPECT_EQ(changed_attributes(before.points(grid), after.points(grid)), std::set<std::string>()) << grid;
        const auto leaf = after.points(grid).tree().cbeginLeaf();
        ASSERT_TRUE(leaf->hasAttribute("depth"));
        EXPECT_EQ(leaf->attributeSet().size(), before.points(grid).tree().cbeginLeaf()->attributeSet().size() + 1);
    }
}

TEST_F(AxCarries, TypesThatHoldMoreThanAnExpressionCan)
{
    const Contents before(place / "in.vdb"), after = made("if (float@time > 100.0f) float@time = 1.5f; vec3f@v.x = 3;");
    expect_same_volumes(before, after);
    EXPECT_EQ(changed_attributes(before.points("splash"), after.points("splash")),
              (std::set<std::string>{"time", "v"}));
    EXPECT_EQ(changed_attributes(before.points("more"), after.points("more")), (std::set<std::string>{"v"}));
    size_t set = 0;
    for (auto leaf = before.points("splash").tree().cbeginLeaf(); leaf; ++leaf) {
        const auto* other = after.points("splash").tree().probeConstLeaf(leaf->origin());
        const points::AttributeHandle<double> from(leaf->constAttributeArray("time")),
            to(other->constAttributeArray("time"));
        for (openvdb::Index i = 0; i < from.size(); ++i) {
            ASSERT_EQ(to.get(i), from.get(i) > 100 ? 1.5 : from.get(i)); // doubles stay doubles
            set += from.get(i) > 100;
        }
    }
    EXPECT_GT(set, 100u);
    // 16-bit floats become floats: they could not hold the new values.
    const Contents warmer = made("float@heat = float@heat + 1000.125f;");
    for (auto leaf = warmer.points("more").tree().cbeginLeaf(); leaf; ++leaf) {
        const points::AttributeHandle<float> heat(leaf->constAttributeArray("heat"));
        for (openvdb::Index i = 0; i < heat.size(); ++i) {
            ASSERT_GE(heat.get(i), 1000.125f);
            ASSERT_LT(heat.get(i), 1001.2f);
        }
    }
    EXPECT_EQ(changed_attributes(before.points("more"), warmer.points("more")), (std::set<std::string>{"heat"}));
}

TEST_F(AxCarries, RemainingPointsWhenOthersAreDeleted)
{
    const Contents before(place / "in.vdb"), after = made("if (ingroup(\"dead\")) deletepoint();");
    Contents like(place / "in.vdb"); // what OpenVDB itself would leave, except that it encodes lone points again
    for (const char* name : {"splash", "more"}) {
        auto& grid = static_cast<PointDataGrid&>(*like.grids.at(name));
        points::deleteFromGroup(grid.tree(), "dead", /*invert=*/false, /*drop=*/false);
        auto expected = stored_by_id(before.points(name), true);
        std::erase_if(expected, [](const auto& point) { return point.second.front().back() == '1'; });
        EXPECT_EQ(points::pointCount(after.points(name).tree()), expected.size());
        EXPECT_TRUE(expected == stored_by_id(after.points(name), true)) << name;
    }
    expect_same_volumes(like, after);
    // Running it again changes nothing.
    place.succeed({"ax", "if (int@kind == 7) deletepoint();", "--in", "out.vdb", "--out", "again.vdb"});
    const Contents again(place / "again.vdb");
    const auto was = stored_by_id(after.points("more"), true);
    for (const auto& [id, stored] : stored_by_id(again.points("more"), true)) EXPECT_EQ(stored, was.at(id));
}

TEST_F(AxCarries, AttributesOfPointsThatMove)
{
    const Contents before(place / "in.vdb"), after = made("if (ingroup(\"wet\")) vec3f@P += {0.34f, -1.7f, 0.05f};");
    for (const char* name : {"splash", "more"})
        EXPECT_TRUE(stored_by_id(before.points(name)) == stored_by_id(after.points(name))) << name;
    // Points that stay keep their position to the bit; points that move arrive.
    std::map<int64_t, openvdb::Vec3d> from;
    const auto for_each = [](const PointDataGrid& grid, const auto& body) {
        for (auto leaf = grid.tree().cbeginLeaf(); leaf; ++leaf) {
            const points::AttributeHandle<openvdb::Vec3f> within(leaf->constAttributeArray("P"));
            const points::AttributeHandle<int64_t> id(leaf->constAttributeArray("id"));
            for (auto i = leaf->beginIndexOn(); i; ++i)
                body(id.get(*i), grid.indexToWorld(within.get(*i) + i.getCoord().asVec3d()),
                     leaf->groupHandle("wet").get(*i));
        }
    };
    for_each(before.points("splash"), [&](int64_t id, const openvdb::Vec3d& x, bool) { from[id] = x; });
    size_t count = 0;
    for_each(after.points("splash"), [&](int64_t id, const openvdb::Vec3d& x, bool wet) {
        const openvdb::Vec3d step = x - from[id] - (wet ? openvdb::Vec3d(0.34, -1.7, 0.05) : openvdb::Vec3d(0));
        EXPECT_LT(step.length(), wet ? 4e-6 : 1e-12);
        ++count;
    });
    EXPECT_EQ(count, from.size());
}

TEST_F(AxCarries, GroupsOfTheFileAreGroupsOfTheExpression)
{
    const Contents before(place / "in.vdb"), after = made("if (ingroup(\"dead\")) removefromgroup(\"wet\");");
    size_t both = 0;
    for (auto leaf = before.points("more").tree().cbeginLeaf(); leaf; ++leaf) {
        const auto* other = after.points("more").tree().probeConstLeaf(leaf->origin());
        const auto wet = leaf->groupHandle("wet"), dead = leaf->groupHandle("dead");
        for (openvdb::Index i = 0; i < leaf->pointCount(); ++i) {
            both += wet.get(i) && dead.get(i);
            ASSERT_EQ(other->groupHandle("wet").get(i), wet.get(i) && !dead.get(i));
            ASSERT_EQ(other->groupHandle("dead").get(i), dead.get(i));
        }
        EXPECT_FALSE(other->hasAttribute("group_wet"));
    }
    EXPECT_GT(both, 10u);
}

// Regression: a leaf of another program whose lists are shorter than those of the first leaf was read beyond its end.
TEST_F(AxCarries, NoPointsWhoseLeavesHaveListsOfDifferentLengths)
{
    const auto leaf_of = [](float x, openvdb::Index length) {
        const std::vector<openvdb::Vec3f> places = {{x, 0, 0}, {x + 0.3f, 0.2f, 0}};
        const auto transform = openvdb::math::Transform::createLinearTransform(1.0);
        auto grid = points::createPointDataGrid<points::NullCodec, PointDataGrid>(places, *transform);
        points::appendAttribute<float>(grid->tree(), "list", 1.0f, length);
        return grid;
    };
    const auto grid = leaf_of(0, 3), other = leaf_of(100, 2);
    grid->tree().addLeaf(new PointDataGrid::TreeType::LeafNodeType(*other->tree().cbeginLeaf()));
    grid->setName("points");
    openvdb::io::File(place / "lists.vdb").write({grid});
    for (const char* code : {"@depth = 1;", "vec3f@P += {0.3f, 0, 0};", "if (vec3f@P.x > 0.2f) deletepoint();"}) {
        const RunResult refused = place.run({"ax", code, "--in", "lists.vdb", "--out", "out.vdb"});
        EXPECT_EQ(refused.code, 1) << refused.out;
        EXPECT_TRUE(contains(refused.err, "lists.vdb cannot be changed: its leaves have different attributes"))
            << refused.err;
    }
}

TEST_F(AxCarries, AndReportsValuesThatAnExpressionCannotHold)
{
    const auto refused = [&](const std::string& code, const std::string& words) {
        const RunResult outcome = place.run({"ax", code, "--in", "in.vdb", "--out", "out.vdb"});
        EXPECT_EQ(outcome.code, 2) << outcome.err;
        EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
        EXPECT_FALSE(place.has("out.vdb"));
    };
    refused("int@a = int@id;", "the attribute \"id\" has the value 1099511627776");
    refused("float@orient = 1;", "the attribute \"orient\" holds quats values");
}

TEST(Attributes, CrowdsFaceTheirWalkingDirection)
{
    const Workplace place;
    place.write("walk.toml", R"([shot]
frames = "1-3"
fps = 10

[crowd]

[[crowd.boundary]]
box = [[0, 0], [20, 20]]

[[crowd.goal]]
name = "east"
box = [[18, 9], [20, 11]]

[[crowd.goal]]
name = "north"
box = [[9, 18], [11, 20]]

[[crowd.group]]
name = "one"
count = 20
box = [[2, 8], [6, 12]]
visit = [{ goal = "east" }]

[[crowd.group]]
name = "two"
count = 20
box = [[8, 2], [12, 6]]
visit = [{ goal = "north" }]
)");
    place.succeed({"run", "walk.toml", "-o", "out"});
    const Contents file(place / "out/crowd/crowd.0003.vdb");
    size_t walking = 0;
    for (auto leaf = file.points("particles").tree().cbeginLeaf(); leaf; ++leaf) {
        ASSERT_TRUE(leaf->hasAttribute("orient"));
        const points::AttributeHandle<openvdb::Quats> orient(leaf->constAttributeArray("orient"));
        const points::AttributeHandle<openvdb::Vec3f> v(leaf->constAttributeArray("v"));
        for (openvdb::Index i = 0; i < orient.size(); ++i) {
            openvdb::Quats turn = orient.get(i);
            EXPECT_NEAR(turn.dot(turn), 1, 1e-6);
            EXPECT_NEAR((turn.rotateVector(openvdb::Vec3f(0, 1, 0)) - openvdb::Vec3f(0, 1, 0)).length(), 0, 1e-5);
            if (v.get(i).length() < 0.5f) continue;
            openvdb::Vec3f along = v.get(i);
            along.normalize();
            EXPECT_LT((turn.rotateVector(openvdb::Vec3f(0, 0, 1)) - along).length(), 1e-5);
            ++walking;
        }
    }
    EXPECT_GT(walking, 30u);
}

TEST(Attributes, VolumesHaveClassTypeAndMetadata)
{
    const Workplace place;
    place.write("smoke.toml", R"([shot]
frames = "1-2"

[smoke]
voxel = 0.1

[[smoke.source]]
shape = "sphere"
radius = 0.3
color = [1, 0.5, 0]
temperature = 50
)");
    place.succeed({"run", "smoke.toml", "-o", "out"});
    const Contents file(place / "out/smoke/smoke.0002.vdb");
    for (const char* name : {"density", "temperature"}) {
        EXPECT_EQ(file.grids.at(name)->getGridClass(), openvdb::GRID_FOG_VOLUME) << name;
        EXPECT_EQ(file.grids.at(name)->getCreator(), "Spindrift");
    }
    EXPECT_EQ(file.grids.at("vel")->getGridClass(), openvdb::GRID_STAGGERED);
    EXPECT_EQ(file.grids.at("vel")->getVectorType(), openvdb::VEC_CONTRAVARIANT_RELATIVE);
    EXPECT_EQ(file.grids.at("Cd")->getVectorType(), openvdb::VEC_INVARIANT);
}

// Markers that all have one velocity. Their number in the volume does not depend on its voxel.
TEST(Attributes, VolumesOfShapedSmokeHaveClassTypeAndTheMassAndVelocityOfItsMarkers)
{
    const Workplace place;
    place.write("shapes.toml", R"([shot]
frames = "1-2"

[shaped_smoke]
markers = 20000
controls = 1000

[[shaped_smoke.source]]
shape = "sphere"
radius = 0.5

[[shaped_smoke.target]]
shape = "sphere"
radius = 0.5

[[shaped_smoke.expression]]
at = "after_forces"
code = "vec3f@v = {1, 2, 3};"
)");
    double mass[2];
    for (const int k : {0, 1}) {
        const double voxel = k == 0 ? 0.04 : 0.07;
        const std::string folder = k == 0 ? "fine" : "coarse";
        place.succeed(
            {"run", "shapes.toml", "-o", folder, "--set", fmt::format("shaped_smoke.density_voxel={}", voxel)});
        const Contents file(place / (folder + "/shaped_smoke/shaped_smoke.0002.density.vdb"));
        const auto& density = static_cast<const openvdb::FloatGrid&>(*file.grids.at("density"));
        const auto& vel = static_cast<const openvdb::Vec3SGrid&>(*file.grids.at("vel"));
        EXPECT_EQ(density.getGridClass(), openvdb::GRID_FOG_VOLUME);
        EXPECT_EQ(density.getCreator(), "Spindrift");
        EXPECT_EQ(vel.getGridClass(), openvdb::GRID_UNKNOWN);
        EXPECT_EQ(vel.getVectorType(), openvdb::VEC_CONTRAVARIANT_RELATIVE);
        EXPECT_NEAR(density.voxelSize().x(), voxel, 1e-6);
        EXPECT_EQ(file.metadata.metaValue<std::string>("frame"), "2");
        mass[k] = 0;
        for (auto value = density.cbeginValueOn(); value; ++value) {
            mass[k] += static_cast<double>(*value) * voxel * voxel * voxel;
            if (*value > 0) {
                ASSERT_LT((vel.tree().getValue(value.getCoord()) - openvdb::Vec3s(1, 2, 3)).length(), 1e-4f);
            }
        }
    }
    EXPECT_GT(mass[0], 4 * kPi / 3 * 0.125 * 0.9); // a density of about one at the start, in the ball
    EXPECT_LT(mass[0], 4 * kPi / 3 * 0.125 * 1.2);
    EXPECT_NEAR(mass[1] / mass[0], 1, 1e-3);
}

} // namespace spindrift
