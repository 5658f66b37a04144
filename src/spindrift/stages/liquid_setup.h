// What a scene says about its liquid, with its meshes loaded: filled by the liquid's stage, read by the stages after
// it.
#pragma once

#include "spindrift/bodies/bodies.h"
#include "spindrift/liquid/params.h"
#include "spindrift/scene/scene_file.h"

namespace spindrift {

struct LiquidSetup {
    LiquidParams params;
    std::vector<Shape> sources, sinks, colliders; // in the order of params
    std::vector<Bodies::Shapes> bodies;
    std::vector<Mesh> body_meshes; // around the centre of mass
    Box3f
        extent; // what a camera should see: the domain, or what shapes cover when the shot starts; empty for no liquid

    // Files of the liquid whose lone particles [spray] takes over, as its inputs name them; "" for those of [liquid].
    // Not set: none.
    std::optional<std::string> handed_over;
    bool is_handed_over(const std::string& files) const { return handed_over && *handed_over == files; }

    bool spray_is_meshed = false; // by [surface], so that its droplets need not be drawn

    // After `params` were read. Throws bad_input for a mesh that cannot be used.
    void load(const SceneFile& scene, int first_frame);
};

// With turbulence, a frame of the liquid has a second file for its ripples.
constexpr const char* kRipplesEnding = "ripples.vdb";
constexpr const char* kRipplesGrid = "difference"; // of the rippled surface's distance to that of the liquid [m]
constexpr const char* kRipplesBefore = "before";   // the same a frame ago

// With spray.whitewater.handover, a frame of spray has a second file: the liquid particles that are droplets in it.
constexpr const char* kTakenEnding = "taken.vdb";

} // namespace spindrift
