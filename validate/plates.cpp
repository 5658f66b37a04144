// A ball of water falls onto a plate thinner than a cell, or of two cells for comparison: particles that pass it, the
// largest energy, and the volume of the mesh at rest.
//
//     spindrift_validate plates
#include "checks.h"

#include "liquid/scenes.h"
#include "spindrift/surface/surface.h"

using namespace spindrift;

namespace {

struct Result {
    size_t behind = 0;
    double energy = 0; // largest of any frame, over that of the first
    double volume = 0; // of the mesh, over that of the particles, at the end
};

Result drop_onto_plate(float thickness, float degrees, Transfer transfer, float voxel)
{
    LiquidParams p;
    p.voxel = voxel, p.transfer = transfer;
    p.domain.min = Vec3f(0, 0, 0), p.domain.max = Vec3f(0.6f, 1.3f, 0.6f);
    SourceParams ball;
    ball.shape = ShapeParams::Kind::sphere, ball.center = Vec3f(0.3f, 1, 0.3f), ball.radius = 0.25f;
    p.sources = {ball};
    const Vec3f middle(0.3f, 0.4f, 0.3f), half(1.5f, 0.5f * thickness, 1.5f);
    ColliderParams plate;
    plate.min = middle - half, plate.max = middle + half, plate.rotate = {{0, 0, 0, 1, degrees}};
    p.colliders = {plate};
    const auto liquid = started_liquid(p);
    const double angle = degrees * kPi / 180;
    const Vec3f normal = Vec3d(-std::sin(angle), std::cos(angle), 0).cast<float>();
    const auto energy = [&] {
        double sum = 0;
        for (size_t i = 0; i < liquid->particles().size(); ++i)
            sum += 0.5 * static_cast<double>(liquid->particles().v[i].squaredNorm()) +
                   9.81 * static_cast<double>(liquid->particles().P[i].y());
        return sum;
    };
    Result result;
    const double first = energy();
    for (int frame = 0; frame < 72; ++frame) {
        liquid->advance();
        result.energy = std::max(result.energy, energy() / first);
    }
    for (const Vec3f& x : liquid->particles().P) result.behind += (x - middle).dot(normal) < 0;
    // As the stage does: the tank's walls and thin plates bound the mesh.
    Solids solids(p.domain, shapes_of(p.colliders, "collider", true), 24, p.colliders);
    solids.set_frame(1);
    solids.find_sheets(voxel);
    const Box3f tank{*p.domain.min, *p.domain.max};
    const Surface surface =
        make_surface(liquid->particles(), 0.5f * voxel, {}, tank, {}, solids.has_sheets() ? &solids : nullptr);
    result.volume =
        volume_of(surface.mesh) / (static_cast<double>(liquid->particles().size()) * liquid->particle_volume());
    return result;
}

} // namespace

void plates(Figures& figures)
{
    constexpr double kVolumeError = 1; // [%]
    fmt::print("A ball of water falls onto a plate through the whole tank. Cells of 3 cm, 72 frames.\n\n"
               "| plate [mm] | angle | transfer | behind | highest energy / first | volume at the end |\n"
               "|---|---|---|---|---|---|\n");
    for (const Transfer transfer : {Transfer::flip, Transfer::apic})
        for (const float degrees : {0.0f, 20.0f, 45.0f})
            for (const float thickness : {0.06f, 0.02f, 0.005f, 0.0005f}) {
                const Result r = drop_onto_plate(thickness, degrees, transfer, 0.03f);
                fmt::print("| {} | {} | {} | {} | {:.3f} | {:.3f} |\n", 1000 * thickness, degrees,
                           transfer == Transfer::flip ? "flip" : "apic", r.behind, r.energy, r.volume);
                const auto require = [&](const char* what, double measured, const Target& target) {
                    figures.require(fmt::format("plate of {} mm at {} degrees, {}: {}", 1000 * thickness, degrees,
                                                transfer == Transfer::flip ? "flip" : "apic", what),
                                    measured, target);
                };
                require("particles behind it", static_cast<double>(r.behind), at_most(0));
                require("largest energy over the first", r.energy, at_most(1));
                require("error of the mesh's volume", 100 * std::abs(r.volume - 1), at_most(kVolumeError, "%"));
            }
}
