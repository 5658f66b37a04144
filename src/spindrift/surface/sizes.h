// Radii of particles of mixed sizes, carried along while particles are reordered.
#pragma once

#include "spindrift/base/error.h"
#include "spindrift/points/particles.h"
#include "spindrift/surface/mixed_sizes.h"

#include <algorithm>

namespace spindrift {

class Sizes {
  public:
    explicit Sizes(const Particles& particles)
    {
        if (const auto* radii = particles.find<float>(kName); radii && !radii->empty())
            largest_ = *std::max_element(radii->begin(), radii->end());
    }
    static void give(Particles& particles, std::vector<float> radii, float scale)
    {
        for (size_t i = 0; i < radii.size(); ++i) {
            if (!(radii[i] > 0) || !std::isfinite(radii[i]))
                bad_input("particle {} of {} has the radius {} m; radii (pscale or radius) must be above 0", i,
                          radii.size(), radii[i]);
            radii[i] *= scale;
        }
        particles.attributes[kName] = std::move(radii);
    }
    std::vector<float> take(Particles& particles) const
    {
        const auto found = particles.attributes.find(kName);
        if (found == particles.attributes.end()) return {};
        std::vector<float> radii = std::get<std::vector<float>>(std::move(found->second));
        particles.attributes.erase(found);
        return radii;
    }
    // The range of the largest particle [m].
    float most_reach(float spacings) const { return spacings * spacing_of_radius(largest_); }

  private:
    static constexpr const char* kName = "\1radius"; // cannot clash with user attributes
    float largest_ = 0;
};

} // namespace spindrift
