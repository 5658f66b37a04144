// Liquid particles that fly on their own become droplets of their volume, and liquid again after they have fallen back
// into it. The liquid's frames keep all of its particles. Whoever shows the liquid leaves out those that are droplets
// (taken()), so that the volume of the rest and of the droplets is that of the liquid.
//
// Droplets merge and break up, so that a particle has no droplet of its own to come back with. A particle is given back
// when it is in the liquid again and droplets of its volume have landed: these are then removed.
#pragma once

#include "spindrift/points/particles.h"
#include "spindrift/spray/liquid_view.h"

#include <functional>

namespace spindrift {

// The life of droplets that came from liquid: they do not burst, but end by being given back.
constexpr float kEndsInLiquid = -1;

// Of a ball with the volume that a liquid particle stands for [m].
float radius_of_share(float spacing);

class Handover {
  public:
    // Ids of the liquid particles that are droplets, ascending.
    const std::vector<int32_t>& taken() const { return taken_; }
    void set_taken(std::vector<int32_t> ids) { taken_ = std::move(ids); }

    // Looks at a frame of the liquid. A particle is alone if it has less than `alone_share` of full liquid around it.
    void look(const LiquidView& liquid, float alone_share);
    // How many particles can be given back for droplets of which `landed` [m3] is in the liquid, of `all` [m3]. They
    // are no longer taken. Returns the volume of the landed droplets that has to go [m3].
    double give_back(double landed, double all, double particle_volume);
    // Takes the particles that are alone where has_room(x). Returns them as droplets: P, v, radius and life. Gravity
    // acts on them for the time by which the liquid's velocities are late.
    Particles take(const LiquidView& liquid, const Vec3f& gravity, const std::function<bool(const Vec3f&)>& has_room);

  private:
    std::vector<int32_t> taken_;
    // What look() found: taken particles that are in the liquid again, and indices of others that are alone.
    std::vector<int32_t> joined_;
    std::vector<size_t> alone_;
};

} // namespace spindrift
