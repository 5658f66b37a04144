#include "spindrift/base/noise.h"

namespace spindrift {

namespace {

// Random unit vector of a lattice point, uniform on the sphere.
Vec3f direction_at(int x, int y, int z, uint64_t seed)
{
    const uint64_t place = hash64(static_cast<uint64_t>(static_cast<uint32_t>(x)) << 32 | static_cast<uint32_t>(y),
                                  static_cast<uint32_t>(z));
    const uint64_t bits = hash64(seed, place);
    const float height = static_cast<float>(bits >> 40) * 0x1p-23f - 1;
    const float angle = static_cast<float>(bits & 0xffffff) * 0x1p-24f * static_cast<float>(2 * kPi);
    const float across = std::sqrt(std::max(0.0f, 1 - height * height));
    return {across * std::cos(angle), across * std::sin(angle), height};
}

// Quintic blend between lattice points, 6 t^5 - 15 t^4 + 10 t^3, and its derivative.
float blend(float t) { return t * t * t * (t * (6 * t - 15) + 10); }
float blend_slope(float t) { return 30 * t * t * (t * (t - 2) + 1); }

// Far from the origin floats have no fraction; cell coordinates beyond the range of int wrap around.
Vec3i cell_of(const Vec3f& lowest)
{
    const auto index = [](float x) { return static_cast<int>(static_cast<int64_t>(std::clamp(x, -9e18f, 9e18f))); };
    return {index(lowest.x()), index(lowest.y()), index(lowest.z())};
}
Vec3f floor_of(const Vec3f& x) { return {std::floor(x.x()), std::floor(x.y()), std::floor(x.z())}; }

std::array<Vec3f, 8> directions_around(const Vec3i& cell, uint64_t seed)
{
    std::array<Vec3f, 8> directions;
    for (int c = 0; c < 8; ++c)
        directions[c] = direction_at(cell.x() + (c >> 2), cell.y() + (c >> 1 & 1), cell.z() + (c & 1), seed);
    return directions;
}

// Interpolation weights of a cell's corners at a position in the cell.
struct CornerWeights {
    Vec3f place; // relative to the lowest corner
    float weight[3][2], slope[3][2];

    explicit CornerWeights(const Vec3f& in_cell) : place(in_cell)
    {
        for (int a = 0; a < 3; ++a) {
            weight[a][1] = blend(place[a]), weight[a][0] = 1 - weight[a][1];
            slope[a][1] = blend_slope(place[a]), slope[a][0] = -slope[a][1];
        }
    }
    NoiseSample sample(const std::array<Vec3f, 8>& directions) const
    {
        NoiseSample out{0, Vec3f::Zero()};
        for (int c = 0; c < 8; ++c) {
            const int dx = c >> 2, dy = c >> 1 & 1, dz = c & 1;
            const Vec3f& g = directions[c];
            const Vec3f corner(static_cast<float>(dx), static_cast<float>(dy), static_cast<float>(dz));
            const float ramp = g.dot(place - corner);
            const float wx = weight[0][dx], wy = weight[1][dy], wz = weight[2][dz];
            out.value += wx * wy * wz * ramp;
            out.gradient +=
                wx * wy * wz * g + ramp * Vec3f(slope[0][dx] * wy * wz, wx * slope[1][dy] * wz, wx * wy * slope[2][dz]);
        }
        return out;
    }
};

} // namespace

NoiseSample gradient_noise(const Vec3f& x, uint64_t seed)
{
    const Vec3f lowest = floor_of(x);
    return CornerWeights(x - lowest).sample(directions_around(cell_of(lowest), seed));
}

CurlNoise::CurlNoise(float time, uint64_t seed)
{
    // Cross-fade two fields, each with a life of 2 time units; the squared weights add up to 1 and keep the variance
    // constant.
    constexpr float kRootMeanSquare = 1.219f; // of the curl of three independent noises, measured
    for (int half = 0; half < 2; ++half) {
        const float age = 0.5f * (time + static_cast<float>(half));
        const float birth = std::floor(age);
        const int life = cell_of(Vec3f::Constant(birth)).x();
        const float weight = std::sin(static_cast<float>(kPi) * (age - birth));
        fields_[half] = {weight / kRootMeanSquare,
                         hash64(seed, hash64(static_cast<uint64_t>(half), static_cast<uint32_t>(life)))};
    }
}

Vec3f CurlNoise::operator()(const Vec3f& x)
{
    const Vec3f lowest = floor_of(x);
    const Vec3i at = cell_of(lowest);
    Cell& cell = recent_[(at.x() & 1) << 2 | (at.y() & 1) << 1 | (at.z() & 1)];
    if (at != cell.at) {
        cell.at = at;
        for (uint64_t c = 0; c < 3; ++c) {
            cell.directions[c].fill(Vec3f::Zero());
            for (const Field& field : fields_) {
                const Directions directions = directions_around(at, field.seed + c);
                for (size_t corner = 0; corner < 8; ++corner)
                    cell.directions[c][corner] += field.weight * directions[corner];
            }
        }
    }
    const CornerWeights weights(x - lowest);
    Vec3f gradient[3];
    for (size_t c = 0; c < 3; ++c) gradient[c] = weights.sample(cell.directions[c]).gradient;
    return {gradient[2].y() - gradient[1].z(), gradient[0].z() - gradient[2].x(), gradient[1].x() - gradient[0].y()};
}

Vec3f curl_noise(const Vec3f& x, float time, uint64_t seed) { return CurlNoise(time, seed)(x); }

} // namespace spindrift
