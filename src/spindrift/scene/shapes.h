// Shapes in a scene: sources, colliders, regions. A shape is a box, a sphere, a capsule, a half-space or a closed mesh
// (still, or a sequence of files), moved by keyframes. Solvers query the signed distance to its surface (negative
// inside) and the velocity of its material.
//
//     Shape shape(params, scene.where("liquid.collider[0]"));
//     shape.prepare(frame);
//     if (shape.distance(x, frame) < 0) v = shape.velocity(x, frame, fps);
#pragma once

#include "spindrift/scene/mesh_sequence.h"
#include "spindrift/scene/motion.h"

namespace spindrift {

struct ShapeParams : MotionParams {
    enum class Kind { box, sphere, capsule, half_space, mesh };
    Kind shape = Kind::box;
    Vec3f min = Vec3f(0, 0, 0), max = Vec3f(1, 1, 1);      // box
    Vec3f center = Vec3f(0, 0, 0);                         // sphere
    float radius = 0.5f;                                   // sphere, capsule
    Vec3f start = Vec3f(0, 0, 0), end = Vec3f(0, 1, 0);    // capsule: all points nearer than radius to this segment
    Vec3f point = Vec3f(0, 0, 0), normal = Vec3f(0, 1, 0); // half_space: all x with (x - point) . normal < 0
    std::string file;                                      // mesh: PLY or OBJ, one file or one per frame
    bool invert = false;                                   // use the outside of the shape: a container

    void visit(ParamVisitor& v);
    // Without `invert` and the keyframes: the form only.
    void visit_form(ParamVisitor& v);
};

class Shape {
  public:
    // Loads the mesh if there is one: `file` must already be resolved. Throws bad_input("{where}: ...") for a missing,
    // empty or non-finite mesh, and for an open one unless may_be_open (a sheet without thickness). `parent` is the
    // motion that the shape follows, if any.
    Shape(const ShapeParams& params, const std::string& where, std::shared_ptr<const Motion> parent = nullptr,
          bool may_be_open = false);

    const ShapeParams& params() const { return params_; }
    const Motion& motion() const { return motion_; }
    // Middle of the shape before keyframes.
    const Vec3f& middle() const { return middle_; }
    // Fixed point of rotation and scaling: the middle, unless the scene sets it.
    const Vec3f& pivot() const { return motion_.pivot(); }

    // Evaluates a mesh sequence at a time. Queries of sequences are possible for the last two prepared times only;
    // other shapes answer for any time, but fastest for those two.
    void prepare(float frame);

    // Signed distance [m] at a time in (fractional) frames. For non-uniformly scaled shapes other than boxes and
    // half-spaces it is the distance times the smallest scale: correct in sign and a lower bound.
    float distance(const Vec3f& x, float frame) const;
    // True for a wall that is thinner than `thickness` somewhere at some time, but not a rod: a flat box, sphere or
    // capsule, a mesh with thin parts, an open mesh. False for inverted shapes.
    bool is_wall_below(float thickness) const;
    // True for an inverted mesh that a part thinner than `thickness` divides.
    bool is_divided_below(float thickness) const;
    // The smaller dimension of the shape seen from its thinnest side, at the time when it is smallest: the thickness of
    // a rod, the width of a plate. Infinite for half-spaces and inverted shapes.
    float width() const;
    // True for a mesh sequence whose triangles change, so that its motion between frames is unknown.
    bool triangles_change() const { return mesh_ && mesh_->triangles_change(); }
    // True if the segment crosses a wall: it intersects the mesh or the plane through the middle of another shape
    // across its thinnest side, or passes through the box. Never true for half-spaces and inverted shapes that are no
    // mesh.
    bool meets(const Vec3f& from, const Vec3f& to, float frame) const;
    // Velocity [m/s] of the material point at x. At a keyframe it is that of the following segment, zero at the last
    // one.
    Vec3f velocity(const Vec3f& x, float frame, float fps) const;
    // Position at time `to` of a material point that is at x at time `from`.
    Vec3f carried(const Vec3f& x, float from, float to) const;
    // Position at a time of a point X of the undeformed shape.
    Vec3f placed(const Vec3f& X, float frame) const;
    bool moves() const;
    // The largest component of its velocity anywhere [m/s]; 0 for an unbounded shape.
    float speed(float frame, float fps) const;
    // Bounds at a time; infinite for a half-space or an inverted shape.
    Box3f bounds(float frame) const;
    // Mesh for display at a time; empty for a half-space. The triangles of an inverted shape face inwards.
    Mesh mesh(float frame) const;

  private:
    // Motion::Pose in single precision, for queries at many points.
    struct Pose {
        float frame = 0;
        Mat3f rotation = Mat3f::Identity();
        Vec3f scale = Vec3f::Ones();
        Vec3f shift = Vec3f::Zero();
        Vec3f shift_rate = Vec3f::Zero(); // [m/frame]
        Vec3f spin = Vec3f::Zero();       // angular velocity [rad/frame]
        Vec3f growth = Vec3f::Zero();     // [1/frame]
    };
    Pose pose(float frame) const;
    Vec3f at_rest(const Vec3f& x, const Pose& at) const;
    Vec3f placed(const Vec3f& X, const Pose& at) const;
    Vec3f rate(const Vec3f& x, const Pose& at) const; // of keyframes alone [m/frame]
    float distance_at_rest(const Vec3f& x, float frame) const;
    std::vector<Vec3f> scales() const;     // 1, or those that include the smallest at any time
    Vec3f sizes(const Vec3f& scale) const; // ascending
    // Normal of the plane through the middle of a flattened sphere or capsule, at rest.
    Vec3f thin_direction(const Vec3f& scale) const;
    float scaled_distance(const Vec3f& x, const Pose& at) const;
    const MeshSequence::Moment& moment(float frame) const;

    ShapeParams params_;
    Vec3f middle_;
    Motion motion_;
    std::optional<Pose> pose_now_, pose_before_; // of the last two prepared times
    std::shared_ptr<const MeshSequence> mesh_;
    std::shared_ptr<const MeshSequence::Moment> now_, before_; // of a mesh: the last two prepared times
};

// Throws bad_input for a shape that has a parent.
Shape shape_of(const ShapeParams& params, const std::string& name, bool may_be_open = false);
// Loads shapes that are not part of a scene: meshes are read from the paths that `params` name, and parents, which a
// scene finds by their names, are not allowed. `name` is for messages, e.g. "source".
template <class Params>
std::vector<Shape> shapes_of(const std::vector<Params>& params, const std::string& name, bool may_be_open = false)
{
    std::vector<Shape> shapes;
    shapes.reserve(params.size());
    for (const ShapeParams& shape : params)
        shapes.push_back(shape_of(shape, name + "[" + std::to_string(shapes.size()) + "]", may_be_open));
    return shapes;
}

} // namespace spindrift
