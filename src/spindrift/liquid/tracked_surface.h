// The liquid's surface as a mesh that is carried along with its flow (track/tracker.h), instead of one that is found
// from its particles in each step. The two are loosely coupled [Bargteil 2006, 5.1]: the solver gives the tracker a
// velocity, and takes the distance to the surface for its pressure solve. The finest cells of the surface need not be
// those of the solver.
//
// Limits: particles carry velocity only; those that leave the surface fly on their own and are not part of it. Sheets
// thinner than a voxel of the surface are lost, and their volume is spread over the rest. Colliders and bodies do not
// cut the surface.
#pragma once

#include "spindrift/liquid/params.h"
#include "spindrift/track/tracker.h"

namespace spindrift {

// A shape as a source of a tracked surface at a time [frames]. The shape must outlive it.
SurfaceTracker::Source surface_source(const Shape& shape, float frame, const std::optional<Box3f>& walls,
                                      GivenValues values);

class TrackedSurface {
  public:
    explicit TrackedSurface(const LiquidParams& params);

    // The shapes are those of params.sources and params.sinks, prepared for the time [frames].
    void start(const std::vector<Shape>& sources, float frame);
    void step(const MacField& velocity, float dt, const std::vector<Shape>& sources, const std::vector<Shape>& sinks,
              float frame);
    void begin_frame() { tracker_.begin_frame(); }
    // At cell centres [cells], clamped to the band in which the solver knows distances.
    void distance(const Topology& topology, Field<float>& phi) const;

    // Clipped at the walls, with velocities, and where each vertex was a frame ago: "origin_triangle" and
    // "origin_weights".
    Mesh mesh(const MacField* velocity) const;
    const SurfaceTracker& tracker() const { return tracker_; }
    SurfaceTracker::State state() const { return tracker_.state(); }
    void restore(SurfaceTracker::State state) { tracker_.restore(std::move(state)); }

  private:
    std::vector<SurfaceTracker::Source> sources(const std::vector<Shape>& shapes, float frame,
                                                FillingParams::Mode mode) const;

    const LiquidParams& params_;
    std::optional<Box3f> walls_;
    SurfaceTracker tracker_;
};

// Adds the origins of a tracked surface's vertices to its mesh, as attributes.
void add_origins(const std::vector<SurfacePoint>& origins, Mesh& mesh);
// The walls of a domain: without its open sides, which are infinitely far; none if it is unbounded.
std::optional<Box3f> closed_sides(const DomainParams& domain);

} // namespace spindrift
