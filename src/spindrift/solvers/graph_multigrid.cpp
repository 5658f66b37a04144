#include "spindrift/solvers/graph_multigrid.h"

#include "spindrift/base/parallel.h"

#include <bit>

namespace spindrift {

namespace {

constexpr size_t kNodesPerTask = 2048; // smaller levels are not worth a second thread

template <class Body> void for_each_node(const GraphLevel& level, const Body& body)
{
    const size_t count = level.size();
    if (count <= kNodesPerTask)
        for (size_t i = 0; i < count; ++i) body(i);
    else
        parallel_chunks(count, kNodesPerTask, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) body(i);
        });
}

// b - A x at a node.
[[gnu::always_inline]] inline float residual(const GraphLevel& level, const std::vector<float>& x, size_t i)
{
    const int begin = level.first_edge[i], count = level.first_edge[i + 1] - begin;
    const int* neighbour = level.neighbour.data() + begin;
    const float* weight = level.weight.data() + begin;
    const auto term = [&](int e) { return weight[e] * x[neighbour[e]]; };
    float sum = 0;
    if (count == 6) // interior block: the common case, unrolled
        sum = ((term(0) + term(1)) + (term(2) + term(3))) + (term(4) + term(5));
    else
        for (int e = 0; e < count; ++e) sum += term(e);
    return level.b[i] - level.diagonal[i] * x[i] + sum;
}

float inverse_diagonal(float x) { return x > 0 ? 1 / x : 0; }

// to = from + factor * D^-1 (b - A from)
void jacobi(const GraphLevel& level, const std::vector<float>& from, std::vector<float>& to, float factor)
{
    for_each_node(level, [&](size_t i) {
        to[i] = from[i] + factor * inverse_diagonal(level.diagonal[i]) * residual(level, from, i);
    });
}

// Sums the residual over the children of each node of the next level.
void restrict_residual(const GraphLevel& level, GraphLevel& coarse)
{
    const auto restrict_chunk = [&](size_t c) {
        std::fill(coarse.b.begin() + level.chunk_parent[c], coarse.b.begin() + level.chunk_parent[c + 1], 0.0f);
        for (size_t i = level.chunk[c]; i < static_cast<size_t>(level.chunk[c + 1]); ++i)
            if (level.parent[i] >= 0) coarse.b[level.parent[i]] += residual(level, level.x, i);
    };
    const size_t chunks = level.chunk.size() - 1;
    if (chunks == 1)
        restrict_chunk(0);
    else
        parallel_for(chunks, restrict_chunk);
}

void finish_level(GraphLevel& level)
{
    const size_t count = level.size();
    level.diagonal.resize(count), level.x.resize(count), level.b.resize(count), level.scratch.resize(count);
    for_each_node(level, [&](size_t i) {
        float sum = level.dirichlet[i];
        for (int e = level.first_edge[i]; e < level.first_edge[i + 1]; ++e) sum += level.weight[e];
        level.diagonal[i] = sum;
    });
}

// Right shift of block codes at which some connected nodes come to share a block: 3, the next larger blocks, unless
// nothing would merge. A body across a boundary of much larger blocks (such as any around the origin) would otherwise
// pass through many levels without merging, each visited twice as often as the one before.
int shift_to_parents(const GraphLevel& level)
{
    int bits = 64;
    for (size_t i = 0; i + 1 < level.first_edge.size() && bits > 3; ++i)
        for (int e = level.first_edge[i]; e < level.first_edge[i + 1]; ++e) {
            const size_t other = level.neighbour[e];
            bits = std::min(bits, static_cast<int>(std::bit_width(level.block[i] ^ level.block[other])));
        }
    return std::clamp((bits + 2) / 3 * 3, 3, 63);
}

// Numbers the connected pieces among the nodes [begin, end) of one parent block, starting at `next`; returns the next
// free number. Nodes without edges get no parent: the smoother solves them exactly.
int label_pieces(GraphLevel& level, size_t begin, size_t end, int next, std::vector<size_t>& stack)
{
    for (size_t i = begin; i < end; ++i) level.parent[i] = -1;
    for (size_t i = begin; i < end; ++i) {
        if (level.parent[i] >= 0 || level.first_edge[i] == level.first_edge[i + 1]) continue;
        level.parent[i] = next;
        stack.push_back(i);
        while (!stack.empty()) {
            const size_t node = stack.back();
            stack.pop_back();
            for (int e = level.first_edge[node]; e < level.first_edge[node + 1]; ++e) {
                const size_t other = level.neighbour[e];
                if (other < begin || other >= end || level.parent[other] >= 0) continue;
                level.parent[other] = next;
                stack.push_back(other);
            }
        }
        ++next;
    }
    return next;
}

// Numbers the parents of a chunk of nodes from 0; returns their count.
int label_chunk(GraphLevel& level, size_t chunk)
{
    std::vector<size_t> stack;
    int parents = 0;
    const size_t end = level.chunk[chunk + 1];
    for (size_t begin = level.chunk[chunk]; begin < end;) {
        size_t family_end = begin;
        while (family_end < end && level.block[family_end] >> level.to_parent == level.block[begin] >> level.to_parent)
            ++family_end;
        parents = label_pieces(level, begin, family_end, parents, stack);
        begin = family_end;
    }
    return parents;
}

struct ChunkEdges {
    std::vector<int> count, neighbour; // edges per parent; target of each edge
    std::vector<float> weight;
};

// Edges of the parents of a chunk: half the sum of the weights between their children. Neighbours are in order of first
// occurrence.
void sum_edges(const GraphLevel& fine, size_t chunk, ChunkEdges& out)
{
    const int first_parent = fine.chunk_parent[chunk], parents = fine.chunk_parent[chunk + 1] - first_parent;
    size_t begin = fine.chunk[chunk];
    const size_t end = fine.chunk[chunk + 1];
    for (int node = first_parent; node < first_parent + parents; ++node) {
        // The children of a node lie within its family; families are in the order of their parents.
        const size_t first = out.neighbour.size();
        while (begin < end && fine.parent[begin] < node) ++begin;
        for (size_t i = begin; i < end && fine.block[i] >> fine.to_parent == fine.block[begin] >> fine.to_parent; ++i) {
            if (fine.parent[i] != node) continue;
            for (int e = fine.first_edge[i]; e < fine.first_edge[i + 1]; ++e) {
                const int other = fine.parent[fine.neighbour[e]];
                if (other == node) continue;
                size_t k = first;
                while (k < out.neighbour.size() && out.neighbour[k] != other) ++k;
                if (k == out.neighbour.size()) out.neighbour.push_back(other), out.weight.push_back(0);
                out.weight[k] += 0.5f * fine.weight[e];
            }
        }
        out.count.push_back(static_cast<int>(out.neighbour.size() - first));
    }
}

} // namespace

size_t GraphLevel::bytes() const
{
    return block.capacity() * sizeof(uint64_t) +
           (first_edge.capacity() + neighbour.capacity() + parent.capacity() + chunk.capacity() +
            chunk_parent.capacity()) *
               sizeof(int) +
           (weight.capacity() + dirichlet.capacity() + diagonal.capacity() + x.capacity() + b.capacity() +
            scratch.capacity()) *
               sizeof(float);
}

size_t GraphMultigrid::bytes() const
{
    size_t sum = 0;
    for (const GraphLevel& level : levels_) sum += level.bytes();
    return sum;
}

GraphLevel& GraphMultigrid::finest()
{
    if (levels_.empty()) levels_.resize(1);
    return levels_[0];
}

void GraphMultigrid::build()
{
    used_levels_ = 1;
    finish_level(levels_[0]);
    while (!levels_[used_levels_ - 1].neighbour.empty()) {
        if (static_cast<size_t>(used_levels_) == levels_.size()) levels_.emplace_back();
        coarsen(used_levels_ - 1);
        ++used_levels_;
    }
    GraphLevel& last = levels_[used_levels_ - 1];
    last.parent.assign(last.size(), -1);
    has_closed_bodies_ = false;
    for (int k = 0; k < used_levels_; ++k) {
        const GraphLevel& level = levels_[k];
        for (size_t i = 0; i < level.parent.size(); ++i)
            has_closed_bodies_ |= level.parent[i] < 0 && level.dirichlet[i] == 0;
    }
}

void GraphMultigrid::coarsen(int level)
{
    GraphLevel& fine = levels_[level];
    GraphLevel& coarse = levels_[level + 1];
    const size_t count = fine.size();
    fine.parent.resize(count);
    fine.to_parent = shift_to_parents(fine);

    // Chunks of fixed size, extended to the next family of siblings.
    fine.chunk.assign(1, 0);
    for (size_t at = kNodesPerTask; at < count; at += kNodesPerTask) {
        while (at < count && fine.block[at] >> fine.to_parent == fine.block[at - 1] >> fine.to_parent) ++at;
        fine.chunk.push_back(static_cast<int>(at));
    }
    if (static_cast<size_t>(fine.chunk.back()) < count) fine.chunk.push_back(static_cast<int>(count));
    const size_t chunks = fine.chunk.size() - 1;

    // Number the parents within each chunk, then globally.
    fine.chunk_parent.assign(chunks + 1, 0);
    parallel_for(chunks, [&](size_t c) { fine.chunk_parent[c + 1] = label_chunk(fine, c); });
    for (size_t c = 0; c < chunks; ++c) fine.chunk_parent[c + 1] += fine.chunk_parent[c];
    const size_t parents = fine.chunk_parent.back();
    coarse.block.resize(parents), coarse.dirichlet.assign(parents, 0);
    parallel_for(chunks, [&](size_t c) {
        for (int i = fine.chunk[c]; i < fine.chunk[c + 1]; ++i) {
            int& parent = fine.parent[i];
            if (parent < 0) continue;
            parent += fine.chunk_parent[c];
            coarse.block[parent] = fine.block[i] >> fine.to_parent;
            coarse.dirichlet[parent] += 0.5f * fine.dirichlet[i];
        }
    });

    // Find the edges of each chunk in its own lists, then concatenate them.
    std::vector<ChunkEdges> edges(chunks);
    parallel_for(chunks, [&](size_t c) { sum_edges(fine, c, edges[c]); });
    std::vector<size_t> first_of(chunks + 1, 0);
    for (size_t c = 0; c < chunks; ++c) first_of[c + 1] = first_of[c] + edges[c].neighbour.size();
    coarse.first_edge.assign(parents + 1, 0);
    coarse.neighbour.resize(first_of.back()), coarse.weight.resize(first_of.back());
    parallel_for(chunks, [&](size_t c) {
        size_t node = fine.chunk_parent[c], e = first_of[c];
        for (const int n : edges[c].count) coarse.first_edge[++node] = static_cast<int>(e += static_cast<size_t>(n));
        std::copy(edges[c].neighbour.begin(), edges[c].neighbour.end(),
                  coarse.neighbour.begin() + static_cast<long>(first_of[c]));
        std::copy(edges[c].weight.begin(), edges[c].weight.end(),
                  coarse.weight.begin() + static_cast<long>(first_of[c]));
    });
    finish_level(coarse);
}

void GraphMultigrid::cycle(int index, bool from_zero)
{
    GraphLevel& level = levels_[index];

    if (from_zero) // the first step from zero needs no stencil
        for_each_node(level, [&](size_t i) {
            level.scratch[i] = kJacobiFirst * inverse_diagonal(level.diagonal[i]) * level.b[i];
        });
    else
        jacobi(level, level.x, level.scratch, kJacobiFirst);
    jacobi(level, level.scratch, level.x, kJacobiSecond);

    if (index + 1 < used_levels_) {
        GraphLevel& coarse = levels_[index + 1];
        restrict_residual(level, coarse);
        cycle(index + 1, true);
        cycle(index + 1, false); // second visit: W-cycle
        for_each_node(level, [&](size_t i) {
            if (level.parent[i] >= 0) level.x[i] += coarse.x[level.parent[i]];
        });
    }

    jacobi(level, level.x, level.scratch, kJacobiSecond);
    jacobi(level, level.scratch, level.x, kJacobiFirst);
}

std::vector<double> GraphMultigrid::null_space_means(std::vector<double> sum, std::vector<double> count) const
{
    // Downwards: totals of every node of every level.
    std::vector<std::vector<double>> sums(1), counts(1);
    sums[0] = std::move(sum), counts[0] = std::move(count);
    for (int k = 0; k + 1 < used_levels_; ++k) {
        const GraphLevel& level = levels_[k];
        const size_t coarse_size = levels_[k + 1].size();
        sums.emplace_back(coarse_size, 0.0), counts.emplace_back(coarse_size, 0.0);
        for (size_t i = 0; i < level.parent.size(); ++i) {
            if (level.parent[i] < 0) continue;
            sums.back()[level.parent[i]] += sums[k][i];
            counts.back()[level.parent[i]] += counts[k][i];
        }
    }
    // Upwards: a body that became a single node has its mean there; all other nodes take that of their parent.
    std::vector<double> means;
    for (int k = used_levels_ - 1; k >= 0; --k) {
        const GraphLevel& level = levels_[k];
        std::vector<double> here(level.size(), 0.0);
        for (size_t i = 0; i < here.size(); ++i) {
            if (level.parent[i] >= 0)
                here[i] = means[level.parent[i]];
            else if (level.dirichlet[i] == 0)
                here[i] = sums[k][i] / counts[k][i];
        }
        means = std::move(here);
    }
    return means;
}

} // namespace spindrift
