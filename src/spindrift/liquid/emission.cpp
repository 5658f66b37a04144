// Liquid sources: 8 jittered particles per cell [Zhu 2005, "Initializing Particles"].
#include "spindrift/liquid/liquid.h"

#include "spindrift/world/filling.h"

namespace spindrift {

namespace {

Vec3f anywhere(Random& random)
{
    const float z = random.uniform(), y = random.uniform(), x = random.uniform();
    return {x, y, z};
}

} // namespace

void Liquid::emit(float frame, bool initial)
{
    for (size_t s = 0; s < sources_.size(); ++s) {
        const SourceParams& source = params_.sources[s];
        const bool wanted = initial ? source.mode != SourceParams::Mode::flow : source.flows_at(frame);
        if (wanted) fill(sources_[s], source, frame, initial);
    }
}

void Liquid::fill(const Shape& shape, const SourceParams& source, float frame, bool initial)
{
    const auto velocity_at = [&](const Vec3f& x) -> Vec3f {
        return source.velocity + source.inherit * shape.velocity(x, frame, fps_);
    };
    // A flowing source sets the velocity of the liquid inside it.
    Filling filling(shape, frame, params_.domain, params_.voxel);
    const std::vector<size_t> inside = filling.mark_taken(particles_, !initial);
    for (const size_t i : inside) particles_.v[i] = velocity_at(particles_.P[i]);
    // Vary the jitter over time, or a flow would show a pattern.
    const auto seed = static_cast<uint64_t>(params_.seed);
    const std::vector<Vec3f> free =
        initial ? filling.free_sites(solids_, seed)
                : filling.upstream_sites(solids_, hash64(seed, static_cast<uint64_t>(next_id_) + 1), anywhere,
                                         source.velocity, inside.size());
    const size_t at = particles_.size();
    particles_.resize(at + free.size());
    for (size_t i = 0; i < free.size(); ++i) {
        particles_.P[at + i] = free[i], particles_.v[at + i] = velocity_at(free[i]);
        particles_.id[at + i] = next_id_++;
    }
    // Particles carry the attributes that their source sets.
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
        if (!sink.contains(frame)) continue;
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
