// The parameter r that chooses between textures, such as the density of foam. It moves along with the surface, and the
// features of the flow change it [Narain 2011, 2.5.1]:
//
//     Dr/Dt = k max(rho H - r, 0) - r / tau - r div_t u
//
// or any other rate by an expression. The last term, which all of them have, keeps the total, the integral of r over
// the surface, as the surface stretches and shrinks. It is not
// integrated from the divergence: values are divided by how much the area around each vertex has really grown along
// the map between the frames. What interpolation between the meshes still changes is put back nearby.
//
// Limits: foam stays within 0 and 1, so that what is pushed together to more than 1 is lost; so is foam on surface
// that vanishes, where liquids merge.
#pragma once

#include "spindrift/scene/params.h"
#include "spindrift/track/properties.h"

namespace spindrift {

struct FoamParams {
    float reach = 0.02f;       // rho [m]
    float life = 2;            // tau [s]
    std::optional<float> rate; // k [1/s]; infinite by default
    void visit(ParamVisitor& v);
};

// The area around each vertex one frame before, over the area now; `from` are the places of vertices in that frame.
// 1 where that is not known.
std::vector<float> area_ratios(const Mesh& before, const Mesh& now, const std::vector<SurfacePoint>& from);
// Changes values that were carried along the map, so that their total is that of the frame before.
void keep_total(const Mesh& before, const std::vector<float>& values_before, const Mesh& now,
                const std::vector<SurfacePoint>& from, std::vector<float>& values);
// Lets foam appear where the surface is curved, and vanish with time. `seconds` is 0 in the first frame.
void change_foam(const FoamParams& params, const std::vector<float>& curvature, float seconds,
                 std::vector<float>& foam);

} // namespace spindrift
