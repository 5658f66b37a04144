#include "spindrift/io/plot.h"

#include <gtest/gtest.h>
#include <pugixml.hpp>

namespace spindrift {

namespace {

pugi::xml_document parsed(const Plot& plot)
{
    pugi::xml_document document;
    const auto result = document.load_string(svg_of(plot).c_str());
    EXPECT_TRUE(result) << result.description();
    return document;
}

// Text of all labels.
std::vector<std::string> labels(const pugi::xml_document& document)
{
    std::vector<std::string> found;
    for (const auto& text : document.child("svg").children("text")) found.emplace_back(text.text().get());
    return found;
}

} // namespace

TEST(Plot, PointsMatchTheTicks)
{
    const auto document = parsed({"a < b & c", "x", "y", {{"dots", {{0, 0}, {300, 12}, {150, 6}}, true}}});
    std::vector<std::pair<double, double>> dots;
    for (const auto& circle : document.child("svg").children("circle"))
        if (circle.attribute("r").as_double() < 3)
            dots.emplace_back(circle.attribute("cx").as_double(), circle.attribute("cy").as_double());
    ASSERT_EQ(dots.size(), 3u);
    EXPECT_NEAR(dots[2].first, 0.5 * (dots[0].first + dots[1].first), 0.1);
    EXPECT_NEAR(dots[2].second, 0.5 * (dots[0].second + dots[1].second), 0.1);
    EXPECT_LT(dots[1].second, dots[0].second) << "y must point up";
    // Axis labels stand where a point of their value would.
    bool found = false;
    for (const auto& text : document.child("svg").children("text"))
        if (std::string(text.text().get()) == "300") {
            found = true;
            EXPECT_NEAR(text.attribute("x").as_double(), dots[1].first, 0.1);
        }
    EXPECT_TRUE(found);
    const auto all = labels(document);
    EXPECT_NE(std::find(all.begin(), all.end(), "a < b & c"), all.end());
}

TEST(Plot, DegenerateDataCanBeDrawn)
{
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const std::vector<Eigen::Vector2d>& points :
         {std::vector<Eigen::Vector2d>{}, {{0, 0}}, {{nan, 1}, {1, nan}}, {{-1e30, 1e-30}, {1e30, -1e30}}, {{5, 5}}}) {
        const std::string svg = svg_of({"", "", "", {{"", points, false}, {"", points, true}}});
        EXPECT_EQ(svg.find("nan"), std::string::npos);
        EXPECT_EQ(svg.find("inf"), std::string::npos);
        EXPECT_LT(svg.size(), 20000u);
    }
}

} // namespace spindrift
