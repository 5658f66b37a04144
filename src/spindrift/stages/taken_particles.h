// Liquid particles that a spray has taken over as droplets. A spray with handover lists them in a second file per
// frame, and every stage that draws or meshes the liquid omits them.
#pragma once

#include "spindrift/engine/stage.h"
#include "spindrift/points/particles.h"

namespace spindrift {

// With spray.whitewater.handover, a spray frame has a second file: the liquid particles that are droplets in it.
constexpr const char* kTakenEnding = "taken.vdb";
constexpr const char* kTakenFrom = "liquid"; // attribute of its points: index among the liquids of the spray

// `liquid` below is a stage name, or the pattern of another program's files.
struct SprayFacts;

class TakenParticles {
  public:
    TakenParticles() = default;
    explicit TakenParticles(std::vector<StageView> sprays) : sprays_(std::move(sprays)) {}
    // Removes the particles of a liquid that sprays have taken over at a frame.
    void leave_out_taken(const std::string& liquid, int frame, const InputPath& input, Particles& particles) const;

  private:
    std::vector<StageView> sprays_;
};

// The sprays of a shot that take over particles of any of these liquids, as a port of a stage that shows them.
Port handover_port(const ShotGraph& graph, const std::vector<std::string>& liquids);

} // namespace spindrift
