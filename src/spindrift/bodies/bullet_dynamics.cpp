#include "spindrift/bodies/bullet_dynamics.h"

#include <BulletCollision/CollisionDispatch/btManifoldResult.h>
#include <LinearMath/btConvexHullComputer.h>
#include <btBulletDynamicsCommon.h>

namespace spindrift {

namespace {

constexpr double kLongestStep = 1.0 / 240; // [s]
constexpr int kIterations = 60;            // of the contact solver, which has no warm start
constexpr double kMargin = 1e-3;           // collision margin, relative to a shape's smallest size

btVector3 to_bullet(const Vec3d& v) { return {v.x(), v.y(), v.z()}; }
btVector3 to_bullet(const Vec3f& v) { return to_bullet(Vec3d(v.cast<double>())); }
btQuaternion to_bullet(const Eigen::Quaterniond& q) { return {q.x(), q.y(), q.z(), q.w()}; }
btTransform to_bullet(const Mat3f& rotation, const Vec3f& offset)
{
    return btTransform(to_bullet(Eigen::Quaterniond(rotation.cast<double>())), to_bullet(offset));
}
Vec3d from_bullet(const btVector3& v) { return {v.x(), v.y(), v.z()}; }
Eigen::Quaterniond from_bullet(const btQuaternion& q) { return {q.w(), q.x(), q.y(), q.z()}; }

// --- Shapes ---

// A collision shape with everything that it refers to, and its pose.
struct BulletShape {
    std::vector<std::unique_ptr<btCollisionShape>> owned; // the last one is the whole
    std::unique_ptr<btTriangleMesh> triangles;            // of a mesh
    btTransform place = btTransform::getIdentity();
    btCollisionShape* whole() const { return owned.back().get(); }
};

// A convex collision shape in its own frame, and that frame's pose.
struct ConvexShape {
    std::unique_ptr<btCollisionShape> shape;
    btTransform place = btTransform::getIdentity();
};

std::unique_ptr<btCollisionShape> box_shape(const Vec3f& size)
{
    auto box = std::make_unique<btBoxShape>(to_bullet(Vec3f(0.5f * size)));
    box->setMargin(kMargin * size.minCoeff());
    box->initializePolyhedralFeatures();
    return box;
}

std::unique_ptr<btCollisionShape> hull_shape(const Mesh& mesh)
{
    constexpr int kMaxCorners = 256; // above this, contacts of single points are enough
    std::vector<btVector3> points;
    for (const Vec3f& x : mesh.positions) points.push_back(to_bullet(x));
    btConvexHullComputer computer;
    const double margin = kMargin * static_cast<double>(bounds_of(mesh).size().minCoeff());
    computer.compute(points.front().m_floats, sizeof(btVector3), static_cast<int>(points.size()), margin, 0.2);
    auto hull = std::make_unique<btConvexHullShape>();
    for (int i = 0; i < computer.vertices.size(); ++i) hull->addPoint(computer.vertices[i], false);
    hull->setMargin(margin);
    hull->recalcLocalAabb();
    if (computer.vertices.size() <= kMaxCorners) hull->initializePolyhedralFeatures();
    return hull;
}

ConvexShape convex_shape(const Shape& shape)
{
    const ShapeParams& p = shape.params();
    ConvexShape convex;
    const Vec3f along = p.end - p.start;
    switch (p.shape) {
    case ShapeParams::Kind::box:
        convex.shape = box_shape(p.max - p.min);
        convex.place.setOrigin(to_bullet(shape.middle()));
        break;
    case ShapeParams::Kind::capsule:
        if (along.norm() > 0) {
            convex.shape = std::make_unique<btCapsuleShape>(p.radius, along.norm());
            convex.place.setOrigin(to_bullet(shape.middle()));
            convex.place.setRotation(
                to_bullet(Eigen::Quaterniond::FromTwoVectors(Vec3d::UnitY(), along.cast<double>())));
            break;
        }
        [[fallthrough]];
    case ShapeParams::Kind::sphere:
        convex.shape = std::make_unique<btSphereShape>(p.radius);
        convex.place.setOrigin(to_bullet(shape.middle()));
        break;
    case ShapeParams::Kind::mesh:
        convex.shape = hull_shape(shape.mesh(0));
        break;
    case ShapeParams::Kind::half_space:
        break; // not allowed for bodies
    }
    return convex;
}

// The shape of a body about the principal axes at its centre of mass, as Bullet requires.
BulletShape body_shape(const BulletDynamics::Body& body)
{
    BulletShape result;
    auto compound = std::make_unique<btCompoundShape>();
    const btTransform principal(to_bullet(body.principal));
    for (const RigidSolid::Part& part : body.solid->parts()) {
        ConvexShape convex = convex_shape(part.shape);
        const btTransform place = principal.inverse() * to_bullet(part.rotation, part.offset) * convex.place;
        compound->addChildShape(place, convex.shape.get());
        result.owned.push_back(std::move(convex.shape));
    }
    // A single shape at the origin needs no compound.
    const btTransform& first = compound->getChildTransform(0);
    const double size = body.solid->radius();
    if (result.owned.size() == 1 && first.getOrigin().length() < 1e-7 * size &&
        first.getRotation().getAngleShortestPath() < 1e-7)
        return result;
    result.owned.push_back(std::move(compound));
    return result;
}

// A thick plate on each closed side of a box.
void add_plates(const Box3f& box, const std::function<bool(int axis, int upper)>& closed, std::vector<BulletShape>& out)
{
    const float thick = box.size().maxCoeff();
    for (int axis = 0; axis < 3; ++axis)
        for (int upper = 0; upper < 2; ++upper) {
            if (!closed(axis, upper)) continue;
            Box3f plate = box.grown(thick);
            (upper ? plate.min : plate.max)[axis] = (upper ? box.max : box.min)[axis];
            BulletShape shape;
            shape.owned.push_back(box_shape(plate.size()));
            shape.place.setOrigin(to_bullet(plate.center()));
            out.push_back(std::move(shape));
        }
}

BulletShape surface_shape(const Mesh& mesh)
{
    BulletShape shape;
    shape.triangles = std::make_unique<btTriangleMesh>();
    const auto corner = [&](int i) { return to_bullet(mesh.positions[i]); };
    for (const Vec3i& t : mesh.triangles) shape.triangles->addTriangle(corner(t[0]), corner(t[1]), corner(t[2]));
    shape.owned.push_back(std::make_unique<btBvhTriangleMeshShape>(shape.triangles.get(), true));
    shape.whole()->setMargin(kMargin * static_cast<double>(bounds_of(mesh).size().minCoeff()));
    return shape;
}

// A collider without keyframes, except for its scale.
Shape at_scale(const Shape& collider, const Vec3f& scale)
{
    ShapeParams p = collider.params();
    p.invert = false;
    static_cast<MotionParams&>(p) = MotionParams();
    if (scale != Vec3f::Ones()) p.scale = {{0, scale.x(), scale.y(), scale.z()}}, p.pivot = collider.pivot();
    return Shape(p, "a collider");
}

// Collision shapes of a collider before its keyframed rotation and translation.
std::vector<BulletShape> collider_shapes(const Shape& collider, const Vec3f& scale)
{
    ShapeParams p = collider.params();
    const bool even = scale.x() == scale.y() && scale.y() == scale.z();
    if (scale != Vec3f::Ones()) { // Bullet's shapes cannot be scaled; scale the parameters
        const Vec3f& pivot = collider.pivot();
        for (Vec3f* x : {&p.min, &p.max, &p.center, &p.start, &p.end, &p.point})
            *x = pivot + scale.cwiseProduct(*x - pivot);
        p.radius *= scale.x(), p.normal = p.normal.cwiseQuotient(scale).normalized();
    }
    std::vector<BulletShape> shapes;
    if (p.shape == ShapeParams::Kind::half_space) {
        const Vec3f n = p.invert ? Vec3f(-p.normal) : p.normal;
        BulletShape plane;
        plane.owned.push_back(std::make_unique<btStaticPlaneShape>(to_bullet(n), n.dot(p.point)));
        shapes.push_back(std::move(plane));
    } else if (p.invert && p.shape == ShapeParams::Kind::box) {
        add_plates(
            {p.min, p.max}, [](int, int) { return true; }, shapes);
    } else if (p.invert || p.shape == ShapeParams::Kind::mesh) {
        shapes.push_back(surface_shape(at_scale(collider, scale).mesh(0)));
    } else if (!even && p.shape != ShapeParams::Kind::box) {
        BulletShape shape;
        shape.owned.push_back(hull_shape(at_scale(collider, scale).mesh(0)));
        shapes.push_back(std::move(shape));
    } else {
        static_cast<MotionParams&>(p) = MotionParams();
        ConvexShape convex = convex_shape(Shape(p, "a collider"));
        BulletShape shape;
        shape.owned.push_back(std::move(convex.shape));
        shape.place = convex.place;
        shapes.push_back(std::move(shape));
    }
    return shapes;
}

// Pose from keyframes, from the images of the origin and the three unit vectors.
btTransform pose_of(const Shape& collider, float frame)
{
    const Vec3f origin = collider.placed(Vec3f::Zero(), frame);
    Mat3f rotation;
    for (int a = 0; a < 3; ++a) rotation.col(a) = collider.placed(Vec3f::Unit(a), frame) - origin;
    if (!collider.motion().scales()) return to_bullet(rotation, origin);
    rotation.colwise().normalize(); // the shape itself is scaled about the pivot
    return to_bullet(rotation, collider.placed(collider.pivot(), frame) - rotation * collider.pivot());
}

Vec3f scale_of(const Shape& collider, float frame)
{
    return collider.motion().scales() ? Vec3f(collider.motion().at(frame).scale.cast<float>()) : Vec3f::Ones();
}

// --- Contact parameters ---

// Walls and colliders take the coefficient of the body; two bodies take the geometric mean.
double combined(const btCollisionObject* a, const btCollisionObject* b, double value_a, double value_b)
{
    if (a->isStaticOrKinematicObject()) return value_b;
    if (b->isStaticOrKinematicObject()) return value_a;
    return std::sqrt(value_a * value_b);
}
double friction_of(const btCollisionObject* a, const btCollisionObject* b)
{
    return combined(a, b, a->getFriction(), b->getFriction());
}
double restitution_of(const btCollisionObject* a, const btCollisionObject* b)
{
    return combined(a, b, a->getRestitution(), b->getRestitution());
}

} // namespace

// Geometry, built once.
struct BulletDynamics::Setup {
    struct Obstacle {
        BulletShape shape;
        const Shape* collider = nullptr; // that moves it, if any
        Vec3f scale = Vec3f::Ones();     // of the collider when the shape was built
        size_t part = 0;                 // index among the collider's shapes
    };
    std::vector<Body> bodies;
    std::vector<BulletShape> body_shapes;
    std::vector<Shape> colliders;
    std::vector<Obstacle> obstacles;
};

BulletDynamics::BulletDynamics(std::vector<Body> bodies, const DomainParams& domain, std::vector<Shape> colliders)
    : setup_(std::make_unique<Setup>())
{
    gCalculateCombinedFrictionCallback = friction_of;
    gCalculateCombinedRestitutionCallback = restitution_of;
    setup_->bodies = std::move(bodies), setup_->colliders = std::move(colliders);
    for (const Body& body : setup_->bodies) setup_->body_shapes.push_back(body_shape(body));
    std::vector<BulletShape> walls;
    if (domain.bounded())
        add_plates(
            {*domain.min, *domain.max}, [&](int axis, int upper) { return domain.closed(axis, upper); }, walls);
    for (BulletShape& wall : walls) setup_->obstacles.push_back({std::move(wall)});
    for (const Shape& collider : setup_->colliders) {
        const Vec3f scale = scale_of(collider, 0);
        size_t part = 0;
        for (BulletShape& shape : collider_shapes(collider, scale))
            setup_->obstacles.push_back({std::move(shape), &collider, scale, part++});
    }
}

BulletDynamics::~BulletDynamics() = default;

// --- Step ---

// A Bullet simulation for one step. Objects are always added in the same order, for reproducibility.
class BulletDynamics::Simulation {
  public:
    // `hold`: bodies before their release are kinematic.
    Simulation(const Setup& setup, const std::vector<RigidMotion>& motion, float frame, bool hold)
        : setup_(setup), configuration_(pools()), dispatcher_(&configuration_),
          bullet_(&dispatcher_, &broadphase_, &solver_, &configuration_)
    {
        configuration_.setConvexConvexMultipointIterations(3, 3);
        configuration_.setPlaneConvexMultipointIterations(3, 3);
        bullet_.setGravity({0, 0, 0});
        btContactSolverInfo& info = bullet_.getSolverInfo();
        info.m_numIterations = kIterations;
        info.m_splitImpulse = 1, info.m_splitImpulsePenetrationThreshold = 0; // resolving overlaps adds no velocity
        info.m_solverMode = SOLVER_USE_2_FRICTION_DIRECTIONS;
        for (const Setup::Obstacle& obstacle : setup.obstacles) add_obstacle(at_current_scale(obstacle, frame), frame);
        for (size_t b = 0; b < motion.size(); ++b) add_body(b, motion[b], hold && frame < setup.bodies[b].release);
    }
    ~Simulation()
    {
        for (const auto& hinge : hinges_) bullet_.removeConstraint(hinge.get());
        for (const auto& body : bodies_) bullet_.removeRigidBody(body.get());
        for (const auto& obstacle : obstacles_) bullet_.removeRigidBody(obstacle.get());
    }
    Simulation(const Simulation&) = delete;

    void step(float from_frame, float to_frame, double dt)
    {
        const int steps = std::max(1, static_cast<int>(std::ceil(dt / kLongestStep - 1e-6)));
        for (int s = 0; s < steps; ++s) {
            const auto at = [&](int n) {
                return mix(from_frame, to_frame, static_cast<float>(n) / static_cast<float>(steps));
            };
            move_obstacles(at(s), at(s + 1));
            for (size_t h = 0; h < hinges_.size(); ++h) hinges_[h]->setMaxMotorImpulse(hinge_torques_[h] * dt / steps);
            bullet_.stepSimulation(dt / steps, 0);
        }
    }

    void read(std::vector<RigidMotion>& motion) const
    {
        for (size_t b = 0; b < motion.size(); ++b) {
            const btTransform& place = bodies_[b]->getWorldTransform();
            const Eigen::Quaterniond turn = from_bullet(place.getRotation()) * setup_.bodies[b].principal.conjugate();
            motion[b] = {from_bullet(place.getOrigin()), turn.normalized(),
                         from_bullet(bodies_[b]->getLinearVelocity()), from_bullet(bodies_[b]->getAngularVelocity())};
        }
    }

    std::vector<Overlap> overlaps()
    {
        bullet_.performDiscreteCollisionDetection();
        std::vector<Overlap> found;
        for (int m = 0; m < dispatcher_.getNumManifolds(); ++m) {
            const btPersistentManifold& manifold = *dispatcher_.getManifoldByIndexInternal(m);
            double depth = 0;
            for (int p = 0; p < manifold.getNumContacts(); ++p)
                depth = std::max(depth, -static_cast<double>(manifold.getContactPoint(p).getDistance()));
            int a = manifold.getBody0()->getUserIndex(), b = manifold.getBody1()->getUserIndex();
            if (a < b) std::swap(a, b);
            if (depth > 0) found.push_back({a, b, depth});
        }
        return found;
    }

  private:
    static btDefaultCollisionConstructionInfo pools()
    {
        btDefaultCollisionConstructionInfo info; // beyond these sizes Bullet uses the heap
        info.m_defaultMaxPersistentManifoldPoolSize = info.m_defaultMaxCollisionAlgorithmPoolSize = 64;
        return info;
    }

    // Rebuilds the shape of a collider whose scale has changed; it is constant within a step.
    const Setup::Obstacle& at_current_scale(const Setup::Obstacle& obstacle, float frame)
    {
        if (!obstacle.collider) return obstacle;
        const Vec3f scale = scale_of(*obstacle.collider, frame);
        if (scale == obstacle.scale) return obstacle;
        BulletShape shape = std::move(collider_shapes(*obstacle.collider, scale)[obstacle.part]);
        resized_.push_back(std::make_unique<Setup::Obstacle>(
            Setup::Obstacle{std::move(shape), obstacle.collider, scale, obstacle.part}));
        return *resized_.back();
    }

    void add_obstacle(const Setup::Obstacle& obstacle, float frame)
    {
        placed_.push_back(&obstacle);
        auto body = std::make_unique<btRigidBody>(0, nullptr, obstacle.shape.whole());
        const bool moves = obstacle.collider && obstacle.collider->moves();
        btTransform place = obstacle.shape.place;
        if (obstacle.collider) place = pose_of(*obstacle.collider, frame) * place;
        body->setWorldTransform(place), body->setInterpolationWorldTransform(place);
        if (moves) body->setCollisionFlags(body->getCollisionFlags() | btCollisionObject::CF_KINEMATIC_OBJECT);
        body->setActivationState(DISABLE_DEACTIVATION);
        body->setUserIndex(-1);
        bullet_.addRigidBody(body.get());
        obstacles_.push_back(std::move(body));
    }

    // Bullet derives a kinematic body's velocity from its two transforms.
    void move_obstacles(float from, float to)
    {
        for (size_t i = 0; i < obstacles_.size(); ++i) {
            const Setup::Obstacle& obstacle = *placed_[i];
            if (!obstacle.collider || !obstacle.collider->moves()) continue;
            obstacles_[i]->setInterpolationWorldTransform(pose_of(*obstacle.collider, from) * obstacle.shape.place);
            obstacles_[i]->setWorldTransform(pose_of(*obstacle.collider, to) * obstacle.shape.place);
        }
        for (const size_t b : held_) {
            bodies_[b]->setInterpolationWorldTransform(pose_of_body(b, setup_.bodies[b].held(from)));
            bodies_[b]->setWorldTransform(pose_of_body(b, setup_.bodies[b].held(to)));
        }
    }

    // Bullet's body frame is that of the principal axes.
    btTransform pose_of_body(size_t b, const RigidMotion& motion) const
    {
        return btTransform(to_bullet(Eigen::Quaterniond(motion.orientation * setup_.bodies[b].principal)),
                           to_bullet(motion.position));
    }

    void add_body(size_t b, const RigidMotion& motion, bool held)
    {
        const Body& body = setup_.bodies[b];
        auto rigid = std::make_unique<btRigidBody>(held ? 0 : body.mass, nullptr, setup_.body_shapes[b].whole(),
                                                   to_bullet(body.inertia));
        const btTransform place = pose_of_body(b, motion);
        rigid->setWorldTransform(place), rigid->setInterpolationWorldTransform(place);
        rigid->setLinearVelocity(to_bullet(motion.velocity)), rigid->setAngularVelocity(to_bullet(motion.spin));
        rigid->setLinearFactor(to_bullet(body.free_to_move)), rigid->setAngularFactor(to_bullet(body.free_to_turn));
        rigid->setFriction(body.friction), rigid->setRestitution(body.restitution);
        rigid->setDamping(0, 0);
        rigid->updateInertiaTensor();
        rigid->setActivationState(DISABLE_DEACTIVATION);
        rigid->setUserIndex(static_cast<int>(b));
        if (held) {
            rigid->setCollisionFlags(rigid->getCollisionFlags() | btCollisionObject::CF_KINEMATIC_OBJECT);
            held_.push_back(b);
        }
        bullet_.addRigidBody(rigid.get());
        bodies_.push_back(std::move(rigid));
        if (body.hinge && !held) add_hinge(*body.hinge, body, *bodies_.back());
    }

    void add_hinge(const Body::Hinge& hinge, const Body& body, btRigidBody& rigid)
    {
        const Eigen::Quaterniond to_principal = body.principal.conjugate();
        auto constraint = std::make_unique<btHingeConstraint>(
            rigid, btTypedConstraint::getFixedBody(), to_bullet(Vec3d(to_principal * hinge.anchor_in_body)),
            to_bullet(hinge.anchor), to_bullet(Vec3d(to_principal * hinge.axis_in_body)), to_bullet(hinge.axis));
        if (hinge.torque > 0) constraint->enableAngularMotor(true, hinge.speed, 0);
        bullet_.addConstraint(constraint.get());
        hinges_.push_back(std::move(constraint)), hinge_torques_.push_back(hinge.torque);
    }

    const Setup& setup_;
    std::vector<std::unique_ptr<Setup::Obstacle>> resized_;
    std::vector<const Setup::Obstacle*> placed_;
    btDefaultCollisionConfiguration configuration_;
    btCollisionDispatcher dispatcher_;
    btDbvtBroadphase broadphase_;
    btSequentialImpulseConstraintSolver solver_;
    btDiscreteDynamicsWorld bullet_;
    std::vector<std::unique_ptr<btRigidBody>> obstacles_, bodies_;
    std::vector<std::unique_ptr<btHingeConstraint>> hinges_;
    std::vector<double> hinge_torques_;
    std::vector<size_t> held_; // indices of held bodies
};

void BulletDynamics::step(std::vector<RigidMotion>& bodies, float from_frame, float to_frame, double dt) const
{
    Simulation simulation(*setup_, bodies, from_frame, true);
    simulation.step(from_frame, to_frame, dt);
    simulation.read(bodies);
}

std::vector<BulletDynamics::Overlap> BulletDynamics::overlaps(const std::vector<RigidMotion>& bodies, float frame) const
{
    return Simulation(*setup_, bodies, frame, false).overlaps();
}

} // namespace spindrift
