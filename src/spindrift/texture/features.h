// Features of a flow at the surface of a liquid, which guide textures [Narain 2011, 2.3.2].
//
// A quadratic surface and quadratic velocities are fitted to the vertices around each vertex, two edges far, by least
// squares [Cazals 2005]. All features are derivatives of these in the tangent plane of the fitted surface. They are
// second-order accurate for first derivatives, and for second derivatives where vertices lie evenly.
//
// Limits: curvature that the mesh does not resolve is cut off, and that of sheets thinner than an edge means little.
#pragma once

#include "spindrift/mesh/mesh.h"

namespace spindrift {

struct FlowFeatures {
    std::vector<float> curvature;  // mean curvature H [1/m], positive for a drop
    std::vector<float> divergence; // tangential [1/s]: how fast the area around a vertex grows (2.4)
    std::vector<float> stretch;    // largest and smallest eigenvalue of the symmetric tangential Jacobian (2.6) [1/s]
    std::vector<float> squash;
    std::vector<float> viscous; // size of the surface Laplacian of the velocity without its rotation [1/(m s)]
    std::vector<Mat3f> strain;  // the symmetric tangential Jacobian itself
};

// `velocities` of the vertices; without any, only the curvature differs from zero. `smoothing`: details of the velocity
// and of the curvature that are smaller than this are smoothed out [m]. Vertices in `left_out`, if it is not empty,
// have no features, and no influence on those of others: surface that lies on a wall is not the liquid's own.
FlowFeatures flow_features(const Mesh& mesh, const std::vector<Vec3f>& velocities, float smoothing = 0,
                           const std::vector<uint8_t>& left_out = {});

// The directions of largest and smallest rate of stretching across a normal.
struct Stretching {
    float most = 0, least = 0; // eigenvalues [1/s]
    Vec3f direction;           // of the largest, in the tangent plane

    float gap() const { return most - least; }
    // From 0, where any perturbation turns the direction, to 1: a perturbation of the strain by a small share of its
    // size turns the direction by at most that share over twice the stability.
    float stability() const;
};
Stretching stretching(const Mat3f& strain, const Vec3f& normal);

constexpr const char* kCurvature = "curvature"; // names of attributes
// Adds the features to the attributes of the mesh: curvature, divergence, stretch, squash and viscous.
void add_attributes(FlowFeatures&& features, Mesh& mesh);

} // namespace spindrift
