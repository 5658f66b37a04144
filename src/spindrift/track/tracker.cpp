#include "spindrift/track/tracker.h"

#include "spindrift/base/error.h"
#include "spindrift/base/random.h"
#include "spindrift/base/scratch.h"
#include "spindrift/mesh/parts.h"

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <utility>

namespace spindrift {

namespace {

// How far the surface is continued beyond walls [voxels].
constexpr float kBeyondWalls = 2;
// And in solids, whose corners that part cuts off when it is moved onto them [voxels].
constexpr float kInSolids = 1;
// Largest correction of the volume in a step [voxels].
constexpr float kMostOffset = 0.1f;

float distance_to_walls(const Vec3f& x, const Box3f& walls)
{
    return (walls.min - x).cwiseMax(x - walls.max).maxCoeff();
}

// The mirror image of y, if x lies beyond a wall.
Vec3f mirrored_as(const Vec3f& x, const Vec3f& y, const Box3f& walls)
{
    Vec3f z = y;
    for (int a = 0; a < 3; ++a) {
        if (x[a] < walls.min[a]) z[a] = 2 * walls.min[a] - y[a];
        if (x[a] > walls.max[a]) z[a] = 2 * walls.max[a] - y[a];
    }
    return z;
}

template <class T>
std::vector<T>& array_of(const char* name, size_t count, std::map<std::string, AttributeArray>& attributes)
{
    AttributeArray& array = attributes[name];
    if (!std::holds_alternative<std::vector<T>>(array)) array = std::vector<T>(count);
    return std::get<std::vector<T>>(array);
}

// Vertices of a source with a mesh take its attributes from the nearest point there.
void take_from_meshes(const std::vector<SurfaceTracker::Source>& sources, const std::vector<SurfacePoint>& from,
                      const std::vector<Vec3f>& positions, const std::vector<std::string>& labels,
                      std::map<std::string, AttributeArray>& attributes)
{
    for (size_t s = 0; s < sources.size(); ++s) {
        const SurfaceTracker::Source& source = sources[s];
        if (!source.mesh) continue;
        const MeshDistance surface(*source.mesh);
        std::vector<SurfacePoint> at(from.size());
        parallel_for(
            at.size(),
            [&](size_t i) {
                if (from[i].triangle != from_source(s)) return;
                const MeshDistance::Nearest nearest = surface.nearest(positions[i]);
                at[i] = {nearest.triangle, nearest.weights};
            },
            256);
        for (auto& [name, known] : carried_attributes(*source.mesh, at, labels, {})) {
            if (source.values.contains(name)) continue;
            AttributeArray& values = attributes.try_emplace(name, known).first->second;
            if (values.index() != known.index())
                bad_input("two sources give the attribute \"{}\" with different types; rename one of them", name);
            replace(at, known, values);
        }
    }
}

} // namespace

// ------------------------------------------------------------------------------------------------------------ the step

// The new surface's function: the old surface's distance at the places that flow to the given points (3.2), united with
// sources, continued beyond walls.
class SurfaceTracker::StepFunction : public SurfaceFunction {
  public:
    StepFunction(const TrackSettings& settings, const DistanceTree* before, const TrackFlow* flow, float seconds,
                 float offset, const std::vector<Source>& sources, const std::vector<Source>& sinks,
                 const TrackSolids* solids)
        : settings_(settings), before_(before), flow_(flow), seconds_(seconds), offset_(offset), sources_(sources),
          sinks_(sinks), solids_(solids)
    {
    }

    void estimate(std::span<const Vec3f> points, std::span<float> values) const override
    {
        advected(points, values);
        for (size_t i = 0; i < points.size(); ++i) values[i] = changed(points[i], values[i]);
    }
    void evaluate(std::span<const Vec3f> points, std::span<DistanceTree::Nearest> results) const override
    {
        if (before_) {
            const std::span<const Vec3f> from = trace_back(points);
            for (size_t i = 0; i < points.size(); ++i) {
                results[i] = before_->nearest(from[i]);
                if (settings_.smoothing > 0)
                    results[i].distance =
                        mix(results[i].distance, before_->smooth_distance(from[i]), settings_.smoothing);
                results[i].distance -= offset_;
                if (const std::optional<Vec3f> behind = behind_walls(points[i], from[i])) // that part, if there is any
                    if (const SurfacePoint beyond = before_->nearest(*behind); beyond.triangle >= 0)
                        static_cast<SurfacePoint&>(results[i]) = beyond;
            }
        } else {
            std::fill(results.begin(), results.end(), DistanceTree::Nearest{{}, kInfinity});
        }
        for (size_t i = 0; i < points.size(); ++i) {
            for (size_t s = 0; s < sources_.size(); ++s) {
                const float distance = sources_[s].distance(inner(points[i]));
                if (distance < results[i].distance)
                    results[i].distance = distance, results[i].triangle = from_source(s);
            }
            results[i].distance = std::max(results[i].distance, removed(points[i]));
        }
    }
    Box3f bounds() const override
    {
        Box3f box = before_ ? before_->bounds() : Box3f();
        if (!box.empty() && flow_) box = box.grown(flow_->max_speed() * seconds_ + std::abs(offset_));
        for (const Source& source : sources_) box.add(source.bounds);
        if (!settings_.walls || box.empty()) return box;
        const Box3f around = settings_.walls->grown(kBeyondWalls * settings_.voxel);
        return {box.min.cwiseMax(around.min), box.max.cwiseMin(around.max)};
    }

    // How the flow of the step turns and stretches a small vector that ends up at x.
    Vec3f carried(const Vec3f& x, const Vec3f& direction) const
    {
        const float step = 0.5f * settings_.voxel;
        const Vec3f points[4] = {x, x + step * Vec3f::UnitX(), x + step * Vec3f::UnitY(), x + step * Vec3f::UnitZ()};
        const std::span<const Vec3f> from = trace_back(points);
        Mat3f back;
        for (int a = 0; a < 3; ++a) back.col(a) = (from[a + 1] - from[0]) / step;
        Mat3f forward;
        bool invertible = false;
        back.computeInverseWithCheck(forward, invertible, 1e-3f);
        return invertible ? Vec3f(forward * direction) : direction;
    }

    // The volume that sources add and sinks remove in this step [m3], on a lattice of voxels.
    double added_volume() const
    {
        double sum = 0;
        std::vector<Box3f> done;
        for (const auto* shapes : {&sources_, &sinks_})
            for (const Source& shape : *shapes) {
                const Box3f all = bounds(), box{shape.bounds.min.cwiseMax(all.min), shape.bounds.max.cwiseMin(all.max)};
                if (!box.empty()) sum += added_in(box.grown(settings_.voxel), done), done.push_back(box);
            }
        return sum;
    }

  private:
    double added_in(const Box3f& box, const std::vector<Box3f>& done) const
    {
        const float h = settings_.voxel;
        const Vec3i count = (box.size() / h).array().ceil().cast<int>().max(1);
        const auto filled = [h](float distance) { return static_cast<double>(clamp01(0.5f - distance / h)); };
        const auto in_slab = [&](size_t x) {
            auto& points = thread_scratch<std::vector<Vec3f>>();
            auto& before = thread_scratch<std::vector<float>>();
            points.clear();
            for (int y = 0; y < count.y(); ++y)
                for (int z = 0; z < count.z(); ++z) {
                    const Vec3f at =
                        box.min + h * (Vec3i(static_cast<int>(x), y, z).cast<float>().array() + 0.5f).matrix();
                    const auto has = [&](const Box3f& other) { return other.contains(at); };
                    if (std::none_of(done.begin(), done.end(), has) &&
                        (!settings_.walls || settings_.walls->contains(at)) && (!solids_ || solids_->distance(at) > 0))
                        points.push_back(at);
                }
            before.resize(points.size());
            advected(points, before);
            double added = 0;
            for (size_t i = 0; i < points.size(); ++i)
                added += filled(changed(points[i], before[i])) - filled(before[i]);
            return added;
        };
        return parallel_sum(count.x(), in_slab, 1) * std::pow(static_cast<double>(h), 3);
    }

    void advected(std::span<const Vec3f> points, std::span<float> values) const
    {
        if (!before_) return std::fill(values.begin(), values.end(), kInfinity);
        const std::span<const Vec3f> from = trace_back(points);
        for (size_t i = 0; i < points.size(); ++i) values[i] = before_->estimate(from[i]) - offset_;
    }
    // With sources and sinks, given the advected value.
    float changed(const Vec3f& x, float value) const
    {
        for (const Source& source : sources_) value = std::min(value, source.distance(inner(x)));
        return std::max(value, removed(x));
    }
    Vec3f within_walls(const Vec3f& x) const { return settings_.walls ? mirrored_as(x, x, *settings_.walls) : x; }
    // The mirror image of what is behind walls or in a solid.
    Vec3f inner(const Vec3f& x) const
    {
        const Vec3f y = within_walls(x);
        return solids_ ? mirrored_at_solids(y, *solids_) : y;
    }
    // For a point behind walls or in a solid, whose mirror image comes from a place: where it comes from itself.
    std::optional<Vec3f> behind_walls(const Vec3f& x, const Vec3f& from) const
    {
        if (settings_.walls && !settings_.walls->contains(x)) return mirrored_as(x, from, *settings_.walls);
        if (solids_ && solids_->distance(x) < 0) return x + from - inner(x);
        return {};
    }
    // Positive in sinks, beyond walls, and deep in solids.
    float removed(const Vec3f& x) const
    {
        const float voxel = settings_.voxel;
        float depth = settings_.walls ? distance_to_walls(x, *settings_.walls) - kBeyondWalls * voxel : -kInfinity;
        if (solids_) depth = std::max(depth, -solids_->distance(x) - kInSolids * voxel);
        for (const Source& sink : sinks_) depth = std::max(depth, -sink.distance(inner(x)));
        return depth;
    }

    // (3.3), (3.4): the midpoint rule, in equal parts of the step.
    std::span<const Vec3f> trace_back(std::span<const Vec3f> points) const
    {
        auto& at = thread_scratch<std::vector<Vec3f>>();
        auto& middle = thread_scratch<std::vector<Vec3f>>();
        auto& velocities = thread_scratch<std::vector<Vec3f>>();
        at.resize(points.size()), middle.resize(points.size()), velocities.resize(points.size());
        for (size_t i = 0; i < points.size(); ++i) at[i] = inner(points[i]);
        if (!flow_) return at;
        const float parts = path_parts(), seconds = seconds_ / parts;
        for (float part = parts; part > 0; --part) {
            flow_->sample(at, part / parts, velocities);
            for (size_t i = 0; i < points.size(); ++i) middle[i] = within_walls(at[i] - 0.5f * seconds * velocities[i]);
            flow_->sample(middle, (part - 0.5f) / parts, velocities);
            for (size_t i = 0; i < points.size(); ++i) at[i] = within_walls(at[i] - seconds * velocities[i]);
        }
        if (solids_)
            for (size_t i = 0; i < points.size(); ++i) at[i] = solids_->kept_on_side(inner(points[i]), at[i]);
        return at;
    }
    float path_parts() const
    {
        constexpr float kMostParts = 32;
        const float cells = flow_->max_speed() * seconds_ / settings_.voxel;
        return std::clamp(std::ceil(cells / settings_.cells_per_part), 1.0f, kMostParts);
    }

    const TrackSettings& settings_;
    const DistanceTree* before_; // null if there was no surface
    const TrackFlow* flow_;      // null if nothing moves
    const float seconds_, offset_;
    const std::vector<Source>&sources_, &sinks_;
    const TrackSolids* solids_; // null if there are none
};

Vec3f SurfaceTracker::next_grid()
{
    ++steps_;
    if (!settings_.jitter) return Vec3f::Zero();
    Random random(settings_.seed, static_cast<uint64_t>(steps_));
    Vec3f origin;
    for (int a = 0; a < 3; ++a) origin[a] = settings_.voxel * random.uniform();
    return origin;
}

void SurfaceTracker::start(const Mesh& mesh)
{
    const MeshDistance surface(mesh);
    start({Source{
        [&](const Vec3f& x) { return surface.distance(x); }, surface.bounds(), {}, std::make_shared<Mesh>(mesh)}});
}

void SurfaceTracker::start(const std::vector<Source>& sources, const TrackSolids* solids)
{
    steps_ = 0, offset_ = 0;
    tree_.reset(), frame_start_.reset();
    const Vec3f origin = next_grid();
    const std::vector<Source> no_sinks;
    const StepFunction function(settings_, nullptr, nullptr, 0, 0, sources, no_sinks, solids);
    take(contour(function, settings_.voxel, origin), origin, {}, function, sources);
    volume_ = volume(solids);
}

void SurfaceTracker::step(const TrackFlow& flow, float seconds, const std::vector<Source>& sources,
                          const std::vector<Source>& sinks, const TrackSolids* solids)
{
    const Vec3f origin = next_grid();
    const DistanceTree* before = mesh().triangles.empty() ? nullptr : tree_.get();
    const StepFunction function(settings_, before, &flow, seconds, offset_, sources, sinks, solids);
    ContouredMesh next;
    times_.measure("contour", [&] { next = contour(function, settings_.voxel, origin); });
    if (settings_.keep_volume) times_.measure("volume", [&] { volume_ += function.added_volume(); });
    take(std::move(next), origin, tree_->mesh(), function, sources);
    if (settings_.keep_volume) times_.measure("volume", [&] { correct_volume(solids); });
}

// Makes a contoured mesh the surface, with the properties of the one before.
void SurfaceTracker::take(ContouredMesh next, const Vec3f& origin, const Mesh& before, const StepFunction& function,
                          const std::vector<Source>& sources)
{
    const bool starts = !tree_;
    restored_origins_.clear();
    std::map<std::string, AttributeArray> attributes;
    times_.measure("carry", [&] {
        attributes = attributes_of(next, before, sources);
        if (!starts) carry_places(before, next.origin);
    });
    times_.measure("distance", [&] {
        auto tree = std::make_unique<DistanceTree>(
            std::move(next.mesh), DistanceTree::Settings{settings_.voxel, origin, settings_.curved}, &next.cells);
        if (!starts && new_frame_) frame_start_ = std::move(tree_);
        tree_ = std::move(tree), cells_ = std::move(next.cells);
        new_frame_ = starts;
    });
    times_.measure("carry", [&] {
        for (const std::string& name : settings_.directions)
            if (const auto found = attributes.find(name); found != attributes.end())
                if (auto* directions = std::get_if<std::vector<Vec3f>>(&found->second)) {
                    if (!starts)
                        parallel_for(
                            directions->size(),
                            [&](size_t i) {
                                (*directions)[i] = function.carried(mesh().positions[i], (*directions)[i]);
                            },
                            256);
                    make_tangent(mesh().normals, *directions);
                }
        if (settings_.reference && starts) start_reference(attributes);
        if (settings_.reference && !starts) find_reference(next.origin, sources, attributes);
        tree_->set_attributes(std::move(attributes));
    });
}

std::map<std::string, AttributeArray> SurfaceTracker::attributes_of(ContouredMesh& next, const Mesh& before,
                                                                    const std::vector<Source>& sources)
{
    std::vector<GivenValues> given;
    for (const Source& source : sources) given.push_back(source.values);
    adopted_.resize(next.origin.size());
    for (size_t i = 0; i < adopted_.size(); ++i) adopted_[i] = next.origin[i].triangle == -1;
    if (tree_) adopt_origins(next.mesh, next.origin);
    std::vector<SurfacePoint> from = next.origin;
    if (const auto piece = before.attributes.find(kReferencePiece);
        settings_.reference && piece != before.attributes.end())
        keep_to_one_piece(before, std::get<std::vector<int32_t>>(piece->second), from);
    auto attributes = carried_attributes(before, from, settings_.labels, given);
    take_from_meshes(sources, from, next.mesh.positions, settings_.labels, attributes);
    return attributes;
}

void SurfaceTracker::start_reference(std::map<std::string, AttributeArray>& attributes)
{
    attributes[kReferencePiece] = MeshParts(mesh()).numbers();
    start_ = {mesh().positions, mesh().triangles, {}, {}, attributes};
    start_surface_ = std::make_unique<MeshDistance>(start_);
    attributes[kReference] = mesh().positions;
}

void SurfaceTracker::find_reference(const std::vector<SurfacePoint>& from, const std::vector<Source>& sources,
                                    std::map<std::string, AttributeArray>& attributes)
{
    auto& reference = array_of<Vec3f>(kReference, from.size(), attributes);
    auto& piece = array_of<int32_t>(kReferencePiece, from.size(), attributes);
    for (size_t i = 0; i < from.size(); ++i) { // what a source adds refers to where it came in
        const int triangle = from[i].triangle;
        if (triangle >= 0) continue;
        reference[i] = mesh().positions[i];
        piece[i] = triangle == -1 ? -1 : from_source(sources[source_of(triangle)].id);
    }
    const std::vector<SurfacePoint> on_start = snap(*start_surface_, start_, piece, reference);
    for (const auto& [name, known] : carried_attributes(start_, on_start, settings_.labels, {})) {
        const bool direction =
            std::find(settings_.directions.begin(), settings_.directions.end(), name) != settings_.directions.end();
        if (!direction) replace(on_start, known, attributes[name]);
    }
}

void SurfaceTracker::begin_frame() { new_frame_ = true; }

// ---------------------------------------------------------------------------------------------- the map between frames

// Follows the places of the vertices on the mesh that the frame began with. Blended between vertices, they leave it by
// a little, and are moved back.
void SurfaceTracker::carry_places(const Mesh& before, const std::vector<SurfacePoint>& from)
{
    const std::vector<Vec3f> last = std::exchange(places_, std::vector<Vec3f>(from.size()));
    const std::vector<uint8_t> guessed = std::exchange(guessed_, adopted_);
    const std::vector<Vec3f>& old = new_frame_ ? before.positions : last;
    parallel_for(
        from.size(),
        [&](size_t i) {
            places_[i] = from[i].triangle < 0 ? Vec3f(Vec3f::Constant(kInfinity)) : blended(old, before, from[i]);
            if (new_frame_ || !places_[i].allFinite()) return;
            for (const int corner : before.triangles[from[i].triangle]) guessed_[i] |= guessed[corner];
            if (const DistanceTree::Nearest at = frame_start_->nearest(places_[i]); at.triangle >= 0)
                places_[i] = blended(frame_start_->mesh().positions, frame_start_->mesh(), at);
        },
        1024);
}

std::vector<SurfacePoint> SurfaceTracker::origins() const
{
    if (!restored_origins_.empty()) return restored_origins_;
    std::vector<SurfacePoint> origins(mesh().positions.size());
    parallel_for(
        origins.size(),
        [&](size_t i) {
            if (!new_frame_) {
                if (places_[i].allFinite()) origins[i] = frame_start_->nearest(places_[i]);
                return;
            }
            const int triangle = tree_->links().triangles_at(static_cast<int>(i)).front();
            origins[i] = {triangle, Vec3f::Zero()};
            for (int k = 0; k < 3; ++k) origins[i].weights[k] = mesh().triangles[triangle][k] == static_cast<int>(i);
        },
        1024);
    return origins;
}

std::vector<Vec3f> SurfaceTracker::velocities(const TrackFlow& flow, float per_second) const
{
    const std::vector<Vec3f>& now = mesh().positions;
    std::vector<Vec3f> velocities(now.size());
    parallel_chunks(now.size(), 1024, [&](size_t begin, size_t end) {
        flow.sample(std::span(now).subspan(begin, end - begin), 1, std::span(velocities).subspan(begin, end - begin));
        for (size_t i = begin; i < end && !new_frame_; ++i) {
            if (guessed_[i] || !places_[i].allFinite()) continue;
            Vec3f from = places_[i], to = now[i];
            if (settings_.walls)
                for (Vec3f* x : {&from, &to}) *x = x->cwiseMax(settings_.walls->min).cwiseMin(settings_.walls->max);
            velocities[i] = per_second * (to - from);
        }
    });
    return velocities;
}

// -------------------------------------------------------------------------------------------------------------- volume

double SurfaceTracker::volume(const TrackSolids* solids) const
{
    if (!settings_.walls && !solids) return volume_of(mesh());
    Mesh clipped;
    clipped.positions = mesh().positions, clipped.triangles = mesh().triangles, clipped.normals = mesh().normals;
    if (settings_.walls) clip_at_walls(clipped, *settings_.walls);
    if (solids) clip_at_solids(clipped, *solids);
    return volume_of(clipped);
}

// The next step moves the surface outwards by the lost volume over the area.
void SurfaceTracker::correct_volume(const TrackSolids* solids)
{
    const Mesh& now = mesh();
    const double area = parallel_sum(now.triangles.size(), [&](size_t t) {
        const Vec3i& corners = now.triangles[t];
        const Vec3f a = now.positions[corners[0]];
        return 0.5 * static_cast<double>((now.positions[corners[1]] - a).cross(now.positions[corners[2]] - a).norm());
    });
    const float most = kMostOffset * settings_.voxel;
    offset_ = area > 0 ? std::clamp(static_cast<float>((volume_ - volume(solids)) / area), -most, most) : 0;
}

void clip_at_walls(Mesh& mesh, const Box3f& walls)
{
    for (Vec3f& x : mesh.positions) x = x.cwiseMax(walls.min).cwiseMin(walls.max);
}

Vec3f mirrored_at_solids(Vec3f x, const TrackSolids& solids)
{
    for (int bounce = 0; bounce < 2; ++bounce) { // the second in corners
        const float depth = -solids.distance(x);
        if (!(depth > 0)) break;
        x += 2 * depth * solids.normal(x);
    }
    return x;
}

void clip_at_solids(Mesh& mesh, const TrackSolids& solids)
{
    parallel_for(
        mesh.positions.size(),
        [&](size_t i) {
            if (Vec3f& x = mesh.positions[i]; solids.distance(x) < 0) x = solids.surface_point(x, mesh.normals[i]);
        },
        256);
}

// --------------------------------------------------------------------------------------------------------------- state

SurfaceTracker::State SurfaceTracker::state() const
{
    return {mesh(), cells_, tree_->settings().origin, steps_, volume_, offset_, origins(), start_};
}

void SurfaceTracker::restore(State state)
{
    tree_ = std::make_unique<DistanceTree>(
        std::move(state.mesh), DistanceTree::Settings{settings_.voxel, state.origin, settings_.curved}, &state.cells);
    cells_ = std::move(state.cells), steps_ = state.steps, volume_ = state.volume, offset_ = state.offset;
    start_ = std::move(state.start);
    if (settings_.reference) start_surface_ = std::make_unique<MeshDistance>(start_);
    frame_start_.reset(), new_frame_ = true, restored_origins_ = std::move(state.origins);
}

} // namespace spindrift
