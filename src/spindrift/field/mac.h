// Staggered (MAC) velocity [Harlow 1965]: component a of cell (i, j, k) lies at the centre of the cell's lower face
// along axis a. Positions here are in cells unless marked [m]: world position divided by the voxel size.
#pragma once

#include "spindrift/field/block.h"
#include "spindrift/field/row.h"
#include "spindrift/field/sight.h"

#include <optional>

namespace spindrift {

struct MacField {
    Field<float> u[3];

    void reset(const Topology& topology, float value)
    {
        for (auto& component : u) component.reset(topology, value);
    }
    void copy_from(const MacField& other)
    {
        for (int a = 0; a < 3; ++a) u[a].copy_from(other.u[a]);
    }
    size_t bytes() const { return u[0].bytes() + u[1].bytes() + u[2].bytes(); }
};

// Velocity of a tile with a margin of H cells, sampled at eight points at a time. Points are relative to the tile's
// corner and must stay one cell inside the block.
template <int H> struct MacBlock {
    Block<float, H> u[3];

    void gather(const MacField& field, int tile, Margin margin)
    {
        for (int a = 0; a < 3; ++a) u[a].gather(field.u[a], tile, margin);
    }

    // Interpolation stencil of eight points for one component, or for cell centres (axis -1): index of the lowest of
    // the eight samples around each point, and the fractions along each axis.
    struct Place {
        RowMask first;
        Row fx, fy, fz;
    };
    class Places {
      public:
        explicit Places(const Row3& p) : x_(p.x), y_(p.y), z_(p.z) {}
        Place of(int axis) const
        {
            const auto &x = x_.between[axis == 0], &y = y_.between[axis == 1], &z = z_.between[axis == 2];
            constexpr int size = Block<float, H>::kSize;
            return {((x.below + H) * size + (y.below + H)) * size + (z.below + H), x.share, y.share, z.share};
        }

      private:
        struct Between {
            RowMask below;
            Row share;
            explicit Between(Row p) : below(floor_int(p)), share(p - to_float(below)) {}
        };
        struct Axis {
            Between between[2]; // at cell centres; at cell faces
            explicit Axis(Row p) : between{Between(p - 0.5f), Between(p)} {}
        } x_, y_, z_;
    };

    // The eight samples around each of eight points: corner (i, j, k) is entry 4 i + 2 j + k.
    struct Corners {
        Row at[8];

        [[gnu::always_inline]] Corners(const MacBlock& block, int axis, const Place& place)
            : Corners(block.u[axis], place)
        {
        }
        [[gnu::always_inline]] Corners(const Block<float, H>& values, const Place& place)
        {
            using B = Block<float, H>;
            const float* data = values.data;
#pragma GCC unroll 2
            for (int i = 0; i < 2; ++i) {
                Row pairs[4]; // the four samples at x + i, for points k and k + 4
#pragma GCC unroll 4
                for (int k = 0; k < 4; ++k) {
                    const float* p = data + place.first[k] + i * B::kStrideX;
                    const float* q = data + place.first[k + 4] + i * B::kStrideX;
                    const Quad low = load_pairs(p, p + B::kStrideY), high = load_pairs(q, q + B::kStrideY);
                    pairs[k] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
                }
                transpose(pairs, at + 4 * i);
            }
        }
        [[gnu::always_inline]] Row lowest() const
        {
            return min(min(min(at[0], at[1]), min(at[2], at[3])), min(min(at[4], at[5]), min(at[6], at[7])));
        }
        [[gnu::always_inline]] Row highest() const
        {
            return max(max(max(at[0], at[1]), max(at[2], at[3])), max(max(at[4], at[5]), max(at[6], at[7])));
        }
        [[gnu::always_inline]] Row value(const Place& p) const
        {
            const Row y0z0 = mix(at[0], at[4], p.fx), y0z1 = mix(at[1], at[5], p.fx);
            const Row y1z0 = mix(at[2], at[6], p.fx), y1z1 = mix(at[3], at[7], p.fx);
            return mix(mix(y0z0, y1z0, p.fy), mix(y0z1, y1z1, p.fy), p.fz);
        }
        // Derivative per cell.
        Row3 gradient(const Place& p) const
        {
            const auto along = [](Row a0, Row a1, Row b0, Row b1, Row s, Row t) {
                return mix(mix(a0, a1, s), mix(b0, b1, s), t);
            };
            return {along(at[4] - at[0], at[6] - at[2], at[5] - at[1], at[7] - at[3], p.fy, p.fz),
                    along(at[2] - at[0], at[6] - at[4], at[3] - at[1], at[7] - at[5], p.fx, p.fz),
                    along(at[1] - at[0], at[5] - at[4], at[3] - at[2], at[7] - at[6], p.fx, p.fy)};
        }

      private:
        static void transpose(const Row in[4], Row out[4])
        {
            const Row a = __builtin_shufflevector(in[0], in[1], 0, 8, 1, 9, 4, 12, 5, 13);
            const Row b = __builtin_shufflevector(in[0], in[1], 2, 10, 3, 11, 6, 14, 7, 15);
            const Row c = __builtin_shufflevector(in[2], in[3], 0, 8, 1, 9, 4, 12, 5, 13);
            const Row d = __builtin_shufflevector(in[2], in[3], 2, 10, 3, 11, 6, 14, 7, 15);
            out[0] = __builtin_shufflevector(a, c, 0, 1, 8, 9, 4, 5, 12, 13);
            out[1] = __builtin_shufflevector(a, c, 2, 3, 10, 11, 6, 7, 14, 15);
            out[2] = __builtin_shufflevector(b, d, 0, 1, 8, 9, 4, 5, 12, 13);
            out[3] = __builtin_shufflevector(b, d, 2, 3, 10, 11, 6, 7, 14, 15);
        }
    };

    // Trilinear velocity at eight points.
    [[gnu::always_inline]] Row3 sample(const Row3& points) const
    {
        const Places places(points);
        const auto component = [&](int axis) {
            const Place place = places.of(axis);
            return Corners(*this, axis, place).value(place);
        };
        return {component(0), component(1), component(2)};
    }
};

// Extrapolates velocity to all faces within `layers` cells of a known one: layer by layer, each unknown face gets the
// mean of its known neighbours and becomes known. `known` is positive at known faces and negative at provisional ones,
// which are not used as sources and are overwritten once a neighbour is known. With `sight`, values do not cross thin
// walls.
void extrapolate(MacField& velocity, MacField& known, int layers, const Sight* sight = nullptr);
// Trilinear velocity at a position [m] next to a thin wall, interpolated from the visible faces only.
struct SeenVelocity {
    Vec3f u;
    float share; // sum of the visible faces' weights: 1 if nothing is occluded
};
// Renormalising the weights of the visible faces shifts the sample away from the wall; the velocity component towards
// the wall is scaled back to the true distance, assuming that it falls linearly to the wall's velocity. Returns nothing
// if no face is visible. Without a mask of visible faces, it is computed.
std::optional<SeenVelocity> sample_seen(const MacField& velocity, const Sight& sight, float voxel, const Vec3f& x,
                                        std::optional<FaceMask> visible = {});
// The largest absolute velocity at known faces.
float largest_known(const MacField& velocity, const MacField& known);
// Marks the remaining provisional values as known.
void accept_provisional(MacField& known);

} // namespace spindrift
