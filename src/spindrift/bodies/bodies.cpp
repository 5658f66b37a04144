#include "spindrift/bodies/bodies.h"

#include "spindrift/base/error.h"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>

namespace spindrift {

namespace {

// Parts as in the scene: the body's own shape unrotated, its parts rotated about their own middles.
std::vector<RigidSolid::Part> parts_in_scene(const BodyParams& params, const Bodies::Shapes& shapes)
{
    std::vector<RigidSolid::Part> parts;
    for (size_t i = 0; i < shapes.size(); ++i) {
        RigidSolid::Part part{shapes[i]};
        if (i > 0) {
            part.rotation = params.parts[i - 1].turn().toRotationMatrix().cast<float>();
            part.offset = part.shape.middle() - part.rotation * part.shape.middle();
        }
        parts.push_back(std::move(part));
    }
    return parts;
}

// Principal moments and axes of inertia; the body's own axes if the inertia is already diagonal.
std::pair<Vec3d, Eigen::Quaterniond> principal_axes(const Mat3d& inertia)
{
    const Vec3d diagonal = inertia.diagonal();
    if ((inertia - Mat3d(diagonal.asDiagonal())).norm() < 1e-9 * inertia.norm())
        return {diagonal, Eigen::Quaterniond::Identity()};
    const Eigen::SelfAdjointEigenSolver<Mat3d> solver(inertia);
    Mat3d axes = solver.eigenvectors();
    if (axes.determinant() < 0) axes.col(0) = -axes.col(0);
    return {solver.eigenvalues(), Eigen::Quaterniond(axes)};
}

} // namespace

Bodies::Bodies(const std::vector<BodyParams>& params, const std::vector<Shapes>& shapes, const DomainParams& domain,
               const std::vector<Shape>& colliders, float fps)
    : params_(params), fps_(fps)
{
    for (size_t b = 0; b < params.size(); ++b) {
        const BodyParams& body = params[b];
        names_.push_back(body.name.empty() ? fmt::format("body{}", b + 1) : body.name);
        std::vector<RigidSolid::Part> parts = parts_in_scene(body, shapes[b]);
        const MassProperties unit = mass_properties(parts);
        // No body is lighter than air, which it would have to displace: with almost no mass, any rounding error in a
        // force would fling it away.
        constexpr double kAir = 1; // [kg/m3]
        const double density = std::max(kAir, body.mass ? *body.mass / unit.volume : static_cast<double>(body.density));
        masses_.push_back({density * unit.volume, unit.volume, density * unit.inertia});
        for (RigidSolid::Part& part : parts) part.offset -= unit.center.cast<float>();
        solids_.emplace_back(std::move(parts));

        const Vec3d pivot = shapes[b].front().middle().cast<double>();
        RigidMotion start;
        start.orientation = body.turn();
        start.position = pivot + start.orientation * (unit.center - pivot);
        start.velocity = body.velocity.cast<double>(), start.spin = body.spin.cast<double>() * (kPi / 180);
        start_.push_back(start);
        keyframes_.emplace_back(body.held, shapes[b].front().middle());
    }
    for (size_t b = 0; b < params.size(); ++b) {
        const BodyParams& body = params[b];
        const auto [inertia, principal] = principal_axes(masses_[b].inertia);
        BulletDynamics::Body definition{&solids_[b],
                                        masses_[b].mass,
                                        inertia,
                                        principal,
                                        body.friction.value_or(kBodyFriction),
                                        body.restitution,
                                        body.free_to_move(),
                                        body.free_to_turn(),
                                        {},
                                        static_cast<float>(body.release),
                                        [this, b](float frame) { return motion_while_held(b, frame); }};
        if (body.hinge.anchor) {
            const Eigen::Quaterniond to_body = start_[b].orientation.conjugate();
            const Vec3d anchor = body.hinge.anchor->cast<double>(), axis = body.hinge.axis.cast<double>().normalized();
            definition.hinge = {anchor,
                                axis,
                                to_body * (anchor - start_[b].position),
                                to_body * axis,
                                body.hinge.speed * kPi / 180,
                                body.hinge.torque};
        }
        definitions_.push_back(definition);
    }
    if (!empty()) dynamics_ = std::make_unique<BulletDynamics>(definitions_, domain, colliders);
}

std::vector<Bodies::Shapes> Bodies::shapes_of(const std::vector<BodyParams>& params)
{
    std::vector<Shapes> all;
    for (size_t b = 0; b < params.size(); ++b) {
        const std::string name = "body[" + std::to_string(b) + "]";
        all.push_back({shape_of(params[b], name)});
        for (Shape& part : spindrift::shapes_of(params[b].parts, name + ".part")) all.back().push_back(std::move(part));
    }
    return all;
}

void Bodies::start(float frame, const std::vector<std::string>& where)
{
    motion_ = start_, frame_ = frame;
    for (size_t b = 0; b < size(); ++b)
        if (params_[b].release != std::numeric_limits<int>::min()) motion_[b] = motion_while_held(b, frame);
    place_solids(), place_solids();       // sets the previous pose too
    for (size_t b = 0; b < size(); ++b) { // project the initial velocity to the free motions
        if (held(b)) continue;
        const auto free = free_motions(b);
        const Vec6d wanted = motion(b);
        const Vec6d left = free.cols() == 0
                               ? Vec6d(Vec6d::Zero())
                               : Vec6d(free * (free.transpose() * free).inverse() * free.transpose() * wanted);
        motion_[b].velocity = left.head<3>(), motion_[b].spin = left.tail<3>();
    }
    place_solids();
    if (!empty()) check_overlaps(frame, where);
}

// Pose from keyframes, clamped to the release. At release the body keeps the velocity of its keyframes.
RigidMotion Bodies::motion_while_held(size_t b, float frame) const
{
    const auto release = static_cast<float>(params_[b].release);
    const bool released = frame >= release;
    const Vec3d pivot = keyframes_[b].pivot().cast<double>();
    const Motion::Pose pose = keyframes_[b].at(std::min(frame, release));
    const Motion::Pose way = released ? keyframes_[b].at(std::nextafter(release, -kInfinity)) : pose;
    RigidMotion motion;
    motion.position = pivot + pose.shift + pose.rotation * (start_[b].position - pivot);
    motion.orientation = (pose.rotation * start_[b].orientation).normalized();
    motion.velocity = fps_ * (way.shift_rate + way.spin.cross(motion.position - pivot - pose.shift));
    motion.spin = fps_ * way.spin;
    if (released) motion.velocity += start_[b].velocity, motion.spin += start_[b].spin;
    return motion;
}

// Touching, and overlaps up to a tolerance, are allowed. A held body may be inside a wall or collider, but must have
// left it at its release.
void Bodies::check_overlaps(float frame, const std::vector<std::string>& where) const
{
    constexpr double kTolerance = 0.02; // of the body's radius
    const auto place_of = [&](size_t b) { return b < where.size() ? where[b] + ": " : ""; };
    for (size_t b = 0; b < size(); ++b) {
        if (!held(b)) continue;
        const auto release = static_cast<float>(params_[b].release);
        std::vector<RigidMotion> then = motion_;
        then[b] = motion_while_held(b, release);
        for (const BulletDynamics::Overlap& overlap : dynamics_->overlaps(then, release))
            if (overlap.body == static_cast<int>(b) && overlap.other < 0 &&
                overlap.depth > kTolerance * solids_[b].radius())
                bad_input("{}the body \"{}\" is {:.3g} m deep inside a wall or collider when it is released at frame "
                          "{}; release it elsewhere",
                          place_of(b), names_[b], overlap.depth, release);
    }
    for (const BulletDynamics::Overlap& overlap : dynamics_->overlaps(motion_, frame)) {
        const size_t b = overlap.body;
        if (overlap.depth <= kTolerance * solids_[b].radius() || (held(b) && overlap.other < 0)) continue;
        const std::string place = place_of(b);
        const std::string other = overlap.other < 0 ? "a wall or collider" : "\"" + names_[overlap.other] + "\"";
        bad_input("{}the body \"{}\" starts {:.3g} m deep inside {}; move it, or make it smaller", place, names_[b],
                  overlap.depth, other);
    }
}

Mat3d Bodies::inertia(size_t b) const
{
    const Mat3d turn = motion_[b].orientation.toRotationMatrix();
    return turn * masses_[b].inertia * turn.transpose();
}

// Basis of the body's free motions, as columns.
Eigen::Matrix<double, 6, Eigen::Dynamic> Bodies::free_motions(size_t b) const
{
    const BulletDynamics::Body& body = definitions_[b];
    Eigen::Matrix<double, 6, Eigen::Dynamic> columns(6, 0);
    if (held(b)) return columns;
    const auto add = [&](const Vec6d& column) {
        columns.conservativeResize(6, columns.cols() + 1);
        columns.col(columns.cols() - 1) = column;
    };
    if (body.hinge) {
        const Vec3d arm = motion_[b].position - body.hinge->anchor;
        add(six(body.hinge->axis.cross(arm), body.hinge->axis));
        return columns;
    }
    for (int a = 0; a < 3; ++a)
        if (body.free_to_move[a] > 0) add(Vec6d::Unit(a));
    for (int a = 0; a < 3; ++a)
        if (body.free_to_turn[a] > 0) add(Vec6d::Unit(3 + a));
    return columns;
}

// H (H^T M H)^-1 H^T for the free motions H.
Mat6d Bodies::inverse_mass(size_t b) const
{
    const auto H = free_motions(b);
    if (H.cols() == 0) return Mat6d::Zero();
    Mat6d M = Mat6d::Zero();
    M.topLeftCorner<3, 3>() = mass(b) * Mat3d::Identity();
    M.bottomRightCorner<3, 3>() = inertia(b);
    const Mat6d inverse = H * (H.transpose() * M * H).inverse() * H.transpose();
    return 0.5 * (inverse + inverse.transpose());
}

Vec6d Bodies::motion(size_t b) const { return six(motion_[b].velocity, motion_[b].spin); }

Vec6d Bodies::momentum(size_t b) const { return six(mass(b) * motion_[b].velocity, inertia(b) * motion_[b].spin); }

float Bodies::speed() const
{
    float fastest = 0;
    for (const RigidSolid& solid : solids_) fastest = std::max(fastest, solid.speed());
    return fastest;
}

float Bodies::speed_near(const Box3f& box, float margin, float seconds) const
{
    float fastest = 0;
    for (const RigidSolid& solid : solids_) {
        const Box3f own = solid.bounds().grown(margin + seconds * solid.speed());
        if ((own.min.array() < box.max.array()).all() && (own.max.array() > box.min.array()).all())
            fastest = std::max(fastest, solid.speed());
    }
    return fastest;
}

void Bodies::push(size_t b, const Vec6d& impulse)
{
    const Vec6d change = inverse_mass(b) * impulse;
    motion_[b].velocity += change.head<3>(), motion_[b].spin += change.tail<3>();
    solids_[b].set_velocity(motion_[b].velocity, motion_[b].spin);
}

void Bodies::accelerate(const Vec3f& acceleration, double dt)
{
    for (size_t b = 0; b < size(); ++b) push(b, six(mass(b) * dt * acceleration.cast<double>(), Vec3d::Zero()));
}

void Bodies::move(float to_frame, double dt)
{
    if (empty()) return;
    dynamics_->step(motion_, frame_, to_frame, dt);
    for (size_t b = 0; b < size(); ++b)
        if (held(b)) motion_[b] = motion_while_held(b, to_frame);
    frame_ = to_frame;
    for (size_t b = 0; b < size(); ++b)
        if (!motion_[b].position.allFinite() || !motion_[b].spin.allFinite())
            fail("the body \"{}\" has a non-finite position or spin at frame {}; check its mass, its motor and "
                 "the solids around it",
                 names_[b], to_frame);
    place_solids();
}

void Bodies::place_solids()
{
    for (size_t b = 0; b < size(); ++b) solids_[b].move_to(motion_[b]);
}

void Bodies::restore(std::vector<RigidMotion> motion, float frame)
{
    motion_ = std::move(motion), frame_ = frame;
    place_solids(), place_solids();
}

} // namespace spindrift
