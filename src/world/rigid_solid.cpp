#include "world/rigid_solid.h"

namespace spindrift {

RigidSolid::RigidSolid(std::vector<Part> parts) : parts_(std::move(parts))
{
    for (const Part& part : parts_) {
        const Box3f box = part.shape.bounds(0);
        for (int k = 0; k < 8; ++k) {
            const Vec3f corner = box.min + Vec3i(k >> 2, k >> 1 & 1, k & 1).cast<float>().cwiseProduct(box.size());
            radius_ = std::max(radius_, (part.rotation * corner + part.offset).norm());
        }
    }
}

void RigidSolid::move_to(const RigidMotion& motion)
{
    position_before_ = position_, rotation_before_ = rotation_;
    position_ = motion.position.cast<float>();
    rotation_ = motion.orientation.toRotationMatrix().cast<float>();
    set_velocity(motion.velocity, motion.spin);
}

void RigidSolid::set_velocity(const Vec3d& velocity, const Vec3d& spin)
{
    velocity_ = velocity.cast<float>(), spin_ = spin.cast<float>();
}

float RigidSolid::distance_from_frame(const Vec3f& X) const
{
    float d = kInfinity;
    for (const Part& part : parts_)
        d = std::min(d, part.shape.distance(part.rotation.transpose() * (X - part.offset), 0));
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
    if (!smooth) all.normals.clear(); // a box has none
    return all;
}

} // namespace spindrift
