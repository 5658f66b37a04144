#include "spindrift/smoke/reach.h"

namespace spindrift {

namespace {

constexpr int kMoments = 12;    // samples of a moving source
constexpr int kSteps = 200;     // of time
constexpr float kWiden = 0.25f; // of the path, to each side: half angle of a plume and the roll-up of its head
constexpr float kEntrainment = 0.1f;
constexpr float kFront = 1.25f; // speed of the fastest smoke over the mean of a plume: fitted at 80 to 1000 K

struct Puff {
    Vec3f low, high; // of the source at emission
    Vec3f velocity;
    float density, temperature, seconds;
};

// Upward acceleration by buoyancy of smoke of a given age [m/s2].
float lift(const SmokeParams& params, const Puff& puff, float age)
{
    const float heat = puff.temperature * std::exp(-params.cooling * age);
    const float smoke = puff.density * std::exp(-params.dissipation * age);
    return params.gravity.norm() *
           (params.buoyancy * heat / (heat + params.ambient_temperature) - params.weight * smoke);
}

// Height of a plume's front [m], negative for heavy smoke: free acceleration first, then entrainment makes the speed
// decay with the cube root of height [Morton 1956].
float rise(const SmokeParams& params, const Puff& puff, float radius, float height)
{
    const float dt = puff.seconds / kSteps;
    const float start = std::abs(lift(params, puff, 0));
    const float flux = start * std::sqrt(start * height) * radius * radius; // of buoyancy, over pi
    const float origin = radius / (1.2f * kEntrainment);
    float way = 0, free = 0;
    for (int i = 0; i < kSteps; ++i) {
        const float pull = lift(params, puff, (static_cast<float>(i) + 0.5f) * dt);
        const float share = start > 0 ? pull / start : 0; // fraction of the buoyancy left
        free += pull * dt;
        const float carried = std::cbrt(0.9f * kEntrainment * flux * std::abs(share) / (std::abs(way) + origin)) *
                              (kFront * 5 / 6 / kEntrainment);
        way += std::clamp(free, -carried, carried) * dt;
    }
    return way;
}

// Length of a jet: constant speed for a few diameters, then decreasing with distance.
float jet(float speed, float radius, float seconds)
{
    const float core = 8 * radius, straight = speed * seconds;
    return straight <= core ? straight : std::sqrt(core * (2 * straight - core));
}

Box3f reach_of(const SmokeParams& params, const Puff& puff)
{
    const Vec3f size = puff.high - puff.low;
    const float radius = 0.5f * std::sqrt(std::max(size.x() * size.z(), 0.0f)), height = size.y();
    const float up = rise(params, puff, radius, height), speed = puff.velocity.norm();
    const float out = jet(speed, radius, puff.seconds), length = std::hypot(up, out);
    Vec3f way = speed > 0 ? Vec3f(puff.velocity * (out / speed)) : Vec3f::Zero();
    if (params.gravity.norm() > 0) way -= up * params.gravity.normalized();
    if (way.norm() > length) way *= length / way.norm(); // entrainment is shared
    Box3f box{puff.low, puff.high};
    // The head widens with the path length, and its front is at the end of the path.
    const Vec3f head = (1 - kWiden) * way;
    box.add(Box3f{Vec3f(puff.low + head), Vec3f(puff.high + head)}.grown(kWiden * length));
    for (const ForceParams& force : params.forces)
        if (force.kind == ForceParams::Kind::wind) {
            const Vec3f drift = puff.seconds * force.velocity;
            box.add(Box3f{Vec3f(box.min + drift), Vec3f(box.max + drift)});
        }
    return box;
}

} // namespace

Box3f reach_of_smoke(const SmokeParams& params, std::vector<Shape> sources, int first_frame, int last_frame, float fps)
{
    Box3f reach;
    for (size_t i = 0; i < sources.size(); ++i) {
        const SmokeSourceParams& source = params.sources[i];
        const int from = std::max(first_frame, source.first_frame), to = std::min(last_frame, source.last_frame);
        if (!source.particles.empty() || from > to) continue;
        const int moments = sources[i].moves() ? std::min(kMoments, to - from + 1) : 1;
        for (int k = 0; k < moments; ++k) {
            const auto frame = moments == 1
                                   ? static_cast<float>(from)
                                   : static_cast<float>(from) + static_cast<float>(to - from) * static_cast<float>(k) /
                                                                    static_cast<float>(moments - 1);
            sources[i].prepare(frame);
            const Box3f box = sources[i].bounds(frame);
            if (!box.size().allFinite()) continue;
            const Vec3f own = source.inherit * sources[i].velocity(box.center(), frame, fps);
            float seconds = (static_cast<float>(last_frame) - frame) / fps;
            if (params.dissipation > 0) // until it has faded
                seconds =
                    std::min(seconds, std::max(0.0f, std::log(source.density / params.threshold)) / params.dissipation);
            reach.add(reach_of(params, {box.min, box.max, source.velocity.value_or(own), source.density,
                                        source.temperature, seconds}));
        }
    }
    return reach;
}

} // namespace spindrift
