#include "spindrift/liquid/tracked_surface.h"

#include "spindrift/liquid/free_surface.h"
#include "spindrift/liquid/mac_flow.h"

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

void add_origins(const std::vector<SurfacePoint>& origins, Mesh& mesh)
{
    std::vector<int32_t> triangles(origins.size());
    std::vector<Vec3f> weights(origins.size());
    for (size_t i = 0; i < origins.size(); ++i)
        triangles[i] = std::max(origins[i].triangle, -1), weights[i] = origins[i].weights;
    mesh.attributes["origin_triangle"] = std::move(triangles), mesh.attributes["origin_weights"] = std::move(weights);
}

TrackedSurface::TrackedSurface(const LiquidParams& params)
    : params_(params), walls_(closed_sides(params.domain)),
      tracker_(params.tracked.settings(params.tracked.voxel.value_or(0.5f * params.voxel), walls_))
{
}

std::vector<SurfaceTracker::Source> TrackedSurface::sources(const std::vector<Shape>& shapes, float frame,
                                                            FillingParams::Mode mode) const
{
    std::vector<SurfaceTracker::Source> active;
    for (size_t i = 0; i < shapes.size(); ++i) {
        const SourceParams& source = params_.sources[i];
        if (source.mode != mode || (mode == FillingParams::Mode::flow && !source.contains(frame))) continue;
        GivenValues values;
        if (params_.has_colors()) values["color"] = source.color.value_or(Vec3f::Ones());
        active.push_back(surface_source(shapes[i], frame, walls_, std::move(values)));
    }
    return active;
}

void TrackedSurface::start(const std::vector<Shape>& shapes, float frame)
{
    tracker_.start(sources(shapes, frame, FillingParams::Mode::initial));
}

void TrackedSurface::step(const MacField& velocity, float dt, const std::vector<Shape>& shapes,
                          const std::vector<Shape>& sinks, float frame)
{
    std::vector<SurfaceTracker::Source> removed;
    for (size_t i = 0; i < sinks.size(); ++i)
        if (params_.sinks[i].contains(frame)) removed.push_back(surface_source(sinks[i], frame, walls_, {}));
    tracker_.step(MacFlow(velocity, params_.voxel), dt, sources(shapes, frame, FillingParams::Mode::flow), removed);
}

void TrackedSurface::distance(const Topology& topology, Field<float>& phi) const
{
    phi.reset_uninitialized(topology, kSurfaceBand);
    for_each_tile(topology, [&](int tile) {
        const Vec3f first = topology.first_cell(tile).cast<float>() + Vec3f::Constant(0.5f);
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3f x = (first + cell_in_tile(c).cast<float>()) * params_.voxel;
            phi.tile(tile)[c] =
                std::clamp(tracker_.distance().estimate(x) / params_.voxel, -kSurfaceBand, kSurfaceBand);
        }
    });
}

Mesh TrackedSurface::mesh(const MacField* velocity) const
{
    Mesh mesh = tracker_.mesh();
    add_origins(tracker_.origins(), mesh);
    mesh.velocities.assign(mesh.positions.size(), Vec3f::Zero());
    if (velocity) {
        const MacFlow flow(*velocity, params_.voxel);
        parallel_chunks(mesh.positions.size(), 1024, [&](size_t begin, size_t end) {
            flow.sample(std::span(mesh.positions).subspan(begin, end - begin), 1,
                        std::span(mesh.velocities).subspan(begin, end - begin));
        });
    }
    if (walls_) clip_at_walls(mesh, *walls_);
    return mesh;
}

} // namespace spindrift
