// Texture synthesis on a surface by optimisation [Bargteil 2006, 4.4.3]: for each patch, the colours of the surface are
// mapped to the plane, the square of the exemplar that fits best is found, and the colours of the surface become the
// mean of what their patches found. The energy that a match minimises is
//
//     sum g |(1 - w) (c - b) + w (a - b)|^2
//
// of the current colours c, the advected ones a, the exemplar's b and a Gaussian g. Large patches first, then small.
#pragma once

#include "spindrift/texture/matcher.h"
#include "spindrift/texture/patches.h"

#include <optional>

namespace spindrift {

struct SynthesisParams {
    std::vector<int> sizes = {33, 17, 9}; // of patches [texels]
    float coherence = 0.5f;               // w
    int iterations = 3;                   // for each size
    float distortion = 2;
    bool exhaustive = false; // compare all places of the exemplar
};

class Synthesis {
  public:
    // The exemplar must be at least as large as the largest patch.
    Synthesis(Exemplar exemplar, const SynthesisParams& params);

    // `colors` are the advected ones, which it replaces. Where `advected` is zero there were none, and only what
    // patches agree on counts.
    //
    // `seeds` has a bit for each size at the vertices where a patch was seeded in the frame before, and then at those
    // where one is now: patches that stay in place flicker less. Empty: none.
    void run(const Mesh& mesh, const std::vector<Vec3f>& directions, float texel, uint64_t seed,
             const std::vector<uint8_t>& advected, std::vector<int32_t>& seeds, std::vector<Vec3f>& colors);

    double energy() const { return energy_; } // of the last matches, in the mean of a texel
    int patches() const { return patches_; }

  private:
    Exemplar exemplar_;
    SynthesisParams params_;
    std::vector<Matcher> matchers_; // by size
    double energy_ = 0;
    int patches_ = 0;
};

} // namespace spindrift
