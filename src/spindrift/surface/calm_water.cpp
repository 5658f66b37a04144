#include "spindrift/surface/calm_water.h"

#include "spindrift/surface/vertex_blocks.h"

#include <Eigen/Eigenvalues>

namespace spindrift {

namespace {

// Lengths are in spacings.
constexpr float kBlock = 16; // edge of a block

// Falls from 1 up to `full` to 0 from `none` on.
struct Fade {
    float full, none;
    float operator()(float x) const { return clamp01((none - x) / (none - full)); }
};
// Rms distances from a plane. Particles at rest give 0.06, and 0.04 after heights have been corrected; a ripple of a
// quarter of a spacing has 0.18.
constexpr Fade kCalm{0.12f, 0.2f}, kCalmCorrected{0.075f, 0.1f};
// How far a vertex may move: single particles protrude by 0.3.
constexpr Fade kMoved{0.35f, 0.5f};
// How much the volume below a block may deviate from normal. It does in sheets, which are drawn too thick.
constexpr Fade kUnusual{0.1f, 0.2f};
// Sines of the angle between a vertex's normal and its block's; vertices beyond the first are excluded from fits.
constexpr Fade kTilted{0.44f, 0.6f};
// Share of the vertices of a block that must be included, or it has more than one side.
constexpr float kOneSided = 0.67f;
// Surface this close to a wall is excluded from fits: cells cut by walls have inexact volumes, and it dips or rises
// there.
constexpr float kWall = 4;
// Area that a plane must be fitted to.
constexpr float kLeastArea = 8, kEnoughArea = 16;

// Weighted sums over positions, relative to some origin.
struct Moments {
    double weight = 0;
    Vec3d sum = Vec3d::Zero();
    Eigen::Matrix3d squares = Eigen::Matrix3d::Zero();

    void add(const Vec3f& place, float w)
    {
        const Vec3d x = place.cast<double>(), wx = static_cast<double>(w) * x;
        weight += static_cast<double>(w), sum += wx, squares += wx * x.transpose();
    }
    void add(const Moments& other) { weight += other.weight, sum += other.sum, squares += other.squares; }
};

// The least-squares plane.
struct Plane {
    Vec3f centre = Vec3f::Zero(), normal = Vec3f::Zero();
    float roughness = kInfinity; // rms distance

    explicit Plane(const Moments& m)
    {
        if (!(m.weight > 0)) return;
        const Vec3d mean = m.sum / m.weight;
        const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(m.squares / m.weight - mean * mean.transpose());
        centre = mean.cast<float>(), normal = solver.eigenvectors().col(0).cast<float>();
        roughness = static_cast<float>(std::sqrt(std::max(0.0, solver.eigenvalues()[0])));
    }
};

struct CalmBlock {
    std::span<const uint32_t> vertices;
    Vec3f normal = Vec3f::Zero(); // mean
    float calm = 0;
    std::array<Moments, 8> at_corner; // relative to the corner
};

// The plane at a corner of blocks.
struct CornerPlane {
    Vec3f centre, normal;
    float calm;
    float known; // 0 where too little surface is near
};

class CalmWater {
  public:
    CalmWater(Contour& contour, const std::vector<float>& strength, const SurfaceResolution& surface,
              const std::optional<Box3f>& container)
        : contour_(contour), mesh_(contour.mesh), surface_(surface), to_spacings_(1 / surface.spacing),
          vertex_area_(surface.voxel * surface.voxel * to_spacings_ * to_spacings_),
          places_(mesh_.positions, movable_vertices(contour, strength), kBlock * surface.spacing),
          blocks_(places_.size())
    {
        if (container) off_walls_ = container->grown(-kWall * surface.spacing);
        for (size_t b = 0; b < blocks_.size(); ++b) blocks_[b].vertices = places_.vertices(b);
    }

    void flatten(const VolumeExcess& excess)
    {
        for_each_block([&](CalmBlock& block, const Vec3i&) { measure(block); });
        if (std::ranges::none_of(blocks_, [](const CalmBlock& block) { return block.calm > 0; })) return;
        correct_heights(excess);
        for_each_block([&](CalmBlock& block, const Vec3i& at) {
            if (block.calm > 0) fit(block, at);
        });
        for_each_block([&](const CalmBlock& block, const Vec3i& at) {
            if (block.calm > 0) move(block, at);
        });
    }

  private:
    template <class Body> void for_each_block(const Body& body)
    {
        parallel_for(blocks_.size(), [&](size_t b) { body(blocks_[b], places_.place(b)); });
    }
    Vec3f place(uint32_t vertex) const { return mesh_.positions[vertex] * to_spacings_; }
    float tilt(const CalmBlock& block, uint32_t vertex) const
    {
        const float cosine = mesh_.normals[vertex].dot(block.normal);
        return cosine > 0 ? std::sqrt(std::max(0.0f, 1 - cosine * cosine)) : 1;
    }
    bool off_walls(uint32_t vertex) const { return !off_walls_ || off_walls_->contains(mesh_.positions[vertex]); }
    bool counts(const CalmBlock& block, uint32_t vertex) const
    {
        return tilt(block, vertex) < kTilted.full && off_walls(vertex);
    }

    // How calm a block is by itself.
    void measure(CalmBlock& block) const
    {
        for (const uint32_t i : block.vertices) block.normal += mesh_.normals[i];
        block.normal.normalize();
        Moments moments;
        const Vec3f origin = place(block.vertices[0]);
        for (const uint32_t i : block.vertices)
            if (counts(block, i)) moments.add(place(i) - origin, 1);
        const auto all =
            static_cast<float>(std::ranges::count_if(block.vertices, [&](uint32_t i) { return off_walls(i); }));
        if (all == 0)
            block.calm = 1; // its neighbours decide
        else if (static_cast<float>(moments.weight) > kOneSided * all)
            block.calm = kCalm(Plane(moments).roughness);
    }

    // Finds how much each vertex is too high for the volume below it, relative to the mean over all calm water: on
    // average the surface stays where it is.
    void correct_heights(const VolumeExcess& excess)
    {
        too_high_.assign(mesh_.positions.size(), 0);
        struct Sum {
            double heights = 0, count = 0;
        };
        std::vector<Sum> sums(blocks_.size());
        parallel_for(blocks_.size(), [&](size_t b) {
            const CalmBlock& block = blocks_[b];
            for (const uint32_t i : block.vertices) {
                if (!(block.calm > 0) || !counts(block, i)) continue;
                too_high_[i] = excess.height(mesh_.positions[i]);
                sums[b].heights += static_cast<double>(too_high_[i]), sums[b].count += 1;
            }
        });
        Sum all;
        for (size_t b = 0; b < blocks_.size(); ++b) {
            const auto calm = static_cast<double>(blocks_[b].calm);
            all.heights += calm * sums[b].heights, all.count += calm * sums[b].count;
        }
        if (all.count == 0) return;
        const auto usual = static_cast<float>(all.heights / all.count);
        parallel_for(blocks_.size(), [&](size_t b) {
            if (sums[b].count == 0) return;
            for (const uint32_t i : blocks_[b].vertices) too_high_[i] -= usual;
            blocks_[b].calm *= kUnusual(std::abs(static_cast<float>(sums[b].heights / sums[b].count) - usual));
        });
    }

    void fit(CalmBlock& block, const Vec3i& at) const
    {
        for (const uint32_t i : block.vertices) {
            if (!counts(block, i)) continue;
            const Vec3f x = place(i) - kBlock * at.cast<float>(), share = x / kBlock;
            const Vec3f corrected = x - too_high_[i] * block.normal;
            for (int c = 0; c < 8; ++c)
                block.at_corner[c].add(corrected - kBlock * corner_step(c).cast<float>(),
                                       vertex_area_ * corner_weight(share, c));
        }
    }

    // The plane at a corner for a surface with this normal. The far side of a slab is excluded.
    CornerPlane plane_at(const Vec3i& corner, const Vec3f& normal) const
    {
        Moments moments;
        float calm = 1;
        for (int c = 0; c < 8; ++c) {
            const size_t b = places_.find(corner - corner_step(c));
            if (b == blocks_.size()) continue;
            const CalmBlock& block = blocks_[b];
            if (block.calm > 0 && block.normal.dot(normal) < -0.9f) continue;
            moments.add(block.at_corner[c]);
            calm = std::min(calm, block.calm);
        }
        const Plane plane(moments);
        // Next to a block that is not calm, nothing moves.
        const float known = 1 - Fade{kLeastArea, kEnoughArea}(static_cast<float>(moments.weight));
        return {plane.centre + kBlock * corner.cast<float>(), plane.normal,
                std::min(calm, kCalmCorrected(plane.roughness)), std::max(known, 1 - calm)};
    }

    void move(const CalmBlock& block, const Vec3i& at)
    {
        std::array<CornerPlane, 8> planes;
        for (int c = 0; c < 8; ++c) planes[c] = plane_at(at + corner_step(c), block.normal);
        for (const uint32_t i : block.vertices) {
            const Vec3f x = place(i), share = x / kBlock - at.cast<float>();
            Vec3f move = Vec3f::Zero();
            float weights = 0;
            for (int c = 0; c < 8; ++c) {
                const CornerPlane& plane = planes[c];
                const float w = plane.known * corner_weight(share, c);
                weights += w;
                if (plane.calm > 0) move -= w * plane.calm * plane.normal.dot(x - plane.centre) * plane.normal;
            }
            if (!(weights > 0)) continue;
            move /= weights;
            move *= kMoved(move.norm()) * kTilted(tilt(block, i)) * surface_.spacing;
            for (int a = 0; a < 3; ++a)
                if (!(contour_.kinds[i] >> a & 1)) mesh_.positions[i][a] += move[a];
        }
    }

    Contour& contour_;
    Mesh& mesh_;
    const SurfaceResolution surface_;
    const float to_spacings_, vertex_area_;
    std::optional<Box3f> off_walls_; // region whose surface is included
    VertexBlocks places_;
    std::vector<CalmBlock> blocks_;
    std::vector<float> too_high_; // by vertex
};

} // namespace

void flatten_calm_water(Contour& contour, const std::vector<float>& strength, const VolumeExcess& excess,
                        const SurfaceResolution& resolution, const std::optional<Box3f>& container)
{
    CalmWater(contour, strength, resolution, container).flatten(excess);
}

} // namespace spindrift
