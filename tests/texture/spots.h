// Patterns of reaction and diffusion, and how many spots they have.
#pragma once

#include "spindrift/texture/reaction.h"

#include <functional>

namespace spindrift {

inline Morphogens started_reaction(const Mesh& mesh, const ReactionParams& params)
{
    Morphogens values;
    values.a.resize(mesh.positions.size()), values.b.resize(mesh.positions.size());
    for (size_t i = 0; i < values.a.size(); ++i) start_reaction(params, mesh.positions[i], values.a[i], values.b[i]);
    return values;
}

// Connected parts of a mesh where vertices belong to a spot.
inline int spots_of(const Mesh& mesh, const ReactionParams& params, const Morphogens& values)
{
    std::vector<int> part(mesh.positions.size());
    for (size_t i = 0; i < part.size(); ++i) part[i] = static_cast<int>(i);
    const std::function<int(int)> root = [&](int i) { return part[i] == i ? i : part[i] = root(part[i]); };
    const auto is_spot = [&](int i) { return spot_share(params, values.a[i], values.b[i]) > 0.5f; };
    for (const Vec3i& t : mesh.triangles)
        for (int k = 0; k < 3; ++k)
            if (is_spot(t[k]) && is_spot(t[(k + 1) % 3])) part[root(t[k])] = root(t[(k + 1) % 3]);
    int count = 0;
    for (size_t i = 0; i < part.size(); ++i) count += is_spot(static_cast<int>(i)) && part[i] == static_cast<int>(i);
    return count;
}

} // namespace spindrift
