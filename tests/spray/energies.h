// The outcome of a collision from the energies in the appendix of [Jones 2018], without the thresholds derived from
// them.
#pragma once

#include "spindrift/spray/thresholds.h"

namespace spindrift {

// Interaction volumes are integrated numerically over discs.
struct Energies {
    double delta, x; // r_i = 1, rho = 1, sigma = 1
    double slice_i = 0, slice_j = 0;

    Energies(double ratio, double offset) : delta(ratio), x(offset)
    {
        const double b = x * (1 + delta);
        const int n = 4000;
        for (int k = 0; k < n; ++k) {
            const double s = -1 + 2 * (k + 0.5) / n;
            if (s > b - delta && s < b + delta) slice_i += kPi * (1 - s * s) * 2 / n;
            if (b + delta * s > -1 && b + delta * s < 1) slice_j += kPi * delta * delta * (1 - s * s) * 2 * delta / n;
        }
    }
    double volume(double r) const { return 4 * kPi / 3 * r * r * r; }
    double speed2(double weber) const { return weber / (2 * delta); }
    double speed2_i(double weber) const
    {
        return speed2(weber) * std::pow(delta, 6) / std::pow(1 + std::pow(delta, 3), 2);
    }
    double speed2_j(double weber) const { return speed2(weber) / std::pow(1 + std::pow(delta, 3), 2); }

    bool stretches(double weber) const // appendix (3), (6)
    {
        const double outside = (volume(1) - slice_i) * speed2_i(weber) + (volume(delta) - slice_j) * speed2_j(weber);
        const double inside = x * x * (slice_i * speed2_i(weber) + slice_j * speed2_j(weber));
        const double ligament = (1 - x) * (1 + delta);
        return 0.5 * (outside + inside) > 2 * std::sqrt(kPi * ligament * (slice_i + slice_j));
    }
    bool reflexes(double weber) const // appendix (8)-(13)
    {
        const double xi = 0.5 * x * (1 + delta);
        const auto prolate = [&](double r) {
            return xi < r ? 4 * kPi / 3 * std::pow(r - xi, 2) * std::sqrt(r * r - xi * xi) : 0;
        };
        const double counter = 0.5 * (prolate(1) * speed2_i(weber) + prolate(delta) * speed2_j(weber));
        const double stretch =
            0.5 * ((volume(1) - prolate(1)) * speed2_i(weber) + (volume(delta) - prolate(delta)) * speed2_j(weber));
        const double merged = 4 * kPi * std::pow(1 + std::pow(delta, 3), 2.0 / 3);
        const double excess = 4 * kPi * (1 + delta * delta) - merged;
        return counter + excess - stretch > 0.75 * merged;
    }
    Outcome outcome(double weber) const
    {
        return reflexes(weber) ? Outcome::reflexive : stretches(weber) ? Outcome::stretching : Outcome::coalescence;
    }
};

} // namespace spindrift
