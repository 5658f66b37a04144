#include "spindrift/bodies/bullet_world.h"

#include <BulletCollision/CollisionDispatch/btManifoldResult.h>
#include <LinearMath/btConvexHullComputer.h>
#include <btBulletDynamicsCommon.h>

namespace spindrift {

namespace {

constexpr double kLongestStep = 1.0 / 240; // [s]
constexpr int kIterations = 60;            // of the contact solver, which starts from nothing in each step
constexpr double kMargin = 1e-3;           // around shapes, of their smallest size

btVector3 to_bullet(const Vec3d& v) { return {v.x(), v.y(), v.z()}; }
btVector3 to_bullet(const Vec3f& v) { return to_bullet(Vec3d(v.cast<double>())); }
btQuaternion to_bullet(const Eigen::Quaterniond& q) { return {q.x(), q.y(), q.z(), q.w()}; }
btTransform to_bullet(const Mat3f& rotation, const Vec3f& offset)
{
    return btTransform(to_bullet(Eigen::Quaterniond(rotation.cast<double>())), to_bullet(offset));
}
Vec3d from_bullet(const btVector3& v) { return {v.x(), v.y(), v.z()}; }
Eigen::Quaterniond from_bullet(const btQuaternion& q) { return {q.w(), q.x(), q.y(), q.z()}; }

// ------------------------------------------------------------------------------------------------------------- shapes

// Bullet's shapes refer to each other by pointers; here is everything that one needs, and where it stands.
struct BulletShape {
    std::vector<std::unique_ptr<btCollisionShape>> owned; // the last is the whole
    std::unique_ptr<btTriangleMesh> triangles;            // of a mesh
    btTransform place = btTransform::getIdentity();
    btCollisionShape* whole() const { return owned.back().get(); }
};

// A convex shape of given kind in its own frame, and that frame's place.
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
    constexpr int kMostCorners = 256; // for contacts of whole faces; beyond, one point at a time will do
    std::vector<btVector3> points;
    for (const Vec3f& x : mesh.positions) points.push_back(to_bullet(x));
    btConvexHullComputer computer;
    const double margin = kMargin * static_cast<double>(bounds_of(mesh).size().minCoeff());
    computer.compute(points.front().m_floats, sizeof(btVector3), static_cast<int>(points.size()), margin, 0.2);
    auto hull = std::make_unique<btConvexHullShape>();
    for (int i = 0; i < computer.vertices.size(); ++i) hull->addPoint(computer.vertices[i], false);
    hull->setMargin(margin);
    hull->recalcLocalAabb();
    if (computer.vertices.size() <= kMostCorners) hull->initializePolyhedralFeatures();
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
        break; // is no body
    }
    return convex;
}

// Around the principal axes at the centre of mass, as Bullet wants a body.
BulletShape body_shape(const BulletWorld::Body& body)
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
    // One shape in its middle needs no compound around it.
    const btTransform& first = compound->getChildTransform(0);
    const double size = body.solid->radius();
    if (result.owned.size() == 1 && first.getOrigin().length() < 1e-7 * size &&
        first.getRotation().getAngleShortestPath() < 1e-7)
        return result;
    result.owned.push_back(std::move(compound));
    return result;
}

// A thick plate on each closed side of a box, out of which nothing gets.
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
    const auto corner = [&](int i) { return to_bullet(mesh.positions[static_cast<size_t>(i)]); };
    for (const Vec3i& t : mesh.triangles) shape.triangles->addTriangle(corner(t[0]), corner(t[1]), corner(t[2]));
    shape.owned.push_back(std::make_unique<btBvhTriangleMeshShape>(shape.triangles.get(), true));
    shape.whole()->setMargin(kMargin * static_cast<double>(bounds_of(mesh).size().minCoeff()));
    return shape;
}

// A collider as it is without its keyframes, but for its size.
Shape sized(const Shape& collider, const Vec3f& scale)
{
    ShapeParams p = collider.params();
    p.invert = false;
    static_cast<MotionParams&>(p) = MotionParams();
    if (scale != Vec3f::Ones()) p.scale = {{0, scale.x(), scale.y(), scale.z()}}, p.pivot = collider.pivot();
    return Shape(p, "a collider");
}

// A collider before keyframes turn and shift it.
std::vector<BulletShape> collider_shapes(const Shape& collider, const Vec3f& scale)
{
    ShapeParams p = collider.params();
    const bool even = scale.x() == scale.y() && scale.y() == scale.z();
    if (scale != Vec3f::Ones()) { // Bullet's own shapes have no size besides that of their parameters
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
        shapes.push_back(surface_shape(sized(collider, scale).mesh(0)));
    } else if (!even && p.shape != ShapeParams::Kind::box) {
        BulletShape shape;
        shape.owned.push_back(hull_shape(sized(collider, scale).mesh(0)));
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

// What keyframes do to a collider: they carry three points, and a fourth is at a right angle to them.
btTransform place_of(const Shape& collider, float frame)
{
    const Vec3f origin = collider.placed(Vec3f::Zero(), frame);
    Mat3f rotation;
    for (int a = 0; a < 3; ++a) rotation.col(a) = collider.placed(Vec3f::Unit(a), frame) - origin;
    if (!collider.motion().scales()) return to_bullet(rotation, origin);
    rotation.colwise().normalize(); // its size is in the shape, which is scaled about the pivot
    return to_bullet(rotation, collider.placed(collider.pivot(), frame) - rotation * collider.pivot());
}

Vec3f scale_of(const Shape& collider, float frame)
{
    return collider.motion().scales() ? Vec3f(collider.motion().at(frame).scale.cast<float>()) : Vec3f::Ones();
}

// ------------------------------------------------------------------------------------------- what happens at a contact

// A wall has nothing to say about it.
double of_pair(const btCollisionObject* a, const btCollisionObject* b, double value_a, double value_b)
{
    if (a->isStaticOrKinematicObject()) return value_b;
    if (b->isStaticOrKinematicObject()) return value_a;
    return std::sqrt(value_a * value_b);
}
double friction_of(const btCollisionObject* a, const btCollisionObject* b)
{
    return of_pair(a, b, a->getFriction(), b->getFriction());
}
double restitution_of(const btCollisionObject* a, const btCollisionObject* b)
{
    return of_pair(a, b, a->getRestitution(), b->getRestitution());
}

} // namespace

// Shapes, which are made once.
struct BulletWorld::Scene {
    struct Obstacle {
        BulletShape shape;
        const Shape* collider = nullptr; // that moves it, or none
        Vec3f scale = Vec3f::Ones();     // of that, when the shape was made
        size_t part = 0;                 // of its shapes
    };
    std::vector<Body> bodies;
    std::vector<BulletShape> body_shapes;
    std::vector<Shape> colliders;
    std::vector<Obstacle> obstacles;
};

BulletWorld::BulletWorld(std::vector<Body> bodies, const DomainParams& domain, std::vector<Shape> colliders)
    : scene_(std::make_unique<Scene>())
{
    gCalculateCombinedFrictionCallback = friction_of;
    gCalculateCombinedRestitutionCallback = restitution_of;
    scene_->bodies = std::move(bodies), scene_->colliders = std::move(colliders);
    for (const Body& body : scene_->bodies) scene_->body_shapes.push_back(body_shape(body));
    std::vector<BulletShape> walls;
    if (domain.bounded())
        add_plates(
            {*domain.min, *domain.max}, [&](int axis, int upper) { return domain.closed(axis, upper); }, walls);
    for (BulletShape& wall : walls) scene_->obstacles.push_back({std::move(wall)});
    for (const Shape& collider : scene_->colliders) {
        const Vec3f scale = scale_of(collider, 0);
        size_t part = 0;
        for (BulletShape& shape : collider_shapes(collider, scale))
            scene_->obstacles.push_back({std::move(shape), &collider, scale, part++});
    }
}

BulletWorld::~BulletWorld() = default;

// ------------------------------------------------------------------------------------------------------------- a step

// Bullet's own world, at one moment. Everything is added in the same order, whatever happened before.
class BulletWorld::Moment {
  public:
    // `hold`: bodies that are not released yet are moved, and do not move by themselves.
    Moment(const Scene& scene, const std::vector<RigidMotion>& motion, float frame, bool hold)
        : scene_(scene), configuration_(pools()), dispatcher_(&configuration_),
          world_(&dispatcher_, &broadphase_, &solver_, &configuration_)
    {
        configuration_.setConvexConvexMultipointIterations(3, 3);
        configuration_.setPlaneConvexMultipointIterations(3, 3);
        world_.setGravity({0, 0, 0});
        btContactSolverInfo& info = world_.getSolverInfo();
        info.m_numIterations = kIterations;
        info.m_splitImpulse = 1, info.m_splitImpulsePenetrationThreshold = 0; // getting out of overlaps adds no speed
        info.m_solverMode = SOLVER_USE_2_FRICTION_DIRECTIONS;
        for (const Scene::Obstacle& obstacle : scene.obstacles) add_obstacle(sized_now(obstacle, frame), frame);
        for (size_t b = 0; b < motion.size(); ++b) add_body(b, motion[b], hold && frame < scene.bodies[b].release);
    }
    ~Moment()
    {
        for (const auto& hinge : hinges_) world_.removeConstraint(hinge.get());
        for (const auto& body : bodies_) world_.removeRigidBody(body.get());
        for (const auto& obstacle : obstacles_) world_.removeRigidBody(obstacle.get());
    }
    Moment(const Moment&) = delete;

    void step(float from_frame, float to_frame, double dt)
    {
        const int steps = std::max(1, static_cast<int>(std::ceil(dt / kLongestStep - 1e-6)));
        for (int s = 0; s < steps; ++s) {
            const auto at = [&](int n) {
                return mix(from_frame, to_frame, static_cast<float>(n) / static_cast<float>(steps));
            };
            move_obstacles(at(s), at(s + 1));
            for (size_t h = 0; h < hinges_.size(); ++h) hinges_[h]->setMaxMotorImpulse(hinge_torques_[h] * dt / steps);
            world_.stepSimulation(dt / steps, 0);
        }
    }

    void read(std::vector<RigidMotion>& motion) const
    {
        for (size_t b = 0; b < motion.size(); ++b) {
            const btTransform& place = bodies_[b]->getWorldTransform();
            const Eigen::Quaterniond turn = from_bullet(place.getRotation()) * scene_.bodies[b].principal.conjugate();
            motion[b] = {from_bullet(place.getOrigin()), turn.normalized(),
                         from_bullet(bodies_[b]->getLinearVelocity()), from_bullet(bodies_[b]->getAngularVelocity())};
        }
    }

    std::vector<Overlap> overlaps()
    {
        world_.performDiscreteCollisionDetection();
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
        btDefaultCollisionConstructionInfo info; // more is taken from the heap
        info.m_defaultMaxPersistentManifoldPoolSize = info.m_defaultMaxCollisionAlgorithmPoolSize = 64;
        return info;
    }

    // A collider that has another size by now gets a shape for this moment; within the step it keeps it.
    const Scene::Obstacle& sized_now(const Scene::Obstacle& obstacle, float frame)
    {
        if (!obstacle.collider) return obstacle;
        const Vec3f scale = scale_of(*obstacle.collider, frame);
        if (scale == obstacle.scale) return obstacle;
        BulletShape shape = std::move(collider_shapes(*obstacle.collider, scale)[obstacle.part]);
        resized_.push_back(std::make_unique<Scene::Obstacle>(
            Scene::Obstacle{std::move(shape), obstacle.collider, scale, obstacle.part}));
        return *resized_.back();
    }

    void add_obstacle(const Scene::Obstacle& obstacle, float frame)
    {
        placed_.push_back(&obstacle);
        auto body = std::make_unique<btRigidBody>(0, nullptr, obstacle.shape.whole());
        const bool moves = obstacle.collider && obstacle.collider->moves();
        btTransform place = obstacle.shape.place;
        if (obstacle.collider) place = place_of(*obstacle.collider, frame) * place;
        body->setWorldTransform(place), body->setInterpolationWorldTransform(place);
        if (moves) body->setCollisionFlags(body->getCollisionFlags() | btCollisionObject::CF_KINEMATIC_OBJECT);
        body->setActivationState(DISABLE_DEACTIVATION);
        body->setUserIndex(-1);
        world_.addRigidBody(body.get());
        obstacles_.push_back(std::move(body));
    }

    // Bullet takes a kinematic body's velocity from the way between its two transforms.
    void move_obstacles(float from, float to)
    {
        for (size_t i = 0; i < obstacles_.size(); ++i) {
            const Scene::Obstacle& obstacle = *placed_[i];
            if (!obstacle.collider || !obstacle.collider->moves()) continue;
            obstacles_[i]->setInterpolationWorldTransform(place_of(*obstacle.collider, from) * obstacle.shape.place);
            obstacles_[i]->setWorldTransform(place_of(*obstacle.collider, to) * obstacle.shape.place);
        }
        for (const size_t b : held_) {
            bodies_[b]->setInterpolationWorldTransform(place_of_body(b, scene_.bodies[b].held(from)));
            bodies_[b]->setWorldTransform(place_of_body(b, scene_.bodies[b].held(to)));
        }
    }

    // Bullet has a body in its principal axes.
    btTransform place_of_body(size_t b, const RigidMotion& motion) const
    {
        return btTransform(to_bullet(Eigen::Quaterniond(motion.orientation * scene_.bodies[b].principal)),
                           to_bullet(motion.position));
    }

    void add_body(size_t b, const RigidMotion& motion, bool held)
    {
        const Body& body = scene_.bodies[b];
        auto rigid = std::make_unique<btRigidBody>(held ? 0 : body.mass, nullptr, scene_.body_shapes[b].whole(),
                                                   to_bullet(body.inertia));
        const btTransform place = place_of_body(b, motion);
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
        world_.addRigidBody(rigid.get());
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
        world_.addConstraint(constraint.get());
        hinges_.push_back(std::move(constraint)), hinge_torques_.push_back(hinge.torque);
    }

    const Scene& scene_;
    std::vector<std::unique_ptr<Scene::Obstacle>> resized_;
    std::vector<const Scene::Obstacle*> placed_;
    btDefaultCollisionConfiguration configuration_;
    btCollisionDispatcher dispatcher_;
    btDbvtBroadphase broadphase_;
    btSequentialImpulseConstraintSolver solver_;
    btDiscreteDynamicsWorld world_;
    std::vector<std::unique_ptr<btRigidBody>> obstacles_, bodies_;
    std::vector<std::unique_ptr<btHingeConstraint>> hinges_;
    std::vector<double> hinge_torques_;
    std::vector<size_t> held_; // bodies
};

void BulletWorld::step(std::vector<RigidMotion>& bodies, float from_frame, float to_frame, double dt) const
{
    Moment moment(*scene_, bodies, from_frame, true);
    moment.step(from_frame, to_frame, dt);
    moment.read(bodies);
}

std::vector<BulletWorld::Overlap> BulletWorld::overlaps(const std::vector<RigidMotion>& bodies, float frame) const
{
    return Moment(*scene_, bodies, frame, false).overlaps();
}

} // namespace spindrift
