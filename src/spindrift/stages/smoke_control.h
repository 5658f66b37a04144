// Smoke on a grid, drawn along by shaped smoke: where markers of a [shaped_smoke] are, the air is accelerated to their
// velocity. Buoyancy, pressure, colliders and eddies act as well, so the smoke takes the shape less exactly and moves
// more like a gas [Madill 2013, 9].
//
//     [smoke.control]
//     by = "shaped_smoke"
//     strength = 8
#pragma once

#include "spindrift/engine/stage.h"
#include "spindrift/smoke/smoke.h"

namespace spindrift {

struct SmokeControlParams {
    std::string by; // a stage
    float strength = 8;
    void visit(ParamVisitor& v);
};

class SmokeControl {
  public:
    explicit SmokeControl(const SmokeControlParams& params) : params_(params) {}
    void read_from(const InputPath& input) { input_ = input; }
    // Accelerates the air of a step.
    void apply(SmokeFields& fields, float time, float dt);

  private:
    struct Volumes; // of one frame of the shaped smoke
    SmokeControlParams params_;
    InputPath input_;
    std::shared_ptr<const Volumes> volumes_;
};

} // namespace spindrift
