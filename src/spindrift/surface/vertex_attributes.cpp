#include "spindrift/surface/vertex_attributes.h"

#include "spindrift/base/error.h"
#include "spindrift/points/attribute_checks.h"

#include <sstream>

namespace spindrift {

void keep_attributes(Particles& particles, const std::string& names, const std::string& stage)
{
    std::istringstream words(names);
    std::map<std::string, AttributeArray> kept;
    // A file without points has no attributes either.
    for (std::string name; particles.size() > 0 && words >> name;) {
        const auto found = particles.attributes.find(name);
        if (name == "id") {
            kept[name] = particles.id;
        } else if (found != particles.attributes.end()) {
            if (const size_t bad = count_non_finite(found->second))
                bad_input("the attribute \"{0}\" of {1} of {2} particles is not finite; set it at the source or with a "
                          "[[{3}.expression]], or remove it from {3}.attributes",
                          name, bad, particles.size(), stage);
            kept[name] = std::move(found->second);
        } else {
            std::string known = "id";
            for (const auto& [other, array] : particles.attributes) known += ", " + other;
            bad_input("{}.attributes names \"{}\", but the particles have only: {}", stage, name, known);
        }
    }
    particles.attributes = std::move(kept);
}

void weights_around(const Vec3f& x, float reach, const Particles& particles, const ParticleIndex& index,
                    const Topology& topology, float cell, VertexWeights& weights)
{
    const float inverse_cell = 1 / cell, inverse_reach2 = 1 / (reach * reach);
    const Vec3i low = cell_of(x - Vec3f::Constant(reach), inverse_cell);
    const Vec3i high = cell_of(x + Vec3f::Constant(reach), inverse_cell);
    Vec3i last = Vec3i::Constant(std::numeric_limits<int>::max());
    int tile = 0;
    for (int cx = low.x(); cx <= high.x(); ++cx)
        for (int cy = low.y(); cy <= high.y(); ++cy)
            // Cells along z are consecutive within a tile.
            for (int cz = low.z(), end; cz <= high.z(); cz = end) {
                const Vec3i at = tile_of_cell({cx, cy, cz});
                end = std::min(high.z() + 1, (at.z() + 1) * kTileSize);
                if (at != last) last = at, tile = topology.find(at);
                if (tile == topology.tile_count()) continue;
                const size_t first = index.cell_begin(tile, offset_of_cell({cx, cy, cz}));
                const size_t behind = index.cell_end(tile, offset_of_cell({cx, cy, end - 1}));
                for (size_t i = first; i < behind; ++i) {
                    const float t = 1 - (particles.P[i] - x).squaredNorm() * inverse_reach2;
                    if (t > 0) weights.push_back({static_cast<uint32_t>(i), t * t * t});
                }
            }
}

void weights_of_blobs(const Vec3f& x, const Blobs& blobs, const BlobGrid& grid, float voxel, VertexWeights& weights)
{
    const Vec3f p = x / voxel - Vec3f::Constant(0.5f);
    const Vec3i low(floor_int(p.x()), floor_int(p.y()), floor_int(p.z()));
    const Vec3f f = p - low.cast<float>();
    for (int c = 0; c < 8; ++c) {
        const Vec3i step(c >> 2, c >> 1 & 1, c & 1);
        const uint32_t blob = grid.nearest.at(low + step);
        if (blob == BlobGrid::kNone) continue;
        const float weight =
            (step.x() ? f.x() : 1 - f.x()) * (step.y() ? f.y() : 1 - f.y()) * (step.z() ? f.z() : 1 - f.z());
        if (weight > 0) weights.push_back({blobs.list[blob].particle, weight});
    }
}

AttributeBlend::AttributeBlend(const Particles& particles, size_t vertices, Mesh& mesh) : particles_(particles.size())
{
    for (const auto& [name, array] : particles.attributes)
        std::visit(
            [&, &n = name]<class T>(const std::vector<T>&) {
                if constexpr (std::is_same_v<T, Vec3f>)
                    mesh.attributes[n] = std::vector<Vec3f>(vertices, Vec3f::Zero());
                else
                    mesh.attributes[n] = std::vector<T>(vertices);
            },
            array);
    for (const auto& [name, array] : particles.attributes) columns_.push_back({&array, &mesh.attributes[name]});
}

void AttributeBlend::set(size_t vertex, const VertexWeights& weights, uint32_t nearest) const
{
    float sum = 0;
    for (const VertexWeight& w : weights) sum += w.weight;
    for (const Column& column : columns_)
        std::visit(
            [&]<class T>(std::vector<T>& to) {
                const auto& from = std::get<std::vector<T>>(*column.from);
                if constexpr (!std::is_same_v<T, int32_t>)
                    if (sum > 1e-6f) {
                        // Sum offsets from one of them: a value that all share is kept exactly.
                        const T base = from[weights.front().particle];
                        T offset = base - base;
                        for (const VertexWeight& w : weights) offset += w.weight * (from[w.particle] - base);
                        to[vertex] = base + (1 / sum) * offset;
                        return;
                    }
                if (nearest < particles_) to[vertex] = from[nearest];
            },
            *column.to);
}

void blend_along(Mesh& mesh, int passes)
{
    // The corners of each vertex, as 3 triangle + k.
    const size_t count = mesh.positions.size();
    std::vector<uint32_t> first(count + 1, 0), corners(3 * mesh.triangles.size());
    for (const Vec3i& t : mesh.triangles)
        for (int k = 0; k < 3; ++k) ++first[t[k] + 1];
    for (size_t i = 0; i < count; ++i) first[i + 1] += first[i];
    std::vector<uint32_t> next(first.begin(), first.end() - 1);
    for (uint32_t c = 0; c < corners.size(); ++c) corners[next[mesh.triangles[c / 3][c % 3]]++] = c;

    const auto blend = [&]<class T>(std::vector<T>& values) {
        std::vector<T> before;
        for (int pass = 0; pass < passes && !std::is_same_v<T, int32_t>; ++pass) {
            before = values;
            parallel_for(
                count,
                [&](size_t i) {
                    if (first[i] == first[i + 1]) return;
                    T sum = before[i] - before[i]; // sum of differences, so that a value that all share is kept exactly
                    for (uint32_t c = first[i]; c < first[i + 1]; ++c)
                        for (uint32_t k = 1; k < 3; ++k) {
                            const uint32_t corner = corners[c];
                            const int j = mesh.triangles[corner / 3][static_cast<int>((corner + k) % 3)];
                            sum += before[j] - before[i];
                        }
                    const float share = 0.25f / static_cast<float>(first[i + 1] - first[i]);
                    if constexpr (!std::is_same_v<T, int32_t>) values[i] += share * sum;
                },
                4096);
        }
    };
    for (auto& [name, array] : mesh.attributes) std::visit(blend, array);
}

} // namespace spindrift
