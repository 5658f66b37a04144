// Rigid bodies in the liquid against Archimedes' law and conservation of momentum.
//
//     spindrift_validate bodies
#include "checks.h"

#include "liquid/scenes.h"

using namespace spindrift;

namespace {

constexpr float kDensity = 1000;

void draughts()
{
    fmt::print(
        "\nA box of 0.5 x 0.3 x 0.5 m is let go 2 cm above its draught in a tank of 1.2 m with water of 0.6 m; the "
        "mean from 3 to 6 s.\n\n| cell [m] | density [kg/m3] | draught [m] | exact [m] | error "
        "|\n|---|---|---|---|---|\n");
    const Vec3f size(0.5f, 0.3f, 0.5f);
    const double area = static_cast<double>(size.x() * size.z()), half = 0.5 * static_cast<double>(size.y());
    for (const float voxel : {0.05f, 0.03f})
        for (const float density : {250.0f, 500.0f, 750.0f}) {
            LiquidParams p;
            p.voxel = voxel, p.flip = 0.9f;
            p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f::Constant(1.2f));
            p.sources = {box_source(Vec3f(0, 0, 0), Vec3f(1.2f, 0.6f, 1.2f))};
            const float draught = size.y() * density / kDensity;
            p.bodies = {box_body(Vec3f(0.61f, 0.62f - draught + 0.5f * size.y(), 0.59f), size, density)};
            const auto liquid = started_liquid(p);
            constexpr int kFirst = 72, kLast = 144;
            double found = 0;
            for (int frame = 0; frame < kLast; ++frame) {
                liquid->advance();
                if (frame < kFirst) continue;
                const double volume = static_cast<double>(liquid->particles().size()) * liquid->particle_volume();
                const double bottom = liquid->bodies().center(0).y() - half;
                found += ((volume - bottom * area) / (1.44 - area) - bottom) / (kLast - kFirst);
            }
            fmt::print("| {} | {} | {:.4f} | {:.4f} | {:+.2f}% |\n", voxel, density, found, draught,
                       100 * (found / draught - 1));
        }
}

// The orientation in which a cube floats: the angle of its steepest axis from the vertical.
void cube_that_tips()
{
    fmt::print("\nA cube of 0.4 m after 10 s. Where s = density / 1000 has 6 s (1 - s) > 1, from 0.211 to 0.789, its "
               "metacentre "
               "is below its centre of mass and it does not float upright; a corner up would be 54.7 degrees.\n\n"
               "| density [kg/m3] | its steepest axis is off upright by |\n|---|---|\n");
    for (const float density : {100.0f, 500.0f, 900.0f}) {
        LiquidParams p;
        p.voxel = 0.05f, p.flip = 0.95f;
        p.domain = closed_domain(Vec3f(0, 0, 0), Vec3f::Constant(1.2f));
        p.sources = {box_source(Vec3f(0, 0, 0), Vec3f(1.2f, 0.6f, 1.2f))};
        p.bodies = {
            box_body(Vec3f(0.61f, 0.6f - 0.4f * density / kDensity + 0.2f, 0.59f), Vec3f::Constant(0.4f), density)};
        const auto liquid = started_liquid(p);
        double cosine = 0;
        for (int frame = 0; frame < 240; ++frame) {
            liquid->advance();
            const auto turn = liquid->bodies().place(0).orientation.toRotationMatrix();
            if (frame >= 192) cosine += turn.row(1).cwiseAbs().maxCoeff() / 48;
        }
        fmt::print("| {} | {:.1f} degrees |\n", density, std::acos(std::min(1.0, cosine)) * 180 / kPi);
    }
}

// Without gravity and walls, box and water together keep their momentum.
void momentum()
{
    fmt::print(
        "\nA box of 0.2 m and twice the water's density is shot at 2 m/s, turning, into a ball of water of 0.6 m, "
        "without gravity.\n\n| cell [m] | seconds | momentum of the box [kg m/s] | of the water | of both | change "
        "|\n|---|---|---|---|---|---|\n");
    for (const float voxel : {0.025f, 0.0125f}) {
        LiquidParams p;
        p.voxel = voxel, p.gravity = Vec3f::Zero(), p.transfer = Transfer::apic;
        SourceParams ball;
        ball.shape = ShapeParams::Kind::sphere, ball.center = Vec3f(0, 0, 0), ball.radius = 0.3f;
        p.sources = {ball};
        p.bodies = {box_body(Vec3f(-0.5f, 0.05f, 0), Vec3f::Constant(0.2f), 2 * kDensity)};
        p.bodies[0].velocity = Vec3f(2, 0, 0), p.bodies[0].spin = Vec3f(100, 0, 200);
        const auto liquid = started_liquid(p);
        const double start = liquid->bodies().momentum(0)[0];
        for (int frame = 1; frame <= 24; ++frame) {
            liquid->advance();
            if (frame % 8 != 0) continue;
            double water = 0;
            for (const Vec3f& v : liquid->particles().v) water += static_cast<double>(v.x());
            water *= kDensity * liquid->particle_volume();
            const double body = liquid->bodies().momentum(0)[0];
            fmt::print("| {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:+.1f}% |\n", voxel,
                       static_cast<float>(frame) / kFps, body, water, body + water, 100 * ((body + water) / start - 1));
        }
    }
}

} // namespace

void floating_bodies(Figures&)
{
    draughts();
    cube_that_tips();
    momentum();
}
