#include "liquid/liquid.h"

#include "base/error.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "field/row.h"

namespace spindrift {

namespace {

constexpr int kReach = 2;              // cells around particles that the grid covers
constexpr int kParticlesAlongEdge = 2; // of a cell: 8 particles
constexpr int kMaxSubsteps = 500;

} // namespace

Liquid::Liquid(const LiquidParams& params, std::vector<Shape> sources, std::vector<Shape> colliders, float fps)
    : params_(params), sources_(std::move(sources)), fps_(fps), solids_(params.domain, std::move(colliders), fps)
{
}

float Liquid::particle_radius() const { return static_cast<float>(std::cbrt(particle_volume() * 3 / (4 * kPi))); }

double Liquid::particle_volume() const { return std::pow(static_cast<double>(params_.voxel) / kParticlesAlongEdge, 3); }

size_t Liquid::bytes() const
{
    return particles_.bytes() + topology_.bytes() + index_.bytes() + solid_cells_.bytes() + velocity_.bytes() +
           before_.bytes() + weight_.bytes() + phi_.bytes() + crowding_.bytes() + projection_.bytes() +
           viscosity_.bytes() + cell_viscosity_.bytes() + strain_.bytes() + heat_.bytes();
}

void Liquid::start(int frame)
{
    frame_ = frame, next_id_ = 0;
    particles_ = {};
    if (params_.transfer == Transfer::apic)
        for (const char* name : kAffine) particles_.attribute<Vec3f>(name);
    if (params_.elasticity > 0)
        for (const char* name : {kStrainDiagonal, kStrainShear}) particles_.attribute<Vec3f>(name);
    time_ = static_cast<float>(frame);
    solids_.set_frame(time_);
    emit(time_, true);
    speed_ = 0;
    for (const Vec3f& v : particles_.v) speed_ = std::max(speed_, v.cwiseAbs().maxCoeff());
}

void Liquid::restore(State state)
{
    frame_ = state.frame, next_id_ = state.next_id, speed_ = state.speed;
    particles_ = std::move(state.particles);
}

LiquidReport Liquid::advance()
{
    report_ = {};
    const float frame_time = 1 / fps_;
    float left = frame_time;
    while (left > 0) {
        check_interrupt();
        solids_.set_frame(static_cast<float>(frame_) + (frame_time - left) * fps_);
        const float steps = std::ceil(left / largest_step() - 1e-3f);
        if (!(steps <= kMaxSubsteps))
            fail("frame {}: the liquid would need {} substeps; its fastest particle is not plausible. Check velocities "
                 "of "
                 "sources and colliders, or raise liquid.voxel",
                 frame_ + 1, steps);
        const float dt = steps <= 1 ? left : left / steps;
        time_ = static_cast<float>(frame_) + (frame_time - left + dt) * fps_;
        solids_.set_frame(time_);
        emit(time_, false);
        substep(dt);
        left = steps <= 1 ? 0 : left - dt;
        ++report_.substeps;
    }
    ++frame_;
    report_.particles = particles_.size();
    report_.tiles = static_cast<size_t>(topology_.tile_count());
    report_.liquid_cells = projection_.liquid_cells();
    return report_;
}

void Liquid::substep(float dt)
{
    if (particles_.size() == 0) return;
    const float voxel = params_.voxel;
    const auto phase = [&](const char* name, const auto& body) { report_.times.measure(name, body); };

    phase("sort", [&] { // the grid follows the liquid
        topology_ = tiles_around(particles_, voxel, kReach);
        sort_by_tile(particles_, topology_, voxel, index_);
    });
    phase("to grid", [&] {
        to_grid(particles_, index_, topology_, voxel, params_.transfer, velocity_, weight_); // (2.11)
    });
    phase("surface", [&] {
        solid_cells_.update(topology_, solids_, voxel);
        distance_to_surface(particles_, index_, topology_, voxel, solid_cells_, phi_);
        if (params_.keep_volume) measure_crowding(weight_, phi_, solid_cells_, crowding_);
    });
    if (params_.has_heat())
        phase("heat", [&] { heat_.exchange(params_.heat, index_, phi_, solid_cells_, voxel, dt, particles_); });
    phase("forces", [&] {
        // Velocities in solids follow from those outside, here as after the projection: FLIP must see no change between
        // the two that is only a different way to fill them.
        forget_closed_faces(weight_);
        extrapolate(velocity_, weight_, 1);
        if (params_.transfer == Transfer::flip) before_.copy_from(velocity_);
        add_forces(dt); // (2.12)
    });
    phase("pressure", [&] { // (2.15)-(2.19)
        projection_.prepare(topology_, phi_, solids_, solid_cells_, voxel);
        report_.iterations += projection_.make_divergence_free(velocity_, weight_, params_.tolerance).iterations;
    });
    if (params_.viscous()) {
        phase("viscosity", [&] { add_viscosity(dt); });
        phase("pressure again", [&] { // what sticking to solids did to the divergence
            report_.iterations += projection_.make_divergence_free(velocity_, weight_, params_.tolerance).iterations;
            viscosity_.mark_known(weight_);
        });
        if (params_.elasticity > 0) // while the velocity at solids is still theirs: the liquid sticks to them
            phase("elasticity", [&] {
                update_strain(velocity_, strain_, viscosity_.shares(), index_, voxel, dt,
                              {params_.yield_strain, params_.relaxation}, particles_);
            });
    }
    phase("extrapolate", [&] {
        // Next to the surface the liquid goes on, volume for volume; farther off, drops keep their own motion.
        extrapolate(velocity_, weight_, 1);
        projection_.close_surface(velocity_);
        speed_ = largest_known(velocity_, weight_);
        accept_provisional(weight_);
        extrapolate(velocity_, weight_, static_cast<int>(std::ceil(std::min(speed_ * dt / voxel, params_.cfl))) + 2);
        constrain_to_solids();
    });
    phase("to particles", [&] {
        strays_.find(particles_, index_, phi_, voxel);
        to_particles(velocity_, before_, params_.transfer, params_.flip, index_, voxel, particles_); // (2.20)
    });
    phase("even out", [&] {
        if (params_.keep_volume) projection_.spread(crowding_, voxel, dt, velocity_);
    });
    phase("advect", [&] {
        advect(particles_, index_, velocity_, voxel, dt, params_.advection_order); // (2.21)
        strays_.fly(particles_, params_.gravity, voxel, dt,
                    [&](const Vec3f& x, float time) { return in_solid(x) || in_liquid(x, time); });
        collide();
    });
}

// Between two projections: without the first, the fall that pressure is about to stop would look like shear at the
// walls, and still honey would creep.
void Liquid::add_viscosity(float dt)
{
    const float voxel = params_.voxel;
    extrapolate(velocity_, weight_, 1);
    KinematicViscosity viscosity{params_.viscosity / params_.density, nullptr};
    if (particles_.find<float>(kViscosityAttribute)) {
        viscosity_at_cells(particles_, index_, topology_, params_.density, cell_viscosity_);
        viscosity = {0, &cell_viscosity_};
    }
    viscosity.elasticity = params_.elasticity / params_.density;
    viscosity_.prepare(topology_, phi_, solids_, solid_cells_, viscosity, voxel, dt);
    const bool elastic = params_.elasticity > 0;
    if (elastic) strain_to_grid(particles_, index_, topology_, voxel, strain_);
    report_.viscous_iterations +=
        viscosity_.apply(velocity_, params_.tolerance, elastic ? &strain_ : nullptr).iterations;
}

// The longest step in which no liquid moves farther than cfl cells, gravity's pull included, and in which the shortest
// waves that the grid can carry (two cells long) are still followed.
float Liquid::largest_step() const
{
    float speed = std::max(speed_, solids_.speed());
    for (const SourceParams& source : params_.sources)
        if (source.mode == SourceParams::Mode::flow) speed = std::max(speed, source.velocity.cwiseAbs().maxCoeff());
    // speed t + pull t^2 = distance; the root in the form that does not cancel.
    const float distance = params_.cfl * params_.voxel, pull = params_.gravity.cwiseAbs().maxCoeff();
    const float move = 2 * distance / (speed + std::sqrt(speed * speed + 4 * pull * distance) + 1e-20f);
    // Such a wave has a frequency of sqrt(pi g / voxel). At twice its inverse it would grow; water in a tank would
    // never come to rest.
    const float wave = std::sqrt(params_.voxel / (static_cast<float>(kPi) * pull + 1e-20f));
    return std::min(move, wave);
}

void Liquid::add_forces(float dt)
{
    for (int a = 0; a < 3; ++a) {
        const float change = dt * params_.gravity[a];
        if (change == 0) continue;
        for_each_tile(topology_, [&](int tile) {
            float* u = velocity_.u[a].tile(tile);
            for (int o = 0; o < kTileCells; o += kTileSize) store_row(u + o, load_row(u + o) + change);
        });
    }
}

} // namespace spindrift
