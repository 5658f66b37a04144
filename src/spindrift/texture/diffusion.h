// Diffusion on a triangle mesh by implicit Euler steps, with the cotangent Laplacian [Pinkall 1993]:
//
//     (M + t L) x' = M x,   M the area around each vertex, L the weighted graph with (cot + cot) / 2 at each edge
//
// solved by conjugate gradients. The total, the sum of M x, is kept. Nothing flows through a boundary of the mesh.
//
// Negative weights, of edges between two obtuse angles, are left out: diffusion then never makes new extremes.
#pragma once

#include "spindrift/mesh/links.h"

namespace spindrift {

class SurfaceDiffusion {
  public:
    // `factors`, one per vertex or none, scale how fast values spread around each vertex.
    explicit SurfaceDiffusion(const Mesh& mesh, const std::vector<float>& factors = {});

    // Spreads values for t = diffusivity times duration [m2], until what is left of the equations is `residual` times
    // that at the start. Returns the number of iterations.
    int spread(float t, std::vector<float>& x, double residual = 1e-6);
    // Calls of spread() that ended above the residual, after the most iterations.
    int unconverged() const { return unconverged_; }
    double total(const std::vector<float>& x) const;
    double area() const { return total_area_; }
    const std::vector<float>& areas() const { return area_; } // of the vertices
    size_t bytes() const;

  private:
    void find_edges(const Mesh& mesh, const MeshLinks& links);
    void find_weights(const Mesh& mesh, const std::vector<float>& factors);

    std::vector<float> area_; // of each vertex: a third of its triangles
    double total_area_ = 0;
    std::vector<int> first_, neighbour_; // compressed rows of L without its diagonal
    std::vector<float> weight_, diagonal_;
    std::vector<float> r_, z_, p_, q_;
    int unconverged_ = 0;
};

} // namespace spindrift
