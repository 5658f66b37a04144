// Tracked surfaces. [Bargteil 2006, 5.1] takes about 60 s a step at 512 cells. The surface is a ball in the deformation
// field of [LeVeque 1996] at full strength, in steps of at most four cells; times are medians over the steps.
#include "bench.h"

#include "spindrift/base/memory.h"
#include "spindrift/base/random.h"
#include "spindrift/mesh/triangle_distance.h"
#include "track/flows.h"

#include <embree3/rtcore.h>
#include <fmt/format.h>

#include <fstream>

namespace spindrift {

namespace {

struct MeasuredSteps {
    double seconds = 0, triangles = 0, cells = 0, bytes = 0;
    std::map<std::string, double> phases; // means
};

MeasuredSteps measure_steps(int cells, float radius, int steps, std::unique_ptr<SurfaceTracker>& tracker)
{
    const float voxel = 1.0f / static_cast<float>(cells);
    tracker = std::make_unique<SurfaceTracker>(TrackSettings{.voxel = voxel});
    tracker->start({ball_source(Vec3f::Constant(0.5f), radius)});
    Deformation flow;
    flow.begin = 0.5;
    std::vector<double> seconds;
    for (int i = 0; i < steps; ++i) seconds.push_back(seconds_of([&] { tracker->step(flow, 2 * voxel); }));
    std::nth_element(seconds.begin(), seconds.begin() + steps / 2, seconds.end());
    MeasuredSteps result{seconds[steps / 2],
                         static_cast<double>(tracker->mesh().triangles.size()),
                         static_cast<double>(tracker->distance().cell_count()),
                         static_cast<double>(tracker->bytes()),
                         {}};
    for (const auto& [name, time] : tracker->times().phases()) result.phases[name] = time / steps;
    return result;
}

// Embree's point query on the same triangles: distance without a sign.
class EmbreeDistance {
  public:
    explicit EmbreeDistance(const Mesh& mesh)
        : device_(rtcNewDevice(nullptr)), scene_(rtcNewScene(device_)), mesh_(mesh)
    {
        RTCGeometry geometry = rtcNewGeometry(device_, RTC_GEOMETRY_TYPE_TRIANGLE);
        auto* vertices = static_cast<float*>(rtcSetNewGeometryBuffer(
            geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, sizeof(Vec3f), mesh.positions.size()));
        std::memcpy(vertices, mesh.positions.data(), mesh.positions.size() * sizeof(Vec3f));
        auto* indices = static_cast<unsigned*>(rtcSetNewGeometryBuffer(
            geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, sizeof(Vec3i), mesh.triangles.size()));
        std::memcpy(indices, mesh.triangles.data(), mesh.triangles.size() * sizeof(Vec3i));
        rtcCommitGeometry(geometry), rtcAttachGeometry(scene_, geometry), rtcReleaseGeometry(geometry);
        rtcCommitScene(scene_);
    }
    ~EmbreeDistance() { rtcReleaseScene(scene_), rtcReleaseDevice(device_); }
    EmbreeDistance(const EmbreeDistance&) = delete;
    EmbreeDistance& operator=(const EmbreeDistance&) = delete;

    float distance(const Vec3f& x, float reach) const
    {
        RTCPointQueryContext context;
        rtcInitPointQueryContext(&context);
        RTCPointQuery query{x.x(), x.y(), x.z(), 0, reach};
        Looking looking{&mesh_, x};
        rtcPointQuery(scene_, &query, &context, nearer, &looking);
        return query.radius;
    }

  private:
    struct Looking {
        const Mesh* mesh;
        Vec3f x;
    };
    static bool nearer(RTCPointQueryFunctionArguments* arguments)
    {
        const auto* looking = static_cast<const Looking*>(arguments->userPtr);
        const Vec3i& corners = looking->mesh->triangles[arguments->primID];
        const Vec3f &a = looking->mesh->positions[corners[0]], &b = looking->mesh->positions[corners[1]],
                    &c = looking->mesh->positions[corners[2]];
        const Vec3f w = nearest_on_triangle(looking->x, a, b, c);
        const float distance = (looking->x - w[0] * a - w[1] * b - w[2] * c).norm();
        if (distance >= arguments->query->radius) return false;
        arguments->query->radius = distance;
        return true;
    }

    RTCDevice device_;
    RTCScene scene_;
    const Mesh& mesh_;
};

// Points within a cell of the surface, in the order of its vertices.
std::vector<Vec3f> points_near(const Mesh& mesh, float voxel)
{
    constexpr size_t kCount = 2'000'000;
    Random random(1);
    std::vector<Vec3f> points(kCount);
    for (size_t i = 0; i < kCount; ++i) {
        const Vec3f aside(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1));
        points[i] = mesh.positions[i * mesh.positions.size() / kCount] + 0.57f * voxel * aside;
    }
    return points;
}

void shuffle(std::vector<Vec3f>& points)
{
    Random random(2);
    for (size_t i = points.size(); i-- > 1;)
        std::swap(points[i], points[std::min(i, static_cast<size_t>(random.uniform() * static_cast<float>(i + 1)))]);
}

// `wanted`: whether the rate has a limit.
void queries(BenchTable& table, const SurfaceTracker& tracker, float voxel, const std::vector<Vec3f>& points,
             const char* order, bool wanted)
{
    const Mesh& mesh = tracker.mesh();
    std::vector<float> ours(points.size()), theirs(points.size());
    std::vector<double> seconds[2];
    const EmbreeDistance embree(mesh);
    for (int run = 0; run < 3; ++run) {
        seconds[0].push_back(seconds_of([&] {
            parallel_for(
                points.size(), [&](size_t i) { ours[i] = tracker.distance().distance(points[i]); }, 4096);
        }));
        seconds[1].push_back(seconds_of([&] {
            parallel_for(
                points.size(), [&](size_t i) { theirs[i] = embree.distance(points[i], 2 * voxel); }, 4096);
        }));
    }
    for (auto& runs : seconds) std::nth_element(runs.begin(), runs.begin() + 1, runs.end());
    const auto count = static_cast<double>(points.size()), rate = count / seconds[0][1], other = count / seconds[1][1];
    const std::string name = fmt::format("  signed distance within a cell, {}", order);
    if (wanted)
        table.add(name, fmt::format("{:.1f} M/s", rate / 1e6), rate, at_least(3e6, "/s"));
    else
        table.add(name, fmt::format("{:.1f} M/s", rate / 1e6));
    table.add("  Embree's point query, without a sign",
              fmt::format("{:.1f} M/s, ours {:.1f}x", other / 1e6, rate / other));
}

// The slope of the line through the logarithms, by least squares.
double fitted_exponent(const std::vector<Eigen::Vector2d>& points)
{
    Eigen::Vector2d mean = Eigen::Vector2d::Zero();
    for (const Eigen::Vector2d& point : points)
        mean += point.array().log().matrix() / static_cast<double>(points.size());
    double xy = 0, xx = 0;
    for (const Eigen::Vector2d& point : points) {
        const Eigen::Vector2d away = point.array().log().matrix() - mean;
        xy += away.x() * away.y(), xx += away.x() * away.x();
    }
    return xy / xx;
}

} // namespace

void bench_track(BenchTable& table)
{
    std::unique_ptr<SurfaceTracker> tracker;
    std::vector<Eigen::Vector2d> costs; // cells log cells, seconds
    for (const auto& [cells, radius, steps] : {std::tuple(128, 0.32f, 9), {256, 0.32f, 7}, {512, 0.32f, 5}}) {
        tracker.reset();
        std::ofstream("/proc/self/clear_refs") << 5; // the peak counts from here
        const MeasuredSteps result = measure_steps(cells, radius, steps, tracker);
        table.add(fmt::format("track, {} cells, {:.0f} thousand triangles", cells, result.triangles / 1e3),
                  fmt::format("{:.3f} s a step", result.seconds));
        costs.emplace_back(result.cells * std::log(result.cells), result.seconds);
        if (cells == 128)
            table.add("  time a step", fmt::format("{:.3f} s", result.seconds), result.seconds, at_most(0.15, " s"));
        if (cells != 512) continue;
        table.add("  time a step", fmt::format("{:.2f} s", result.seconds), result.seconds, at_most(2, " s"));
        for (const auto& [name, time] : result.phases) table.add("  " + name, fmt::format("{:.3f} s", time));
        table.add("  memory of the surface", fmt::format("{:.0f} MB", result.bytes / 1e6));
        const double peak = peak_memory();
        table.add("  peak memory of the process, with steps", fmt::format("{:.0f} MB", peak / 1e6), peak,
                  at_most(1.5e9, " bytes"));
        const float voxel = 1.0f / static_cast<float>(cells);
        std::vector<Vec3f> points = points_near(tracker->mesh(), voxel);
        queries(table, *tracker, voxel, points, "in the order of vertices", true);
        shuffle(points);
        queries(table, *tracker, voxel, points, "in random order", false);
    }
    const double exponent = fitted_exponent(costs);
    table.add("  exponent of time over cells log cells, fit", fmt::format("{:.2f}", exponent), exponent,
              at_most(1.1, ""));
}

} // namespace spindrift
