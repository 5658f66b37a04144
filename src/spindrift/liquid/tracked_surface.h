// The liquid's surface as a mesh that is carried along with its flow (track/tracker.h), instead of one that is found
// from its particles in each step. The two are loosely coupled [Bargteil 2006, 5.1]: the solver gives the tracker a
// velocity, and takes the distance to the surface for its pressure solve. The finest cells of the surface need not be
// those of the solver.
//
// Limits: particles carry velocity only; those that leave the surface fly on their own and are not part of it. Sheets
// thinner than a voxel of the surface are lost, and their volume is spread over the rest. Solids cut the surface as
// liquid/surface_solids.h says.
#pragma once

#include "spindrift/liquid/params.h"
#include "spindrift/liquid/surface_solids.h"

#include <algorithm>

namespace spindrift {

// A shape as a source of a tracked surface at a time [frames]. The shape must outlive it.
SurfaceTracker::Source surface_source(const Shape& shape, float frame, const std::optional<Box3f>& walls,
                                      GivenValues values);
// The mesh of a shape that is one, if its vertices have attributes; otherwise null.
std::shared_ptr<const Mesh> mesh_with_attributes(const Shape& shape, float frame);
// Those of a mode that are active at a time, with their colours; the shapes are prepared for it. `Params` has what
// FillingParams has, and an optional color. The surface of the start takes the attributes of meshes.
template <class Params> std::vector<SurfaceTracker::Source> active_sources(const std::vector<Params>& params,
                                                                           std::vector<Shape>& shapes, float frame,
                                                                           FillingParams::Mode mode,
                                                                           const std::optional<Box3f>& walls)
{
    const bool colored = std::ranges::any_of(params, [](const Params& source) { return source.color.has_value(); });
    std::vector<SurfaceTracker::Source> active;
    for (size_t i = 0; i < shapes.size(); ++i) {
        if (params[i].mode != mode || (mode == FillingParams::Mode::flow && !params[i].contains(frame))) continue;
        shapes[i].prepare(frame);
        GivenValues values;
        std::shared_ptr<const Mesh> mesh;
        if (mode == FillingParams::Mode::initial) mesh = mesh_with_attributes(shapes[i], frame);
        const bool own_color = mesh && !params[i].color && mesh->attributes.contains("color");
        if (colored && !own_color) values["color"] = params[i].color.value_or(Vec3f::Ones());
        active.push_back(surface_source(shapes[i], frame, walls, std::move(values)));
        active.back().mesh = std::move(mesh), active.back().id = static_cast<int>(i);
    }
    return active;
}

class TrackedSurface {
  public:
    explicit TrackedSurface(const LiquidParams& params);

    // The shapes are those of params.sources and params.sinks, prepared for the time [frames].
    void start(std::vector<Shape>& sources, float frame, const TrackSolids* solids);
    void step(const MacField& velocity, float dt, std::vector<Shape>& sources, const std::vector<Shape>& sinks,
              float frame, const TrackSolids* solids);
    void begin_frame() { tracker_.begin_frame(); }
    // At cell centres [cells], clamped to the band in which the solver knows distances; in solids that of the mirror
    // image.
    void distance(const Topology& topology, const TrackSolids* solids, Field<float>& phi) const;

    void set_attributes(std::map<std::string, AttributeArray> attributes)
    {
        tracker_.set_attributes(std::move(attributes));
    }
    // Without liquid, there is no surface.
    void clear();
    // Finds the velocities of the vertices at the end of a frame, or at the start.
    void find_velocities(const MacField& field, float fps);
    // Clipped at walls and solids, with velocities, and where each vertex was a frame ago: "origin_triangle" and
    // "origin_weights".
    Mesh mesh(const TrackSolids* solids) const;
    size_t bytes() const { return tracker_.bytes() + velocities_.capacity() * sizeof(Vec3f); }
    float voxel() const { return tracker_.settings().voxel; }
    const SurfaceTracker& tracker() const { return tracker_; }
    SurfaceTracker::State state() const;
    void restore(SurfaceTracker::State state);

  private:
    const LiquidParams& params_;
    std::optional<Box3f> walls_;
    SurfaceTracker tracker_;
    std::vector<Vec3f> velocities_; // of the vertices
};

// Adds the origins of a tracked surface's vertices to its mesh, as attributes.
void add_origins(const std::vector<SurfacePoint>& origins, Mesh& mesh);
// The walls of a domain: without its open sides, which are infinitely far; none if it is unbounded.
std::optional<Box3f> closed_sides(const DomainParams& domain);

} // namespace spindrift
