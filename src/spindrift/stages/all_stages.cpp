#include "spindrift/stages/all_stages.h"

// One line per kind, defined in stages/<kind>_stage.cpp. Most kinds read kinds above them.
#define SPINDRIFT_STAGES(STAGE)                                                                                        \
    STAGE(liquid)                                                                                                      \
    STAGE(spray)                                                                                                       \
    STAGE(surface)                                                                                                     \
    STAGE(ripples)                                                                                                     \
    STAGE(shaped_smoke)                                                                                                \
    STAGE(smoke)                                                                                                       \
    STAGE(track)                                                                                                       \
    STAGE(texture)                                                                                                     \
    STAGE(crowd)                                                                                                       \
    STAGE(sand)                                                                                                        \
    STAGE(grains)                                                                                                      \
    STAGE(render)

namespace spindrift {

#define DECLARE(kind) StageKind kind##_stage();
SPINDRIFT_STAGES(DECLARE)

const StageKinds& all_stages()
{
#define MAKE(kind) kind##_stage(),
    static const StageKinds kinds = {SPINDRIFT_STAGES(MAKE)};
    return kinds;
}

} // namespace spindrift
