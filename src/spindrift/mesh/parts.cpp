#include "spindrift/mesh/parts.h"

#include <numeric>

namespace spindrift {

MeshParts::MeshParts(const Mesh& mesh) : parent_(mesh.positions.size())
{
    std::iota(parent_.begin(), parent_.end(), 0);
    const auto join = [&](int i, int j) {
        const int a = root(i), b = root(j);
        parent_[std::max(a, b)] = std::min(a, b);
    };
    for (const Vec3i& t : mesh.triangles) join(t[0], t[1]), join(t[1], t[2]);
}

int MeshParts::root(int i)
{
    for (; parent_[i] != i; i = parent_[i]) parent_[i] = parent_[parent_[i]];
    return i;
}

std::vector<int32_t> MeshParts::numbers()
{
    std::vector<int32_t> numbers(parent_.size());
    int32_t count = 0;
    for (size_t i = 0; i < numbers.size(); ++i) {
        const size_t first = of(static_cast<int>(i));
        numbers[i] = first == i ? count++ : numbers[first];
    }
    return numbers;
}

} // namespace spindrift
