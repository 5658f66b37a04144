#include "spindrift/bodies/bodies.h"

#include "base/determinism.h"
#include "liquid/scenes.h"
#include "spindrift/base/error.h"

#include <Eigen/LU>
#include <gtest/gtest.h>

namespace spindrift {
namespace {

std::unique_ptr<Bodies> bodies_of(const std::vector<BodyParams>& params, const DomainParams& domain = {},
                                  const std::vector<ColliderParams>& colliders = {})
{
    auto bodies = std::make_unique<Bodies>(params, body_shapes_of(params), domain, shapes_of(colliders));
    bodies->start(0);
    return bodies;
}

constexpr double kStep = 1.0 / 120;
const Vec3f kGravity(0, -9.81f, 0);

// Advances by some time, at 24 frames per second from frame 0.
void fall(Bodies& bodies, double seconds, double from = 0)
{
    const int steps = static_cast<int>(std::lround(seconds / kStep));
    for (int s = 1; s <= steps; ++s) {
        bodies.accelerate(kGravity, kStep);
        bodies.move(static_cast<float>((from + s * kStep) * 24), kStep);
    }
}

// --- Mass and inertia ---

TEST(Bodies, MassAndInertiaMatchTextbookFormulas)
{
    const auto bodies =
        bodies_of({box_body(Vec3f(1, 2, 3), Vec3f(0.2f, 0.4f, 0.6f), 300), ball_body(Vec3f(5, 0, 0), 0.5f, 200)});
    EXPECT_NEAR(bodies->mass(0), 300 * 0.048, 1e-4);
    EXPECT_LT((bodies->center(0) - Vec3d(1, 2, 3)).norm(), 1e-6);
    const double m = bodies->mass(0);
    EXPECT_NEAR(bodies->inertia(0)(0, 0), m / 12 * (0.16 + 0.36), 1e-5);
    EXPECT_NEAR(bodies->inertia(0)(1, 1), m / 12 * (0.04 + 0.36), 1e-5);
    EXPECT_NEAR(bodies->inertia(1)(2, 2), 0.4 * bodies->mass(1) * 0.25, 1e-5);
}

TEST(Bodies, OverlappingPartsCountOnce)
{
    // Two boxes that overlap by half are as large as one and a half.
    BodyParams body = box_body(Vec3f(0, 0, 0), Vec3f(1, 1, 1), 100);
    BodyPartParams part;
    part.min = Vec3f(0, -0.5f, -0.5f), part.max = Vec3f(1, 0.5f, 0.5f);
    body.parts = {part};
    const auto bodies = bodies_of({body});
    EXPECT_NEAR(bodies->mass(0), 150, 0.3);
    EXPECT_NEAR(bodies->center(0).x(), 0.25, 1e-3);
    EXPECT_NEAR(bodies->inertia(0)(0, 0), 150.0 / 12 * 2, 0.1);
    EXPECT_NEAR(bodies->inertia(0)(1, 1), 150.0 / 12 * (2.25 + 1), 0.15);
}

TEST(Bodies, MassPropertiesMatchBruteForceSums)
{
    // A capsule at an oblique angle, summed over a grid.
    BodyParams body;
    body.shape = ShapeParams::Kind::capsule;
    body.start = Vec3f(-0.3f, 0.1f, 0), body.end = Vec3f(0.4f, 0.3f, 0.2f), body.radius = 0.2f;
    const Shape shape(body, "a test");
    const MassProperties m = mass_properties({{shape}});
    const int n = 160;
    const double cell = 1.6 / n;
    double volume = 0;
    Mat3d second = Mat3d::Zero();
    for (int k = 0; k < n * n * n; ++k) {
        const Vec3d x = (Vec3d(k / (n * n), k / n % n, k % n).array() + 0.5) * cell - 0.8;
        if (shape.distance(x.cast<float>(), 0) >= 0) continue;
        volume += cell * cell * cell;
        second += cell * cell * cell * (x - m.center) * (x - m.center).transpose();
    }
    EXPECT_NEAR(m.volume / volume, 1, 2e-3);
    const Mat3d inertia = second.trace() * Mat3d::Identity() - second;
    EXPECT_LT((m.inertia - inertia).norm() / inertia.norm(), 3e-3);
}

// --- Motion ---

TEST(Bodies, FallWithTheSameAccelerationForAnyMass)
{
    const auto bodies = bodies_of({ball_body(Vec3f(0, 10, 0), 0.1f), box_body(Vec3f(3, 10, 0), Vec3f(1, 1, 1), 1e4f)});
    fall(*bodies, 1);
    for (size_t b = 0; b < 2; ++b) {
        EXPECT_NEAR(bodies->motion(b)[1], -9.81, 1e-4);
        EXPECT_NEAR(bodies->center(b).y(), 10 - 0.5 * 9.81, 9.81 * kStep); // first order in the step
    }
}

TEST(Bodies, AnOffCentreImpulseCausesSpin)
{
    auto bodies = bodies_of({box_body(Vec3f(0, 0, 0), Vec3f(0.2f, 0.4f, 0.6f), 300)});
    const Vec3d arm(0.1, 0.2, 0);
    bodies->push(0, 2 * lever(arm, 2)); // 2 N s along z
    const double m = bodies->mass(0);
    EXPECT_NEAR(bodies->motion(0)[2], 2 / m, 1e-9);
    EXPECT_NEAR(bodies->motion(0)[3], 2 * 0.2 / bodies->inertia(0)(0, 0), 1e-9); // x cross F along x: y Fz
    EXPECT_NEAR(bodies->motion(0)[4], -2 * 0.1 / bodies->inertia(0)(1, 1), 1e-9);
    // The velocity of the point along z is lever . motion.
    EXPECT_NEAR(lever(arm, 2).dot(bodies->motion(0)), bodies->solids()[0].velocity(arm.cast<float>()).z(), 1e-5);
}

TEST(Bodies, ComeToRestOnTheFloorAndInAStack)
{
    std::vector<BodyParams> stack;
    for (int i = 0; i < 4; ++i)
        stack.push_back(box_body(Vec3f(0, 0.1f + 0.2001f * static_cast<float>(i), 0), Vec3f(0.2f, 0.2f, 0.2f), 400));
    stack.push_back(ball_body(Vec3f(1, 0.5f, 0), 0.1f));
    const auto bodies = bodies_of(stack, closed_domain(Vec3f(-2, 0, -2), Vec3f(2, 4, 2)));
    fall(*bodies, 3);
    for (size_t b = 0; b < 4; ++b) {
        EXPECT_NEAR(bodies->center(b).y(), 0.1 + 0.2 * static_cast<double>(b), 0.004) << b;
        EXPECT_LT(bodies->center(b).head<1>().norm(), 0.004) << b;
        EXPECT_LT(bodies->motion(b).norm(), 0.02) << b << ": " << bodies->motion(b).transpose();
    }
    EXPECT_NEAR(bodies->center(4).y(), 0.1, 0.002);
}

TEST(Bodies, FrictionDecidesBetweenRestAndSlidingOnASlope)
{
    // On a plane of 20 degrees, tan 20 = 0.364: with friction 0.5 the body rests, with 0.2 it slides at g (sin - mu
    // cos).
    ColliderParams slope;
    slope.shape = ShapeParams::Kind::half_space;
    const float angle = 20 * static_cast<float>(kPi) / 180;
    slope.normal = Vec3f(std::sin(angle), std::cos(angle), 0);
    for (const float friction : {0.5f, 0.2f}) {
        BodyParams body = box_body(0.1001f * slope.normal, Vec3f(0.4f, 0.2f, 0.4f));
        body.rotation = Vec3f(0, 0, -20), body.friction = friction;
        const auto bodies = bodies_of({body}, {}, {slope});
        fall(*bodies, 1);
        const double way = (bodies->center(0) - 0.1001 * slope.normal.cast<double>()).norm();
        const double expected = friction > 0.4f ? 0 : 0.5 * 9.81 * (std::sin(angle) - 0.2 * std::cos(angle));
        EXPECT_NEAR(way, expected, 0.02 + 0.03 * expected) << friction;
    }
}

TEST(Bodies, AHingedRodSwingsWithThePendulumPeriod)
{
    // A rod of 1 m, hinged at one end: T = 2 pi sqrt(2 L / 3 g) for small amplitudes.
    const double angle = 85 * kPi / 180; // below the horizontal
    const Vec3d middle(0.5 * std::cos(angle), -0.5 * std::sin(angle), 0);
    BodyParams rod = box_body(middle.cast<float>(), Vec3f(1, 0.05f, 0.05f));
    rod.rotation = Vec3f(0, 0, -85), rod.hinge.anchor = Vec3f(0, 0, 0);
    const auto bodies = bodies_of({rod});
    const double length_term = 2 * (1.0 / 3 + 0.05 * 0.05 / 12) / 1.0; // I / (m d) with d = 1/2
    const double period = 2 * kPi * std::sqrt(length_term / 9.81);
    // It starts at the end of a swing; measure the time until it passes the lowest point for the third time.
    int crossings = 0, steps = 0;
    double before = bodies->center(0).x();
    for (; crossings < 3 && steps < 2000; ++steps) {
        bodies->accelerate(kGravity, kStep);
        bodies->move(static_cast<float>((steps + 1) * kStep * 24), kStep);
        crossings += before * bodies->center(0).x() <= 0;
        before = bodies->center(0).x();
    }
    EXPECT_NEAR(steps * kStep, 1.25 * period, 0.02 * period);
    EXPECT_NEAR(bodies->center(0).norm(), 0.5, 2e-3) << "the hinge holds";
    EXPECT_EQ(bodies->inverse_mass(0).fullPivLu().rank(), 1) << "one way to move";
}

TEST(Bodies, AMotorReachesItsSpeedWithinItsTorque)
{
    BodyParams wheel = box_body(Vec3f(0, 0, 0), Vec3f(1, 1, 0.1f), 100);
    wheel.hinge.anchor = Vec3f(0, 0, 0), wheel.hinge.speed = 90, wheel.hinge.torque = 2;
    const auto bodies = bodies_of({wheel});
    const double inertia = bodies->inertia(0)(2, 2);
    fall(*bodies, 0.1);
    EXPECT_NEAR(bodies->motion(0)[5], 2 * 0.1 / inertia, 0.02 * 2 * 0.1 / inertia);
    fall(*bodies, 3, 0.1);
    EXPECT_NEAR(bodies->motion(0)[5], kPi / 2, 0.01);
    EXPECT_LT(bodies->center(0).norm(), 1e-3);
}

TEST(Bodies, FixedAxesStayFixed)
{
    BodyParams body = box_body(Vec3f(0, 1, 0), Vec3f(0.3f, 0.2f, 0.1f));
    body.fixed_move = "xz", body.fixed_turn = "xy";
    auto bodies = bodies_of({body});
    bodies->push(0, (Vec6d() << 1, 2, 3, 0.01, 0.02, 0.03).finished());
    const Vec6d v = bodies->motion(0);
    for (const int fixed : {0, 2, 3, 4}) EXPECT_EQ(v[fixed], 0) << fixed;
    EXPECT_NEAR(v[1], 2 / bodies->mass(0), 1e-9);
    EXPECT_NEAR(v[5], 0.03 / bodies->inertia(0)(2, 2), 1e-9);
}

TEST(Bodies, CollisionsConserveMomentum)
{
    std::vector<BodyParams> two = {ball_body(Vec3f(-0.5f, 0, 0), 0.1f, 800),
                                   box_body(Vec3f(0.5f, 0.05f, 0), Vec3f(0.2f, 0.2f, 0.2f), 300)};
    two[0].velocity = Vec3f(2, 0, 0), two[1].velocity = Vec3f(-1, 0, 0);
    const auto bodies = bodies_of(two);
    const auto total = [&] { return Vec3d((bodies->momentum(0) + bodies->momentum(1)).head<3>()); };
    const Vec3d before = total();
    for (int s = 0; s < 120; ++s) bodies->move(static_cast<float>(s + 1) / 5, kStep);
    EXPECT_LT((total() - before).norm(), 1e-9 * before.norm() + 1e-9);
    EXPECT_GT(bodies->motion(1)[0], 0) << "they have met";
}

// --- Limits and resuming ---

TEST(Bodies, AMovingColliderPushesABody)
{
    ColliderParams plate;
    plate.min = Vec3f(-1, -0.2f, -1), plate.max = Vec3f(-0.5f, 0.4f, 1);
    plate.translate = {{0, 0, 0, 0}, {24, 1, 0, 0}}; // 1 m in 1 s
    BodyParams body = box_body(Vec3f(0, 0.1001f, 0), Vec3f(0.2f, 0.2f, 0.2f));
    const auto bodies = bodies_of({body}, closed_domain(Vec3f(-5, 0, -5), Vec3f(5, 5, 5)), {plate});
    fall(*bodies, 0.9);
    EXPECT_NEAR(bodies->center(0).x(), -0.5 + 0.9 + 0.1, 0.02);
    EXPECT_NEAR(bodies->motion(0)[0], 1, 0.05);
}

TEST(Bodies, StayAtRestUntilReleased)
{
    BodyParams body = box_body(Vec3f(0, 5, 0), Vec3f(0.2f, 0.3f, 0.4f));
    body.release = 12, body.velocity = Vec3f(1, 0, 0), body.spin = Vec3f(0, 90, 0);
    const auto bodies = bodies_of({body});
    EXPECT_TRUE(bodies->held(0));
    fall(*bodies, 0.4);
    bodies->push(0, six(Vec3d(1e6, 0, 0), Vec3d(1e6, 0, 0))); // impulses do not move a held body
    EXPECT_LT((bodies->center(0) - Vec3d(0, 5, 0)).norm(), 1e-12);
    EXPECT_EQ(bodies->motion(0).norm(), 0);
    fall(*bodies, 0.6, 0.4); // half a second after its release at 0.5 s
    EXPECT_FALSE(bodies->held(0));
    EXPECT_NEAR(bodies->motion(0)[1], -9.81 * 0.5, 1e-4);
    EXPECT_NEAR(bodies->center(0).y(), 5 - 0.5 * 9.81 * 0.25, 9.81 * 0.5 * kStep);
    EXPECT_NEAR(bodies->center(0).x(), 0.5, 1e-3) << "with the velocity of the scene";
    EXPECT_NEAR(bodies->motion(0)[4], kPi / 2, 1e-3);
}

TEST(Bodies, KeepTheirKeyframedVelocityOnRelease)
{
    BodyParams body = box_body(Vec3f(0, 5, 0), Vec3f(0.2f, 0.3f, 0.4f));
    body.release = 12;
    body.held.translate = {{0, 0, 0, 0}, {12, 1, 0, 0}};     // 2 m/s, exactly until the release frame
    body.held.rotate = {{0, 0, 1, 0, 0}, {12, 0, 1, 0, 90}}; // pi rad/s
    body.held.pivot = Vec3f(0, 5, 1);                        // so that the centre moves with the rotation
    const auto bodies = bodies_of({body});
    fall(*bodies, 0.25);
    EXPECT_NEAR(bodies->center(0).x(), 0.5 - std::sin(kPi / 4), 1e-5);
    EXPECT_NEAR(bodies->center(0).z(), 1 - std::cos(kPi / 4), 1e-5);
    EXPECT_NEAR(bodies->center(0).y(), 5, 1e-6);
    // The reported velocity matches the displacement.
    const Vec3d before = bodies->center(0), velocity = bodies->motion(0).head<3>();
    bodies->move(6.02f, 0.02 / 24);
    EXPECT_LT(((bodies->center(0) - before) / (0.02 / 24) - velocity).norm(), 0.01);
    for (int s = 1; s <= 30; ++s) bodies->move(6.02f + static_cast<float>(s) / 30 * 5.98f, 5.98 / 24 / 30);
    EXPECT_FALSE(bodies->held(0));
    const Vec6d at_release = bodies->motion(0);
    EXPECT_LT((at_release.head<3>() - Vec3d(2, 0, kPi)).norm(), 1e-3) << at_release.transpose();
    EXPECT_LT((at_release.tail<3>() - Vec3d(0, kPi, 0)).norm(), 1e-3);
    bodies->move(13, 1.0 / 24);
    EXPECT_LT((bodies->motion(0) - at_release).norm(), 0.02) << "free, and nothing pushes it";
}

TEST(Bodies, AHeldBodyPushesOthersAndIsNotPushed)
{
    // As in AMovingColliderPushesABody, with a held body as the plate.
    BodyParams plate = box_body(Vec3f(-0.75f, 0.3f, 0), Vec3f(0.5f, 0.4f, 2)),
               body = box_body(Vec3f(0, 0.1001f, 0), Vec3f(0.2f, 0.2f, 0.2f));
    plate.release = 100, plate.held.translate = {{0, 0, 0, 0}, {24, 1, 0, 0}};
    const auto bodies = bodies_of({plate, body}, closed_domain(Vec3f(-5, 0, -5), Vec3f(5, 5, 5)));
    fall(*bodies, 0.9);
    EXPECT_NEAR(bodies->center(0).x(), -0.75 + 0.9, 1e-5);
    EXPECT_NEAR(bodies->center(1).x(), -0.5 + 0.9 + 0.1, 0.02);
    EXPECT_NEAR(bodies->motion(1)[0], 1, 0.05);
}

TEST(Bodies, ResumeExactlyBeforeAndAfterARelease)
{
    BodyParams body = box_body(Vec3f(0, 1, 0), Vec3f(0.2f, 0.3f, 0.4f));
    body.release = 6, body.held.translate = {{0, 0, 0, 0}, {6, 0.5f, 0, 0}},
    body.held.interpolation = Interpolation::smooth;
    const auto domain = closed_domain(Vec3f(-5, 0, -5), Vec3f(5, 5, 5));
    const auto whole = bodies_of({body}, domain);
    for (int frame = 1; frame <= 12; ++frame) {
        const auto resumed = bodies_of({body}, domain);
        resumed->restore(whole->state(), static_cast<float>(frame - 1));
        for (const auto* bodies : {&whole, &resumed}) {
            (*bodies)->accelerate(kGravity, 1.0 / 24);
            (*bodies)->move(static_cast<float>(frame), 1.0 / 24);
        }
        ASSERT_EQ(whole->motion(0), resumed->motion(0)) << frame;
        ASSERT_EQ(whole->center(0), resumed->center(0)) << frame;
    }
}

TEST(Bodies, AGrowingColliderPushesThemOut)
{
    // A ball under a plank grows from 0.1 to 0.3 m; the plank ends on top of it.
    ColliderParams ball;
    ball.shape = ShapeParams::Kind::sphere, ball.center = Vec3f(3, 0, 0), ball.radius = 0.1f;
    ball.scale = {{0, 1, 1, 1}, {24, 3, 3, 3}};
    BodyParams plank = box_body(Vec3f(3, 0.16f, 0), Vec3f(0.5f, 0.1f, 0.5f));
    plank.fixed_turn = "xyz", plank.fixed_move = "xz";
    const auto bodies = bodies_of({plank}, {}, {ball});
    fall(*bodies, 2);
    EXPECT_NEAR(bodies->center(0).y(), 0.3 + 0.05, 0.01);
}

TEST(Bodies, ABodyThatStartsInsideASolidIsRefused)
{
    const auto complaint = [](const std::vector<BodyParams>& bodies) -> std::string {
        try {
            bodies_of(bodies, closed_domain(Vec3f(0, 0, 0), Vec3f(1, 1, 1)));
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ExitCode::bad_input);
            return error.what();
        }
        return "";
    };
    BodyParams sunk = box_body(Vec3f(0.5f, 0.05f, 0.5f), Vec3f(0.2f, 0.2f, 0.2f));
    sunk.name = "crate";
    EXPECT_EQ(complaint({sunk}),
              "the body \"crate\" starts 0.05 m deep inside a wall or collider; move it, or make it smaller");
    EXPECT_NE(complaint({ball_body(Vec3f(0.5f, 0.5f, 0.5f), 0.2f), ball_body(Vec3f(0.6f, 0.5f, 0.5f), 0.2f)}), "");
    EXPECT_EQ(complaint({box_body(Vec3f(0.5f, 0.1f, 0.5f), Vec3f(0.2f, 0.2f, 0.2f))}), "") << "standing is allowed";
    sunk.release = 5; // held bodies may overlap colliders if they are free at their release
    EXPECT_EQ(complaint({sunk}), "the body \"crate\" is 0.05 m deep inside a wall or collider when it is released at "
                                 "frame 5; release it elsewhere");
    sunk.held.translate = {{0, 0, 0, 0}, {5, 0, 0.2f, 0}};
    EXPECT_EQ(complaint({sunk}), "");
}

TEST(Bodies, ResumeExactlyInTheMiddleOfACollapse)
{
    std::vector<BodyParams> pile;
    for (int i = 0; i < 12; ++i) {
        const float x = 0.07f * static_cast<float>(i % 3), y = 0.2f + 0.25f * static_cast<float>(i / 3);
        if (i % 2)
            pile.push_back(ball_body(Vec3f(0.3f * x + 0.25f * static_cast<float>(i % 3), y, 0.02f * x), 0.1f));
        else
            pile.push_back(box_body(Vec3f(0.25f * static_cast<float>(i % 3), y, x), Vec3f(0.2f, 0.15f, 0.18f), 900));
    }
    const DomainParams room = closed_domain(Vec3f(-1, 0, -1), Vec3f(1, 4, 1));
    const auto straight = bodies_of(pile, room);
    fall(*straight, 0.5);
    const auto saved = straight->state();
    fall(*straight, 1, 0.5);
    const auto resumed = bodies_of(pile, room);
    resumed->restore(saved, 12);
    fall(*resumed, 1, 0.5);
    EXPECT_GT((straight->center(0) - saved[0].position).norm(), 1e-4) << "it still moves";
    for (size_t b = 0; b < pile.size(); ++b) {
        const RigidMotion &one = straight->state()[b], &other = resumed->state()[b];
        EXPECT_EQ(one.position, other.position) << b;
        EXPECT_EQ(one.orientation.coeffs(), other.orientation.coeffs()) << b;
        EXPECT_EQ(one.velocity, other.velocity) << b;
        EXPECT_EQ(one.spin, other.spin) << b;
    }
}

} // namespace
} // namespace spindrift
