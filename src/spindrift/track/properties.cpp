#include "spindrift/track/properties.h"

#include <Eigen/Geometry>

namespace spindrift {

namespace {

constexpr size_t kVerticesPerTask = 1024;

template <class T> T given_value(const GivenValues& values, const std::string& name)
{
    const auto found = values.find(name);
    const Vec3f value = found == values.end() ? Vec3f(Vec3f::Zero()) : found->second;
    if constexpr (std::is_same_v<T, Vec3f>)
        return value;
    else
        return static_cast<T>(value.x());
}

template <class T>
T carried_value(const std::vector<T>& values, const Vec3i& corners, const Vec3f& weights, bool nearest)
{
    int largest = 0;
    weights.maxCoeff(&largest);
    if constexpr (!std::is_same_v<T, int32_t>)
        if (!nearest)
            return weights[0] * values[corners[0]] + weights[1] * values[corners[1]] + weights[2] * values[corners[2]];
    return values[corners[largest]];
}

} // namespace

Vec3f blended(const std::vector<Vec3f>& values, const Mesh& mesh, const SurfacePoint& at)
{
    return carried_value(values, mesh.triangles[at.triangle], at.weights, false);
}

void adopt_origins(const Mesh& mesh, std::vector<SurfacePoint>& from)
{
    std::vector<Vec3i> lacking; // triangles with a vertex that has none
    for (const Vec3i& t : mesh.triangles)
        if (from[t[0]].triangle == -1 || from[t[1]].triangle == -1 || from[t[2]].triangle == -1) lacking.push_back(t);
    for (size_t before = 0; !lacking.empty() && lacking.size() != before;) {
        before = lacking.size();
        std::vector<std::pair<int, SurfacePoint>> found;
        for (const Vec3i& t : lacking)
            for (int k = 0; k < 3; ++k)
                for (const int other : {t[(k + 1) % 3], t[(k + 2) % 3]})
                    if (from[t[k]].triangle == -1 && from[other].triangle != -1) found.emplace_back(t[k], from[other]);
        for (const auto& [vertex, origin] : found)
            if (from[vertex].triangle == -1) from[vertex] = origin;
        std::erase_if(lacking, [&](const Vec3i& t) {
            return from[t[0]].triangle != -1 && from[t[1]].triangle != -1 && from[t[2]].triangle != -1;
        });
    }
}

std::map<std::string, AttributeArray> carried_attributes(const Mesh& before, const std::vector<SurfacePoint>& from,
                                                         const std::vector<std::string>& labels,
                                                         const std::vector<GivenValues>& given)
{
    std::map<std::string, AttributeArray> result;
    const auto carry = [&](const std::string& name, const auto& values) {
        using T = typename std::decay_t<decltype(values)>::value_type;
        const bool nearest = std::find(labels.begin(), labels.end(), name) != labels.end();
        std::vector<T> carried(from.size());
        parallel_for(
            from.size(),
            [&](size_t i) {
                const SurfacePoint& at = from[i];
                carried[i] =
                    at.triangle >= 0
                        ? carried_value(values, before.triangles[at.triangle], at.weights, nearest)
                        : given_value<T>(at.triangle == -1 ? GivenValues() : given[source_of(at.triangle)], name);
            },
            kVerticesPerTask);
        result[name] = std::move(carried);
    };
    for (const auto& [name, array] : before.attributes)
        std::visit([&, &attribute = name](const auto& values) { carry(attribute, values); }, array);
    const std::vector<Vec3f> none(before.positions.size(), Vec3f::Zero());
    for (const GivenValues& values : given)
        for (const auto& [name, value] : values)
            if (!result.contains(name)) carry(name, none);
    return result;
}

void make_tangent(const std::vector<Vec3f>& normals, std::vector<Vec3f>& directions)
{
    parallel_for(
        directions.size(),
        [&](size_t i) {
            const Vec3f& n = normals[i];
            Vec3f along = directions[i] - n.dot(directions[i]) * n;
            if (along.squaredNorm() < 1e-8f) {
                int least = 0;
                n.cwiseAbs().minCoeff(&least);
                along = n.cross(Vec3f(Vec3f::Unit(least)));
            }
            directions[i] = along.normalized();
        },
        kVerticesPerTask);
}

void keep_to_one_piece(const Mesh& before, const std::vector<int32_t>& piece, std::vector<SurfacePoint>& from)
{
    parallel_for(
        from.size(),
        [&](size_t i) {
            if (from[i].triangle < 0) return;
            const Vec3i& corners = before.triangles[from[i].triangle];
            Vec3f& weights = from[i].weights;
            int largest = 0;
            weights.maxCoeff(&largest);
            bool mixed = false;
            for (int k = 0; k < 3; ++k)
                if (piece[corners[k]] != piece[corners[largest]]) weights[k] = 0, mixed = true;
            if (mixed) weights /= weights.sum();
        },
        kVerticesPerTask);
}

std::vector<SurfacePoint> snap(const MeshDistance& surface, const Mesh& mesh, const std::vector<int32_t>& piece,
                               std::vector<Vec3f>& points)
{
    std::vector<SurfacePoint> found(points.size());
    if (mesh.triangles.empty()) return found;
    parallel_for(
        points.size(),
        [&](size_t i) {
            if (piece[i] < 0) return;
            const MeshDistance::Nearest nearest = surface.nearest(points[i]);
            found[i] = {nearest.triangle, nearest.weights};
            points[i] = blended(mesh.positions, mesh, found[i]);
        },
        kVerticesPerTask);
    return found;
}

void replace(const std::vector<SurfacePoint>& on_mesh, const AttributeArray& known, AttributeArray& values)
{
    std::visit(
        [&](auto& to) {
            const auto& from = std::get<std::decay_t<decltype(to)>>(known);
            for (size_t i = 0; i < on_mesh.size(); ++i)
                if (on_mesh[i].triangle >= 0) to[i] = from[i];
        },
        values);
}

} // namespace spindrift
