#include "spindrift/scene/shapes.h"
#include "spindrift/scene/limits.h"

#include "spindrift/base/error.h"

#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>

namespace spindrift {

void ShapeParams::visit_form(ParamVisitor& v)
{
    v("shape", shape, choices("box", "sphere", "capsule", "half_space", "mesh"), "Kind of shape.");
    v("min", min, unit::metres, limits::position(), "Lowest corner of a box.");
    v("max", max, unit::metres, limits::position(), "Highest corner of a box.");
    v("center", center, unit::metres, limits::position(), "Centre of a sphere.");
    v("radius", radius, unit::metres, limits::size(), "Radius of a sphere or capsule.");
    v("start", start, unit::metres, limits::position(),
      "One end of the axis of a capsule: a cylinder with round ends.");
    v("end", end, unit::metres, limits::position(), "The other end of the axis.");
    v("point", point, unit::metres, limits::position(), "A point on the plane that bounds a half-space.");
    v("normal", normal, unit::none, limits::direction(), "Outward normal of a half-space, of any length.");
    v("file", file,
      "Mesh, PLY or OBJ, relative to the scene's folder; name.####.obj for one per frame. Must be closed; a collider "
      "may be "
      "open.");

    v.require(shape != Kind::box || (min.array() < max.array()).all(), "max", "must be above min in x, y and z");
    v.require(shape != Kind::half_space || normal.cast<double>().norm() > 0, "normal", "must not be zero");
    v.require(shape != Kind::mesh || !file.empty(), "file", "must name a mesh for shape = \"mesh\"");
}

void ShapeParams::visit(ParamVisitor& v)
{
    visit_form(v);
    v("invert", invert, "Use the outside of the shape: a container.");
    visit_keys(v), visit_more(v);
}

Shape::Shape(const ShapeParams& params, const std::string& where, std::shared_ptr<const Motion> parent,
             bool may_be_open)
    : params_(params)
{
    switch (params.shape) {
    case ShapeParams::Kind::box:
        middle_ = 0.5f * (params.min + params.max);
        break;
    case ShapeParams::Kind::sphere:
        middle_ = params.center;
        break;
    case ShapeParams::Kind::capsule:
        middle_ = 0.5f * (params.start + params.end);
        break;
    case ShapeParams::Kind::half_space:
        middle_ = params.point;
        params_.normal = params.normal.cast<double>().normalized().cast<float>();
        break;
    case ShapeParams::Kind::mesh:
        mesh_ = std::make_shared<MeshSequence>(params.file, where, may_be_open && !params.invert);
        now_ = mesh_->at(-kInfinity); // the first existing frame
        middle_ = now_->bounds().center();
        break;
    }
    motion_ = Motion(params, middle_, std::move(parent));
}

void Shape::prepare(float frame)
{
    if (motion_.keyed() && (!pose_now_ || pose_now_->frame != frame)) {
        const Pose next = pose(frame);
        pose_before_ = pose_now_, pose_now_ = next;
    }
    if (!mesh_ || mesh_->still() || now_->frame() == frame) return;
    std::swap(now_, before_);
    if (!now_ || now_->frame() != frame) now_ = mesh_->at(frame);
}

const MeshSequence::Moment& Shape::moment(float frame) const
{
    if (mesh_->still() || now_->frame() == frame) return *now_;
    if (before_ && before_->frame() == frame) return *before_;
    fail("a mesh sequence was queried at frame {} without being prepared for it", frame);
}

// ----------------------------------------------------------------------------------------------------------- keyframes

Shape::Pose Shape::pose(float frame) const
{
    if (!motion_.keyed()) return {};
    if (pose_now_ && pose_now_->frame == frame) return *pose_now_;
    if (pose_before_ && pose_before_->frame == frame) return *pose_before_;
    const Motion::Pose exact = motion_.at(frame);
    return {frame,
            exact.rotation.toRotationMatrix().cast<float>(),
            exact.scale.cast<float>(),
            exact.shift.cast<float>(),
            exact.shift_rate.cast<float>(),
            exact.spin.cast<float>(),
            exact.growth.cast<float>()};
}

Vec3f Shape::at_rest(const Vec3f& x, const Pose& at) const
{
    Vec3f away = at.rotation.transpose() * (x - pivot() - at.shift);
    if (motion_.scales()) away = away.cwiseQuotient(at.scale);
    return pivot() + away;
}

Vec3f Shape::placed(const Vec3f& X, const Pose& at) const
{
    Vec3f away = X - pivot();
    if (motion_.scales()) away = away.cwiseProduct(at.scale);
    return pivot() + at.rotation * away + at.shift;
}

Vec3f Shape::rate(const Vec3f& x, const Pose& at) const
{
    const Vec3f away = x - pivot() - at.shift;
    Vec3f rate = at.shift_rate + at.spin.cross(away);
    if (motion_.scales()) rate += at.rotation * at.growth.cwiseProduct(at.rotation.transpose() * away);
    return rate;
}

// ----------------------------------------------------------------------------------------------------------- questions

namespace {

float least_of(const std::vector<Vec3f>& scales)
{
    float least = kInfinity;
    for (const Vec3f& scale : scales) least = std::min(least, scale.minCoeff());
    return least;
}

float distance_to_line(const Vec3f& x, const Vec3f& start, const Vec3f& end)
{
    const Vec3f along = end - start;
    const float length2 = along.squaredNorm();
    const float t = length2 > 0 ? std::clamp((x - start).dot(along) / length2, 0.0f, 1.0f) : 0;
    return (x - start - t * along).norm();
}

// `q` is the signed distance outside the box along each axis.
float distance_outside(const Vec3f& q) { return q.cwiseMax(0.0f).norm() + std::min(q.maxCoeff(), 0.0f); }

} // namespace

float Shape::distance_at_rest(const Vec3f& x, float frame) const
{
    switch (params_.shape) {
    case ShapeParams::Kind::box: {
        const Vec3f q = (x - middle_).cwiseAbs() - 0.5f * (params_.max - params_.min);
        return distance_outside(q);
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

// A scaling map shortens distances by at most its smallest factor.
float Shape::scaled_distance(const Vec3f& x, const Pose& at) const
{
    const Vec3f rest = at_rest(x, at);
    const bool even = at.scale.x() == at.scale.y() && at.scale.y() == at.scale.z();
    if (!even && params_.shape == ShapeParams::Kind::box) {
        const Vec3f away = at.rotation.transpose() * (x - placed(middle_, at));
        return distance_outside(away.cwiseAbs() - at.scale.cwiseProduct(0.5f * (params_.max - params_.min)));
    }
    const float d = distance_at_rest(rest, at.frame);
    if (!even && params_.shape == ShapeParams::Kind::half_space)
        return d / params_.normal.cwiseQuotient(at.scale).norm();
    return at.scale.minCoeff() * d;
}

float Shape::distance(const Vec3f& x, float frame) const
{
    const float d = motion_.scales()  ? scaled_distance(x, pose(frame))
                    : motion_.keyed() ? distance_at_rest(at_rest(x, pose(frame)), frame)
                                      : distance_at_rest(x, frame);
    return params_.invert ? -d : d;
}

bool Shape::is_wall_below(float thickness) const
{
    if (params_.invert || params_.shape == ShapeParams::Kind::half_space) return false;
    if (mesh_) return !mesh_->closed() || mesh_->is_thinner(thickness / least_of(scales()), false);
    return std::ranges::any_of(scales(), [&](const Vec3f& scale) {
        const Vec3f size = sizes(scale);
        return size[0] < thickness && size[1] >= 0.5f * thickness;
    });
}

bool Shape::is_divided_below(float thickness) const
{
    return mesh_ && params_.invert && mesh_->is_thinner(thickness / least_of(scales()), true);
}

float Shape::width() const
{
    if (params_.invert || params_.shape == ShapeParams::Kind::half_space) return kInfinity;
    float least = kInfinity;
    for (const Vec3f& scale : scales()) least = std::min(least, sizes(scale)[1]);
    return least;
}

std::vector<Vec3f> Shape::scales() const
{
    const std::vector<float> frames = motion_.scale_frames();
    if (frames.empty()) return {Vec3f::Ones()};
    std::vector<Vec3f> scales;
    for (const float frame : frames) scales.push_back(pose(frame).scale);
    return scales;
}

namespace {

// The cross-section of a capsule that is scaled along the axes of space: an ellipse, seen along the capsule. That of a
// sphere, which has no length, is an ellipsoid. Eigenvalues are the squares of its semi-axes.
Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> cross_section(const Vec3d& along, float radius, const Vec3f& scale)
{
    Eigen::Matrix3d squares = (radius * scale).cast<double>().cwiseAbs2().asDiagonal();
    if (along.norm() > 0) {
        const Vec3d way = along.normalized();
        const Eigen::Matrix3d across = Eigen::Matrix3d::Identity() - way * way.transpose();
        squares = across * squares * across;
    }
    return Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d>(squares);
}

} // namespace

Vec3f Shape::sizes(const Vec3f& scale) const
{
    Vec3f size;
    if (mesh_ || params_.shape == ShapeParams::Kind::box) {
        size = (mesh_ ? now_->bounds().size() : Vec3f(params_.max - params_.min)).cwiseProduct(scale);
    } else {
        const bool capsule = params_.shape == ShapeParams::Kind::capsule;
        const Vec3f along = capsule ? Vec3f(scale.cwiseProduct(params_.end - params_.start)) : Vec3f::Zero();
        const Vec3d squares = cross_section(along.cast<double>(), params_.radius, scale).eigenvalues();
        size = 2 * squares.cwiseMax(0).cwiseSqrt().cast<float>();
        if (!along.isZero(0)) size[0] = along.norm() + size[2]; // instead of zero: the length
    }
    std::sort(size.begin(), size.end());
    return size;
}

Vec3f Shape::thin_direction(const Vec3f& scale) const
{
    const bool capsule = params_.shape == ShapeParams::Kind::capsule;
    const Vec3f along = capsule ? Vec3f(scale.cwiseProduct(params_.end - params_.start)) : Vec3f::Zero();
    const auto section = cross_section(along.cast<double>(), params_.radius, scale);
    const Vec3f thin = section.eigenvectors().col(along.isZero(0) ? 0 : 1).cast<float>();
    return thin.cwiseProduct(scale).normalized();
}

bool Shape::meets(const Vec3f& from, const Vec3f& to, float frame) const
{
    const Pose at = pose(frame);
    const Vec3f start = at_rest(from, at), end = at_rest(to, at), way = end - start;
    if (mesh_) return moment(frame).meets(start, end);
    if (params_.invert || params_.shape == ShapeParams::Kind::half_space) return false;
    int thin = 0;
    if (params_.shape != ShapeParams::Kind::box) { // a flattened sphere or capsule
        const Vec3f normal = thin_direction(at.scale);
        const float before = (start - middle_).dot(normal), after = (end - middle_).dot(normal);
        if ((before > 0) == (after > 0) && before != 0 && after != 0) return false;
        const Vec3f met = start + (before == after ? 0 : before / (before - after)) * way;
        const bool capsule = params_.shape == ShapeParams::Kind::capsule;
        const float off = capsule ? distance_to_line(met, params_.start, params_.end) : (met - middle_).norm();
        return off <= params_.radius;
    }
    (params_.max - params_.min).cwiseProduct(at.scale).minCoeff(&thin);
    const auto share_in = [&](const Vec3f& low, const Vec3f& high) { // interval of the segment within a box
        std::pair<float, float> share(0, 1);
        for (int a = 0; a < 3; ++a) {
            if (way[a] == 0) {
                if (start[a] < low[a] || start[a] > high[a]) share.second = -1;
                continue;
            }
            const float one = (low[a] - start[a]) / way[a], other = (high[a] - start[a]) / way[a];
            share.first = std::max(share.first, std::min(one, other));
            share.second = std::min(share.second, std::max(one, other));
        }
        return share;
    };
    Vec3f low = params_.min, high = params_.max;
    // A segment may cut an edge of the box without meeting the mid-plane.
    const auto in_box = share_in(low, high);
    if (in_box.first > 0 && in_box.first < in_box.second && in_box.second < 1) return true;
    low[thin] = high[thin] = middle_[thin];
    const auto in_middle = share_in(low, high);
    return in_middle.first <= in_middle.second;
}

Vec3f Shape::velocity(const Vec3f& x, float frame, float fps) const
{
    const Pose at = pose(frame);
    Vec3f sum = rate(x, at);
    if (mesh_ && !mesh_->still()) {
        Vec3f own = moment(frame).velocity(at_rest(x, at));
        if (motion_.scales()) own = own.cwiseProduct(at.scale);
        sum += at.rotation * own;
    }
    return fps * sum;
}

Vec3f Shape::carried(const Vec3f& x, float from, float to) const
{
    Vec3f rest = at_rest(x, pose(from));
    if (mesh_ && !mesh_->still()) rest += (to - from) * moment(to).velocity(rest);
    return placed(rest, pose(to));
}

Vec3f Shape::placed(const Vec3f& X, float frame) const { return placed(X, pose(frame)); }

float Shape::speed(float frame, float fps) const
{
    const Box3f box = bounds(frame);
    if (!moves() || !box.size().allFinite()) return 0;
    const Pose at = pose(frame);
    float fastest = 0;
    for (int k = 0; k < 8; ++k) {
        const Vec3f corner = Vec3i(k >> 2, k >> 1 & 1, k & 1).cast<float>();
        const Vec3f x = box.min + corner.cwiseProduct(box.size());
        fastest = std::max(fastest, fps * rate(x, at).cwiseAbs().maxCoeff());
    }
    if (mesh_ && !mesh_->still()) fastest += fps * at.scale.maxCoeff() * moment(frame).speed();
    return fastest;
}

bool Shape::moves() const { return (mesh_ && !mesh_->still()) || motion_.moves(); }

Box3f Shape::bounds(float frame) const
{
    if (params_.invert || params_.shape == ShapeParams::Kind::half_space)
        return {Vec3f::Constant(-kInfinity), Vec3f::Constant(kInfinity)};
    const Pose at = pose(frame);
    const Mat3f stretch = motion_.scales() ? Mat3f(at.rotation * at.scale.asDiagonal()) : at.rotation;
    if (mesh_) { // bounding box of its rotated bounds
        const Box3f& rest = moment(frame).bounds();
        const Vec3f middle = placed(rest.center(), at), half = stretch.cwiseAbs() * (0.5f * rest.size());
        return {middle - half, middle + half};
    }
    const Vec3f center = placed(middle_, at);
    if (params_.shape == ShapeParams::Kind::box) {
        const Vec3f half = stretch.cwiseAbs() * (0.5f * (params_.max - params_.min)); // bounding box of a rotated box
        return {center - half, center + half};
    }
    Vec3f half = Vec3f::Zero();
    if (params_.shape == ShapeParams::Kind::capsule)
        half = (stretch * (0.5f * (params_.end - params_.start))).cwiseAbs();
    if (!motion_.scales()) return Box3f{center - half, center + half}.grown(params_.radius);
    half += params_.radius * stretch.rowwise().norm(); // of an ellipsoid
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

// Two half-spheres around the ends of a segment, joined; a sphere if its length is zero.
Mesh capsule_mesh(const Vec3f& start, const Vec3f& end, float radius)
{
    constexpr int half = 24, sectors = 96;
    const int cylinder = start == end ? 0 : 1, rings = 2 * half + cylinder;
    Eigen::Quaternionf turn = Eigen::Quaternionf::Identity();
    if (cylinder) turn.setFromTwoVectors(Vec3f::UnitY(), end - start);
    Mesh mesh;
    const auto add_vertex = [&](int ring, int sector) {
        const bool upper = ring <= half;
        const double a = kPi * (upper ? ring : ring - cylinder) / (2 * half), b = 2 * kPi * sector / sectors;
        const Vec3f n = turn * Vec3d(std::sin(a) * std::cos(b), std::cos(a), std::sin(a) * std::sin(b)).cast<float>();
        mesh.positions.push_back((upper ? end : start) + radius * n), mesh.normals.push_back(n);
    };
    // A vertex for each pole, and rings between them.
    add_vertex(0, 0);
    for (int r = 1; r < rings; ++r)
        for (int s = 0; s < sectors; ++s) add_vertex(r, s);
    add_vertex(rings, 0);
    const auto vertex = [&](int ring, int sector) {
        if (ring == 0) return 0;
        return 1 + (ring - 1) * sectors + (ring == rings ? 0 : sector % sectors);
    };
    for (int r = 0; r < rings; ++r)
        for (int s = 0; s < sectors; ++s) {
            const int a = vertex(r, s), b = vertex(r, s + 1), below_a = vertex(r + 1, s),
                      below_b = vertex(r + 1, s + 1);
            if (r > 0) mesh.triangles.emplace_back(a, b, below_a);
            if (r < rings - 1) mesh.triangles.emplace_back(b, below_b, below_a);
        }
    return mesh;
}

} // namespace

Mesh Shape::mesh(float frame) const
{
    Mesh mesh;
    if (params_.shape == ShapeParams::Kind::box) mesh = box_mesh(params_.min, params_.max);
    if (params_.shape == ShapeParams::Kind::sphere) mesh = capsule_mesh(params_.center, params_.center, params_.radius);
    if (params_.shape == ShapeParams::Kind::capsule) mesh = capsule_mesh(params_.start, params_.end, params_.radius);
    if (mesh_) mesh = mesh_->mesh(frame);
    const Pose at = pose(frame);
    for (Vec3f& x : mesh.positions) x = placed(x, at);
    for (Vec3f& n : mesh.normals) {
        if (motion_.scales()) n = n.cwiseQuotient(at.scale).normalized();
        n = at.rotation * n;
    }
    if (!params_.invert) return mesh;
    for (Vec3i& t : mesh.triangles) std::swap(t[1], t[2]);
    for (Vec3f& n : mesh.normals) n = -n;
    return mesh;
}

Shape shape_of(const ShapeParams& params, const std::string& name, bool may_be_open)
{
    if (!params.parent.empty())
        bad_input("{}: has the parent \"{}\", and only a scene can say what that is; add its keyframes to those of the "
                  "shape",
                  name, params.parent);
    return {params, name, nullptr, may_be_open};
}

} // namespace spindrift
