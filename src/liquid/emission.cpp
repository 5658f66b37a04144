// How liquid comes into the shot: 8 jittered particles a cell (document 001, "Initializing Particles").
#include "liquid/liquid.h"

#include "base/random.h"

#include <numeric>

namespace spindrift {

namespace {

constexpr int kAlongEdge = 2, kPerCell = kAlongEdge * kAlongEdge * kAlongEdge;

// One place in eight of a cell.
inline int place_of(const Vec3f& position_in_cells, const Vec3i& cell)
{
    const Vec3f f = (position_in_cells - cell.cast<float>()) * kAlongEdge;
    const auto half = [](float x) { return x >= 1 ? 1 : 0; };
    return half(f.x()) << 2 | half(f.y()) << 1 | half(f.z());
}

inline Vec3f jittered_place(const Vec3i& cell, int place, uint64_t seed)
{
    const uint64_t key =
        hash64(hash64(static_cast<uint32_t>(cell.x()), static_cast<uint32_t>(cell.y())),
               static_cast<uint64_t>(static_cast<uint32_t>(cell.z())) << 3 | static_cast<uint64_t>(place));
    Random random(seed, key);
    const Vec3f jitter(random.uniform(), random.uniform(), random.uniform());
    return cell.cast<float>() +
           (Vec3f(static_cast<float>(place >> 2), static_cast<float>(place >> 1 & 1), static_cast<float>(place & 1)) +
            jitter) /
               kAlongEdge;
}

} // namespace

void Liquid::emit(float frame, bool initial)
{
    for (size_t s = 0; s < sources_.size(); ++s) {
        const SourceParams& source = params_.sources[s];
        const bool flows = source.mode == SourceParams::Mode::flow;
        if (flows == initial) continue;
        if (flows &&
            (frame < static_cast<float>(source.first_frame) || frame > static_cast<float>(source.last_frame) + 1))
            continue;
        fill(sources_[s], source, frame, initial);
    }
}

void Liquid::fill(const Shape& shape, const SourceParams& source, float frame, bool initial)
{
    const float voxel = params_.voxel, inverse_voxel = 1 / voxel;
    Box3f box = shape.bounds(frame);
    if (params_.domain.bounded()) {
        box.min = box.min.cwiseMax(*params_.domain.min);
        box.max = box.max.cwiseMin(*params_.domain.max);
    }
    if (box.empty()) return;
    const Vec3i first = cell_of(box.min, inverse_voxel), last = cell_of(box.max, inverse_voxel);
    const Vec3i size = (last - first).array() + 1;
    const auto cells = static_cast<size_t>(size.x()) * static_cast<size_t>(size.y()) * static_cast<size_t>(size.z());
    const auto cell_number = [&](const Vec3i& c) {
        return (static_cast<size_t>(c.x() - first.x()) * static_cast<size_t>(size.y()) +
                static_cast<size_t>(c.y() - first.y())) *
                   static_cast<size_t>(size.z()) +
               static_cast<size_t>(c.z() - first.z());
    };

    const auto velocity_at = [&](const Vec3f& x) -> Vec3f {
        return source.velocity + source.inherit * shape.velocity(x, frame, fps_);
    };

    // Only places that are free are filled. A flowing source sets the velocity of what is in it.
    std::vector<uint8_t> taken(cells, 0);
    size_t present = 0;
    for (size_t i = 0; i < particles_.size(); ++i) {
        const Vec3f x = particles_.P[i] * inverse_voxel;
        const Vec3i c = cell_of(particles_.P[i], inverse_voxel);
        if ((c.array() < first.array()).any() || (c.array() > last.array()).any()) continue;
        taken[cell_number(c)] |= static_cast<uint8_t>(1 << place_of(x, c));
        if (initial || shape.distance(particles_.P[i], frame) >= 0) continue;
        particles_.v[i] = velocity_at(particles_.P[i]);
        ++present;
    }

    // New places change their jitter from time to time, or a flow would show a pattern.
    const uint64_t seed = initial ? static_cast<uint64_t>(params_.seed)
                                  : hash64(static_cast<uint64_t>(params_.seed), static_cast<uint64_t>(next_id_) + 1);
    std::vector<std::vector<Vec3f>> slabs(static_cast<size_t>(size.x()));
    std::vector<size_t> places(slabs.size(), 0);
    parallel_for(slabs.size(), [&](size_t slab) {
        const int x = first.x() + static_cast<int>(slab);
        for (int y = first.y(); y <= last.y(); ++y)
            for (int z = first.z(); z <= last.z(); ++z) {
                const Vec3i cell(x, y, z);
                for (int place = 0; place < kPerCell; ++place) {
                    const Vec3f p = jittered_place(cell, place, seed) * voxel;
                    if (shape.distance(p, frame) >= 0 || solids_.distance(p) <= 0 || solids_.outside_open_side(p))
                        continue;
                    ++places[slab];
                    if (!(taken[cell_number(cell)] >> place & 1)) slabs[slab].push_back(p);
                }
            }
    });
    std::vector<Vec3f> free;
    for (const auto& slab : slabs) free.insert(free.end(), slab.begin(), slab.end());

    // Where particles have moved on, some places hold two and others none. A flow must not fill all of those, or it
    // would pour out more than its velocity times its area: it makes up for what has left, from where the flow comes
    // from.
    if (!initial) {
        const size_t capacity = std::accumulate(places.begin(), places.end(), size_t{0});
        const Vec3f direction = source.velocity;
        std::stable_sort(free.begin(), free.end(),
                         [&](const Vec3f& a, const Vec3f& b) { return a.dot(direction) < b.dot(direction); });
        free.resize(std::min(free.size(), capacity - std::min(capacity, present)));
    }
    const size_t at = particles_.size();
    particles_.resize(at + free.size());
    for (size_t i = 0; i < free.size(); ++i) {
        particles_.P[at + i] = free[i], particles_.v[at + i] = velocity_at(free[i]);
        particles_.id[at + i] = next_id_++;
    }
    // What sources say about their liquid, it carries along.
    const auto give = [&]<class T>(const char* name, const T& value) {
        std::fill_n(particles_.attribute<T>(name).begin() + static_cast<std::ptrdiff_t>(at), free.size(), value);
    };
    if (params_.viscosity_varies()) give(kViscosityAttribute, source.viscosity.value_or(params_.viscosity));
    if (params_.has_heat()) give(kTemperatureAttribute, source.temperature.value_or(params_.heat.air));
    if (params_.has_colors()) give("color", source.color.value_or(Vec3f::Ones()));
    if (params_.has_materials()) give("material", static_cast<int32_t>(source.material));
}

void Liquid::drain(float frame)
{
    std::vector<uint8_t> keep;
    for (size_t s = 0; s < sinks_.size(); ++s) {
        const SinkParams& sink = params_.sinks[s];
        if (frame < static_cast<float>(sink.first_frame) || frame > static_cast<float>(sink.last_frame) + 1) continue;
        if (keep.empty()) keep.assign(particles_.size(), 1);
        const Box3f box = sinks_[s].bounds(frame);
        parallel_for(
            keep.size(),
            [&](size_t i) {
                const Vec3f& x = particles_.P[i];
                if (box.contains(x) && sinks_[s].distance(x, frame) < 0) keep[i] = 0;
            },
            1024);
    }
    if (!keep.empty()) remove_particles(particles_, keep);
}

} // namespace spindrift
