#include "spindrift/render/ray_scene.h"

#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"

#include <embree3/rtcore.h>
#include <tbb/task_arena.h>

namespace spindrift {

namespace {

constexpr size_t kCrowd = 50000;   // spheres
constexpr size_t kPerTask = 16384; // vertices or triangles

Vec3f absorption_of(const WaterLook& water, const Box3f& extent)
{
    const float depth = water.depth.value_or(0.6f * extent.size().maxCoeff());
    const Vec3f color = water.color.cwiseMax(1e-4f).cwiseMin(1.0f);
    return -color.array().log() / std::max(depth, 1e-6f);
}

bool valid(const Vec3i& triangle, int vertices) { return triangle.minCoeff() >= 0 && triangle.maxCoeff() < vertices; }

// Mean length of the mesh's edges: the resolution of the surface.
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

// Walls of a container are visible from inside only, the side that their triangles face.
void see_from_inside(const RTCFilterFunctionNArguments* query)
{
    const RTCRay& ray = *reinterpret_cast<const RTCRay*>(query->ray);
    const RTCHit& hit = *reinterpret_cast<const RTCHit*>(query->hit);
    if (ray.dir_x * hit.Ng_x + ray.dir_y * hit.Ng_y + ray.dir_z * hit.Ng_z >= 0) query->valid[0] = 0;
}

} // namespace

// One body per Embree geometry, with the same number.
struct RayScene::Embree {
    struct Body {
        Hit::Kind kind;
        int layer = 0, medium = -1;
        Vec3f color = Vec3f::Zero();
        const RenderSpheres* spheres = nullptr;
        const Mesh* mesh = nullptr; // null for spheres
        // Three for each triangle, which then lie side by side: rays come from everywhere, and memory is slow. One set,
        // or one for each of its moments; empty: faces are flat.
        std::vector<std::vector<Vec3f>> normals = {};
        const std::vector<Vec3f>* colors = nullptr; // of paint or a solid, a vertex; null: all the same
        bool container = false;
        const RenderSolid* solid = nullptr;
    };
    RTCDevice device;
    RTCScene scene;              // everything
    RTCScene solids;             // solids only, to find them behind water
    RTCScene blockers = nullptr; // everything but containers, if there are any
    std::vector<Body> bodies;
    float open = 0; // time that the shutter is open [s]
    RTCBuildQuality quality = RTC_BUILD_QUALITY_MEDIUM;

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
    // Builds the trees quickly, for few rays. Embree does so only if both the scene and its geometries ask for it.
    void build_fast()
    {
        quality = RTC_BUILD_QUALITY_LOW;
        rtcSetSceneBuildQuality(scene, quality);
        if (blockers) rtcSetSceneBuildQuality(blockers, quality);
    }
    // Meshes and spheres move by their velocities while the shutter is open.
    Box3f add_mesh(const Mesh& mesh, Body body);
    Box3f add_solid(const RenderSolid& solid, const Vec3f& color);
    Box3f add_spheres(const RenderSpheres& balls, Body body);
    // A mesh whose vertices are at `positions(step, vertex)` at equal steps of time.
    template <class Positions>
    RTCGeometry triangles_of(const Mesh& mesh, unsigned steps, const Positions& positions, Box3f& bounds);
    void attach(RTCGeometry geometry, Body body);
    void commit();
    static RTCRayHit nearest(RTCScene among, const Ray& ray, float far);
    Hit describe(const RTCRayHit& found, const Ray& ray) const;
    void smooth_normal(Hit& hit, const Body& body, const RTCHit& at) const;
};

void RayScene::Embree::attach(RTCGeometry geometry, Body body)
{
    const auto number = static_cast<unsigned>(bodies.size());
    if (body.container) rtcSetGeometryIntersectFilterFunction(geometry, see_from_inside);
    rtcSetGeometryBuildQuality(geometry, quality);
    rtcCommitGeometry(geometry);
    rtcAttachGeometryByID(scene, geometry, number);
    if (body.kind == Hit::Kind::solid) rtcAttachGeometryByID(solids, geometry, number);
    if (blockers && !body.container) rtcAttachGeometryByID(blockers, geometry, number);
    rtcReleaseGeometry(geometry);
    bodies.push_back(std::move(body));
}

template <class Positions>
RTCGeometry RayScene::Embree::triangles_of(const Mesh& mesh, unsigned steps, const Positions& positions, Box3f& bounds)
{
    const size_t vertices = mesh.positions.size(), triangles = mesh.triangles.size();
    const RTCGeometry geometry = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
    rtcSetGeometryTimeStepCount(geometry, steps);
    for (unsigned step = 0; step < steps; ++step) {
        auto* position = static_cast<float*>(rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, step,
                                                                     RTC_FORMAT_FLOAT3, 3 * sizeof(float), vertices));
        if (!position) fail("render: not enough memory for a mesh of {} triangles", triangles);
        const auto copy = [&](size_t i) {
            const Vec3f p = positions(step, i);
            std::copy_n(p.data(), 3, position + 3 * i);
            return p.allFinite() ? Box3f{p, p} : Box3f();
        };
        const auto both = [](Box3f a, const Box3f& b) {
            a.add(b);
            return a;
        };
        bounds.add(parallel_reduce(vertices, Box3f(), copy, both, kPerTask));
    }
    auto* index = static_cast<unsigned*>(
        rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, 3 * sizeof(unsigned), triangles));
    if (!index) fail("render: not enough memory for a mesh of {} triangles", triangles);
    parallel_for(
        triangles,
        [&](size_t i) {
            // A triangle of vertices that do not exist collapses to a point, which no ray hits.
            const bool good = valid(mesh.triangles[i], static_cast<int>(vertices));
            for (int k = 0; k < 3; ++k) index[3 * i + k] = good ? static_cast<unsigned>(mesh.triangles[i][k]) : 0u;
        },
        kPerTask);
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

// The values of vertices, for the three corners of each triangle.
std::vector<Vec3f> at_corners(const Mesh& mesh, const std::vector<Vec3f>& values)
{
    std::vector<Vec3f> corners(3 * mesh.triangles.size(), Vec3f::Zero());
    parallel_for(
        mesh.triangles.size(),
        [&](size_t i) {
            const Vec3i& t = mesh.triangles[i];
            for (int k = 0; k < 3 && valid(t, static_cast<int>(values.size())); ++k) corners[3 * i + k] = values[t[k]];
        },
        kPerTask);
    return corners;
}

// From the shutter's opening (step 0) to its end (step 1), at constant velocity.
Vec3f moved(const Vec3f& place, const Vec3f& velocity, float open, unsigned step)
{
    const Vec3f way = (static_cast<float>(step) - 0.5f) * open * velocity;
    return way.allFinite() ? Vec3f(place + way) : place;
}

} // namespace

Box3f RayScene::Embree::add_mesh(const Mesh& mesh, Body body)
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
    body.mesh = &mesh, body.colors = colors_of(mesh);
    if (mesh.normals.size() == vertices) {
        body.normals.push_back(at_corners(mesh, mesh.normals));
    } else {
        Mesh smooth = mesh;
        compute_normals(smooth);
        body.normals.push_back(at_corners(mesh, smooth.normals));
    }
    attach(geometry, std::move(body));
    return bounds;
}

Box3f RayScene::Embree::add_solid(const RenderSolid& solid, const Vec3f& color)
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
            normals.push_back(at_corners(mesh, moves ? solid.moments[step]->normals : mesh.normals));
    Body body{.kind = Hit::Kind::solid, .layer = solid.layer, .color = solid.color.value_or(color)};
    body.mesh = &mesh, body.normals = std::move(normals), body.colors = colors_of(mesh);
    body.container = solid.container, body.solid = &solid;
    attach(geometry, std::move(body));
    return bounds;
}

Box3f RayScene::Embree::add_spheres(const RenderSpheres& balls, Body body)
{
    Box3f bounds;
    if (balls.centers.empty() || (balls.radii.empty() && !(balls.radius > 0))) return bounds;
    body.spheres = &balls;
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
    attach(geometry, std::move(body));
    return bounds;
}

// Builds on one thread: where a ray meets an edge, which of the two triangles is hit depends on their order in the
// tree, and that order depends on the number of threads that built it. rtcJoinCommitScene would leave this arena for
// one of the device's own, with all threads.
void RayScene::Embree::commit()
{
    tbb::task_arena alone(1);
    alone.execute([this] {
        rtcCommitScene(scene), rtcCommitScene(solids);
        if (blockers) rtcCommitScene(blockers);
    });
    if (const RTCError error = rtcGetDeviceError(device); error != RTC_ERROR_NONE)
        fail("render: Embree cannot build its tree (error {})", static_cast<int>(error));
}

int RayScene::add_medium(const WaterLook& look, const Box3f& extent)
{
    if (media_.size() == Immersion::kMost) bad_input("render: a picture can hold {} bodies of water", Immersion::kMost);
    media_.push_back({std::clamp(look.ior, 1.0f, 4.0f), absorption_of(look, extent), look.deep_color, 0});
    return static_cast<int>(media_.size()) - 1;
}

void RayScene::add_surface(const RenderSurface& surface, const RenderParams& params, const Box3f& extent)
{
    if (!surface.mesh) return;
    const float contact = std::min(0.75f * mean_edge(*surface.mesh), 0.012f * extent.size().maxCoeff());
    contact_ = std::max(contact_, contact);
    Embree::Body body{.kind = Hit::Kind::paint, .layer = surface.layer, .color = surface.paint.value_or(params.paint)};
    if (surface.look.value_or(params.look) == RenderParams::Look::water) {
        body.kind = Hit::Kind::liquid, body.medium = add_medium(surface.water.value_or(params.water), extent);
        media_.back().contact = contact;
    }
    bounds_.add(embree_->add_mesh(*surface.mesh, std::move(body)));
}

void RayScene::add_spheres(const RenderSpheres& spheres, const RenderParams& params, const Box3f& extent)
{
    Embree::Body body{.kind = Hit::Kind::sphere, .layer = spheres.layer, .color = params.solid_color};
    if (spheres.water) {
        body.kind = Hit::Kind::liquid, body.medium = add_medium(spheres.water_look.value_or(params.water), extent);
        media_.back().contact = contact_;
    }
    bounds_.add(embree_->add_spheres(spheres, std::move(body)));
}

RayScene::RayScene(const RenderScene& scene, const Volumes& smoke, const RenderParams& params, const Box3f& extent)
    : embree_(std::make_unique<Embree>()), smoke_(smoke), container_(scene.container)
{
    embree_->open = params.camera.shutter / 360 / scene.fps;
    if (std::ranges::any_of(scene.solids, &RenderSolid::container)) embree_->expect_containers();
    if (params.quality == RenderParams::Quality::draft) embree_->build_fast();
    for (const RenderSurface& surface : scene.surfaces) add_surface(surface, params, extent);
    Box3f containers;
    for (const RenderSolid& solid : scene.solids) {
        if (!solid.mesh()) continue;
        const Box3f solid_bounds = embree_->add_solid(solid, params.solid_color);
        if (!solid_bounds.empty()) solid_bounds_.push_back(solid_bounds);
        (solid.container ? containers : bounds_).add(solid_bounds);
    }
    size_t spheres = 0;
    for (const RenderSpheres* set : scene.spheres) {
        if (!set) continue;
        add_spheres(*set, params, extent);
        spheres += set->centers.size();
    }
    crowded_ = spheres > kCrowd;
    embree_->commit();
    Box3f all = bounds_;
    if (!containers.empty()) all.add(containers);
    if (!all.empty())
        offset_ = 1e-5f * all.size().norm() + 4e-7f * all.min.cwiseAbs().cwiseMax(all.max.cwiseAbs()).norm();
}

RayScene::~RayScene() = default;

void RayScene::Embree::smooth_normal(Hit& hit, const Body& body, const RTCHit& at) const
{
    if (body.normals.empty()) return;
    const auto last = static_cast<float>(body.normals.size() - 1);
    const Vec3f* corners = &body.normals[std::lround(hit.time * last)][3 * size_t{at.primID}];
    const Vec3f &a = corners[0], &b = corners[1], &c = corners[2];
    const Vec3f smooth = (1 - at.u - at.v) * a + at.u * b + at.v * c;
    // Keep sharp edges of a solid, such as those of a box.
    if (body.kind == Hit::Kind::solid && std::min({a.dot(hit.face), b.dot(hit.face), c.dot(hit.face)}) < 0.7f) return;
    const float length = smooth.norm();
    if (length > 1e-3f && smooth.dot(hit.face) > 0) hit.normal = smooth / length;
}

RTCRayHit RayScene::Embree::nearest(RTCScene among, const Ray& ray, float far)
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

Hit RayScene::Embree::describe(const RTCRayHit& found, const Ray& ray) const
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
    hit.color = body.color, hit.medium = body.medium;
    hit.body = static_cast<int>(found.hit.geomID), hit.primitive = found.hit.primID;
    hit.u = found.hit.u, hit.v = found.hit.v;
    if (body.colors && body.kind != Hit::Kind::liquid) {
        const Vec3i& t = body.mesh->triangles[found.hit.primID];
        const float u = found.hit.u, v = found.hit.v;
        hit.color = (1 - u - v) * (*body.colors)[t[0]] + u * (*body.colors)[t[1]] + v * (*body.colors)[t[2]];
    }
    if (body.mesh)
        smooth_normal(hit, body, found.hit);
    else if (found.hit.primID < body.spheres->colors.size())
        hit.color = body.spheres->colors[found.hit.primID];
    if (!body.mesh && found.hit.primID < body.spheres->normals.size()) {
        const Vec3f bent = 0.5f * hit.face + body.spheres->normals[found.hit.primID];
        if (const float length = bent.norm(); length > 1e-3f) hit.normal = bent / length;
    }
    return hit;
}

Hit RayScene::hit(const Ray& ray, float far) const
{
    return flattened(embree_->describe(Embree::nearest(embree_->scene, ray, far), ray));
}

Hit RayScene::light_hit(const Ray& ray, float far) const
{
    const RTCScene among = embree_->blockers ? embree_->blockers : embree_->scene;
    return flattened(embree_->describe(Embree::nearest(among, ray, far), ray));
}

Hit RayScene::flattened(Hit hit) const
{
    if (hit.kind == Hit::Kind::liquid && container_) flatten_against_walls(hit);
    return hit;
}

Hit RayScene::solid_hit(const Ray& ray, float far) const
{
    return embree_->describe(Embree::nearest(embree_->solids, ray, far), ray);
}

// Water at a wall is as flat as the wall; its mesh is only as flat as its voxels, and refraction makes every dent
// visible.
void RayScene::flatten_against_walls(Hit& hit) const
{
    for (int axis = 0; axis < 3; ++axis)
        for (const float side : {-1.0f, 1.0f}) {
            const float wall = side < 0 ? container_->min[axis] : container_->max[axis];
            const float facing = side * hit.face[axis];
            if (facing < 0.5f || std::abs(hit.position[axis] - wall) > 2 * medium(hit.medium).contact) continue;
            Vec3f flat = Vec3f::Zero();
            flat[axis] = side;
            const float share = smoothstep(0.5f, 0.85f, facing);
            hit.normal = (hit.normal + share * (flat - hit.normal)).normalized();
        }
}

Ray RayScene::leave(const Hit& hit, const Vec3f& direction) const
{
    const float side = direction.dot(hit.face) < 0 ? -offset_ : offset_;
    return {hit.position + side * hit.face, direction, hit.time};
}

Box3f RayScene::shading_bounds() const
{
    Box3f box = bounds_;
    if (!smoke_.empty()) box.add(smoke_.bounds());
    return box;
}

Vec3f RayScene::transmittance(const Ray& ray) const
{
    Vec3f through = past_bodies(ray);
    if (!smoke_.empty() && through.maxCoeff() > 0) through *= smoke_.transmittance(ray);
    return through;
}

Vec3f RayScene::past_bodies(Ray ray, float far) const
{
    Vec3f through = Vec3f::Ones();
    Immersion in;
    for (int crossing = 0; crossing < 12; ++crossing) {
        const Hit met = light_hit(ray, far);
        if (met.kind == Hit::Kind::none) return through;
        if (met.kind != Hit::Kind::liquid) return Vec3f::Zero();
        const Immersion before = in.with(met.medium, met.from_inside), after = in.with(met.medium, !met.from_inside);
        if (before.medium() != after.medium()) {
            const float cosine = std::abs(met.normal.dot(ray.direction)), a = ior(before), b = ior(after);
            through *= 1 - fresnel(cosine, std::min(a, b) / std::max(a, b)); // the same in both directions
        }
        if (before.any())
            through = through.cwiseProduct(beer_lambert(medium(before.medium()).absorption, met.distance));
        in = after;
        ray = leave(met, ray.direction);
        far -= met.distance;
    }
    return through;
}

bool RayScene::near_solid(const Vec3f& place, float distance) const
{
    return std::ranges::any_of(solid_bounds_, [&](const Box3f& box) {
        return ((place - box.min).array() >= -distance).all() && ((box.max - place).array() >= -distance).all();
    });
}

int RayScene::layer_of(const Hit& hit) const { return embree_->bodies[hit.body].layer; }

Vec3f RayScene::velocity_of(const Hit& hit) const
{
    if (hit.body < 0) return Vec3f::Zero();
    const Embree::Body& body = embree_->bodies[hit.body];
    Vec3f velocity = Vec3f::Zero();
    if (body.spheres) {
        if (hit.primitive < body.spheres->velocities.size()) velocity = body.spheres->velocities[hit.primitive];
        return velocity.allFinite() ? velocity : Vec3f::Zero().eval();
    }
    const Mesh& mesh = *body.mesh;
    const size_t vertices = mesh.positions.size();
    const Vec3i& t = mesh.triangles[hit.primitive];
    const auto between = [&](const auto& value) -> Vec3f {
        return (1 - hit.u - hit.v) * value(t[0]) + hit.u * value(t[1]) + hit.v * value(t[2]);
    };
    if (mesh.velocities.size() == vertices) {
        velocity = between([&](int i) -> Vec3f { return mesh.velocities[i]; });
    } else if (body.solid && embree_->open > 0 && body.solid->moments.size() > 1) {
        const Mesh &first = *body.solid->moments.front(), &last = *body.solid->moments.back();
        if (first.positions.size() == vertices && last.positions.size() == vertices)
            velocity =
                between([&](int i) -> Vec3f { return (last.positions[i] - first.positions[i]) / embree_->open; });
    }
    return velocity.allFinite() ? velocity : Vec3f::Zero().eval();
}

} // namespace spindrift
