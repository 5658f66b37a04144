#include "spindrift/points/particles.h"

#include "spindrift/base/error.h"

#include <gtest/gtest.h>

using namespace spindrift;

TEST(Particles, ResizingGrowsEveryArrayWithZeros)
{
    Particles particles;
    particles.resize(2);
    particles.attribute<float>("age") = {1, 2};
    particles.attribute<Vec3f>("rest");
    particles.P[1] = Vec3f(1, 2, 3);
    particles.resize(1000);
    ASSERT_EQ(particles.size(), 1000u);
    size_t arrays = 0;
    particles.for_each_array([&](const std::string& name, const auto& array) {
        EXPECT_EQ(array.size(), 1000u) << name;
        ++arrays;
    });
    EXPECT_EQ(arrays, 5u);
    EXPECT_EQ(particles.P[1], Vec3f(1, 2, 3));
    EXPECT_EQ(particles.find<float>("age")->at(1), 2);
    for (size_t i = 2; i < 1000; ++i) {
        EXPECT_EQ(particles.P[i], Vec3f::Zero().eval());
        EXPECT_EQ(particles.v[i], Vec3f::Zero().eval());
        EXPECT_EQ(particles.find<Vec3f>("rest")->at(i), Vec3f::Zero().eval());
        EXPECT_EQ(particles.find<float>("age")->at(i), 0);
        EXPECT_EQ(particles.id[i], 0);
    }
    particles.resize(1);
    EXPECT_EQ(particles.find<float>("age")->size(), 1u);
}

TEST(Particles, AttributeIsAddedOnFirstUseAndFoundAfterwards)
{
    Particles particles;
    particles.resize(3);
    EXPECT_EQ(particles.find<int32_t>("kind"), nullptr);
    particles.attribute<int32_t>("kind")[1] = 5;
    EXPECT_EQ(particles.attribute<int32_t>("kind"), (std::vector<int32_t>{0, 5, 0}));
    EXPECT_EQ(particles.attributes.size(), 1u);
    EXPECT_EQ(particles.find<float>("kind"), nullptr);
}

TEST(Particles, WrongTypeErrorNamesTheAttributeAndBothTypes)
{
    Particles particles;
    particles.attribute<Vec3f>("rest");
    try {
        particles.attribute<float>("rest");
        FAIL() << "no error";
    } catch (const Error& e) {
        const std::string message = e.what();
        EXPECT_EQ(e.code, ExitCode::failed);
        for (const char* word : {"\"rest\"", "vec3f", "float"})
            EXPECT_NE(message.find(word), std::string::npos) << message;
    }
    EXPECT_NE(particles.find<Vec3f>("rest"), nullptr);
}

TEST(Particles, BytesCountEveryArray)
{
    Particles particles;
    EXPECT_EQ(particles.bytes(), 0u);
    particles.resize(1000);
    EXPECT_GE(particles.bytes(), 28000u);
    EXPECT_LT(particles.bytes(), 60000u);
    const size_t before = particles.bytes();
    particles.attribute<float>("age");
    EXPECT_EQ(particles.bytes(), before + 4000);
}
