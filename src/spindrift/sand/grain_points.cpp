#include "spindrift/sand/grain_points.h"
#include "spindrift/sand/tuning.h"

#include "spindrift/base/error.h"
#include "spindrift/base/random.h"
#include "spindrift/base/scratch.h"
#include "spindrift/points/attribute_checks.h"
#include "spindrift/points/state_checks.h"
#include "spindrift/sand/particle_shapes.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <numeric>

namespace spindrift {

namespace {

constexpr int32_t kNowhere = -1;
constexpr uint64_t kBumps = 1; // a stream of random numbers
constexpr int kTries = 8;      // to place a new grain beside a collider

Vec3f in_ball(Random& random)
{
    for (;;) { // rejection sampling; about one try in two is outside
        const float x = random.uniform(-1, 1), y = random.uniform(-1, 1), z = random.uniform(-1, 1);
        if (const Vec3f u(x, y, z); u.squaredNorm() <= 1) return u;
    }
}

// The random part of a grain's normal, the same in every frame.
Vec3f bump_of(int32_t id)
{
    Random random(kBumps, static_cast<uint64_t>(id));
    const float x = random.uniform(-1, 1), y = random.uniform(-1, 1), z = random.uniform(-1, 1);
    return SandTuning::bumpiness * Vec3f(x, y, z);
}

// The rotation of the polar decomposition m = rotation * stretch [Higham 1986]; identity where m inverts space.
Mat3f rotation_of(Mat3f m)
{
    constexpr int kSteps = 8; // converges quadratically
    if (!(m.determinant() > 1e-6f)) return Mat3f::Identity();
    for (int step = 0; step < kSteps; ++step) m = 0.5f * (m + m.inverse().transpose()).eval();
    return m;
}

// d in units of the semi-axes of the ellipsoid with A = L L^T.
Vec3f in_axes(const Mat3f& L, const Vec3f& d)
{
    const float x = d.x() / L(0, 0), y = (d.y() - L(1, 0) * x) / L(1, 1);
    return {x, y, (d.z() - L(2, 0) * x - L(2, 1) * y) / L(2, 2)};
}

// Finds particles by id.
class Registry {
  public:
    explicit Registry(const std::vector<int32_t>& ids)
    {
        const int32_t highest = ids.empty() ? -1 : *std::max_element(ids.begin(), ids.end());
        const size_t size = std::max(highest, -1) + int64_t(1);
        if (size > 64 * ids.size() + kSmall) { // a table would be mostly empty
            for (size_t i = 0; i < ids.size(); ++i) sorted_.emplace_back(ids[i], static_cast<int32_t>(i));
            std::sort(sorted_.begin(), sorted_.end());
            return;
        }
        places_.assign(size, kNowhere);
        for (size_t i = 0; i < ids.size(); ++i)
            if (ids[i] >= 0) places_[ids[i]] = static_cast<int32_t>(i);
    }
    int32_t find(int32_t id) const
    {
        if (id < 0) return kNowhere;
        if (sorted_.empty()) return static_cast<size_t>(id) < places_.size() ? places_[id] : kNowhere;
        const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), std::pair(id, 0));
        return found != sorted_.end() && found->first == id ? found->second : kNowhere;
    }

  private:
    static constexpr size_t kSmall = 1 << 20;
    std::vector<int32_t> places_;
    std::vector<std::pair<int32_t, int32_t>> sorted_; // id and index, instead of a table
};

// Frames are files that any program may have written.
void check_sand(const Particles& sand, const SandParams& params, float whole)
{
    const float reach = params.voxel * kTileSize * (kTileReach - 16);
    float most = 0; // mass of a full particle
    for (const SandMaterialParams& material : params.materials) most = std::max(most, whole * material.density);
    const auto* mass = sand.find<float>(kMass);
    for (size_t i = 0; i < sand.size(); ++i) {
        const bool somewhere = sand.P[i].cwiseAbs().maxCoeff() < reach && sand.v[i].allFinite();
        if (!somewhere || (mass && !((*mass)[i] >= 0 && (*mass)[i] <= 1000 * most)))
            fail("sand particle {} has an invalid position, velocity or mass; delete the frame to simulate it again",
                 sand.id[i]);
    }
}

} // namespace

void GrainParams::visit(ParamVisitor& v)
{
    v("each", each, unit::none, between(1, 1000), "Grains for each particle of sand that can be seen.");
}

// The sand of a frame, sorted into a grid.
struct GrainPoints::Frame {
    Particles particles;
    SandGrid grid;
    std::vector<Mat3f> roots; // L of each shape A = L L^T
    std::vector<uint8_t> hidden;

    // Calls body(particle) for particles in the cells from `low` to `low + size` along each axis.
    template <class Body> void for_each_in(const Vec3i& low, int size, const Body& body) const
    {
        for (int s = 0; s < size * size * size; ++s) {
            const Vec3i cell = low + Vec3i(s / (size * size), s / size % size, s % size);
            const int tile = grid.topology.find(tile_of_cell(cell)), offset = offset_of_cell(cell);
            if (tile == grid.topology.tile_count()) continue;
            for (size_t i = grid.index.cell_begin(tile, offset), end = grid.index.cell_end(tile, offset); i < end; ++i)
                body(i);
        }
    }
    // The particle that contains a position most deeply and is on its side of all sheets, kNowhere for none.
    int32_t home_of(const Vec3f& x, int32_t kind, const Solids& solids) const
    {
        const auto& material = required<int32_t>(particles, kMaterial);
        int32_t best = kNowhere;
        float nearest = SandTuning::lost * SandTuning::lost;
        for_each_in(cell_of(x - Vec3f::Constant(0.5f * grid.voxel), 1 / grid.voxel), 2, [&](size_t i) {
            if (material[i] != kind) return;
            const float distance = in_axes(roots[i], x - particles.P[i]).squaredNorm();
            if (distance < nearest && !solids.parted(particles.P[i], x))
                nearest = distance, best = static_cast<int32_t>(i);
        });
        return best;
    }
};

// The index of each particle in the next frame, and the displacement of the sand there.
struct GrainPoints::Flow {
    std::vector<int32_t> successor; // kNowhere if it split or merged
    std::vector<Vec3f> shift;
};

GrainPoints::GrainPoints(const SandParams& sand, const GrainParams& params, float fps, std::vector<Shape> colliders)
    : sand_(sand), each_(params.each), seconds_(1 / fps), whole_(sand.voxel * sand.voxel * sand.voxel / 8),
      radius_(std::cbrt(SandTuning::packing * whole_ * 3 /
                        (4 * static_cast<float>(kPi) * static_cast<float>(params.each)))),
      solids_(DomainParams(), std::move(colliders), fps)
{
    if (sand_.materials.empty()) sand_.materials.emplace_back();
    solids_.find_sheets(sand.voxel);
}

GrainPoints::GrainPoints(GrainPoints&&) noexcept = default;
GrainPoints::~GrainPoints() = default;

std::unique_ptr<GrainPoints::Frame> GrainPoints::prepared(Particles sand) const
{
    check_sand(sand, sand_, whole_);
    auto frame = std::make_unique<Frame>();
    Particles& particles = frame->particles = std::move(sand);
    SandGrid& grid = frame->grid;
    const auto& diagonal = particles.attribute<Vec3f>(kShapeDiagonal);
    const auto& shear = particles.attribute<Vec3f>(kShapeShear);
    particles.attribute<float>(kMass);
    for (int32_t& m : particles.attribute<int32_t>(kMaterial))
        m = std::clamp(m, 0, static_cast<int32_t>(sand_.materials.size()) - 1);
    grid.sort(particles, sand_.voxel, sand_.gravity);
    grid.splat(particles, sand_.materials);
    frame->roots.resize(particles.size()), frame->hidden.resize(particles.size());
    const float least = 1e-4f * sand_.voxel * sand_.voxel;       // keeps flat ellipsoids invertible
    const Mat3f round = 0.25f * sand_.voxel * Mat3f::Identity(); // replaces matrices that are no ellipsoid
    for_each_tile(grid.topology, [&](int tile) {
        if (grid.index.tile_empty(tile)) return;
        auto& filled = thread_scratch<Block<float, 1>>();
        filled.gather(grid.filled, tile);
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3i cell = cell_in_tile(c);
            float emptiest = kInfinity;
            for (int s = 0; s < 27; ++s)
                emptiest =
                    std::min(emptiest, filled.at(cell.x() + s / 9 - 1, cell.y() + s / 3 % 3 - 1, cell.z() + s % 3 - 1));
            for (size_t i = grid.index.cell_begin(tile, c), end = grid.index.cell_end(tile, c); i < end; ++i) {
                const Mat3f shape = shape_of(diagonal[i].cwiseMax(least), shear[i]);
                const Eigen::LLT<Mat3f> root(shape);
                frame->roots[i] = root.info() == Eigen::Success ? root.matrixL().toDenseMatrix() : round;
                frame->hidden[i] = emptiest > SandTuning::hidden;
            }
        }
    });
    return frame;
}

// Stochastic rounding: a fraction of a grain exists with that probability.
size_t GrainPoints::wanted(const Frame& frame, size_t particle) const
{
    const float mass = required<float>(frame.particles, kMass)[particle];
    const int32_t material = required<int32_t>(frame.particles, kMaterial)[particle];
    const float full = whole_ * sand_.materials[material].density;
    const uint64_t id = static_cast<uint64_t>(frame.particles.id[particle]);
    return static_cast<size_t>(static_cast<float>(each_) * mass / full +
                               Random(static_cast<uint64_t>(sand_.seed) + 1, id).uniform());
}

void GrainPoints::set_frame(int frame)
{
    frame_number_ = frame;
    solids_.set_frame(static_cast<float>(frame));
}

bool GrainPoints::beside(const Stand& from, const Vec3f& x) const
{
    if ((x - from.place).norm() <= from.distance - radius_) return true;
    return solids_.collider_distance(x) >= std::min(radius_, from.distance) && !solids_.parted(from.place, x);
}

Vec3f GrainPoints::held(const Stand& from, const Vec3f& x) const
{
    if (beside(from, x)) return x;
    constexpr int kHalvings = 10;
    const auto at = [&](float share) -> Vec3f { return from.place + share * (x - from.place); };
    float free = 0, hit = 1;
    for (int halving = 0; halving < kHalvings; ++halving) {
        const float middle = 0.5f * (free + hit);
        (beside(from, at(middle)) ? free : hit) = middle;
    }
    return at(free);
}

// Sorts points by the particles of a frame. Particles that are to be filled and have no points get new ones.
template <class Fills> void GrainPoints::regroup(const Frame& frame, const Fills& fills, GrainReport& report)
{
    const size_t count = frame.particles.size();
    std::vector<size_t> kept(count, 0);
    for (const int32_t home : home_)
        if (home != kNowhere) ++kept[home];
    first_.assign(count + 1, 0);
    for (size_t i = 0; i < count; ++i)
        first_[i + 1] = first_[i] + (kept[i] == 0 && fills(i) ? wanted(frame, i) : kept[i]);
    Particles grouped;
    grouped.resize(first_[count]);
    std::vector<size_t> place(first_.begin(), first_.end() - 1);
    for (size_t k = 0; k < home_.size(); ++k) {
        if (home_[k] == kNowhere) continue;
        const size_t to = place[home_[k]]++;
        grouped.P[to] = points_.P[k], grouped.v[to] = points_.v[k], grouped.id[to] = points_.id[k];
    }
    for (size_t i = 0; i < count; ++i)
        for (size_t k = place[i]; k < first_[i + 1]; ++k) {
            if (next_id_ == std::numeric_limits<int>::max()) fail("more than 2147483647 grains were created");
            grouped.id[k] = next_id_++, ++report.made;
        }
    auto& parent = grouped.attribute<int32_t>(kParent);
    auto& kind = grouped.attribute<int32_t>(kMaterial);
    const auto& material = required<int32_t>(frame.particles, kMaterial);
    parallel_for(
        count,
        [&](size_t i) {
            if (first_[i] == first_[i + 1]) return;
            const int32_t id = frame.particles.id[i];
            const Stand from = stand(frame.particles.P[i]);
            Random random(static_cast<uint64_t>(sand_.seed), static_cast<uint64_t>(id));
            for (size_t k = first_[i]; k < first_[i + 1]; ++k) {
                parent[k] = id, kind[k] = material[i];
                if (k < place[i]) continue;
                const auto any_place = [&]() -> Vec3f {
                    return from.place + SandTuning::filling * frame.roots[i] * in_ball(random);
                };
                Vec3f x = any_place();
                for (int tries = 1; tries < kTries && !beside(from, x); ++tries) x = any_place();
                grouped.P[k] = held(from, x), grouped.v[k] = frame.particles.v[i];
            }
        },
        256);
    points_ = std::move(grouped);
    report.points = points_.size();
}

GrainReport GrainPoints::start(Particles sand, int frame)
{
    set_frame(frame);
    next_id_ = 0;
    points_ = {};
    home_.clear();
    frame_ = prepared(std::move(sand));
    GrainReport report;
    regroup(
        *frame_, [&](size_t i) { return !frame_->hidden[i]; }, report);
    light(*frame_);
    return report;
}

void GrainPoints::restore(State state, Particles sand, int frame)
{
    set_frame(frame);
    check_state(state.points, sand_.voxel);
    check_state_attribute<int32_t>(state.points, kParent);
    check_state_number(state.next_id, 0, std::numeric_limits<int>::max(), "next_id");
    next_id_ = state.next_id, points_ = std::move(state.points);
    frame_ = prepared(std::move(sand));
    // Points are sorted by particle, and prepared() restores the same order of particles.
    const Registry registry(frame_->particles.id);
    const auto& parent = points_.attribute<int32_t>(kParent);
    first_.assign(frame_->particles.size() + 1, 0);
    for (const int32_t id : parent) {
        const int32_t particle = registry.find(id);
        if (particle == kNowhere) bad_state("grains of a particle {} that the sand of this frame does not have", id);
        ++first_[particle + 1];
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
}

GrainReport GrainPoints::advance(Particles sand)
{
    GrainReport report;
    auto next = prepared(std::move(sand));
    const Flow flow = flow_to(*next);
    expose(flow, *next, report);
    set_frame(frame_number_ + 1);
    carry(flow, *next, report);
    // Sand from a source, or that has lost all of its points. Small particles may have none by chance.
    const auto empty = [&](size_t i) { return !next->hidden[i] && 4 * wanted(*next, i) >= static_cast<size_t>(each_); };
    regroup(*next, empty, report);
    frame_ = std::move(next);
    light(*frame_);
    return report;
}

// The displacement of a particle present in both frames is known. One that split or merged has jumped: its displacement
// follows from its velocity, which is exact in flight.
GrainPoints::Flow GrainPoints::flow_to(const Frame& next) const
{
    const Particles& now = frame_->particles;
    Flow flow;
    flow.successor.resize(now.size()), flow.shift.resize(now.size());
    const Registry registry(next.particles.id);
    const auto &mass = required<float>(now, kMass), &next_mass = required<float>(next.particles, kMass);
    parallel_for(
        now.size(),
        [&](size_t i) {
            const int32_t j = registry.find(now.id[i]);
            const bool whole = j != kNowhere && next_mass[j] == mass[i];
            flow.successor[i] = whole ? j : kNowhere;
            const Vec3f later = j != kNowhere ? next.particles.v[j] : now.v[i] + seconds_ * sand_.gravity;
            if (whole)
                flow.shift[i] = next.particles.P[j] - now.P[i];
            else
                flow.shift[i] = 0.5f * seconds_ * (now.v[i] + later);
        },
        4096);
    return flow;
}

// The gradient of displacement at a particle: a linear least-squares fit to its neighbours.
Mat3f GrainPoints::gradient_at(size_t particle, const std::vector<Vec3f>& shift) const
{
    const SandGrid& grid = frame_->grid;
    const std::vector<Vec3f>& P = frame_->particles.P;
    const Vec3f& x = P[particle];
    const float inverse_voxel = 1 / grid.voxel;
    Mat3f places = SandTuning::doubt * Mat3f::Identity(), shifts = Mat3f::Zero();
    frame_->for_each_in(cell_of(x, inverse_voxel) - Vec3i(1, 1, 1), 3, [&](size_t j) {
        const Vec3f d = (P[j] - x) * inverse_voxel;
        const float near = std::max(0.0f, 1 - d.squaredNorm()), weight = near * near;
        if (weight == 0) return;
        places += weight * d * d.transpose();
        shifts += weight * inverse_voxel * (shift[j] - shift[particle]) * d.transpose();
    });
    const Mat3f gradient = shifts * places.inverse();
    const float size = gradient.norm();
    return size > SandTuning::most_gradient ? gradient * (SandTuning::most_gradient / size) : gradient;
}

// Gives points to particles that were hidden until now, but may be visible in the next frame.
void GrainPoints::expose(const Flow& flow, const Frame& next, GrainReport& report)
{
    home_.resize(points_.size());
    parallel_for(
        frame_->particles.size(),
        [&](size_t i) {
            for (size_t k = first_[i]; k < first_[i + 1]; ++k) home_[k] = static_cast<int32_t>(i);
        },
        4096);
    const auto may_be_seen = [&](size_t i) {
        const int32_t successor = flow.successor[i];
        return frame_->hidden[i] && (successor == kNowhere || !next.hidden[successor]);
    };
    regroup(*frame_, may_be_seen, report);
}

// Moves points, and finds their new particles. With A and A' before and after, A' = F A F^T determines the map F up to
// a rotation, which is taken from the flow: points keep their place in the ellipsoid. A point's velocity is its
// displacement since the last frame, as for a liquid. Adding half of the velocity that sand gained in the frame would
// give the instantaneous velocity in flight, but be wrong where sand strikes sand and where a point changes particles.
//
// At colliders, a point of a particle that is in both frames stays on that particle's side. Any other ends where its
// way, in the frame of reference of the nearest sheet, meets a collider.
void GrainPoints::carry(const Flow& flow, const Frame& next, GrainReport& report)
{
    const Frame& now = *frame_;
    const auto& material = required<int32_t>(now.particles, kMaterial);
    home_.assign(points_.size(), kNowhere);
    std::vector<uint32_t> handed(now.particles.size(), 0), lost(now.particles.size(), 0);
    parallel_for(
        now.particles.size(),
        [&](size_t i) {
            if (first_[i] == first_[i + 1]) return;
            Mat3f map = Mat3f::Identity() + gradient_at(i, flow.shift);
            const int32_t successor = flow.successor[i];
            if (successor != kNowhere) {
                const Mat3f &L = now.roots[i], &after = next.roots[successor];
                const auto inverse = [](const Mat3f& m) -> Mat3f {
                    return m.triangularView<Eigen::Lower>().solve(Mat3f::Identity());
                };
                map = after * rotation_of(inverse(after) * map * L) * inverse(L);
            }
            const Vec3f to = now.particles.P[i] + flow.shift[i];
            const Stand middle = stand(to); // of the successor, if there is one
            for (size_t k = first_[i]; k < first_[i + 1]; ++k) {
                Vec3f& x = points_.P[k];
                const Vec3f from = x;
                x = to + map * (x - now.particles.P[i]);
                if (successor == kNowhere) x = held(stand(solids_.moved_with_sheet(from)), x);
                const int32_t j = successor != kNowhere ? successor : next.home_of(x, material[i], solids_);
                if (j == kNowhere) {
                    ++lost[i];
                    continue;
                }
                if (next.hidden[j]) continue;
                const Vec3f u = in_axes(next.roots[j], x - next.particles.P[j]);
                if (const float out = u.norm(); out > SandTuning::filling)
                    x = next.particles.P[j] +
                        next.roots[j] * (mix(1, SandTuning::filling / out, SandTuning::drawn_in) * u);
                if (successor != kNowhere) x = held(middle, x);
                points_.v[k] = (x - from) / seconds_;
                home_[k] = j;
                handed[i] += next.particles.id[j] != now.particles.id[i];
            }
        },
        64);
    report.handed_on = std::accumulate(handed.begin(), handed.end(), size_t{0});
    report.given_up = std::accumulate(lost.begin(), lost.end(), size_t{0});
}

// Normals from the gradient of density.
void GrainPoints::light(const Frame& frame)
{
    auto& normal = points_.attribute<Vec3f>(kNormal);
    const SandGrid& grid = frame.grid;
    for_each_tile(grid.topology, [&](int tile) {
        if (grid.index.tile_empty(tile)) return;
        auto& filled = thread_scratch<Block<float, 2>>();
        auto& outwards = thread_scratch<Block<Vec3f, 1>>();
        filled.gather(grid.filled, tile);
        constexpr int low = -1, high = kTileSize;
        for (int x = low; x <= high; ++x)
            for (int y = low; y <= high; ++y)
                for (int z = low; z <= high; ++z)
                    outwards.at(x, y, z) = Vec3f(filled.at(x - 1, y, z) - filled.at(x + 1, y, z),
                                                 filled.at(x, y - 1, z) - filled.at(x, y + 1, z),
                                                 filled.at(x, y, z - 1) - filled.at(x, y, z + 1));
        const Vec3f corner = grid.topology.first_cell(tile).cast<float>().array() + 0.5f;
        const Vec3f least = Vec3f::Constant(low), most = Vec3f::Constant(high - 1e-3f);
        for (size_t i = grid.index.tile_begin(tile); i < grid.index.tile_end(tile); ++i)
            for (size_t k = first_[i]; k < first_[i + 1]; ++k) {
                const Vec3f p = (points_.P[k] / grid.voxel - corner).cwiseMax(least).cwiseMin(most);
                const Vec3i c(floor_int(p.x()), floor_int(p.y()), floor_int(p.z()));
                const Vec3f f = p - c.cast<float>();
                Vec3f sum = Vec3f::Zero();
                for (int s = 0; s < 8; ++s) {
                    const int dx = s >> 2, dy = s >> 1 & 1, dz = s & 1;
                    const float weight = (dx ? f.x() : 1 - f.x()) * (dy ? f.y() : 1 - f.y()) * (dz ? f.z() : 1 - f.z());
                    sum += weight * outwards.at(c.x() + dx, c.y() + dy, c.z() + dz);
                }
                normal[k] = (sum.norm() > 1 ? Vec3f(sum.normalized()) : sum) + bump_of(points_.id[k]);
            }
    });
}

} // namespace spindrift
