// Geometry that artists place in a scene: sources, colliders, regions. A shape is a box, a sphere, a capsule, a
// half-space or a closed mesh (still, or a sequence of files), moved by keyframes, and answers the two questions
// solvers ask: how far is this point from the surface (negative inside), and how fast does the shape move there.
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
    Vec3f start = Vec3f(0, 0, 0), end = Vec3f(0, 1, 0);    // capsule: all that is nearer than radius to this line
    Vec3f point = Vec3f(0, 0, 0), normal = Vec3f(0, 1, 0); // half_space: all x with (x - point) . normal < 0
    std::string file;                                      // mesh: PLY or OBJ, one or one a frame
    bool invert = false;                                   // the outside of the shape instead: a container

    void visit(ParamVisitor& v);
    // The same without `invert` and the keyframes: what it looks like.
    void visit_form(ParamVisitor& v);
};

class Shape {
  public:
    // Loads the mesh if there is one: `file` must already be resolved. Throws bad_input("{where}: ...") for a missing,
    // empty or non-finite mesh, and for an open one unless it may be a sheet without thickness. `parent` is the motion
    // that the shape takes part in, if it has one.
    Shape(const ShapeParams& params, const std::string& where, std::shared_ptr<const Motion> parent = nullptr,
          bool may_be_open = false);

    const ShapeParams& params() const { return params_; }
    const Motion& motion() const { return motion_; }
    // Of the shape before any keyframe moved it.
    const Vec3f& middle() const { return middle_; }
    // What turns and scaling leave in place: the middle, unless the scene says otherwise.
    const Vec3f& pivot() const { return motion_.pivot(); }

    // Brings a sequence of meshes to a moment. Questions about it are answered for the last two moments only; all other
    // shapes answer for any, but those two are fastest.
    void prepare(float frame);

    // Signed distance [m] at a moment given in (fractional) frames. Of a shape that is scaled unevenly, and is neither
    // a box nor a half-space, the distance times the smallest scale: right in its sign, and never too large.
    float distance(const Vec3f& x, float frame) const;
    // True for a wall that is thinner than `thickness` somewhere but not a mere rod: a flat box, a mesh with thin
    // parts, an open mesh.
    bool is_wall_below(float thickness) const;
    // True if the line from one place to another meets a wall: a mesh, or the middle of a box across its thinnest side,
    // or passes through the box.
    bool meets(const Vec3f& from, const Vec3f& to, float frame) const;
    // Velocity [m/s] of the material point of the shape that is at x. At a keyframe it is that of the motion that
    // follows, zero at the last one.
    Vec3f velocity(const Vec3f& x, float frame, float fps) const;
    // Where a point that is fixed to the shape is at another moment.
    Vec3f carried(const Vec3f& x, float from, float to) const;
    // Where a point X of the shape as its parameters have it, before any keyframe moved it, is at a moment.
    Vec3f placed(const Vec3f& X, float frame) const;
    bool moves() const;
    // The largest component of its velocity anywhere [m/s]; 0 for one without bounds.
    float speed(float frame, float fps) const;
    // Bounds at a moment; infinite for a half-space or an inverted shape.
    Box3f bounds(float frame) const;
    // The shape to look at, at a moment; empty for a half-space. Of an inverted shape the triangles face inwards.
    Mesh mesh(float frame) const;

  private:
    // Motion::Pose in single precision, as questions about many points need it.
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
    float scaled_distance(const Vec3f& x, const Pose& at) const;
    const MeshSequence::Moment& moment(float frame) const;

    ShapeParams params_;
    Vec3f middle_;
    Motion motion_;
    std::optional<Pose> pose_now_, pose_before_; // of the last two moments that were prepared
    std::shared_ptr<const MeshSequence> mesh_;
    std::shared_ptr<const MeshSequence::Moment> now_, before_; // of a mesh: the last two moments
};

// Throws bad_input for a shape that has a parent.
Shape shape_of(const ShapeParams& params, const std::string& name, bool may_be_open = false);
// Loads shapes that are not part of a scene: meshes are read from the paths that `params` name, and parents, which a
// scene finds by their names, are not allowed. `name` is for messages, e.g. "source".
template <class Params>
std::vector<Shape> shapes_of(const std::vector<Params>& params, const std::string& name, bool may_be_open = false)
{
    std::vector<Shape> shapes;
    for (const ShapeParams& shape : params)
        shapes.push_back(shape_of(shape, name + "[" + std::to_string(shapes.size()) + "]", may_be_open));
    return shapes;
}

} // namespace spindrift
