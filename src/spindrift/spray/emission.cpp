#include "spindrift/spray/emission.h"

#include <Eigen/Geometry>
#include <algorithm>

namespace spindrift {

namespace {

Vec3f corner(const std::vector<std::vector<float>>& points, size_t i)
{
    return {points[i][0], points[i][1], points[i][2]};
}

// A random direction in the cone around `axis` with this half angle, uniform in solid angle.
Vec3f in_cone(const Vec3f& axis, float half_angle, Random& random)
{
    const float height = 1 - random.uniform() * (1 - std::cos(half_angle));
    const float across = std::sqrt(std::max(0.0f, 1 - height * height));
    const float turn = static_cast<float>(2 * kPi) * random.uniform();
    const Vec3f u = axis.unitOrthogonal();
    return height * axis + across * (std::cos(turn) * u + std::sin(turn) * axis.cross(u));
}

size_t pick(const std::vector<float>& sums, float share)
{
    const auto found = std::upper_bound(sums.begin(), sums.end(), share * sums.back());
    return std::min(static_cast<size_t>(found - sums.begin()), sums.size() - 1);
}

} // namespace

Emitter::Emitter(const EmitterParams& params, Shape carrier, uint64_t seed)
    : params_(params), carrier_(std::move(carrier)), seed_(seed)
{
    if (params_.direction.cast<double>().norm() > 0)
        params_.direction = params_.direction.cast<double>().normalized().cast<float>();
}

double Emitter::first_frame(double start) const { return std::max(start, static_cast<double>(params_.first_frame)); }

int64_t Emitter::count(double frame, double start, double fps) const
{
    const double first = first_frame(start), last = static_cast<double>(params_.last_frame) + 1;
    const double frames = std::clamp(frame, first, std::max(first, last)) - first;
    return static_cast<int64_t>(frames / fps * static_cast<double>(params_.rate));
}

void Emitter::prepare(float frame)
{
    carrier_.prepare(frame);
    frame_ = frame;
    if (measured_ && (params_.from != EmitterParams::From::surface || !carrier_.moves())) return;
    measured_ = true;
    extent_.clear();
    float sum = 0;
    if (params_.from == EmitterParams::From::curve)
        for (size_t i = 1; i < params_.points.size(); ++i)
            extent_.push_back(sum += (corner(params_.points, i) - corner(params_.points, i - 1)).norm());
    if (params_.from != EmitterParams::From::surface) return;
    mesh_ = carrier_.mesh(frame);
    for (const Vec3i& t : mesh_.triangles) {
        const Vec3f& a = mesh_.positions[t[0]];
        const Vec3f &b = mesh_.positions[t[1]], &c = mesh_.positions[t[2]];
        extent_.push_back(sum += 0.5f * (b - a).cross(c - a).norm());
    }
}

// A random place on the emitter before its keyframes move it; on a surface, at the end of the step.
Emitter::Place Emitter::pick_place(Random& random) const
{
    switch (params_.from) {
    case EmitterParams::From::point:
        break;
    case EmitterParams::From::disc: {
        const float away = params_.radius * std::sqrt(random.uniform());
        const float turn = static_cast<float>(2 * kPi) * random.uniform();
        const Vec3f u = params_.direction.unitOrthogonal(), w = params_.direction.cross(u);
        return {params_.center + away * (std::cos(turn) * u + std::sin(turn) * w), Vec3f::Zero()};
    }
    case EmitterParams::From::curve: {
        const size_t piece = pick(extent_, random.uniform());
        const float along = random.uniform();
        return {(1 - along) * corner(params_.points, piece) + along * corner(params_.points, piece + 1), Vec3f::Zero()};
    }
    case EmitterParams::From::surface: {
        if (extent_.empty()) break;
        const Vec3i& t = mesh_.triangles[pick(extent_, random.uniform())];
        float u = random.uniform(), w = random.uniform();
        if (u + w > 1) u = 1 - u, w = 1 - w;
        const Vec3f& a = mesh_.positions[t[0]];
        const Vec3f ab = mesh_.positions[t[1]] - a;
        const Vec3f ac = mesh_.positions[t[2]] - a;
        return {a + u * ab + w * ac, ab.cross(ac)};
    }
    }
    return {params_.center, Vec3f::Zero()};
}

Emitter::Birth Emitter::birth(int64_t number, double start, double fps) const
{
    const double frame =
        first_frame(start) + (static_cast<double>(number) + 1) / static_cast<double>(params_.rate) * fps;
    const auto moment = static_cast<float>(frame), frames_per_second = static_cast<float>(fps);
    Random random(seed_, static_cast<uint64_t>(number));

    // Move place and direction with the emitter.
    auto [x, normal] = pick_place(random);
    Vec3f own_velocity;
    if (params_.from == EmitterParams::From::surface) {
        own_velocity = carrier_.velocity(x, frame_, frames_per_second);
        x -= (frame_ - moment) / frames_per_second * own_velocity;
    } else {
        x = carrier_.placed(x, moment);
        own_velocity = carrier_.velocity(x, moment, frames_per_second);
    }
    Vec3f axis = carrier_.placed(params_.direction, moment) - carrier_.placed(Vec3f::Zero(), moment);
    if (params_.direction.isZero(0)) axis = normal;
    if (!(axis.squaredNorm() > 0)) axis = Vec3f(0, 1, 0);

    Birth birth{frame, {}};
    const float speed = params_.speed * (1 + params_.speed_variation * random.uniform(-1, 1));
    birth.droplet.radius = params_.droplet_radius * (1 + params_.droplet_variation * random.uniform(-1, 1));
    birth.droplet.x = x;
    birth.droplet.v = speed * in_cone(axis.normalized(), params_.spread * static_cast<float>(kPi / 180), random) +
                      params_.inherit * own_velocity;
    return birth;
}

} // namespace spindrift
