// Texture synthesis on a surface by optimisation [Bargteil 2006, 4.4.3]: for each patch, the values of the surface are
// mapped to the plane, the square of the examples that fits best is found, and the values of the surface become the
// mean of what their patches found. The energy that a match minimises is
//
//     sum g (|(1 - w) (c - b) + w (a - b)|^2 + sum_i w_i |s_i - b_i|^2 + w_r |r - r_b|^2)
//
// of the current values c, the advected ones a, those of the frames before s_i, and the guide r, the example's b, b_i
// and r_b, and a Gaussian g. The first term is that of still pictures; with the history of videos [Narain 2011, (2.9)]
// and a guide [Narain 2011, (2.8)] come the others. Large patches first, then small. The third size and those after it
// only take places that continue what their vertices came from: among all places of the example they would find the
// plain ones between features, and lose these. The mean is weighted by the Gaussian to a power, so that it hardly
// blurs; and w falls where the advected values have less contrast than any square of the examples, as where a surface
// stretches fast.
#pragma once

#include "spindrift/texture/matcher.h"
#include "spindrift/texture/patches.h"

namespace spindrift {

struct SynthesisParams {
    std::vector<int> sizes = {33, 17, 9}; // of patches [texels]
    float coherence = 0.5f;               // w
    int iterations = 3;                   // for each size
    float distortion = 2;
    bool exhaustive = false; // compare all places of the examples
};

// Pictures of which each patch is matched with any, or, by label, with those of the example of its label only.
struct ExampleSet {
    TexelLayout layout = {};
    std::vector<Raster> pictures;   // with layout.stride() channels
    std::vector<int> examples = {}; // of the pictures, from 0 on, in order; empty: all belong to one
    bool by_label = false;
    std::vector<std::string> extra = {}; // names of the synthesized values after the three of a colour
};

// What the texture of a frame starts from.
struct SynthesisFrame {
    const Mesh& mesh;
    const std::vector<Vec3f>& directions;
    float texel = 1; // [m]
    uint64_t seed = 1;
    // Vertices whose values were advected. At the others only what patches agree on counts.
    const std::vector<uint8_t>& advected;
    // Of each vertex, what follows the synthesized values in a texel: history and guide. Vertices that were not
    // advected are given a history.
    std::vector<float> rest = {};
    // Examples of vertices: by label, all they are matched with; otherwise where patches begin of which nothing is
    // known. Empty: any.
    std::vector<int32_t> labels = {};
};

class Synthesis {
  public:
    // Pictures must be at least as large as the largest patch.
    Synthesis(ExampleSet set, const SynthesisParams& params);

    // `values`, layout.channels for each vertex, are the advected ones, which it replaces.
    //
    // `seeds` has a bit for each size at the vertices where a patch was seeded in the frame before, and then at those
    // where one is now: patches that stay in place flicker less. Empty: none.
    void run(SynthesisFrame& frame, std::vector<int32_t>& seeds, std::vector<float>& values);

    const TexelLayout& layout() const { return layout_; }
    double energy() const { return energy_; } // of the last matches, in the mean of a texel
    int patches() const { return patches_; }

  private:
    TexelLayout layout_;
    bool by_label_;
    std::vector<std::vector<Raster>> pictures_; // by label
    SynthesisParams params_;
    std::vector<std::vector<Matcher>> matchers_; // by size, and by label
    double energy_ = 0;
    int patches_ = 0;
};

} // namespace spindrift
