#include "scene/shapes.h"
#include "scene/limits.h"

#include "base/error.h"

#include <Eigen/Geometry>

namespace spindrift {

namespace {

using Rows = std::vector<std::vector<float>>;

bool ascending(const Rows& keys)
{
    for (size_t i = 1; i < keys.size(); ++i)
        if (!(keys[i - 1][0] < keys[i][0])) return false;
    return true;
}

Vec3f vector_in(const std::vector<float>& key) { return {key[1], key[2], key[3]}; }

bool every_turn_has_an_axis(const Rows& keys)
{
    for (const std::vector<float>& key : keys)
        if (key[4] != 0 && vector_in(key).isZero(0)) return false;
    return true;
}

bool changes(const Rows& keys)
{
    for (size_t i = 1; i < keys.size(); ++i)
        if (!std::equal(keys[i].begin() + 1, keys[i].end(), keys[i - 1].begin() + 1)) return true;
    return false;
}

} // namespace

void ShapeParams::visit_form(ParamVisitor& v)
{
    v("shape", shape, choices("box", "sphere", "capsule", "half_space", "mesh"), "Kind of shape.");
    v("min", min, unit::metres, limits::position(), "Lowest corner of a box.");
    v("max", max, unit::metres, limits::position(), "Highest corner of a box.");
    v("center", center, unit::metres, limits::position(), "Centre of a sphere.");
    v("radius", radius, unit::metres, limits::size(), "Radius of a sphere or capsule.");
    v("start", start, unit::metres, limits::position(),
      "One end of the line inside a capsule: a cylinder with round ends.");
    v("end", end, unit::metres, limits::position(), "The other end of that line.");
    v("point", point, unit::metres, limits::position(), "A point on the plane that bounds a half-space.");
    v("normal", normal, unit::none, limits::direction(), "Direction out of a half-space, of any length.");
    v("file", file, "Closed mesh, PLY or OBJ, relative to the scene's folder; name.####.obj for one a frame.");

    v.require(shape != Kind::box || (min.array() < max.array()).all(), "max", "must be above min in x, y and z");
    v.require(shape != Kind::half_space || normal.cast<double>().norm() > 0, "normal", "must not be zero");
    v.require(shape != Kind::mesh || !file.empty(), "file", "must name a mesh for shape = \"mesh\"");
}

void ShapeParams::visit(ParamVisitor& v)
{
    visit_form(v);
    v("invert", invert, "Take the outside of the shape instead: a container.");
    v.rows("translate", translate, 4, unit::none,
           "Keyframes [frame, x, y, z] of a shift in metres; linear between, held before and after.");
    v.rows("rotate", rotate, 5, unit::none,
           "Keyframes [frame, ax, ay, az, degrees] of a turn about an axis through the shape's centre.");

    v.require(ascending(translate), "translate", "must have keyframes in the order of their frames");
    v.require(ascending(rotate), "rotate", "must have keyframes in the order of their frames");
    v.require(every_turn_has_an_axis(rotate), "rotate", "must have an axis other than [0, 0, 0] for each turn");
}

Shape::Shape(const ShapeParams& params, const std::string& where) : params_(params)
{
    switch (params.shape) {
    case ShapeParams::Kind::box:
        pivot_ = 0.5f * (params.min + params.max);
        break;
    case ShapeParams::Kind::sphere:
        pivot_ = params.center;
        break;
    case ShapeParams::Kind::capsule:
        pivot_ = 0.5f * (params.start + params.end);
        break;
    case ShapeParams::Kind::half_space:
        pivot_ = params.point;
        params_.normal = params.normal.cast<double>().normalized().cast<float>();
        break;
    case ShapeParams::Kind::mesh:
        mesh_ = std::make_shared<MeshSequence>(params.file, where);
        now_ = mesh_->at(-kInfinity); // the first frame there is
        pivot_ = now_->bounds().center();
        break;
    }
}

void Shape::prepare(float frame)
{
    if (!mesh_ || mesh_->still() || now_->frame() == frame) return;
    before_ = std::move(now_), now_ = mesh_->at(frame);
}

const MeshSequence::Moment& Shape::moment(float frame) const
{
    if (mesh_->still() || now_->frame() == frame) return *now_;
    if (before_ && before_->frame() == frame) return *before_;
    fail("a mesh sequence was asked about frame {} without being prepared for it", frame);
}

// ----------------------------------------------------------------------------------------------------------- keyframes

namespace {

// The two keys around a moment and how far it is from one to the other; the same key twice where the pose is held.
struct Span {
    const std::vector<float>&from, &to;
    double t, frames;
};

// At a key, the span that follows: motion starts at the first key and has ended at the last.
Span span_at(const Rows& keys, float frame)
{
    const auto next = std::upper_bound(keys.begin(), keys.end(), frame,
                                       [](float f, const std::vector<float>& key) { return f < key[0]; });
    if (next == keys.begin()) return {keys.front(), keys.front(), 0, 1};
    if (next == keys.end()) return {keys.back(), keys.back(), 0, 1};
    const std::vector<float>& from = *(next - 1);
    const double frames = static_cast<double>((*next)[0]) - from[0];
    return {from, *next, (frame - from[0]) / frames, frames};
}

struct Turn {
    Vec3d axis; // unit length, or zero
    double radians;
    explicit Turn(const std::vector<float>& key)
        : axis(vector_in(key).cast<double>().normalized()), radians(key[4] * kPi / 180)
    {
    }
    Eigen::Quaterniond rotation() const { return Eigen::Quaterniond(Eigen::AngleAxisd(radians, axis)); }
};

// The rotation within a span, and its angular velocity [rad/frame], which is constant there.
std::pair<Eigen::Quaterniond, Vec3d> turn_at(const Span& span)
{
    Turn from(span.from), to(span.to);
    // No turn at all is a turn about whatever axis the other key has.
    if (from.radians == 0) from.axis = to.axis;
    if (to.radians == 0) to.axis = from.axis;
    if (from.axis.dot(to.axis) < 0) to.axis = -to.axis, to.radians = -to.radians;
    const bool same_axis = (from.axis - to.axis).norm() < 1e-5;
    const Eigen::Quaterniond start = from.rotation();
    // About one axis the degrees are what counts, so that 720 is two turns; otherwise the shortest way.
    const Eigen::AngleAxisd way = same_axis ? Eigen::AngleAxisd(to.radians - from.radians, from.axis)
                                            : Eigen::AngleAxisd(to.rotation() * start.conjugate());
    const Eigen::AngleAxisd part(way.angle() * span.t, way.axis());
    return {Eigen::Quaterniond(part) * start, way.axis() * way.angle() / span.frames};
}

} // namespace

Shape::Pose Shape::pose(float frame) const
{
    Pose pose;
    if (!params_.translate.empty()) {
        const Span span = span_at(params_.translate, frame);
        const Vec3d from = vector_in(span.from).cast<double>(), to = vector_in(span.to).cast<double>();
        pose.shift = (from + span.t * (to - from)).cast<float>();
        pose.shift_rate = ((to - from) / span.frames).cast<float>();
    }
    if (!params_.rotate.empty()) {
        const auto [rotation, spin] = turn_at(span_at(params_.rotate, frame));
        pose.rotation = rotation.toRotationMatrix().cast<float>();
        pose.spin = spin.cast<float>();
    }
    return pose;
}

// ----------------------------------------------------------------------------------------------------------- questions

namespace {

float distance_to_line(const Vec3f& x, const Vec3f& start, const Vec3f& end)
{
    const Vec3f along = end - start;
    const float length2 = along.squaredNorm();
    const float t = length2 > 0 ? std::clamp((x - start).dot(along) / length2, 0.0f, 1.0f) : 0;
    return (x - start - t * along).norm();
}

} // namespace

float Shape::distance_at_rest(const Vec3f& x, float frame) const
{
    switch (params_.shape) {
    case ShapeParams::Kind::box: {
        const Vec3f q = (x - pivot_).cwiseAbs() - 0.5f * (params_.max - params_.min);
        return q.cwiseMax(0.0f).norm() + std::min(q.maxCoeff(), 0.0f);
    }
    case ShapeParams::Kind::sphere:
        return (x - params_.center).norm() - params_.radius;
    case ShapeParams::Kind::capsule:
        return distance_to_line(x, params_.start, params_.end) - params_.radius;
    case ShapeParams::Kind::half_space:
        return (x - params_.point).dot(params_.normal);
    case ShapeParams::Kind::mesh:
        break;
    }
    return moment(frame).distance(x);
}

float Shape::distance(const Vec3f& x, float frame) const
{
    const bool keyed = !params_.translate.empty() || !params_.rotate.empty();
    const float d = distance_at_rest(keyed ? at_rest(x, pose(frame)) : x, frame);
    return params_.invert ? -d : d;
}

Vec3f Shape::velocity(const Vec3f& x, float frame, float fps) const
{
    const Pose at = pose(frame);
    Vec3f rate = at.shift_rate + at.spin.cross(x - pivot_ - at.shift);
    if (mesh_ && !mesh_->still()) rate += at.rotation * moment(frame).velocity(at_rest(x, at));
    return fps * rate;
}

Vec3f Shape::carried(const Vec3f& x, float from, float to) const
{
    const Pose now = pose(to);
    Vec3f rest = at_rest(x, pose(from));
    if (mesh_ && !mesh_->still()) rest += (to - from) * moment(to).velocity(rest);
    return pivot_ + now.rotation * (rest - pivot_) + now.shift;
}

Vec3f Shape::placed(const Vec3f& X, float frame) const
{
    const Pose at = pose(frame);
    return pivot_ + at.rotation * (X - pivot_) + at.shift;
}

float Shape::speed(float frame, float fps) const
{
    const Box3f box = bounds(frame);
    if (!moves() || !box.size().allFinite()) return 0;
    float fastest = 0;
    for (int k = 0; k < 8; ++k) {
        const Vec3f corner = Vec3i(k >> 2, k >> 1 & 1, k & 1).cast<float>();
        const Vec3f x = box.min + corner.cwiseProduct(box.size());
        const Pose at = pose(frame);
        const Vec3f rate = at.shift_rate + at.spin.cross(x - pivot_ - at.shift);
        fastest = std::max(fastest, fps * rate.cwiseAbs().maxCoeff());
    }
    if (mesh_ && !mesh_->still()) fastest += fps * moment(frame).speed();
    return fastest;
}

bool Shape::moves() const
{
    if (mesh_ && !mesh_->still()) return true;
    return changes(params_.translate) || changes(params_.rotate);
}

Box3f Shape::bounds(float frame) const
{
    if (params_.invert || params_.shape == ShapeParams::Kind::half_space)
        return {Vec3f::Constant(-kInfinity), Vec3f::Constant(kInfinity)};
    const Pose at = pose(frame);
    if (mesh_) { // the box around its turned bounds
        const Box3f& rest = moment(frame).bounds();
        const Vec3f middle = pivot_ + at.rotation * (rest.center() - pivot_) + at.shift;
        const Vec3f half = at.rotation.cwiseAbs() * (0.5f * rest.size());
        return {middle - half, middle + half};
    }
    const Vec3f center = pivot_ + at.shift;
    if (params_.shape == ShapeParams::Kind::sphere) return Box3f{center, center}.grown(params_.radius);
    if (params_.shape == ShapeParams::Kind::capsule) {
        const Vec3f half = (at.rotation * (0.5f * (params_.end - params_.start))).cwiseAbs();
        return Box3f{center - half, center + half}.grown(params_.radius);
    }
    const Vec3f half = at.rotation.cwiseAbs() * (0.5f * (params_.max - params_.min)); // the box around a turned box
    return {center - half, center + half};
}

// ------------------------------------------------------------------------------------------------------- to look at

namespace {

Mesh box_mesh(const Vec3f& low, const Vec3f& high)
{
    Mesh mesh;
    for (int k = 0; k < 8; ++k)
        mesh.positions.emplace_back(k & 4 ? high.x() : low.x(), k & 2 ? high.y() : low.y(), k & 1 ? high.z() : low.z());
    for (const auto& q :
         {std::array{0, 1, 3, 2}, {4, 6, 7, 5}, {0, 4, 5, 1}, {2, 3, 7, 6}, {0, 2, 6, 4}, {1, 5, 7, 3}}) {
        mesh.triangles.emplace_back(q[0], q[1], q[2]);
        mesh.triangles.emplace_back(q[0], q[2], q[3]);
    }
    return mesh;
}

// Two half-spheres around the ends of a line, joined; a sphere if there is none.
Mesh capsule_mesh(const Vec3f& start, const Vec3f& end, float radius)
{
    constexpr int half = 24, sectors = 96;
    const int cylinder = start == end ? 0 : 1, rings = 2 * half + cylinder;
    Eigen::Quaternionf turn = Eigen::Quaternionf::Identity();
    if (cylinder) turn.setFromTwoVectors(Vec3f::UnitY(), end - start);
    Mesh mesh;
    for (int r = 0; r <= rings; ++r)
        for (int s = 0; s < sectors; ++s) {
            const bool upper = r <= half;
            const double a = kPi * (upper ? r : r - cylinder) / (2 * half), b = 2 * kPi * s / sectors;
            const Vec3f n =
                turn * Vec3d(std::sin(a) * std::cos(b), std::cos(a), std::sin(a) * std::sin(b)).cast<float>();
            mesh.positions.push_back((upper ? end : start) + radius * n), mesh.normals.push_back(n);
        }
    for (int r = 0; r < rings; ++r)
        for (int s = 0; s < sectors; ++s) {
            const int a = r * sectors + s, b = r * sectors + (s + 1) % sectors;
            if (r > 0) mesh.triangles.emplace_back(a, b, a + sectors);
            if (r < rings - 1) mesh.triangles.emplace_back(b, b + sectors, a + sectors);
        }
    return mesh;
}

} // namespace

Mesh Shape::mesh(float frame) const
{
    if (params_.invert) return {};
    Mesh mesh;
    if (params_.shape == ShapeParams::Kind::box) mesh = box_mesh(params_.min, params_.max);
    if (params_.shape == ShapeParams::Kind::sphere) mesh = capsule_mesh(params_.center, params_.center, params_.radius);
    if (params_.shape == ShapeParams::Kind::capsule) mesh = capsule_mesh(params_.start, params_.end, params_.radius);
    if (mesh_) mesh = mesh_->mesh(frame);
    const Pose at = pose(frame);
    for (Vec3f& x : mesh.positions) x = pivot_ + at.rotation * (x - pivot_) + at.shift;
    for (Vec3f& n : mesh.normals) n = at.rotation * n;
    return mesh;
}

} // namespace spindrift
