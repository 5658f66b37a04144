#include "spindrift/field/seen_advection.h"

namespace spindrift {

namespace {

Vec3i floor_of(const Vec3f& x) { return {floor_int(x.x()), floor_int(x.y()), floor_int(x.z())}; }

// Trilinear interpolation of a field at cell centres; `place` in cells.
float sample_centers(const Field<float>& field, const Vec3f& place)
{
    const Vec3f among = place - Vec3f::Constant(0.5f);
    const Vec3i first = floor_of(among);
    const Vec3f share = among - first.cast<float>();
    float sum = 0;
    for (int k = 0; k < 8; ++k) {
        const Vec3i up(k >> 2, k >> 1 & 1, k & 1);
        float w = 1;
        for (int a = 0; a < 3; ++a) w *= up[a] ? share[a] : 1 - share[a];
        sum += w * field.at(first + up);
    }
    return sum;
}

class SeenTrace {
  public:
    SeenTrace(const Carrier& carrier, const SeenCarrier& seen)
        : carrier_(carrier), seen_(seen), dt_(carrier.cells * seen.voxel),
          flow_voxel_(seen.voxel * static_cast<float>(carrier.refine))
    {
    }

    // Estimated displacement of values at a position [m] in the step [cells].
    float way(const Vec3f& x) const
    {
        const MacField& u = *carrier_.velocity;
        const Vec3i cell = floor_of(x / flow_voxel_);
        float fastest = 0;
        for (int a = 0; a < 3; ++a)
            fastest = std::max({fastest, std::abs(u.u[a].at(cell)), std::abs(u.u[a].at(cell + Vec3i::Unit(a)))});
        return carrier_.cells * (1.75f * fastest + detail(x).norm());
    }

    // Origin of the value that reaches a position [m] at the end of the step, on the same side of all walls.
    Vec3f origin(const Vec3f& x, const Vec3f& low, const Vec3f& high) const
    {
        const Vec3f start = seen_.before(x);
        const Vec3f u1 = velocity(start, Vec3f::Zero());
        const Vec3f middle = x - 0.5f * dt_ * u1;
        const Vec3f u2 = seen_.flow.parted(start, middle) ? u1 : velocity(middle, u1);
        Vec3f end = (x - dt_ * u2).cwiseMax(low).cwiseMin(high);
        if (!seen_.flow.parted(start, end)) return end;
        // The trace hits a wall: stop in front of it.
        float free = 0, hit = 1;
        for (int halving = 0; halving < 12; ++halving) {
            const float share = 0.5f * (free + hit);
            (seen_.flow.parted(start, start + share * (end - start)) ? hit : free) = share;
        }
        return start + 0.99f * free * (end - start);
    }

  private:
    Vec3f detail(const Vec3f& x) const
    {
        if (!carrier_.detail) return Vec3f::Zero();
        const Vec3f place = x / seen_.voxel;
        return {sample_centers(carrier_.detail[0], place), sample_centers(carrier_.detail[1], place),
                sample_centers(carrier_.detail[2], place)};
    }
    Vec3f velocity(const Vec3f& x, const Vec3f& otherwise) const
    {
        const auto seen = sample_seen(*carrier_.velocity, seen_.flow, flow_voxel_, x);
        return seen ? Vec3f(seen->u + detail(x)) : otherwise;
    }

    const Carrier& carrier_;
    const SeenCarrier& seen_;
    float dt_, flow_voxel_;
};

struct SeenValue {
    float value, low, high;
};

// Interpolates the visible samples at a position [m]; nothing if none of them is visible.
std::optional<SeenValue> look_up(const Field<float>& field, Location location, const Sight& sight, float voxel,
                                 const Vec3f& x)
{
    const Topology& topology = field.topology();
    const Vec3f place = x / voxel;
    const Vec3i cell = floor_of(place);
    const int tile = topology.find(tile_of_cell(cell)), axis = static_cast<int>(location);
    if (tile == topology.tile_count()) return SeenValue{field.background(), field.background(), field.background()};
    const FaceMask faces = axis >= 0 ? sight.faces(tile, offset_of_cell(cell), x) : 0;
    const CellMask27 cells = axis < 0 ? sight.cells(tile, offset_of_cell(cell), x) : 0;
    Vec3f among = place - Vec3f::Constant(0.5f);
    if (axis >= 0) among[axis] += 0.5f;
    const Vec3i first = floor_of(among);
    const Vec3f share = among - first.cast<float>();
    SeenValue found{0, kInfinity, -kInfinity};
    float weights = 0;
    for (int k = 0; k < 8; ++k) {
        const Vec3i up(k >> 2, k >> 1 & 1, k & 1), step = first + up - cell;
        const bool in_sight = axis >= 0 ? in_face_mask(axis, step) && (faces >> face_bit(axis, step) & 1)
                                        : (cells >> neighbour_slot(step.x(), step.y(), step.z()) & 1);
        if (!in_sight) continue;
        float w = 1;
        for (int a = 0; a < 3; ++a) w *= up[a] ? share[a] : 1 - share[a];
        const float value = field.at(first + up);
        found.value += w * value, weights += w;
        found.low = std::min(found.low, value), found.high = std::max(found.high, value);
    }
    if (weights < 1e-3f) return {};
    found.value /= weights;
    return found;
}

} // namespace

void advect_in_sight(const Carrier& carrier, const SeenCarrier& seen, std::span<const AdvectedField> fields,
                     AdvectionScratch& scratch)
{
    const Topology& topology = fields[0].in->topology();
    const SeenTrace trace(carrier, seen);
    const auto origin_of = [&](Location location, const Vec3f& center) {
        Vec3f x = center, rim = Vec3f::Constant(0.5f);
        if (const int axis = static_cast<int>(location); axis >= 0) x[axis] -= 0.5f * seen.voxel, rim[axis] = 0;
        return trace.origin(x, (carrier.bounds.min + rim) * seen.voxel, (carrier.bounds.max - rim) * seen.voxel);
    };
    for_each_tile(topology, [&](int tile) {
        if (!seen.values.blocked(tile)) return;
        const Vec3f first = topology.first_cell(tile).cast<float>();
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3f center = (first + cell_in_tile(c).cast<float>() + Vec3f::Constant(0.5f)) * seen.voxel;
            constexpr float kAround = 2; // cells; interpolation stencil plus the offset of a face
            if (seen.values.clearance(tile, c) > trace.way(center) + kAround) continue;
            for (const Location location : {Location::x_face, Location::y_face, Location::z_face, Location::center}) {
                std::optional<Vec3f> origin; // shared by all fields at this location
                for (size_t i = 0; i < fields.size(); ++i) {
                    if (fields[i].location != location) continue;
                    if (!origin) origin = origin_of(location, center);
                    const float was = fields[i].in->tile(tile)[c];
                    const SeenValue found = look_up(*fields[i].in, location, seen.values, seen.voxel, *origin)
                                                .value_or(SeenValue{was, was, was});
                    fields[i].out->tile(tile)[c] = found.value;
                    scratch.low[i].tile(tile)[c] = found.low, scratch.high[i].tile(tile)[c] = found.high;
                }
            }
        }
    });
}

} // namespace spindrift
