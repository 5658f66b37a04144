#include "spindrift/world/rigid_solid.h"

namespace spindrift {

namespace {

// Solves x = rotation X + offset for X.
Row3 from_world(const RigidSolid::Part& part, const Row3& x)
{
    const Row away[3] = {x.x - part.offset.x(), x.y - part.offset.y(), x.z - part.offset.z()};
    const Mat3f& r = part.rotation;
    const auto along = [&](int a) { return r(0, a) * away[0] + r(1, a) * away[1] + r(2, a) * away[2]; };
    return {along(0), along(1), along(2)};
}

// Parts have no keyframes and are never inverted.
Row distances_to(const Shape& shape, const Row3& x)
{
    const ShapeParams& params = shape.params();
    const auto from = [&](const Vec3f& o) -> Row3 { return {x.x - o.x(), x.y - o.y(), x.z - o.z()}; };
    const auto length = [](const Row3& r) { return sqrt_row(r.x * r.x + r.y * r.y + r.z * r.z); };
    if (params.shape == ShapeParams::Kind::sphere) return length(from(params.center)) - params.radius;
    if (params.shape == ShapeParams::Kind::box) {
        const Row3 way = from(shape.middle());
        const Vec3f half = 0.5f * (params.max - params.min);
        const Row zero = splat(0);
        const Row q[3] = {max(way.x, -way.x) - half.x(), max(way.y, -way.y) - half.y(), max(way.z, -way.z) - half.z()};
        return length({max(q[0], zero), max(q[1], zero), max(q[2], zero)}) + min(max(q[0], max(q[1], q[2])), zero);
    }
    Row d;
    for (int k = 0; k < kTileSize; ++k) d[k] = shape.distance({x.x[k], x.y[k], x.z[k]}, 0);
    return d;
}

} // namespace

RigidSolid::RigidSolid(std::vector<Part> parts) : parts_(std::move(parts))
{
    for (const Part& part : parts_) {
        const Box3f box = part.shape.bounds(0);
        for (int k = 0; k < 8; ++k) {
            const Vec3f corner = box.min + Vec3i(k >> 2, k >> 1 & 1, k & 1).cast<float>().cwiseProduct(box.size());
            radius_ = std::max(radius_, (part.rotation * corner + part.offset).norm());
        }
    }
    placed_ = parts_;
}

void RigidSolid::move_to(const RigidMotion& motion)
{
    position_before_ = position_, rotation_before_ = rotation_;
    position_ = motion.position.cast<float>();
    rotation_ = motion.orientation.toRotationMatrix().cast<float>();
    for (size_t i = 0; i < parts_.size(); ++i) {
        placed_[i].rotation = rotation_ * parts_[i].rotation;
        placed_[i].offset = position_ + rotation_ * parts_[i].offset;
    }
    set_velocity(motion.velocity, motion.spin);
}

void RigidSolid::set_velocity(const Vec3d& velocity, const Vec3d& spin)
{
    velocity_ = velocity.cast<float>(), spin_ = spin.cast<float>();
}

float RigidSolid::distance(const Vec3f& x) const
{
    float d = kInfinity;
    for (const Part& part : placed_)
        d = std::min(d, part.shape.distance(part.rotation.transpose() * (x - part.offset), 0));
    return d;
}

Row RigidSolid::distances(const Row3& x) const
{
    Row d = splat(kInfinity);
    for (const Part& part : placed_) d = min(d, distances_to(part.shape, from_world(part, x)));
    return d;
}

Box3f RigidSolid::bounds() const
{
    Box3f bounds;
    for (const Part& part : parts_) {
        const Box3f box = part.shape.bounds(0);
        const Vec3f middle = position_ + rotation_ * (part.rotation * box.center() + part.offset);
        const Vec3f half = (rotation_ * part.rotation).cwiseAbs() * (0.5f * box.size());
        bounds.add(Box3f{middle - half, middle + half});
    }
    return bounds;
}

Mesh RigidSolid::mesh() const
{
    Mesh all;
    bool smooth = true;
    for (const Part& part : parts_) {
        const Mesh mesh = part.shape.mesh(0);
        const int first = static_cast<int>(all.positions.size());
        for (const Vec3f& x : mesh.positions) all.positions.push_back(part.rotation * x + part.offset);
        for (const Vec3f& n : mesh.normals) all.normals.push_back(part.rotation * n);
        for (const Vec3i& t : mesh.triangles) all.triangles.push_back(t + Vec3i::Constant(first));
        smooth &= mesh.normals.size() == mesh.positions.size();
    }
    if (!smooth) all.normals.clear(); // box meshes have no normals
    return all;
}

} // namespace spindrift
