#include "spindrift/render/world.h"

#include "spindrift/base/error.h"

#include <embree3/rtcore.h>
#include <tbb/task_arena.h>

namespace spindrift {

namespace {

Vec3f absorption_of(const WaterLook& water, const Box3f& extent)
{
    const float depth = water.depth.value_or(0.6f * extent.size().maxCoeff());
    const Vec3f color = water.color.cwiseMax(1e-4f).cwiseMin(1.0f);
    return -color.array().log() / std::max(depth, 1e-6f);
}

bool valid(const Vec3i& triangle, int vertices) { return triangle.minCoeff() >= 0 && triangle.maxCoeff() < vertices; }

// Mean edge of the mesh: how finely the surface was sampled.
float mean_edge(const Mesh& mesh)
{
    double sum = 0;
    size_t count = 0;
    for (const Vec3i& t : mesh.triangles) {
        if (!valid(t, static_cast<int>(mesh.positions.size()))) continue;
        const float edge = (mesh.positions[t[0]] - mesh.positions[t[1]]).norm();
        if (std::isfinite(edge)) sum += edge, ++count;
    }
    return count ? static_cast<float>(sum / static_cast<double>(count)) : 0;
}

// Walls of a container are seen from inside only, where their triangles face.
void see_from_inside(const RTCFilterFunctionNArguments* query)
{
    const RTCRay& ray = *reinterpret_cast<const RTCRay*>(query->ray);
    const RTCHit& hit = *reinterpret_cast<const RTCHit*>(query->hit);
    if (ray.dir_x * hit.Ng_x + ray.dir_y * hit.Ng_y + ray.dir_z * hit.Ng_z >= 0) query->valid[0] = 0;
}

} // namespace

// One body per Embree geometry, numbered alike.
struct World::Embree {
    struct Body {
        Hit::Kind kind;
        const Mesh* mesh = nullptr;                   // null for the spheres
        std::vector<std::vector<Vec3f>> normals = {}; // one set, or one for each of its moments; empty: faces are flat
        const std::vector<Vec3f>* colors = nullptr;   // of paint or a solid, a vertex; null: all the same
        bool container = false;
    };
    RTCDevice device;
    RTCScene scene;              // everything
    RTCScene solids;             // solids alone, to feel for them through water
    RTCScene blockers = nullptr; // everything but containers, if there are any
    std::vector<Body> bodies;
    const RenderSpheres* spheres = nullptr;
    Vec3f solid_color, paint_color;

    Embree()
        : device(rtcNewDevice(nullptr)), scene(device ? rtcNewScene(device) : nullptr),
          solids(device ? rtcNewScene(device) : nullptr)
    {
        if (!scene || !solids)
            fail("render: Embree does not start on this machine (error {})",
                 static_cast<int>(rtcGetDeviceError(device)));
        rtcSetSceneFlags(scene, RTC_SCENE_FLAG_ROBUST); // no leaks between the triangles of a closed surface
    }
    ~Embree()
    {
        if (blockers) rtcReleaseScene(blockers);
        rtcReleaseScene(solids);
        rtcReleaseScene(scene);
        rtcReleaseDevice(device);
    }
    Embree(const Embree&) = delete;
    Embree& operator=(const Embree&) = delete;

    void expect_containers()
    {
        blockers = rtcNewScene(device);
        if (!blockers) fail("render: not enough memory for a third scene");
        rtcSetSceneFlags(blockers, RTC_SCENE_FLAG_ROBUST);
    }
    // `open` is how long the shutter is [s]; a mesh moves by its velocities, and spheres by theirs.
    Box3f add_mesh(const Mesh& mesh, Hit::Kind kind, float open);
    Box3f add_solid(const RenderSolid& solid);
    Box3f add_spheres(const RenderSpheres& balls, float open);
    // A mesh whose vertices are at `positions(step, vertex)` at equal steps of time.
    template <class Positions>
    RTCGeometry triangles_of(const Mesh& mesh, unsigned steps, const Positions& positions, Box3f& bounds);
    void attach(RTCGeometry geometry, Body body);
    void commit();
    static RTCRayHit nearest(RTCScene among, const Ray& ray, float far);
    Hit describe(const RTCRayHit& found, const Ray& ray) const;
    void smooth_normal(Hit& hit, const Body& body, const RTCHit& at) const;
};

void World::Embree::attach(RTCGeometry geometry, Body body)
{
    const auto number = static_cast<unsigned>(bodies.size());
    if (body.container) rtcSetGeometryIntersectFilterFunction(geometry, see_from_inside);
    rtcCommitGeometry(geometry);
    rtcAttachGeometryByID(scene, geometry, number);
    if (body.kind == Hit::Kind::solid) rtcAttachGeometryByID(solids, geometry, number);
    if (blockers && !body.container) rtcAttachGeometryByID(blockers, geometry, number);
    rtcReleaseGeometry(geometry);
    bodies.push_back(std::move(body));
}

template <class Positions>
RTCGeometry World::Embree::triangles_of(const Mesh& mesh, unsigned steps, const Positions& positions, Box3f& bounds)
{
    const size_t vertices = mesh.positions.size(), triangles = mesh.triangles.size();
    const RTCGeometry geometry = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
    rtcSetGeometryTimeStepCount(geometry, steps);
    for (unsigned step = 0; step < steps; ++step) {
        auto* position = static_cast<float*>(rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, step,
                                                                     RTC_FORMAT_FLOAT3, 3 * sizeof(float), vertices));
        if (!position) fail("render: not enough memory for a mesh of {} triangles", triangles);
        for (size_t i = 0; i < vertices; ++i) {
            const Vec3f p = positions(step, i);
            std::copy_n(p.data(), 3, position + 3 * i);
            if (p.allFinite()) bounds.add(p);
        }
    }
    auto* index = static_cast<unsigned*>(
        rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, 3 * sizeof(unsigned), triangles));
    if (!index) fail("render: not enough memory for a mesh of {} triangles", triangles);
    for (size_t i = 0; i < triangles; ++i) {
        // A triangle of vertices that do not exist collapses to a point, which no ray hits.
        const bool good = valid(mesh.triangles[i], static_cast<int>(vertices));
        for (int k = 0; k < 3; ++k) index[3 * i + k] = good ? static_cast<unsigned>(mesh.triangles[i][k]) : 0u;
    }
    return geometry;
}

namespace {

const std::vector<Vec3f>* colors_of(const Mesh& mesh)
{
    auto color = mesh.attributes.find("color");
    if (color == mesh.attributes.end()) color = mesh.attributes.find("Cd");
    const auto* colors = color == mesh.attributes.end() ? nullptr : std::get_if<std::vector<Vec3f>>(&color->second);
    return colors && colors->size() == mesh.positions.size() ? colors : nullptr;
}

// From the shutter's opening (step 0) to its end (step 1), at a steady velocity.
Vec3f moved(const Vec3f& place, const Vec3f& velocity, float open, unsigned step)
{
    const Vec3f way = (static_cast<float>(step) - 0.5f) * open * velocity;
    return way.allFinite() ? Vec3f(place + way) : place;
}

} // namespace

Box3f World::Embree::add_mesh(const Mesh& mesh, Hit::Kind kind, float open)
{
    Box3f bounds;
    const size_t vertices = mesh.positions.size();
    if (vertices == 0 || mesh.triangles.empty()) return bounds;
    const bool moves = open > 0 && mesh.velocities.size() == vertices;
    const RTCGeometry geometry = triangles_of(
        mesh, moves ? 2 : 1,
        [&](unsigned step, size_t i) {
            return moves ? moved(mesh.positions[i], mesh.velocities[i], open, step) : mesh.positions[i];
        },
        bounds);
    std::vector<Vec3f> normals = mesh.normals;
    if (normals.size() != vertices) {
        Mesh smooth = mesh;
        compute_normals(smooth);
        normals = std::move(smooth.normals);
    }
    attach(geometry, {kind, &mesh, {std::move(normals)}, colors_of(mesh)});
    return bounds;
}

Box3f World::Embree::add_solid(const RenderSolid& solid)
{
    Box3f bounds;
    const Mesh& mesh = *solid.mesh();
    const size_t vertices = mesh.positions.size();
    if (vertices == 0 || mesh.triangles.empty()) return bounds;
    bool moves = solid.moments.size() > 1, smooth = mesh.normals.size() == vertices;
    for (const Mesh* moment : solid.moments) {
        moves &= moment->positions.size() == vertices && moment->triangles.size() == mesh.triangles.size();
        smooth &= moment->normals.size() == moment->positions.size();
    }
    const auto steps = moves ? static_cast<unsigned>(solid.moments.size()) : 1;
    const RTCGeometry geometry = triangles_of(
        mesh, steps,
        [&](unsigned step, size_t i) { return moves ? solid.moments[step]->positions[i] : mesh.positions[i]; }, bounds);
    std::vector<std::vector<Vec3f>> normals;
    if (smooth)
        for (unsigned step = 0; step < steps; ++step)
            normals.push_back(moves ? solid.moments[step]->normals : mesh.normals);
    attach(geometry, {Hit::Kind::solid, &mesh, std::move(normals), colors_of(mesh), solid.container});
    return bounds;
}

Box3f World::Embree::add_spheres(const RenderSpheres& balls, float open)
{
    Box3f bounds;
    if (balls.centers.empty() || (balls.radii.empty() && !(balls.radius > 0))) return bounds;
    spheres = &balls;
    const size_t count = balls.centers.size();
    const bool capsules = !balls.ends.empty(), moves = open > 0 && balls.velocities.size() == count;
    const size_t each = capsules ? 2 : 1;
    const RTCGeometry geometry =
        rtcNewGeometry(device, capsules ? RTC_GEOMETRY_TYPE_ROUND_LINEAR_CURVE : RTC_GEOMETRY_TYPE_SPHERE_POINT);
    rtcSetGeometryTimeStepCount(geometry, moves ? 2 : 1);
    for (unsigned step = 0; step < (moves ? 2u : 1u); ++step) {
        auto* ball = static_cast<float*>(rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, step,
                                                                 RTC_FORMAT_FLOAT4, 4 * sizeof(float), each * count));
        if (!ball) fail("render: not enough memory for {} spheres", count);
        for (size_t i = 0; i < count; ++i)
            for (size_t k = 0; k < each; ++k) {
                const Vec3f& still = k == 0 ? balls.centers[i] : balls.ends[i];
                const Vec3f c = moves ? moved(still, balls.velocities[i], open, step) : still;
                ball = std::copy_n(c.data(), 3, ball);
                *ball++ = balls.radius_of(i);
                if (c.allFinite()) bounds.add(Box3f{c, c}.grown(balls.radius_of(i)));
            }
    }
    if (capsules) {
        auto* first = static_cast<unsigned*>(
            rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT, sizeof(unsigned), count));
        if (!first) fail("render: not enough memory for {} spheres", count);
        for (size_t i = 0; i < count; ++i) first[i] = static_cast<unsigned>(2 * i);
    }
    attach(geometry, {balls.water ? Hit::Kind::liquid : Hit::Kind::sphere});
    return bounds;
}

// On one thread: where a ray meets an edge, which of the two triangles is hit depends on their order in the tree, and
// that on the threads that built it. Pictures should not. rtcJoinCommitScene would leave this arena for one of the
// device's own, with all threads.
void World::Embree::commit()
{
    tbb::task_arena alone(1);
    alone.execute([this] {
        rtcCommitScene(scene), rtcCommitScene(solids);
        if (blockers) rtcCommitScene(blockers);
    });
    if (const RTCError error = rtcGetDeviceError(device); error != RTC_ERROR_NONE)
        fail("render: Embree cannot build its tree (error {})", static_cast<int>(error));
}

World::World(const RenderScene& scene, const Volume& smoke, const RenderParams& params, const Box3f& extent)
    : embree_(std::make_unique<Embree>()), smoke_(smoke), container_(scene.container),
      ior_(std::clamp(params.water.ior, 1.0f, 4.0f)), absorption_(absorption_of(params.water, extent)),
      deep_color_(params.water.deep_color)
{
    embree_->solid_color = params.solid_color, embree_->paint_color = params.paint;
    const float open = params.camera.shutter / 360 / scene.fps;
    if (std::ranges::any_of(scene.solids, &RenderSolid::container)) embree_->expect_containers();
    if (scene.liquid) {
        const bool paint = params.look == RenderParams::Look::paint;
        bounds_.add(embree_->add_mesh(*scene.liquid, paint ? Hit::Kind::paint : Hit::Kind::liquid, open));
        contact_ = std::min(0.75f * mean_edge(*scene.liquid), 0.012f * extent.size().maxCoeff());
    }
    Box3f containers;
    for (const RenderSolid& solid : scene.solids) {
        if (!solid.mesh()) continue;
        const Box3f solid_bounds = embree_->add_solid(solid);
        has_solids_ |= !solid_bounds.empty();
        (solid.container ? containers : bounds_).add(solid_bounds);
    }
    if (scene.spheres) {
        bounds_.add(embree_->add_spheres(*scene.spheres, open));
        crowded_ = scene.spheres->centers.size() > 50000;
    }
    embree_->commit();
    Box3f all = bounds_;
    if (!containers.empty()) all.add(containers);
    if (!all.empty())
        offset_ = 1e-5f * all.size().norm() + 4e-7f * all.min.cwiseAbs().cwiseMax(all.max.cwiseAbs()).norm();
}

World::~World() = default;

void World::Embree::smooth_normal(Hit& hit, const Body& body, const RTCHit& at) const
{
    if (body.normals.empty()) return;
    const Vec3i& t = body.mesh->triangles[at.primID];
    const auto last = static_cast<float>(body.normals.size() - 1);
    const std::vector<Vec3f>& normals = body.normals[static_cast<size_t>(hit.time * last + 0.5f)];
    const Vec3f &a = normals[t[0]], &b = normals[t[1]], &c = normals[t[2]];
    const Vec3f smooth = (1 - at.u - at.v) * a + at.u * b + at.v * c;
    // Sharp edges of a solid, like those of a box, must not be smoothed away.
    if (body.kind == Hit::Kind::solid && std::min({a.dot(hit.face), b.dot(hit.face), c.dot(hit.face)}) < 0.7f) return;
    const float length = smooth.norm();
    if (length > 1e-3f && smooth.dot(hit.face) > 0) hit.normal = smooth / length;
}

RTCRayHit World::Embree::nearest(RTCScene among, const Ray& ray, float far)
{
    RTCIntersectContext context;
    rtcInitIntersectContext(&context);
    RTCRayHit query;
    query.ray.org_x = ray.origin.x(), query.ray.org_y = ray.origin.y(), query.ray.org_z = ray.origin.z();
    query.ray.dir_x = ray.direction.x(), query.ray.dir_y = ray.direction.y(), query.ray.dir_z = ray.direction.z();
    query.ray.tnear = 0, query.ray.tfar = far;
    query.ray.time = ray.time, query.ray.mask = ~0u, query.ray.id = 0, query.ray.flags = 0;
    query.hit.geomID = RTC_INVALID_GEOMETRY_ID, query.hit.instID[0] = RTC_INVALID_GEOMETRY_ID;
    rtcIntersect1(among, &context, &query);
    return query;
}

Hit World::Embree::describe(const RTCRayHit& found, const Ray& ray) const
{
    Hit hit;
    if (found.hit.geomID == RTC_INVALID_GEOMETRY_ID) return hit;
    const Body& body = bodies[found.hit.geomID];
    hit.kind = body.kind, hit.container = body.container, hit.time = ray.time;
    hit.distance = found.ray.tfar;
    hit.position = ray.origin + hit.distance * ray.direction;
    hit.face = Vec3f(found.hit.Ng_x, found.hit.Ng_y, found.hit.Ng_z).normalized();
    hit.normal = hit.face;
    hit.from_inside = hit.face.dot(ray.direction) > 0;
    hit.color = body.kind == Hit::Kind::paint ? paint_color : solid_color;
    if (body.colors && body.kind != Hit::Kind::liquid) {
        const Vec3i& t = body.mesh->triangles[found.hit.primID];
        const float u = found.hit.u, v = found.hit.v;
        hit.color = (1 - u - v) * (*body.colors)[static_cast<size_t>(t[0])] +
                    u * (*body.colors)[static_cast<size_t>(t[1])] + v * (*body.colors)[static_cast<size_t>(t[2])];
    }
    if (body.mesh)
        smooth_normal(hit, body, found.hit);
    else if (found.hit.primID < spheres->colors.size())
        hit.color = spheres->colors[found.hit.primID];
    if (!body.mesh && found.hit.primID < spheres->normals.size()) {
        const Vec3f bent = 0.5f * hit.face + spheres->normals[found.hit.primID];
        if (const float length = bent.norm(); length > 1e-3f) hit.normal = bent / length;
    }
    return hit;
}

Hit World::hit(const Ray& ray, float far) const
{
    return flattened(embree_->describe(Embree::nearest(embree_->scene, ray, far), ray));
}

Hit World::light_hit(const Ray& ray, float far) const
{
    const RTCScene among = embree_->blockers ? embree_->blockers : embree_->scene;
    return flattened(embree_->describe(Embree::nearest(among, ray, far), ray));
}

Hit World::flattened(Hit hit) const
{
    if (hit.kind == Hit::Kind::liquid && container_) flatten_against_walls(hit);
    return hit;
}

Hit World::solid_hit(const Ray& ray, float far) const
{
    return embree_->describe(Embree::nearest(embree_->solids, ray, far), ray);
}

// Water that rests against a wall is as flat as the wall; its mesh is only as flat as its voxels, and refraction shows
// every dent.
void World::flatten_against_walls(Hit& hit) const
{
    for (int axis = 0; axis < 3; ++axis)
        for (const float side : {-1.0f, 1.0f}) {
            const float wall = side < 0 ? container_->min[axis] : container_->max[axis];
            const float facing = side * hit.face[axis];
            if (facing < 0.5f || std::abs(hit.position[axis] - wall) > 2 * contact_) continue;
            Vec3f flat = Vec3f::Zero();
            flat[axis] = side;
            const float share = smoothstep(0.5f, 0.85f, facing);
            hit.normal = (hit.normal + share * (flat - hit.normal)).normalized();
        }
}

Ray World::leave(const Hit& hit, const Vec3f& direction) const
{
    const float side = direction.dot(hit.face) < 0 ? -offset_ : offset_;
    return {hit.position + side * hit.face, direction, hit.time};
}

Box3f World::shading_bounds() const
{
    Box3f box = bounds_;
    if (!smoke_.empty()) box.add(smoke_.bounds());
    return box;
}

Vec3f World::transmittance(const Ray& ray) const
{
    Vec3f through = past_bodies(ray);
    if (!smoke_.empty() && through.maxCoeff() > 0) through *= smoke_.transmittance(ray);
    return through;
}

Vec3f World::past_bodies(Ray ray, float far) const
{
    Vec3f through = Vec3f::Ones();
    for (int crossing = 0; crossing < 12; ++crossing) {
        const Hit met = light_hit(ray, far);
        if (met.kind == Hit::Kind::none) return through;
        if (met.kind != Hit::Kind::liquid) return Vec3f::Zero();
        const float cosine = std::abs(met.normal.dot(ray.direction));
        through *= 1 - fresnel(cosine, 1 / ior_); // the same in both directions along one path
        if (met.from_inside) through = through.cwiseProduct(beer_lambert(absorption_, met.distance));
        ray = leave(met, ray.direction);
        far -= met.distance;
    }
    return through;
}

} // namespace spindrift
