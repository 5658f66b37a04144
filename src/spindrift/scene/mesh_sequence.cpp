#include "spindrift/scene/mesh_sequence.h"

#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/io/frame_path.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/mesh/faults.h"

#include <Eigen/Geometry>

namespace spindrift {

namespace {

// Far beyond the limits of a scene, because a file may have other units; squares of it still fit a float.
constexpr float kReach = 1e9f;
constexpr int kLastFrame = 100000000; // in either direction, as for shots

// Here only positions matter.
Mesh welded(const Mesh& mesh)
{
    Mesh result = with_joined_vertices(mesh);
    std::erase_if(result.triangles, [](const Vec3i& t) { return t[0] == t[1] || t[1] == t[2] || t[2] == t[0]; });
    return result;
}

bool same_triangles(const Mesh& a, const Mesh& b)
{
    return a.positions.size() == b.positions.size() && a.triangles == b.triangles;
}

} // namespace

std::vector<std::string> mesh_files(const std::string& name)
{
    if (!has_frame_pattern(name)) return {name};
    std::vector<std::string> files;
    for (const int frame : frames_on_disk(name)) files.push_back(frame_path(name, frame));
    return files;
}

MeshSequence::MeshSequence(std::string name, const std::string& where, bool may_be_open)
    : name_(std::move(name)), where_(where)
{
    if (has_frame_pattern(name_)) {
        const std::vector<int> frames = frames_on_disk(name_);
        if (frames.empty()) bad_input("{}: there is no file {} for any frame", where, name_);
        first_ = frames.front(), last_ = frames.back();
        if (first_ < -kLastFrame || last_ > kLastFrame)
            bad_input("{}: {} has frames from {} to {}; their numbers must have at most eight digits", where, name_,
                      first_, last_);
        for (size_t i = 0; i < frames.size(); ++i)
            if (frames[i] != first_ + static_cast<int>(i))
                bad_input("{}: {} is missing between frames {} and {}; every frame needs a file", where,
                          frame_path(name_, first_ + static_cast<int>(i)), first_, last_);
    }
    Mesh before;
    for (int frame = first_; frame <= last_; ++frame) {
        const Mesh loaded = load(frame), mesh = welded(loaded);
        triangles_change_ |= frame > first_ && !same_triangles(before, loaded);
        const std::string file = frame_path(name_, frame);
        if (mesh.triangles.empty()) bad_input("{}: {} has no triangles", where, file);
        for (const Vec3f& x : mesh.positions)
            if (!x.allFinite())
                bad_input("{}: {} has a vertex that is not finite", where, file);
            else if (x.cwiseAbs().maxCoeff() > kReach)
                bad_input("{}: {} has a vertex at ({:.3g}, {:.3g}, {:.3g}) m; all must be within {:g} m of the origin",
                          where, file, x.x(), x.y(), x.z(), kReach);
        // Parts that touch have edges of four triangles after welding; each part is closed for itself.
        const bool closed_parts = !may_be_open && is_closed(loaded) && volume_of(loaded) != 0;
        closed_ &= is_closed(mesh) || closed_parts;
        if (!closed_ && !may_be_open)
            bad_input(
                "{}: {} is not closed, so it has no inside: {}; each edge must belong to two triangles that agree "
                "which side is out",
                where, file, open_edge(with_joined_vertices(loaded)).value_or("it has no volume"));
        before = loaded;
    }
}

Mesh MeshSequence::load(int frame) const
{
    try {
        return read_mesh(has_frame_pattern(name_) ? frame_path(name_, frame) : name_);
    } catch (const Error& error) {
        bad_input("{}: {}", where_, error.what());
    }
}

std::shared_ptr<const Mesh> MeshSequence::recent(int frame) const
{
    constexpr size_t kKept = 3;
    const std::lock_guard lock(mutex_);
    auto& mesh = recent_[frame];
    if (!mesh) mesh = std::make_shared<const Mesh>(load(frame));
    std::shared_ptr<const Mesh> wanted = mesh;
    while (recent_.size() > kKept) // drop the farthest
        recent_.erase(std::abs(recent_.begin()->first - frame) > std::abs(recent_.rbegin()->first - frame)
                          ? recent_.begin()
                          : std::prev(recent_.end()));
    return wanted;
}

MeshSequence::Moment::Moment(float frame, Mesh mesh, bool closed)
    : frame_(frame), mesh_(std::move(mesh)), distance_(mesh_, closed), bounds_(distance_.bounds())
{
    for (const Vec3f& v : mesh_.velocities) speed_ = std::max(speed_, v.cwiseAbs().maxCoeff());
}

MeshSequence::Moment::Moment(float frame, Mesh mesh, const Mesh& next, float share, bool closed)
    : frame_(frame), mesh_(std::move(mesh)), distance_(mesh_, closed), next_(std::in_place, next, closed),
      share_(share), bounds_(distance_.bounds())
{
    // No surface point moves farther than its distance to the other surface.
    for (const Vec3f& x : mesh_.positions) speed_ = std::max(speed_, std::abs(next_->distance(x)));
    bounds_.add(next_->bounds());
}

float MeshSequence::Moment::distance(const Vec3f& x) const
{
    const float d = distance_.distance(x);
    return next_ ? mix(d, next_->distance(x), share_) : d;
}

float MeshSequence::Moment::thickness(float most, bool outside) const
{
    const float skin = 1e-4f * most;
    const auto depth = [&](const Vec3f& x) {
        const float d = distance_.distance(x, most);
        return outside ? d : -d;
    };
    // Walk from a point on a triangle into the mesh, whichever way its normals point, to where it ends.
    const auto through = [&](const Vec3f& place, Vec3f normal) {
        if (depth(place - skin * normal) < 0) normal = -normal;
        float way = skin;
        while (way < most) {
            const float inside = depth(place - way * normal);
            if (inside < 0) return way;
            way += std::max(inside, skin);
        }
        return most;
    };
    // A large triangle of a wedge is thin at one side only.
    static const Vec3f kPlaces[] = {
        Vec3f::Constant(1 / 3.0f), {0.8f, 0.1f, 0.1f}, {0.1f, 0.8f, 0.1f}, {0.1f, 0.1f, 0.8f}};
    return parallel_reduce(
        mesh_.triangles.size(), most,
        [&](size_t t) {
            const Vec3i& corners = mesh_.triangles[t];
            const auto corner = [&](int k) -> const Vec3f& { return mesh_.positions[corners[k]]; };
            Vec3f normal = (corner(1) - corner(0)).cross(corner(2) - corner(0));
            if (!(normal.norm() > 0)) return most;
            normal.normalize();
            float least = most;
            for (const Vec3f& at : kPlaces)
                least = std::min(least, through(at[0] * corner(0) + at[1] * corner(1) + at[2] * corner(2), normal));
            return least;
        },
        [](float a, float b) { return std::min(a, b); }, 64);
}

Vec3f MeshSequence::Moment::velocity(const Vec3f& x) const
{
    if (next_) {
        const float step = 1e-3f * bounds_.size().maxCoeff();
        Vec3f normal;
        for (int a = 0; a < 3; ++a)
            normal[a] = distance(x + step * Vec3f::Unit(a)) - distance(x - step * Vec3f::Unit(a));
        const float length = normal.norm(), nearer = distance_.distance(x) - next_->distance(x);
        return length > 0 ? Vec3f(nearer / length * normal) : Vec3f::Zero();
    }
    if (mesh_.velocities.empty()) return Vec3f::Zero();
    const auto [triangle, weights] = distance_.nearest(x);
    const Vec3i& corners = mesh_.triangles[triangle];
    Vec3f sum = Vec3f::Zero();
    for (int k = 0; k < 3; ++k) sum += weights[k] * mesh_.velocities[corners[k]];
    return sum;
}

bool MeshSequence::is_thinner(float thickness, bool outside) const
{
    constexpr size_t kMostTriangles = 500000, kMostFrames = 32, kLeastFrames = 3;
    const size_t size = recent(first_)->triangles.size();
    const auto frames =
        static_cast<int>(std::clamp(kMostTriangles / std::max<size_t>(size, 1), kLeastFrames, kMostFrames));
    const int parts = std::min(last_ - first_, frames - 1);
    for (int part = 0; part <= parts; ++part) {
        const int frame = parts == 0 ? first_ : first_ + static_cast<int>(int64_t(last_ - first_) * part / parts);
        if (Moment(static_cast<float>(frame), welded(*recent(frame)), closed_).thickness(thickness, outside) <
            thickness)
            return true;
    }
    return false;
}

std::shared_ptr<const MeshSequence::Moment> MeshSequence::at(float frame) const
{
    const float within = std::clamp(frame, static_cast<float>(first_), static_cast<float>(last_));
    const int from = std::min(floor_int(within), last_);
    if (frame < static_cast<float>(first_) || from == last_)
        return std::make_shared<Moment>(frame, welded(*recent(from)), closed_);
    Mesh mesh = *recent(from);
    const auto kept = recent(from + 1);
    const Mesh& next = *kept;
    const float share = within - static_cast<float>(from);
    if (!same_triangles(mesh, next)) return std::make_shared<Moment>(frame, welded(mesh), welded(next), share, closed_);
    mesh.velocities.resize(mesh.positions.size());
    for (size_t i = 0; i < mesh.positions.size(); ++i) {
        mesh.velocities[i] = next.positions[i] - mesh.positions[i];
        mesh.positions[i] += share * mesh.velocities[i];
    }
    return std::make_shared<Moment>(frame, welded(mesh), closed_);
}

Mesh MeshSequence::mesh(float frame) const
{
    const float within = std::clamp(frame, static_cast<float>(first_), static_cast<float>(last_));
    const int from = floor_int(within);
    Mesh mesh = *recent(from);
    const float share = within - static_cast<float>(from);
    if (share == 0) return mesh;
    const auto kept = recent(from + 1);
    const Mesh& next = *kept;
    if (!same_triangles(mesh, next)) return share < 0.5f ? mesh : next;
    for (size_t i = 0; i < mesh.positions.size(); ++i)
        mesh.positions[i] += share * (next.positions[i] - mesh.positions[i]);
    mesh.normals.clear();
    return mesh;
}

} // namespace spindrift
