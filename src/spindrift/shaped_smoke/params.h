// Scene parameters of shaped smoke.
#pragma once

#include "spindrift/scene/shapes.h"

namespace spindrift {

// Where markers come from: a shape that is filled once, or the points of a cache.
struct MarkerSourceParams : ShapeParams {
    std::string particles; // a cache; replaces the shape
    float density = 1;     // relative to the other sources
    void visit(ParamVisitor& v);
};

// A shape that the smoke takes from `frame` on, until the next target's frame or until it lets go.
struct TargetParams : ShapeParams {
    int frame = std::numeric_limits<int>::min(); // default: from the start
    std::optional<float> let_go;
    std::optional<float> share; // of the smoke, where several targets have the same frame
    void visit(ParamVisitor& v);
};

// How control particles follow their targets [Madill 2013, 4.3].
struct AttractionParams {
    float strength = 30;  // S_a
    float slowing = 0.3f; // 1 / A_rho
    float arrival = 0;    // A_phi
    float damping = 10;   // [1/s]
    float follow = 1;     // share of the target's own velocity that damping leaves alone
    int swaps = 100000;   // C_opt
    void visit(ParamVisitor& v);
};

// The vortex particles [Madill 2013, 5].
struct VortexParams {
    int count = 10000;
    float radius = 0.2f; // sigma, mean
    float strength = 6;  // |omega|, mean
    float variation = 0.5f;
    float speed = 0.3f;
    float exchange = 0.5f;
    float exchange_distance = 0.1f; // d_max
    bool spin = true;
    void visit(ParamVisitor& v);
};

// Algorithm 2: markers that left the control particles return.
struct RedistributionParams {
    float rate = 1; // share of the markers tested in each frame
    float threshold = 0.5f;
    float even = 1;
    void visit(ParamVisitor& v);
};

struct ShapedSmokeParams {
    float voxel = 0.05f;
    int substeps = 1;
    int markers = 400000, controls = 10000;
    float marker_radius = 2, control_radius = 2, velocity_radius = 4; // r_m, r_c, r_v
    bool place_every_frame = false;
    bool project = false, contain = false;
    float tolerance = 1e-4f;
    Keys wind;
    int seed = 1;
    AttractionParams attraction;
    VortexParams vortices;
    RedistributionParams redistribution;
    std::vector<MarkerSourceParams> sources;
    std::vector<TargetParams> targets;

    void visit(ParamVisitor& v);
};

// Largest radii on the grid [cells].
constexpr float kMostBlurCells = 4, kMostVelocityCells = 8, kMostVortexCells = 32;

} // namespace spindrift
