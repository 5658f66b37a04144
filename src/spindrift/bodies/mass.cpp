#include "spindrift/bodies/mass.h"

#include "spindrift/base/parallel.h"

namespace spindrift {

namespace {

MassProperties box(const ShapeParams& p)
{
    const Vec3d size = (p.max - p.min).cast<double>(), square = size.cwiseProduct(size);
    const double volume = size.prod();
    const Vec3d diagonal = volume / 12 * (Vec3d::Constant(square.sum()) - square);
    return {volume, 0.5 * (p.min + p.max).cast<double>(), diagonal.asDiagonal()};
}

// A cylinder with two hemispherical caps; a ball if its length is zero.
MassProperties capsule(const Vec3d& start, const Vec3d& end, double r)
{
    const double length = (end - start).norm(), r2 = r * r;
    const double cylinder = kPi * r2 * length, ball = 4 * kPi / 3 * r2 * r;
    const double along = 0.5 * cylinder * r2 + 0.4 * ball * r2;
    const double across =
        cylinder * (r2 / 4 + length * length / 12) + ball * (0.4 * r2 + length * length / 4 + 0.375 * length * r);
    const Vec3d n = length > 0 ? Vec3d((end - start) / length) : Vec3d::UnitX();
    return {cylinder + ball, 0.5 * (start + end), across * Mat3d::Identity() + (along - across) * n * n.transpose()};
}

// From volume, first moments and the second-moment tensor about `origin`.
MassProperties from_moments(const Vec3d& origin, double volume, const Vec3d& first, const Mat3d& second)
{
    if (!(volume > 0)) return {0, origin, Mat3d::Zero()};
    const Vec3d center = first / volume;
    const Mat3d about_center = second - volume * center * center.transpose();
    return {volume, origin + center, about_center.trace() * Mat3d::Identity() - about_center};
}

// Sum over tetrahedra between each triangle and the middle of the mesh.
MassProperties solid_mesh(const Mesh& mesh)
{
    const Vec3d origin = bounds_of(mesh).center().cast<double>();
    double volume = 0;
    Vec3d first = Vec3d::Zero();
    Mat3d second = Mat3d::Zero();
    for (const Vec3i& t : mesh.triangles) {
        Vec3d p[3];
        for (int k = 0; k < 3; ++k) p[k] = mesh.positions[t[k]].cast<double>() - origin;
        const double v = p[0].dot(p[1].cross(p[2])) / 6;
        const Vec3d sum = p[0] + p[1] + p[2];
        volume += v, first += v / 4 * sum;
        second += v / 20 * (sum * sum.transpose());
        for (const Vec3d& q : p) second += v / 20 * (q * q.transpose());
    }
    if (volume < 0) volume = -volume, first = -first, second = -second; // triangles are oriented inwards
    return from_moments(origin, volume, first, second);
}

MassProperties single(const RigidSolid::Part& part)
{
    const ShapeParams& p = part.shape.params();
    MassProperties m;
    if (p.shape == ShapeParams::Kind::box) m = box(p);
    if (p.shape == ShapeParams::Kind::sphere) m = capsule(p.center.cast<double>(), p.center.cast<double>(), p.radius);
    if (p.shape == ShapeParams::Kind::capsule) m = capsule(p.start.cast<double>(), p.end.cast<double>(), p.radius);
    if (p.shape == ShapeParams::Kind::mesh) m = solid_mesh(part.shape.mesh(0));
    const Mat3d turn = part.rotation.cast<double>();
    m.center = turn * m.center + part.offset.cast<double>();
    m.inertia = turn * m.inertia * turn.transpose();
    return m;
}

MassProperties union_of(const RigidSolid& solid)
{
    constexpr int kCells = 128;
    const Box3f bounds = solid.bounds();
    const float cell = bounds.size().maxCoeff() / kCells;
    const Vec3i cells = (bounds.size() / cell).array().ceil().cast<int>().max(1);
    struct Moments {
        double volume = 0;
        Vec3d first = Vec3d::Zero();
        Mat3d second = Mat3d::Zero();
    };
    const auto slice = [&](size_t x) {
        Moments m;
        for (int y = 0; y < cells.y(); ++y)
            for (int z = 0; z < cells.z(); ++z) {
                const Vec3f middle =
                    bounds.min + cell * Vec3f(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f,
                                              static_cast<float>(z) + 0.5f);
                const double filled = clamp01(0.5f - solid.distance(middle) / cell);
                const Vec3d p = middle.cast<double>();
                m.volume += filled, m.first += filled * p, m.second += filled * p * p.transpose();
            }
        return m;
    };
    const auto add = [](const Moments& a, const Moments& b) {
        return Moments{a.volume + b.volume, a.first + b.first, a.second + b.second};
    };
    const Moments sum = parallel_reduce(cells.x(), Moments{}, slice, add, 4);
    const double each = std::pow(static_cast<double>(cell), 3);
    return from_moments(Vec3d::Zero(), each * sum.volume, each * sum.first, each * sum.second);
}

} // namespace

MassProperties mass_properties(const std::vector<RigidSolid::Part>& parts)
{
    return parts.size() == 1 ? single(parts.front()) : union_of(RigidSolid(parts));
}

} // namespace spindrift
