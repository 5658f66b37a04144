// Every kind of stage that a scene can have.
#pragma once

#include "spindrift/engine/stage.h"

namespace spindrift {

const StageKinds& all_stages();

} // namespace spindrift
