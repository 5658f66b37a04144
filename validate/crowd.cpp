// The circle of 10000 agents who all want to be on its other side (document 000, figures 4.5 and 4.10, section 4.5.1):
// whether they turn, arrive, and how close they come, with the document's model and with what it names as lacking.
#include "checks.h"

#include "crowd/circle.h"
#include "io/image.h"

#include <filesystem>
#include <fmt/format.h>

using namespace spindrift;

namespace {

constexpr int kAgents = 10000;
constexpr float kDt = 0.05f;
constexpr float kSeconds = 420;

struct Variant {
    const char* name;
    float look_ahead, side;
    bool leave; // who arrives leaves the world, instead of standing in the way of others
};

// Agents as dots, with a colour for the direction in which they move; black if they arrived.
void draw(const Crowd& crowd, const Circle& circle, Image& image, int left)
{
    const float scale = static_cast<float>(image.height) / circle.grid.size().y();
    for (size_t i = 0; i < crowd.agents().size(); ++i) {
        const Vec2f at = scale * (crowd.agents().x[i] - circle.grid.origin);
        const int x = static_cast<int>(at.x()), y = image.height - 1 - static_cast<int>(at.y());
        if (x < 0 || x >= image.height || y < 0 || y >= image.height) continue;
        const Vec2f v = crowd.agents().v[i];
        const float angle = std::atan2(v.y(), v.x());
        const auto channel = [angle](float turn) { return 0.45f + 0.45f * std::cos(angle - turn); };
        const bool arrived = circle.planner.distance(crowd.agents(), i) < 1;
        image.at(left + x, y) = arrived ? Vec3f(0, 0, 0) : Vec3f(channel(0), channel(2.094f), channel(4.189f));
    }
}

void run(const Variant& variant, Image& image, int row)
{
    CrowdParams params;
    params.look_ahead = variant.look_ahead, params.side = variant.side;
    Circle circle(kAgents, params);
    circle.planner.leave = variant.leave, circle.planner.near = variant.leave ? 0.5f : 0.3f;
    Crowd crowd(circle.params, circle.grid);
    crowd.set_planner(&circle.planner);
    crowd.add(circle.start);
    CircleFigures figures;
    Image strip(image.width, image.width / 4);
    std::fill(strip.pixels.begin(), strip.pixels.end(), Vec3f(1, 1, 1));
    int panel = 0;
    size_t arrived = 0, left = 0;
    float densest = 0;
    double milliseconds = 0, steps = 0;
    while (crowd.time() < static_cast<double>(kSeconds) && arrived + left < kAgents) {
        const CrowdReport report = crowd.step(kDt);
        left += report.left.size();
        milliseconds += 1e3 * report.times.total(), steps += 1;
        figures.look(crowd, 0.5f * circle.full_radius, kDt);
        const auto density = crowd.continuum().density();
        densest = std::max(densest, *std::max_element(density.begin(), density.end()));
        arrived = 0;
        for (size_t i = 0; i < crowd.agents().size(); ++i) arrived += circle.planner.distance(crowd.agents(), i) < 1;
        constexpr double kMoments[] = {30, 60, 90, 130};
        if (panel < 4 && crowd.time() >= kMoments[panel]) draw(crowd, circle, strip, panel * strip.height), ++panel;
    }
    std::copy(strip.pixels.begin(), strip.pixels.end(), image.pixels.begin() + row * strip.width * strip.height);
    fmt::print("| {} | {} of {} in {:.0f} s | {:+.3f} | {:+.1f} | {} | {:.2f}% | {:.4f}% | {:.3f} | {:.3f} | {:.2f} | "
               "{:.1f} |\n",
               variant.name, arrived + left, kAgents, crowd.time(), figures.most_turning, figures.turned,
               figures.most_dense, 100 * figures.ever_share(kAgents), 100 * figures.too_close / figures.looked_at,
               figures.closest, figures.dense_mean(), densest, milliseconds / steps);
    std::fflush(stdout);
}

} // namespace

void crowd_circle()
{
    const Variant variants[] = {{"as in the document; who arrives leaves", 0, 0, true},
                                {"keeping right; who arrives leaves", 0, 1, true},
                                {"looking 2 s ahead, keeping right by half; all stay", 2, 0.5f, false}};
    fmt::print(
        "\n| circle of {} | arrived | fastest turning of the middle [1/s] | turned [rad] | most agents where it "
        "is full | ever closer than d_min | closer, of all agents and steps | closest [d_min] | mean nearest where "
        "it is full [d_min] | greatest density [rho_max] | ms a step |\n|---|---|---|---|---|---|---|---|---|---|"
        "---|\n",
        kAgents);
    constexpr int kPanel = 300;
    Image image(4 * kPanel, 3 * kPanel);
    int row = 0;
    for (const Variant& variant : variants) run(variant, image, row++);
    const std::filesystem::path folder = "out/validation";
    std::filesystem::create_directories(folder);
    write_image((folder / "crowd_circle.png").string(), image);
}
