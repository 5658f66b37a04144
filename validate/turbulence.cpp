// Turbulence [Narain 2011, figure 3.5]: the spectrum of five octaves of eddies against Kolmogorov's, and the energy of
// each octave against the exact one.
//
//     spindrift_validate turbulence
#include "checks.h"
#include "drawing.h"

#include "spindrift/turbulence/turbulence.h"
#include "turbulence/spectrum.h"

#include <fmt/format.h>

using namespace spindrift;

namespace {

constexpr int kOctaves = 5, kSamples = 256, kSeeds = 12;
constexpr float kVoxel = 0.25f, kEddy = 1;
constexpr int kEddySamples = 48; // in an eddy: the cube is five eddies wide, the shortest wave has two samples
constexpr double kFirst = 0.75 * kSamples / kEddySamples; // k_0, in waves across the cube

// Turbulence of uniform energy 1 in a cube of 16 eddies of still fluid.
Turbulence homogeneous(int octaves, int seed)
{
    const Topology topology = Topology::covering(Vec3i::Zero(), Vec3i::Constant(64));
    MacField still;
    still.reset(topology, 0);
    TurbulenceParams params;
    params.viscosity = 0, params.start_energy = 1, params.octaves = octaves, params.seed = seed;
    Turbulence turbulence(params);
    turbulence.step({still, kVoxel, nullptr, nullptr, nullptr}, 0);
    return turbulence;
}

// Mean square velocity of each octave: the difference between the first n + 1 and the first n octaves.
std::vector<double> octave_energies()
{
    std::vector<double> energies(kOctaves);
    constexpr size_t kPoints = 40000;
    for (int seed = 1; seed <= kSeeds; ++seed) {
        Random random(static_cast<uint64_t>(seed));
        std::vector<Vec3f> points, before(kPoints, Vec3f::Zero()), now(kPoints);
        for (size_t i = 0; i < kPoints; ++i)
            points.emplace_back(random.uniform(2, 14), random.uniform(2, 14), random.uniform(2, 14));
        for (int o = 0; o < kOctaves; ++o) {
            homogeneous(o + 1, seed).velocity().sample_points(points, now);
            for (size_t i = 0; i < kPoints; ++i)
                energies[static_cast<size_t>(o)] +=
                    static_cast<double>((now[i] - before[i]).squaredNorm()) / kPoints / kSeeds;
            std::swap(before, now);
        }
    }
    return energies;
}

std::vector<double> spectrum_of_all()
{
    std::vector<double> spectrum(kSamples / 2);
    const Vec3i first = Vec3i::Constant(8 * kEddySamples - kSamples / 2);
    const Topology topology = Topology::covering(first, first.array() + kSamples);
    for (int seed = 1; seed <= kSeeds; ++seed) {
        Field<float> u[3];
        homogeneous(kOctaves, seed).velocity().sample_cells(topology, kEddy / kEddySamples, u);
        const auto one = energy_spectrum(u, first, kSamples);
        for (size_t k = 0; k < one.size(); ++k) spectrum[k] += one[k];
    }
    return spectrum;
}

// Logarithmic on both axes: k from 1 to 128 waves across the cube with a tick for every octave, seven decades of
// energy.
class Plot {
  public:
    Plot() : image_(kWidth + 2 * kMargin, kHeight + 2 * kMargin)
    {
        std::fill(image_.pixels.begin(), image_.pixels.end(), Vec3f::Ones());
    }
    void dot(double k, double energy, const Vec3f& color, float radius)
    {
        const auto x = static_cast<float>(std::log2(k) / 7 * kWidth),
                   y = static_cast<float>(-std::log10(energy) / kDecades * kHeight);
        DotPanel{image_, kMargin, kMargin, kWidth, kHeight}.dot(x, y, color, radius);
    }
    void line(double k0, double e0, double k1, double e1, const Vec3f& color, float radius)
    {
        for (int i = 0; i <= 2000; ++i) {
            const double t = i / 2000.0;
            dot(k0 * std::pow(k1 / k0, t), e0 * std::pow(e1 / e0, t), color, radius);
        }
    }
    void frame()
    {
        const Vec3f ink = Vec3f::Constant(0.02f);
        for (int h = 0; h <= kWidth; ++h)
            image_.at(kMargin + h, kMargin) = image_.at(kMargin + h, kMargin + kHeight) = ink;
        for (int v = 0; v <= kHeight; ++v)
            image_.at(kMargin, kMargin + v) = image_.at(kMargin + kWidth, kMargin + v) = ink;
        for (int t = 0; t < 6; ++t) {
            for (int octave = 0; octave <= 7; ++octave)
                image_.at(kMargin + octave * kWidth / 7, kMargin + kHeight + t) = ink;
            for (int d = 0; d <= kDecades; ++d) image_.at(kMargin - t, kMargin + d * kHeight / kDecades) = ink;
        }
    }
    const Image& image() const { return image_; }

  private:
    static constexpr int kWidth = 700, kHeight = 420, kMargin = 14, kDecades = 7;
    Image image_;
};

void draw(const std::vector<double>& spectrum, const std::string& path)
{
    const Vec3f blue(0.10f, 0.28f, 0.70f), orange(0.85f, 0.42f, 0.05f), grey = Vec3f::Constant(0.75f);
    const double top = 2 * *std::max_element(spectrum.begin(), spectrum.end());
    constexpr double k0 = kFirst;
    Plot plot;
    for (int o = 0; o <= kOctaves; ++o) plot.line(std::ldexp(k0, o), 1, std::ldexp(k0, o), 1e-7, grey, 0.4f);
    // Kolmogorov's slope through the middle octave.
    const double middle = 2 * k0 * std::exp2(0.5 * (kOctaves - 1)), level = spectrum[static_cast<size_t>(middle)] / top;
    const auto kolmogorov = [&](double k) { return level * std::pow(k / middle, -5.0 / 3); };
    plot.line(k0, kolmogorov(k0), 96, kolmogorov(96), orange, 0.8f);
    for (size_t k = 1; k < spectrum.size(); ++k) {
        const auto at = static_cast<double>(k);
        if (k > 1) plot.line(at - 1, spectrum[k - 1] / top, at, spectrum[k] / top, blue, 0.6f);
        plot.dot(at, spectrum[k] / top, blue, 2);
    }
    plot.frame();
    write_image(path, plot.image());
}

} // namespace

void turbulence_spectrum(Figures&)
{
    fmt::print(
        "\n| octave | waves [eddy sizes] | mean square, exact | found | error of the RMS |\n|---|---|---|---|---|\n");
    const std::vector<double> energies = octave_energies();
    for (int o = 0; o < kOctaves; ++o) {
        const double exact = std::exp2(-2.0 / 3 * o), found = energies[static_cast<size_t>(o)];
        fmt::print("| {} | {:.3g} to {:.3g} | {:.3f} | {:.3f} | {:+.1f}% |\n", o, std::ldexp(4.0 / 3, -o),
                   std::ldexp(2.0 / 3, -o), exact, found, 100 * (std::sqrt(found / exact) - 1));
    }
    const std::vector<double> spectrum = spectrum_of_all();
    constexpr double k0 = kFirst, end = k0 * (1 << kOctaves);
    fmt::print("\n| fitted from | to | exponent | Kolmogorov |\n|---|---|---|---|\n");
    for (const double from : {1.05, 1.5, 2.0, 4.0})
        fmt::print("| {} k_0 | {} k_0 | {:.2f} | -1.67 |\n", from, 0.95 * (1 << kOctaves),
                   fitted_slope(spectrum, from * k0, 0.95 * end));
    const std::string picture = output_path("turbulence_spectrum.png");
    draw(spectrum, picture);
    fmt::print("\nThe spectrum is in {}.\n", picture);
}
