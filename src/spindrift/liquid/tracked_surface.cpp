#include "spindrift/liquid/tracked_surface.h"

#include "spindrift/liquid/free_surface.h"
#include "spindrift/liquid/mac_flow.h"

#include <utility>

namespace spindrift {

std::optional<Box3f> closed_sides(const DomainParams& domain)
{
    if (!domain.bounded()) return {};
    Box3f walls{*domain.min, *domain.max};
    for (int axis = 0; axis < 3; ++axis) {
        if (!domain.closed(axis, 0)) walls.min[axis] = -kInfinity;
        if (!domain.closed(axis, 1)) walls.max[axis] = kInfinity;
    }
    return walls;
}

SurfaceTracker::Source surface_source(const Shape& shape, float frame, const std::optional<Box3f>& walls,
                                      GivenValues values)
{
    Box3f box = shape.bounds(frame);
    if (walls) box = {box.min.cwiseMax(walls->min), box.max.cwiseMin(walls->max)};
    return {[&shape, frame](const Vec3f& x) { return shape.distance(x, frame); }, box, std::move(values)};
}

std::shared_ptr<const Mesh> mesh_with_attributes(const Shape& shape, float frame)
{
    if (shape.params().shape != ShapeParams::Kind::mesh) return nullptr;
    Mesh mesh = shape.mesh(frame);
    return mesh.attributes.empty() ? nullptr : std::make_shared<const Mesh>(std::move(mesh));
}

void add_origins(const std::vector<SurfacePoint>& origins, Mesh& mesh)
{
    std::vector<int32_t> triangles(origins.size());
    std::vector<Vec3f> weights(origins.size());
    for (size_t i = 0; i < origins.size(); ++i)
        triangles[i] = std::max(origins[i].triangle, -1), weights[i] = origins[i].weights;
    mesh.attributes[kOriginTriangle] = std::move(triangles), mesh.attributes[kOriginWeights] = std::move(weights);
}

TrackedSurface::TrackedSurface(const LiquidParams& params)
    : params_(params), walls_(closed_sides(params.domain)),
      tracker_(params.tracked.settings(params.surface_voxel(), params.voxel, walls_))
{
}

void TrackedSurface::start(std::vector<Shape>& shapes, float frame, const TrackSolids* solids)
{
    tracker_.start(active_sources(params_.sources, shapes, frame, FillingParams::Mode::initial, walls_), solids);
    velocities_.assign(tracker_.mesh().positions.size(), Vec3f::Zero());
}

void TrackedSurface::clear()
{
    tracker_.start(std::vector<SurfaceTracker::Source>());
    velocities_.clear();
}

void TrackedSurface::step(const MacField& velocity, float dt, std::vector<Shape>& shapes,
                          const std::vector<Shape>& sinks, float frame, const TrackSolids* solids)
{
    std::vector<SurfaceTracker::Source> removed;
    for (size_t i = 0; i < sinks.size(); ++i)
        if (params_.sinks[i].contains(frame)) removed.push_back(surface_source(sinks[i], frame, walls_, {}));
    tracker_.step(MacFlow(velocity, params_.voxel), dt,
                  active_sources(params_.sources, shapes, frame, FillingParams::Mode::flow, walls_), removed, solids);
}

void TrackedSurface::distance(const Topology& topology, const TrackSolids* solids, Field<float>& phi) const
{
    phi.reset_uninitialized(topology, kSurfaceBand);
    for_each_tile(topology, [&](int tile) {
        const Vec3f first = topology.first_cell(tile).cast<float>() + Vec3f::Constant(0.5f);
        for (int c = 0; c < kTileCells; ++c) {
            Vec3f x = (first + cell_in_tile(c).cast<float>()) * params_.voxel;
            if (solids) x = mirrored_at_solids(x, *solids);
            phi.tile(tile)[c] =
                std::clamp(tracker_.distance().estimate(x) / params_.voxel, -kSurfaceBand, kSurfaceBand);
        }
    });
}

void TrackedSurface::find_velocities(const MacField& field, float fps)
{
    velocities_ = tracker_.velocities(MacFlow(field, params_.voxel), fps);
}

Mesh TrackedSurface::mesh(const TrackSolids* solids) const
{
    Mesh mesh = tracker_.mesh();
    add_origins(tracker_.origins(), mesh);
    mesh.velocities = velocities_;
    if (walls_) clip_at_walls(mesh, *walls_);
    if (solids) clip_at_solids(mesh, *solids);
    return mesh;
}

SurfaceTracker::State TrackedSurface::state() const
{
    SurfaceTracker::State state = tracker_.state();
    state.mesh.velocities = velocities_;
    return state;
}

void TrackedSurface::restore(SurfaceTracker::State state)
{
    velocities_ = std::exchange(state.mesh.velocities, {});
    tracker_.restore(std::move(state));
}

} // namespace spindrift
