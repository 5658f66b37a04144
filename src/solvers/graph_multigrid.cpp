#include "solvers/graph_multigrid.h"

#include "base/parallel.h"

namespace spindrift {

namespace {

constexpr size_t kNodesPerTask = 2048; // below this a level is not worth a second thread

template <class Body> void for_each_node(const GraphLevel& level, const Body& body)
{
    const size_t count = static_cast<size_t>(level.size());
    if (count <= kNodesPerTask)
        for (size_t i = 0; i < count; ++i) body(i);
    else
        parallel_chunks(count, kNodesPerTask, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) body(i);
        });
}

// b - A x at a node.
float residual(const GraphLevel& level, const std::vector<float>& x, size_t i)
{
    float r = level.b[i] - level.diagonal[i] * x[i];
    for (int e = level.first_edge[i]; e < level.first_edge[i + 1]; ++e)
        r += level.weight[static_cast<size_t>(e)] * x[static_cast<size_t>(level.neighbour[static_cast<size_t>(e)])];
    return r;
}

float inverse_or_zero(float x) { return x > 0 ? 1 / x : 0; }

// to = from + factor * D^-1 (b - A from)
void jacobi(const GraphLevel& level, const std::vector<float>& from, std::vector<float>& to, float factor)
{
    for_each_node(level, [&](size_t i) {
        to[i] = from[i] + factor * inverse_or_zero(level.diagonal[i]) * residual(level, from, i);
    });
}

void finish_level(GraphLevel& level)
{
    const size_t count = static_cast<size_t>(level.size());
    level.diagonal.resize(count), level.x.resize(count), level.b.resize(count), level.scratch.resize(count);
    for_each_node(level, [&](size_t i) {
        float sum = level.dirichlet[i];
        for (int e = level.first_edge[i]; e < level.first_edge[i + 1]; ++e) sum += level.weight[static_cast<size_t>(e)];
        level.diagonal[i] = sum;
    });
}

// Numbers the connected pieces among the nodes [begin, end) of one parent block, starting at `next`; returns the number
// after the last. Nodes without any edge get no parent: the smoother alone solves for them.
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
                const size_t other = static_cast<size_t>(level.neighbour[static_cast<size_t>(e)]);
                if (other < begin || other >= end || level.parent[other] >= 0) continue;
                level.parent[other] = next;
                stack.push_back(other);
            }
        }
        ++next;
    }
    return next;
}

// The edges of coarse node `node`, whose children lie among the fine nodes [begin, end): half the sum of the fine weights
// to each neighbour, in the order in which the neighbours are first met.
void sum_edges(const GraphLevel& fine, int node, size_t begin, size_t end, GraphLevel& coarse)
{
    const size_t first = coarse.neighbour.size();
    for (size_t i = begin; i < end; ++i) {
        if (fine.parent[i] != node) continue;
        for (int e = fine.first_edge[i]; e < fine.first_edge[i + 1]; ++e) {
            const int other = fine.parent[static_cast<size_t>(fine.neighbour[static_cast<size_t>(e)])];
            if (other == node) continue;
            size_t k = first;
            while (k < coarse.neighbour.size() && coarse.neighbour[k] != other) ++k;
            if (k == coarse.neighbour.size()) coarse.neighbour.push_back(other), coarse.weight.push_back(0);
            coarse.weight[k] += 0.5f * fine.weight[static_cast<size_t>(e)];
        }
    }
}

} // namespace

size_t GraphLevel::bytes() const
{
    return block.capacity() * sizeof(uint64_t) +
           (first_edge.capacity() + neighbour.capacity() + parent.capacity()) * sizeof(int) +
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
    while (!levels_[static_cast<size_t>(used_levels_ - 1)].neighbour.empty()) {
        if (static_cast<size_t>(used_levels_) == levels_.size()) levels_.emplace_back();
        coarsen(used_levels_ - 1);
        ++used_levels_;
    }
    GraphLevel& last = levels_[static_cast<size_t>(used_levels_ - 1)];
    last.parent.assign(static_cast<size_t>(last.size()), -1);
}

void GraphMultigrid::coarsen(int level)
{
    GraphLevel& fine = levels_[static_cast<size_t>(level)];
    GraphLevel& coarse = levels_[static_cast<size_t>(level + 1)];
    coarse.block.clear(), coarse.first_edge.assign(1, 0), coarse.neighbour.clear(), coarse.weight.clear();
    fine.parent.resize(static_cast<size_t>(fine.size()));

    std::vector<size_t> stack;
    struct Family {
        size_t begin, end; // fine nodes of the parent block
        int first_parent, last_parent;
    };
    std::vector<Family> families;
    int parents = 0;
    for (size_t begin = 0, count = static_cast<size_t>(fine.size()); begin < count;) {
        size_t end = begin;
        while (end < count && fine.block[end] >> 3 == fine.block[begin] >> 3) ++end;
        const int next = label_pieces(fine, begin, end, parents, stack);
        families.push_back({begin, end, parents, next});
        for (; parents < next; ++parents) coarse.block.push_back(fine.block[begin] >> 3);
        begin = end;
    }

    coarse.dirichlet.assign(coarse.block.size(), 0);
    for (size_t i = 0; i < fine.parent.size(); ++i)
        if (fine.parent[i] >= 0) coarse.dirichlet[static_cast<size_t>(fine.parent[i])] += 0.5f * fine.dirichlet[i];
    for (const Family& f : families)
        for (int node = f.first_parent; node < f.last_parent; ++node) {
            sum_edges(fine, node, f.begin, f.end, coarse);
            coarse.first_edge.push_back(static_cast<int>(coarse.neighbour.size()));
        }
    finish_level(coarse);
}

void GraphMultigrid::cycle(int index, bool from_zero)
{
    GraphLevel& level = levels_[static_cast<size_t>(index)];

    if (from_zero) // the first step needs no stencil
        for_each_node(level, [&](size_t i) {
            level.scratch[i] = kJacobiFirst * inverse_or_zero(level.diagonal[i]) * level.b[i];
        });
    else
        jacobi(level, level.x, level.scratch, kJacobiFirst);
    jacobi(level, level.scratch, level.x, kJacobiSecond);

    if (index + 1 < used_levels_) {
        GraphLevel& coarse = levels_[static_cast<size_t>(index + 1)];
        for_each_node(level, [&](size_t i) { level.scratch[i] = residual(level, level.x, i); });
        std::fill(coarse.b.begin(), coarse.b.end(), 0.0f);
        for (size_t i = 0; i < level.parent.size(); ++i)
            if (level.parent[i] >= 0) coarse.b[static_cast<size_t>(level.parent[i])] += level.scratch[i];
        cycle(index + 1, true);
        cycle(index + 1, false); // twice: the W of the W-cycle
        for_each_node(level, [&](size_t i) {
            if (level.parent[i] >= 0) level.x[i] += coarse.x[static_cast<size_t>(level.parent[i])];
        });
    }

    jacobi(level, level.x, level.scratch, kJacobiSecond);
    jacobi(level, level.scratch, level.x, kJacobiFirst);
}

std::vector<double> GraphMultigrid::null_space_means(std::vector<double> sum, std::vector<double> count) const
{
    // Down: totals of every node of every level.
    std::vector<std::vector<double>> sums(1, std::move(sum)), counts(1, std::move(count));
    for (int k = 0; k + 1 < used_levels_; ++k) {
        const GraphLevel& level = levels_[static_cast<size_t>(k)];
        const size_t coarse_size = static_cast<size_t>(levels_[static_cast<size_t>(k + 1)].size());
        sums.emplace_back(coarse_size, 0.0), counts.emplace_back(coarse_size, 0.0);
        for (size_t i = 0; i < level.parent.size(); ++i) {
            if (level.parent[i] < 0) continue;
            sums.back()[static_cast<size_t>(level.parent[i])] += sums[static_cast<size_t>(k)][i];
            counts.back()[static_cast<size_t>(level.parent[i])] += counts[static_cast<size_t>(k)][i];
        }
    }
    // Up: a body that became a single node has its mean there, everybody else takes it from the parent.
    std::vector<double> means;
    for (int k = used_levels_ - 1; k >= 0; --k) {
        const GraphLevel& level = levels_[static_cast<size_t>(k)];
        std::vector<double> here(static_cast<size_t>(level.size()), 0.0);
        for (size_t i = 0; i < here.size(); ++i) {
            if (level.parent[i] >= 0)
                here[i] = means[static_cast<size_t>(level.parent[i])];
            else if (level.dirichlet[i] == 0)
                here[i] = sums[static_cast<size_t>(k)][i] / counts[static_cast<size_t>(k)][i];
        }
        means = std::move(here);
    }
    return means;
}

} // namespace spindrift
