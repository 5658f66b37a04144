// The regimes of droplet collisions [Jones 2018, figure 4.6]: pairs of droplets that collide in a spray, against the
// energies from which the thresholds are derived; and droplet sizes in a geyser [Jones 2018, figure 4.12].
//
//     spindrift_validate spray
#include "checks.h"
#include "drawing.h"

#include "spindrift/scene/scene_file.h"
#include "spindrift/spray/spray.h"
#include "spray/energies.h"

#include <fmt/format.h>
#include <fstream>

using namespace spindrift;

namespace {

constexpr int kWebers = 75, kOffsets = 50;
constexpr double kMostWeber = 300;
constexpr float kFps = 1000;

struct Sample {
    double weber, offset;
    Outcome outcome;
    size_t droplets = 0; // afterwards
};

// One pair for each point of the map, isolated from the others, with its deepest overlap in the middle of the step.
std::vector<Sample> collide_pairs(double ratio)
{
    SprayParams params;
    params.gravity = Vec3f::Zero(), params.drag = 0, params.substeps = 1, params.min_radius = 1e-6f;
    std::vector<Sample> samples;
    Particles droplets;
    std::vector<float> radius;
    const float r_i = 1e-3f, r_j = static_cast<float>(1e-3 * ratio);
    for (int w = 0; w < kWebers; ++w)
        for (int o = 0; o < kOffsets; ++o) {
            Sample s{kMostWeber * (w + 0.5) / kWebers, (o + 0.5) / kOffsets, Outcome::none};
            const double speed = std::sqrt(s.weber * params.surface_tension / (2.0 * params.density * r_j));
            const Vec3f place = 0.02f * Vec3f(static_cast<float>(w), static_cast<float>(o), 0);
            const Vec3f v(0, 0, static_cast<float>(speed));
            droplets.P.push_back(place);
            droplets.v.push_back(Vec3f::Zero());
            droplets.P.push_back(place + Vec3f(static_cast<float>(s.offset) * (r_i + r_j), 0, 0) - 0.5f / kFps * v);
            droplets.v.push_back(v);
            radius.push_back(r_i), radius.push_back(r_j);
            samples.push_back(s);
        }
    droplets.id.resize(droplets.P.size());
    droplets.attribute<float>(kRadiusAttribute) = std::move(radius);
    Spray spray(params, {}, kFps);
    spray.start(0);
    spray.add(std::move(droplets));
    spray.advance();
    const Particles& after = spray.particles();
    const auto &outcome = *after.find<int32_t>(kOutcomeAttribute), &parent = *after.find<int32_t>(kParentAttribute);
    for (size_t i = 0; i < after.size(); ++i) {
        Sample& s = samples[static_cast<size_t>(parent[i] < 0 ? after.id[i] : parent[i]) / 2];
        s.outcome = static_cast<Outcome>(outcome[i]), ++s.droplets;
    }
    return samples;
}

// The least Weber number at which happens(We) holds; above kMostWeber if it holds at none of them.
template <class Happens> double threshold(const Happens& happens)
{
    double low = 0, high = 2 * kMostWeber;
    for (int halving = 0; halving < 40; ++halving) {
        const double middle = 0.5 * (low + high);
        (happens(middle) ? high : low) = middle;
    }
    return high;
}

Vec3f color_of(Outcome outcome)
{
    switch (outcome) {
    case Outcome::coalescence:
        return {0.10f, 0.28f, 0.70f};
    case Outcome::stretching:
        return {0.85f, 0.42f, 0.05f};
    case Outcome::reflexive:
        return {0.60f, 0.06f, 0.15f};
    default:
        return {0, 0, 0};
    }
}

// One panel: We from left to right with a tick every 50, X from bottom to top with a tick every 0.2.
class Panel {
  public:
    Panel(Image& image, int left) : image_(image), left_(left) {}
    static constexpr int kWidth = 450, kHeight = 300, kMargin = 14;

    void dot(double weber, double offset, const Vec3f& color, float radius)
    {
        const auto x = static_cast<float>(weber / kMostWeber * kWidth), y = static_cast<float>((1 - offset) * kHeight);
        DotPanel{image_, left_, kMargin, kWidth, kHeight}.dot(x, y, color, radius);
    }
    void frame()
    {
        const Vec3f ink = Vec3f::Constant(0.02f);
        for (int u = 0; u <= kWidth; ++u) image_.at(left_ + u, kMargin) = image_.at(left_ + u, kMargin + kHeight) = ink;
        for (int v = 0; v <= kHeight; ++v) image_.at(left_, kMargin + v) = image_.at(left_ + kWidth, kMargin + v) = ink;
        for (int tick = 0; tick <= 6; ++tick)
            for (int t = 0; t < 6; ++t) image_.at(left_ + tick * kWidth / 6, kMargin + kHeight + t) = ink;
        for (int tick = 0; tick <= 5; ++tick)
            for (int t = 0; t < 6; ++t) image_.at(left_ - t, kMargin + tick * kHeight / 5) = ink;
    }

  private:
    Image& image_;
    int left_;
};

// [Jones 2018, figure 4.12]: the geyser of scenes/geyser.toml with a tenth, once and ten times the surface tension of
// water, and without collisions. Distribution of the number of droplets over radii after two seconds.
void geyser_sizes()
{
    constexpr int kFrames = 48;
    constexpr double kEdges[] = {0, 2, 3, 4, 6, 8, 12, 16, 100}; // radii [mm]
    constexpr size_t kBins = std::size(kEdges) - 1;
    fmt::print("\n| surface tension [N/m] | droplets | mean radius [mm] | of the mass |");
    for (size_t b = 0; b < kBins; ++b) fmt::print(" {}-{} mm |", kEdges[b], kEdges[b + 1]);
    fmt::print("\n|---|---|---|---|{}\n", [] {
        std::string line;
        for (size_t b = 0; b < kBins; ++b) line += "---|";
        return line;
    }());
    for (const float tension : {0.0f, 0.0072f, 0.072f, 0.72f}) {
        SprayParams params;
        SceneFile(SPINDRIFT_SOURCE_DIR "/scenes/geyser.toml", {}).read("spray", [&](ParamVisitor& v) {
            params.visit(v);
        });
        params.collisions = tension > 0;
        if (tension > 0) params.surface_tension = tension;
        Spray::Shapes shapes;
        for (const EmitterParams& e : params.emitters) shapes.emitters.emplace_back(e.carrier(), "geyser");
        for (const SprayColliderParams& c : params.colliders) shapes.colliders.emplace_back(c, "geyser");
        Spray spray(params, std::move(shapes), 24);
        spray.start(1);
        for (int f = 0; f < kFrames; ++f) spray.advance();
        size_t counts[kBins] = {};
        double sum = 0, volume = 0, weighted = 0;
        const auto& radii = *spray.particles().find<float>(kRadiusAttribute);
        for (const float r : radii) {
            const double mm = 1e3 * static_cast<double>(r);
            sum += mm, volume += mm * mm * mm, weighted += mm * mm * mm * mm;
            for (size_t b = 0; b < kBins; ++b) counts[b] += mm >= kEdges[b] && mm < kEdges[b + 1];
        }
        const auto n = static_cast<double>(radii.size());
        fmt::print("| {} | {} | {:.1f} | {:.1f} |", tension > 0 ? fmt::format("{}", tension) : "no collisions",
                   radii.size(), sum / n, weighted / volume);
        for (const size_t c : counts) fmt::print(" {:.1f}% |", 100 * static_cast<double>(c) / n);
        fmt::print("\n");
    }
}

} // namespace

void spray_regimes(Figures&)
{
    const std::string csv = output_path("spray_regimes.csv"), picture = output_path("spray_regimes.png");
    std::ofstream table(csv);
    table << "radius ratio,We,X,outcome,droplets afterwards,outcome by energies\n";
    const std::vector<double> ratios = {1, 0.75, 0.5};
    Image image(static_cast<int>(ratios.size()) * (Panel::kWidth + 2 * Panel::kMargin),
                Panel::kHeight + 2 * Panel::kMargin);
    std::fill(image.pixels.begin(), image.pixels.end(), Vec3f::Ones());
    fmt::print(
        "\n| radius ratio | pairs | coalesced | stretching | reflexive | unlike the energies | both passed, reflexive "
        "|\n|---|---|---|---|---|---|---|\n");
    for (size_t r = 0; r < ratios.size(); ++r) {
        Panel panel(image, Panel::kMargin + static_cast<int>(r) * (Panel::kWidth + 2 * Panel::kMargin));
        int counts[4] = {}, unlike = 0, both = 0;
        for (const Sample& s : collide_pairs(ratios[r])) {
            const Energies energies(ratios[r], s.offset);
            const Outcome expected = energies.outcome(s.weber);
            ++counts[static_cast<size_t>(s.outcome)], unlike += s.outcome != expected;
            both += s.outcome == Outcome::reflexive && energies.stretches(s.weber);
            table << fmt::format("{},{},{},{},{},{}\n", ratios[r], s.weber, s.offset, static_cast<int>(s.outcome),
                                 s.droplets, static_cast<int>(expected));
            panel.dot(s.weber, s.offset, color_of(s.outcome), 1.6f);
        }
        const auto draw_threshold = [&](bool (Energies::*happens)(double) const) {
            for (int v = 0; v < 8 * Panel::kHeight; ++v) {
                const double offset = (v + 0.5) / (8.0 * Panel::kHeight);
                const Energies energies(ratios[r], offset);
                panel.dot(threshold([&](double w) { return (energies.*happens)(w); }), offset, Vec3f::Constant(0.02f),
                          0.8f);
            }
        };
        draw_threshold(&Energies::stretches);
        draw_threshold(&Energies::reflexes);
        panel.frame();
        fmt::print("| {} | {} | {} | {} | {} | {} | {} |\n", ratios[r], kWebers * kOffsets, counts[1], counts[2],
                   counts[3], unlike, both);
    }
    write_image(picture, image);
    fmt::print("\nThe points are in {}, the picture of them in {}.\n", csv, picture);
    geyser_sizes();
}
