// Tracking of a surface in a flow by semi-Lagrangian contouring [Bargteil 2006, chapter 3].
//
// In each step the new surface is the zero set of the old one's signed distance at the place that flows to a point
// (3.2), traced backwards by the midpoint rule, (3.3) and (3.4). Near the surface that distance is exact, not
// interpolated from a grid, so that detail is not smoothed away. Merging and tearing need no special care. Each vertex
// of the new mesh has an origin on the old one, along which properties are carried.
//
//     SurfaceTracker tracker({.voxel = 0.01f});
//     tracker.start(mesh);
//     tracker.step(flow, dt);
//     write_mesh("frame.ply", tracker.mesh());
//
// Results are bit-identical for any number of threads.
//
// Differences from [Bargteil 2006]:
//
// - Velocities are those of the middle of the step, not of its end: paths are second order in time too. Long steps
//   follow the path in parts. Each contouring blurs a little, so that few long steps lose less than
//   many short ones.
// - Distances are those to a curved surface (track/distance_tree.h). With flat triangles the sphere in the deformation
//   field of [LeVeque 1996] loses 15% of its volume at 128 cells, with curved ones 0.4%.
// - Cells are split where the distance is less than kSplit = 3 edges, the factor that the text settles on for (3.8),
// and
//   into the finest where it is less than kReach = 3.46 voxels (track/contouring.cpp). Far distances come from a single
//   pass of the eikonal equation, layer by layer (track/distance_tree.h), instead of from fast marching.
// - With `reference`, corners that belong to another part of the first surface are left out when references are
// blended.
//   Places between two drops that have merged lie on neither.
// - Sources are united with the surface, and at the walls of a tank and at solids the surface is mirrored, so that it
//   meets them at a right angle.
// - Directions are turned and stretched with the flow, not only copied.
//
// Limits: what becomes thinner than about a voxel is lost, and volume is not conserved exactly; `keep_volume` moves the
// surface evenly to make up for both.
#pragma once

#include "spindrift/base/timing.h"
#include "spindrift/track/contouring.h"
#include "spindrift/track/properties.h"

#include <functional>
#include <optional>

namespace spindrift {

// The velocity during a step.
class TrackFlow {
  public:
    virtual ~TrackFlow() = default;
    // At a share of the step: 0 as it begins, 1 as it ends [m/s].
    virtual void sample(std::span<const Vec3f> points, float share, std::span<Vec3f> velocities) const = 0;
    // No point moves faster [m/s].
    virtual float max_speed() const = 0;
};

// Solids that the flow goes around and that cut the surface. Inside of them it is continued by mirroring, as behind
// walls, and clip_at_solids() moves that part onto them.
class TrackSolids {
  public:
    virtual ~TrackSolids() = default;
    // Negative inside [m]. Outside it may be too large.
    virtual float distance(const Vec3f& x) const = 0;
    // Of a point inside: the direction to the nearest point of the surface.
    virtual Vec3f normal(const Vec3f& x) const = 0;
    // For a point inside, on a mesh with a normal there: the point of the solid's surface on the side of the liquid.
    virtual Vec3f surface_point(const Vec3f& x, const Vec3f& mesh_normal) const = 0;
    // Where x comes from, if not through a solid that is too thin to have an inside.
    virtual Vec3f kept_on_side(const Vec3f& x, const Vec3f& from) const = 0;
};

struct TrackSettings {
    float voxel = 0.01f;      // edge of the finest cells [m]
    bool curved = true;       // see DistanceTree
    bool jitter = true;       // move the grid from step to step, so that its pattern does not add up
    float smoothing = 0;      // share of the interpolated distance in the place of vertices, 0 to 1
    bool keep_volume = false; // of the start, and of what sources add
    float cells_per_part = 2; // paths are traced in equal parts of at most this length [voxels]
    // Carry kReference and kReferencePiece, and take the other attributes from the surface of the start: they do not
    // blur, as they do if they are blended between vertices in each step.
    bool reference = false;
    std::vector<std::string> labels = {};     // attributes that are copied from the nearest vertex, not blended
    std::vector<std::string> directions = {}; // attributes that stay tangent to the surface and of unit length
    std::optional<Box3f> walls = {};          // of a tank
    uint64_t seed = 1;                        // of the jitter
};

class SurfaceTracker {
  public:
    // What is united with the surface.
    struct Source {
        std::function<float(const Vec3f&)> distance; // negative inside [m]
        Box3f bounds;
        GivenValues values;
        std::shared_ptr<const Mesh> mesh = nullptr; // whose attributes its vertices take, if `values` lacks them
        int id = 0;                                 // see kReferencePiece
    };

    explicit SurfaceTracker(const TrackSettings& settings) : settings_(settings) {}

    // Contours a mesh, which must be closed but may intersect itself: parts that overlap are united. Attributes are
    // kept.
    void start(const Mesh& mesh);
    // Contours the union of the sources.
    void start(const std::vector<Source>& sources, const TrackSolids* solids = nullptr);
    // What is in `sinks` is removed. Solids are where they are when the step ends.
    void step(const TrackFlow& flow, float seconds, const std::vector<Source>& sources = {},
              const std::vector<Source>& sinks = {}, const TrackSolids* solids = nullptr);
    // From here on, origins() refers to the mesh as it is now.
    void begin_frame();

    // With normals, and attributes of the vertices. Extends a little beyond walls and into solids: see clip_at_walls()
    // and clip_at_solids().
    const Mesh& mesh() const { return tree_->mesh(); }
    const DistanceTree& distance() const { return *tree_; }
    // Where each vertex was on the mesh when begin_frame() was called last; triangle -1 for vertices of a source.
    std::vector<SurfacePoint> origins() const;
    // The velocities of the vertices: their motion since begin_frame() times `per_second`, or, of those without an
    // origin of their own and before the first step, that of the flow at its end.
    std::vector<Vec3f> velocities(const TrackFlow& flow, float per_second) const;
    // Changes attributes of the vertices.
    void set_attributes(std::map<std::string, AttributeArray> attributes)
    {
        tree_->set_attributes(std::move(attributes));
    }
    const PhaseTimes& times() const { return times_; }
    const TrackSettings& settings() const { return settings_; }
    // Within the walls and outside of solids [m3].
    double volume(const TrackSolids* solids = nullptr) const;
    size_t bytes() const { return tree_ ? tree_->bytes() : 0; }

    // Everything that the next step depends on.
    struct State {
        Mesh mesh;                // with the velocities that its owner has found
        std::vector<Vec3i> cells; // of its triangles
        Vec3f origin = Vec3f::Zero();
        int64_t steps = 0;
        double volume = 0;                 // to keep
        float offset = 0;                  // of the next step
        std::vector<SurfacePoint> origins; // see origins()
        Mesh start;                        // with `reference`
    };
    State state() const;
    void restore(State state);

  private:
    class StepFunction;
    Vec3f next_grid();
    void take(ContouredMesh next, const Vec3f& origin, const Mesh& before, const StepFunction& function,
              const std::vector<Source>& sources);
    std::map<std::string, AttributeArray> attributes_of(ContouredMesh& next, const Mesh& before,
                                                        const std::vector<Source>& sources);
    void start_reference(std::map<std::string, AttributeArray>& attributes);
    void find_reference(const std::vector<SurfacePoint>& from, const std::vector<Source>& sources,
                        std::map<std::string, AttributeArray>& attributes);
    void carry_places(const Mesh& before, const std::vector<SurfacePoint>& from);
    void correct_volume(const TrackSolids* solids);

    TrackSettings settings_;
    std::unique_ptr<DistanceTree> tree_;
    std::vector<Vec3i> cells_; // of the triangles
    Mesh start_;
    std::unique_ptr<MeshDistance> start_surface_; // with `reference`
    bool new_frame_ = false;                      // no step since begin_frame()
    std::unique_ptr<DistanceTree> frame_start_;   // otherwise, the surface at begin_frame()
    std::vector<Vec3f> places_;                   // of the vertices on it; infinite for vertices of a source
    std::vector<uint8_t> adopted_, guessed_;      // whether its origin is a neighbour's: in this step, in this frame
    std::vector<SurfacePoint> restored_origins_;  // until the next step
    int64_t steps_ = 0;
    double volume_ = 0;
    float offset_ = 0; // by which the next step moves the surface outwards [m]
    PhaseTimes times_;
};

// Moves vertices that lie beyond walls onto them.
void clip_at_walls(Mesh& mesh, const Box3f& walls);
// The mirror image outside of solids of a point in one; any other point.
Vec3f mirrored_at_solids(Vec3f x, const TrackSolids& solids);
// Moves vertices in solids onto them; needs normals.
void clip_at_solids(Mesh& mesh, const TrackSolids& solids);

} // namespace spindrift
