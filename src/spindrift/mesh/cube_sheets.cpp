#include "spindrift/mesh/cube_sheets.h"

#include <Eigen/Geometry>

namespace spindrift {

namespace {

bool inside(int configuration, int corner) { return configuration >> corner & 1; }
bool on_face(int corner, int face) { return (corner >> (2 - face / 2) & 1) == (face & 1); }

bool is_cut(int configuration, int edge)
{
    const CubeEdge e(edge);
    return inside(configuration, e.low) != inside(configuration, e.high);
}

// The cut edges of a face.
int cut_edges(int configuration, int face, std::array<int, 4>& edges)
{
    int count = 0;
    for (int edge = 0; edge < 12; ++edge) {
        const CubeEdge e(edge);
        if (on_face(e.low, face) && on_face(e.high, face) && is_cut(configuration, edge)) edges[count++] = edge;
    }
    return count;
}

// Union-find: edges are in one sheet if a line across a face joins them.
class Joined {
  public:
    Joined()
    {
        for (int i = 0; i < 12; ++i) parent_[i] = i;
    }
    int root(int i) const
    {
        while (parent_[i] != i) i = parent_[i];
        return i;
    }
    void join(int i, int j) { parent_[root(i)] = root(j); }

  private:
    std::array<int, 12> parent_;
};

Vec3f middle_of(const CubeEdge& edge)
{
    return 0.5f * (cube_corner_place(edge.low) + cube_corner_place(edge.high)).cast<float>();
}

// Whether the loop of a sheet crosses a face from edge a to edge b, or else from b to a.
bool runs_forward(int configuration, int face, const CubeEdge& a, const CubeEdge& b)
{
    const Vec3f from = middle_of(a), to = middle_of(b);
    const Vec3f inner = cube_corner_place(inside(configuration, a.low) ? a.low : a.high).cast<float>();
    const float turn = (to - from).cross(inner - from)[face / 2];
    return (face & 1 ? turn : -turn) < 0;
}

CubeSheets sheets_of(int configuration, int flipped_face)
{
    CubeSheets sheets;
    sheets.next.fill(-1);
    Joined joined;
    std::array<int, 4> edges{};
    for (int face = 0; face < 6; ++face) {
        const int count = cut_edges(configuration, face, edges);
        const auto join = [&](int i, int j) {
            joined.join(i, j);
            if (!runs_forward(configuration, face, CubeEdge(i), CubeEdge(j))) std::swap(i, j);
            sheets.next[i] = static_cast<int8_t>(j);
        };
        if (count == 2) join(edges[0], edges[1]);
        if (count != 4) continue;
        // Two lines, each around one of the corners that are cut off: inside corners, unless flipped.
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < i; ++j) {
                const CubeEdge a(edges[i]), b(edges[j]);
                for (int corner : {a.low, a.high})
                    if ((corner == b.low || corner == b.high) &&
                        inside(configuration, corner) == (face != flipped_face))
                        join(edges[i], edges[j]);
            }
    }
    std::array<int8_t, 12> number;
    number.fill(-1);
    for (int edge = 0; edge < 12; ++edge) {
        sheets.of_edge[edge] = -1;
        if (!is_cut(configuration, edge)) continue;
        int8_t& n = number[joined.root(edge)];
        if (n < 0) n = static_cast<int8_t>(sheets.count++);
        sheets.of_edge[edge] = n;
    }
    return sheets;
}

int face_crossed_twice(int configuration, const CubeSheets& sheets)
{
    std::array<int, 4> edges{};
    for (int face = 0; face < 6; ++face) {
        if (cut_edges(configuration, face, edges) != 4) continue;
        const auto sheet = [&](size_t i) { return sheets.of_edge[edges[i]]; };
        if (sheet(0) == sheet(1) && sheet(1) == sheet(2) && sheet(2) == sheet(3)) return face;
    }
    return -1;
}

std::array<CubeCase, 256> make_cases()
{
    std::array<CubeCase, 256> cases;
    for (int c = 0; c < 256; ++c) {
        CubeCase& cube = cases[c];
        cube.normal = cube.flipped = sheets_of(c, -1);
        cube.twice = face_crossed_twice(c, cube.normal);
        if (cube.twice >= 0) cube.flipped = sheets_of(c, cube.twice);
    }
    return cases;
}

} // namespace

const std::array<CubeCase, 256>& cube_cases()
{
    static const std::array<CubeCase, 256> cases = make_cases();
    return cases;
}

} // namespace spindrift
