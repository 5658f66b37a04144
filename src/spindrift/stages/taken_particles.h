// Particles of a liquid that are droplets of a spray: a spray with handover names them in a second file of its frames,
// and whatever draws or meshes the liquid leaves them out.
#pragma once

#include "spindrift/engine/stage.h"
#include "spindrift/points/particles.h"

namespace spindrift {

// With spray.whitewater.handover, a frame of spray has a second file: the liquid particles that are droplets in it.
constexpr const char* kTakenEnding = "taken.vdb";
constexpr const char* kTakenFrom = "liquid"; // attribute of its points: which of the liquids of the spray, from 0

// What a liquid is called that a spray reads: its stage, or the pattern of another program's files.
struct SprayFacts;

class TakenParticles {
  public:
    TakenParticles() = default;
    explicit TakenParticles(std::vector<StageView> sprays) : sprays_(std::move(sprays)) {}
    // Removes the particles of a liquid, a stage or a pattern of files, that sprays have taken over at a frame.
    void leave_out_taken(const std::string& liquid, int frame, const InputPath& input, Particles& particles) const;

  private:
    std::vector<StageView> sprays_;
};

// The sprays of a shot that take particles of a liquid over, as a port of a stage that shows it.
Port handover_port(const ShotGraph& graph, const std::string& liquid);

} // namespace spindrift
