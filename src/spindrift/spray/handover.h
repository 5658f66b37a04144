// Isolated liquid particles become droplets of the same volume, and liquid again after they have fallen back into it.
//
// The liquid's cache keeps all of its particles. Readers that show the liquid (surface, render) skip those that are
// droplets, which taken() lists and the spray's cache stores. The volume shown as liquid plus that of the droplets is
// the volume of the liquid in every frame.
//
// Droplets merge and break up, so no droplet belongs to a particle. A particle is given back when it is in the liquid
// again and droplets of its volume have landed; that volume of droplets is then removed.
#pragma once

#include "spindrift/points/particles.h"
#include "spindrift/spray/liquid_view.h"

#include <functional>

namespace spindrift {

// Value of the life attribute of droplets that came from the liquid: they do not burst but are given back.
constexpr float kEndsInLiquid = -1;

// Radius of a ball with the volume of one liquid particle [m].
float radius_of_share(float spacing);

class Handover {
  public:
    // Ids of the liquid particles that are droplets, ascending.
    const std::vector<int32_t>& taken() const { return taken_; }
    void set_taken(std::vector<int32_t> ids) { taken_ = std::move(ids); }

    // Finds isolated and rejoined particles of a frame. A particle is isolated if it has less than `isolated_share` of
    // the neighbours of full liquid.
    void inspect(const LiquidView& liquid, float isolated_share, const Barriers& barriers = {});
    // Gives particles back for droplets of which `landed` [m3] of `all` [m3] is in the liquid, and removes them from
    // taken(). Returns the volume of landed droplets to remove [m3].
    double give_back(double landed, double all, double particle_volume);
    // Takes the isolated particles where has_room(x) holds, and returns them as droplets with P, v, radius and life.
    // Their velocities are advanced under gravity by the lag of the liquid's velocities.
    Particles take(const LiquidView& liquid, const Vec3f& gravity, const std::function<bool(const Vec3f&)>& has_room);

  private:
    std::vector<int32_t> taken_;
    // Found by inspect(): taken particles that are in the liquid again, and indices of other particles that are
    // isolated.
    std::vector<int32_t> rejoined_;
    std::vector<size_t> isolated_;
};

} // namespace spindrift
