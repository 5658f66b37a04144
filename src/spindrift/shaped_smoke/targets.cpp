#include "spindrift/shaped_smoke/targets.h"

#include "spindrift/base/error.h"
#include "spindrift/base/parallel.h"
#include "spindrift/base/random.h"
#include "spindrift/io/frame_path.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/mesh/faults.h"
#include "spindrift/shaped_smoke/shape_points.h"

namespace spindrift {

namespace {

// A shape may shrink to nothing.
double density_of(size_t particles, double volume)
{
    return std::min(static_cast<double>(particles) / std::max(volume, 1e-30), 1e30);
}

// Of the thickest part [m].
float thickness(const Shape& shape, float frame, const ShapePoints& points)
{
    constexpr size_t kSamples = 2000;
    float deepest = 0;
    for (const Vec3f& x : points.take(kSamples, 1)) deepest = std::min(deepest, shape.distance(x, frame));
    return -2 * deepest;
}

} // namespace

Targets::Targets(const std::vector<TargetParams>& params, std::vector<Shape> shapes, std::vector<std::string> places,
                 int start)
    : params_(params), shapes_(std::move(shapes)), places_(std::move(places))
{
    make_groups(start);
    for (size_t i = 0; i < params_.size(); ++i)
        if (bends(i)) check_sequence(i);
    // Sample each once, so that a shape without volume is found before anything is computed.
    for (const Group& group : groups_)
        for (const size_t i : group.members) {
            shapes_[i].prepare(static_cast<float>(group.frame));
            (void)ShapePoints(shapes_[i], static_cast<float>(group.frame), places_[i]);
        }
}

bool Targets::bends(size_t i) const
{
    return params_[i].shape == ShapeParams::Kind::mesh && has_frame_pattern(params_[i].file);
}

void Targets::make_groups(int start)
{
    std::map<int, std::vector<size_t>> by_frame;
    const int unset = TargetParams().frame;
    for (size_t i = 0; i < params_.size(); ++i)
        by_frame[params_[i].frame == unset ? start : params_[i].frame].push_back(i);
    // Of those that began before the shot, only the last counts.
    while (by_frame.size() > 1 && std::next(by_frame.begin())->first <= start) {
        const auto past = by_frame.extract(by_frame.begin());
        past_.insert(past_.end(), past.mapped().begin(), past.mapped().end());
    }
    if (!by_frame.empty() && by_frame.begin()->first < start) {
        auto first = by_frame.extract(by_frame.begin());
        first.key() = start;
        by_frame.insert(std::move(first));
    }
    for (const auto& [frame, members] : by_frame) {
        for (const size_t i : members)
            if (members.size() > 1 && !params_[i].share)
                bad_input("{}: {} targets begin at frame {}; give each a share of the smoke, or a frame of its own",
                          places_[i], members.size(), frame);
        Group group{frame, kInfinity, members};
        for (const size_t i : members) {
            const float end = params_[i].let_go.value_or(kInfinity);
            if (i != members.front() && end != group.end)
                bad_input("{}: targets with the same frame must also have the same let_go", places_[i]);
            group.end = end;
        }
        if (!groups_.empty()) groups_.back().end = std::min(groups_.back().end, static_cast<float>(frame));
        groups_.push_back(std::move(group));
    }
}

void Targets::check_sequence(size_t i) const
{
    const std::vector<std::string> files = mesh_files(params_[i].file);
    const Mesh first = read_mesh(files.front());
    for (const std::string& file : files)
        if (const Mesh mesh = read_mesh(file);
            mesh.triangles != first.triangles || mesh.positions.size() != first.positions.size())
            bad_input("{}: {} has other triangles than {}; a target may bend, but its triangles must stay the same",
                      places_[i], file, files.front());
}

// Too few control particles make a shape uneven, and its smoke less than its share. 10 thousand in a ball of 1 m with
// cells of 2 cm are too few: 1.2 in a cube as large as the control radius. With 2.1 and more, balls are even, and get
// their shares.
std::string Targets::few_controls(size_t i, double share, double volume, const ShapedSmokeParams& smoke) const
{
    constexpr double kLeast = 2;
    const double cube = std::pow(static_cast<double>(smoke.control_radius * smoke.voxel), 3);
    const double in_cube = share * smoke.controls * cube / volume;
    if (in_cube >= kLeast) return {};
    const double more = kLeast / in_cube;
    return fmt::format("{}: about {:.0f} control particles are too few for this shape, so its smoke will be uneven; "
                       "raise controls to {:.0f}, or voxel to {:.2g}",
                       places_[i], share * smoke.controls, 100 * std::ceil(more * smoke.controls / 100),
                       1.01 * std::cbrt(more) * static_cast<double>(smoke.voxel));
}

std::vector<std::string> Targets::warnings(const ShapedSmokeParams& smoke) const
{
    std::vector<std::string> all;
    for (const size_t i : past_)
        all.push_back(
            fmt::format("{}: the smoke never takes this shape, because the next target begins before the shot "
                        "does",
                        places_[i]));
    for (const Group& group : groups_) {
        double shares = 0;
        for (const size_t i : group.members) shares += share_of(i);
        for (const size_t i : group.members) {
            const auto frame = static_cast<float>(group.frame);
            if (params_[i].shape == ShapeParams::Kind::mesh)
                for (const std::string& odd : oddities(with_joined_vertices(shapes_[i].mesh(frame))))
                    all.push_back(fmt::format("{}: {} {}", places_[i], params_[i].file, odd));
            const ShapePoints points(shapes_[i], frame, places_[i]);
            if (thickness(shapes_[i], frame, points) < smoke.voxel)
                all.push_back(fmt::format("{}: the target is thinner than a cell of {} m, so smoke cannot resolve it; "
                                          "lower voxel",
                                          places_[i], smoke.voxel));
            else if (std::string few = few_controls(i, share_of(i) / shares, points.volume(), smoke); !few.empty())
                all.push_back(std::move(few));
        }
    }
    return all;
}

int Targets::active(float frame) const
{
    for (size_t g = groups_.size(); g-- > 0;)
        if (frame >= static_cast<float>(groups_[g].frame)) return frame < groups_[g].end ? static_cast<int>(g) : -1;
    return -1;
}

void Targets::begin(int group)
{
    group_ = group, count_ = 0;
    amounts_.assign(params_.size(), {});
    batches_.clear(), points_.clear();
}

void Targets::add(size_t count, uint64_t seed)
{
    const Group& group = groups_[group_];
    const auto frame = static_cast<float>(group.frame);
    double shares = 0;
    for (const size_t i : group.members) shares += share_of(i);
    double share_before = 0;
    size_t given = 0;
    for (const size_t i : group.members) {
        // Rounding the running sum makes the total exact.
        share_before += share_of(i) / shares;
        const bool last = i == group.members.back();
        const size_t until = last ? count : static_cast<size_t>(std::round(share_before * static_cast<double>(count)));
        shapes_[i].prepare(frame);
        const ShapePoints sampler(shapes_[i], frame, places_[i]);
        amounts_[i].volume = sampler.volume(), amounts_[i].particles += until - given;
        Points points{i, sampler.take(until - given, hash64(seed, hash64(i, batches_.size()))), nullptr};
        if (bends(i)) {
            const Mesh rest = shapes_[i].mesh(frame);
            points.bound = std::make_unique<Embedding>(rest, points.rest);
            amounts_[i].enclosed = std::abs(volume_of(rest));
        }
        points_.push_back(std::move(points));
        given = until;
    }
    batches_.push_back(count), count_ += count;
}

void Targets::place(float frame, std::vector<Vec3f>& positions)
{
    positions.resize(count_);
    if (group_ < 0) return;
    const auto begun = static_cast<float>(groups_[group_].frame);
    size_t first = 0;
    for (const Points& points : points_) {
        Shape& shape = shapes_[points.member];
        Amount& amount = amounts_[points.member];
        const std::span<Vec3f> out(positions.data() + first, points.rest.size());
        if (points.bound) {
            const Mesh mesh = shape.mesh(frame);
            points.bound->place(mesh, out);
            amount.growth = std::abs(volume_of(mesh)) / amount.enclosed;
        } else {
            shape.prepare(frame);
            parallel_for(
                out.size(), [&](size_t i) { out[i] = shape.carried(points.rest[i], begun, frame); }, 256);
            const auto carried = [&](const Vec3f& x) { return Vec3f(shape.carried(x, begun, frame)); };
            const Vec3f origin = shape.pivot();
            Mat3f axes;
            for (int a = 0; a < 3; ++a) axes.col(a) = carried(origin + Vec3f::Unit(a)) - carried(origin);
            amount.growth = std::abs(static_cast<double>(axes.determinant()));
        }
        first += out.size();
    }
}

double Targets::density() const
{
    double volume = 0;
    for (const Amount& amount : amounts_) volume += amount.volume * amount.growth;
    return density_of(count_, volume);
}

void Targets::find_densities(std::vector<float>& densities) const
{
    densities.clear();
    for (const Points& points : points_) {
        const Amount& amount = amounts_[points.member];
        const double density = density_of(amount.particles, amount.volume * amount.growth);
        densities.insert(densities.end(), points.rest.size(), static_cast<float>(density));
    }
}

void Targets::prepare_distance(float frame)
{
    prepared_ = frame;
    if (group_ < 0) return;
    for (const size_t i : groups_[group_].members) shapes_[i].prepare(frame);
}

float Targets::distance(const Vec3f& x) const
{
    float least = kInfinity;
    if (group_ < 0) return least;
    for (const size_t i : groups_[group_].members) least = std::min(least, shapes_[i].distance(x, prepared_));
    return least;
}

} // namespace spindrift
