#include "spindrift/spray/thresholds.h"

namespace spindrift {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double cubed(double x) { return x * x * x; }

// Volume of a spherical cap of this height, 0 to 2, as a share of the unit ball.
double cap_share(double height) { return 0.25 * height * height * (3 - height); }

} // namespace

// The planes tangent to one droplet and parallel to the relative velocity cut a slice out of the other. While the slice
// ends within both droplets it is a cap of height tau on each: (4.10) and (4.11), whose two cases are one polynomial.
// If all of the smaller droplet lies in the path, the slice of the larger one has two plane faces.
InterplayShares interplay_shares(double offset, double ratio)
{
    const double tau = (1 - offset) * (1 + ratio);
    return {cap_share(tau) - cap_share(std::max(0.0, tau - 2 * ratio)), cap_share(std::min(2.0, tau / ratio))};
}

double stretching_threshold(double offset, double ratio)
{
    const double d3 = cubed(ratio);
    const auto [phi_i, phi_j] = interplay_shares(offset, ratio);
    const double stretch = (1 + d3) - (1 - offset * offset) * (phi_j + d3 * phi_i);
    if (!(stretch > 0)) return kNever;
    return 4 * (1 + d3) * (1 + d3) * std::sqrt(3 * (1 + ratio) * (1 - offset) * (d3 * phi_j + phi_i)) /
           (ratio * ratio * stretch); // (4.9)
}

double reflexive_threshold(double offset, double ratio)
{
    // Twice the share of each droplet that opposes the other, minus one: the remainder stretches and counteracts
    // reflexion. Beyond the edge of the smaller droplet the share is zero.
    const double xi = 0.5 * offset * (1 + ratio), d3 = cubed(ratio);
    const auto opposing = [xi](double radius) {
        if (xi >= radius) return 0.0;
        return 2 * (radius - xi) * (radius - xi) * std::sqrt(radius * radius - xi * xi);
    };
    const double eta = d3 * d3 * (opposing(1) - 1) + (opposing(ratio) - d3);
    if (!(eta > 0)) return kNever;
    return 3 * (7 * std::cbrt((1 + d3) * (1 + d3)) - 4 * (1 + ratio * ratio)) * ratio * (1 + d3) * (1 + d3) /
           eta; // (4.12)
}

Outcome outcome_of(const Encounter& e)
{
    if (!(e.ratio > 0)) return Outcome::coalescence;
    if (e.weber > reflexive_threshold(e.offset, e.ratio)) return Outcome::reflexive;
    if (e.weber > stretching_threshold(e.offset, e.ratio)) return Outcome::stretching;
    return Outcome::coalescence;
}

double coalescence_offset(double weber, double ratio)
{
    const double g = 1 / ratio, g3 = 1 + cubed(g);
    const double f = (1 + g * g - std::cbrt(g3 * g3)) * std::pow(g3, 11.0 / 3) / (cubed(g * g) * (1 + g) * (1 + g));
    return std::sqrt(std::min(1.0, 2.4 * f / weber)); // (4.5)-(4.7)
}

} // namespace spindrift
