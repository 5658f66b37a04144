// Along which direction a texture on a mesh runs, measured by its structure tensor: the sum of g g^T of the gradients g
// of its colours. Its eigenvector with the largest eigenvalue lies across stripes.
#pragma once

#include "spindrift/mesh/links.h"
#include "spindrift/texture/features.h"

namespace spindrift {

// Of the vertices, averaged over their neighbours `passes` edges away.
inline std::vector<Mat3f> structure_tensors(const Mesh& mesh, const std::vector<Vec3f>& colors, int passes)
{
    std::vector<Mat3f> of_triangles;
    for (const Vec3i& t : mesh.triangles) {
        const Vec3f normal =
            (mesh.positions[t[1]] - mesh.positions[t[0]]).cross(mesh.positions[t[2]] - mesh.positions[t[0]]);
        const float square = normal.squaredNorm(); // (2 area)^2
        Mat3f gradient = Mat3f::Zero();            // a row for each channel
        for (int k = 0; k < 3 && square > 0; ++k) {
            const Vec3f opposite = mesh.positions[t[(k + 2) % 3]] - mesh.positions[t[(k + 1) % 3]];
            gradient += colors[t[k]] * normal.cross(opposite).transpose() / square;
        }
        of_triangles.push_back(0.5f * std::sqrt(square) * gradient.transpose() * gradient);
    }
    const MeshLinks links(mesh);
    std::vector<Mat3f> tensors(mesh.positions.size(), Mat3f::Zero());
    for (size_t i = 0; i < tensors.size(); ++i)
        for (const int t : links.triangles_at(static_cast<int>(i))) tensors[i] += of_triangles[t];
    for (int pass = 0; pass < passes; ++pass) {
        std::vector<Mat3f> mean = tensors;
        for (size_t i = 0; i < tensors.size(); ++i)
            for (const int t : links.triangles_at(static_cast<int>(i)))
                for (int k = 0; k < 3; ++k) mean[i] += tensors[mesh.triangles[t][k]];
        tensors = std::move(mean);
    }
    return tensors;
}

// The mean angle between the texture and a field of tangential directions, whose signs do not matter [degrees]: 0 if
// stripes lie along it, 90 if they lie across, and 45 if there is no relation. Places count as much as the texture has
// a direction there; those where `counts` is false do not.
inline double mean_angle(const Mesh& mesh, const std::vector<Vec3f>& colors, const std::vector<Vec3f>& directions,
                         int passes = 6, const std::function<bool(size_t)>& counts = {})
{
    const std::vector<Mat3f> tensors = structure_tensors(mesh, colors, passes);
    double sum = 0, weights = 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (counts && !counts(i)) continue;
        const Stretching across = stretching(tensors[i], mesh.normals[i]);
        const float sine = std::abs(across.direction.dot(directions[i]));
        const auto weight = static_cast<double>(across.stability());
        sum += weight * std::asin(std::min(1.0, static_cast<double>(sine))) * 180 / kPi;
        weights += weight;
    }
    return weights > 0 ? sum / weights : 0;
}

} // namespace spindrift
