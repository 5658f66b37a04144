#include "spindrift/stages/taken_particles.h"

#include "spindrift/base/parallel.h"
#include "spindrift/engine/graph.h"
#include "spindrift/io/vdb.h"
#include "spindrift/stages/spray_stage.h"

#include <algorithm>
#include <filesystem>

namespace spindrift {

void TakenParticles::leave_out_taken(const std::string& liquid, int frame, const InputPath& input,
                                     Particles& particles) const
{
    for (const StageView& spray : sprays_) {
        const std::vector<std::string>& from = spray.as<SprayFacts>()->taken_from;
        const auto found = std::ranges::find(from, liquid);
        if (found == from.end()) continue;
        const auto index = static_cast<int32_t>(found - from.begin());
        const std::string path =
            std::filesystem::path(input(spray.name, frame)).replace_extension(kTakenEnding).string();
        const Particles file = read_particles(path).particles;
        const auto* of = file.find<int32_t>(kTakenFrom);
        std::vector<int32_t> taken;
        for (size_t i = 0; i < file.size(); ++i)
            if (!of || (*of)[i] == index) taken.push_back(file.id[i]);
        if (taken.empty()) continue;
        std::ranges::sort(taken);
        std::vector<uint8_t> keep(particles.size());
        parallel_for(
            keep.size(), [&](size_t i) { keep[i] = !std::ranges::binary_search(taken, particles.id[i]); }, 4096);
        remove_particles(particles, keep);
    }
}

Port handover_port(const ShotGraph& graph, const std::vector<std::string>& liquids)
{
    Port port{"handover", {"spray"}, {}, Port::Unnamed::none, /*many=*/true, /*optional=*/true, {}, true};
    for (const ShotGraph::Node* node : graph.of_kind("spray")) {
        const auto& spray = dynamic_cast<const SprayStage&>(*node->stage);
        if (!spray.takes_over()) continue;
        const std::string files = spray.liquid_files(graph.scene());
        const auto shown = [&](const std::string& liquid) { return std::ranges::count(liquids, liquid) > 0; };
        const bool reads =
            !files.empty() ? shown(files) : std::ranges::any_of(node->inputs, [&](const ShotGraph::Input& input) {
                return input.frames && shown(input.stage);
            });
        if (reads) port.stages.push_back(node->stage->name());
    }
    return port;
}

} // namespace spindrift
