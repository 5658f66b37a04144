#include "spindrift/sand/wall_friction.h"
#include "spindrift/sand/tuning.h"

namespace spindrift {

namespace {

} // namespace

void WallFriction::find(const FlowStep& flow, const Field<float>& wet)
{
    const std::vector<int>& near = flow.solid_cells.near();
    std::vector<std::vector<Contact>> found(near.size());
    parallel_for(near.size(), [&](size_t k) {
        const int tile = near[k];
        const SolidTile& solid = *flow.solid_cells.tile(tile);
        const Vec3f corner = flow.phi.topology().first_cell(tile).cast<float>() + Vec3f::Constant(0.5f);
        for (int c = 0; c < kTileCells; ++c) {
            if (!(wet.tile(tile)[c] > 0) || !(solid.distance[c] < SandTuning::next_to)) continue;
            const Vec3f at = (corner + cell_in_tile(c).cast<float>()) * flow.voxel;
            found[k].push_back({tile, c, flow.solids.normal(at, SandTuning::normal_width * flow.voxel),
                                flow.solids.velocity(at), flow.solids.grip(at)});
        }
    });
    contacts_.clear();
    for (const auto& part : found) contacts_.insert(contacts_.end(), part.begin(), part.end());
}

// The velocity tangential to the solid, relative to it.
Vec3f WallFriction::sliding(const Contact& c, const FlowStep& flow)
{
    Vec3f velocity;
    for (int a = 0; a < 3; ++a) {
        const auto [tile, cell] = flow.phi.topology().next_cell(c.tile, c.cell, a, 1);
        const Field<float>& u = flow.velocity.u[a];
        velocity[a] = 0.5f * (u.tile(c.tile)[c.cell] + u.tile(tile)[cell]);
    }
    return along(c, velocity - c.solid_velocity);
}

// Coulomb friction, plus the share of sliding that `stick` removes; unbounded where sand clings.
void WallFriction::set_limits(const FlowStep& flow, float fps)
{
    for_each_contact([&](Contact& c) {
        // The pressure on the wall is that at the cell's centre plus gravity times the distance.
        const float way = flow.solid_cells.tile(c.tile)->distance[c.cell];
        const float deeper = std::max(0.0f, -flow.dt * way * flow.gravity.dot(c.normal));
        const auto pressed = static_cast<float>(flow.projection.s().tile(c.tile)[c.cell]) + deeper;
        c.limit = c.hold.friction * std::max(0.0f, pressed);
        if (!(c.hold.stick > 0)) return;
        const float share = c.hold.stick < 1 ? 1 - std::pow(1 - c.hold.stick, flow.dt * fps) : SandTuning::clings;
        c.limit += share * (sliding(c, flow).norm() + flow.dt * flow.gravity.norm());
    });
}

void WallFriction::hold(const FlowStep& flow, Field<float> (&traction)[3])
{
    for_each_contact([&](Contact& c) {
        Vec3f before;
        for (int a = 0; a < 3; ++a) before[a] = traction[a].tile(c.tile)[c.cell];
        const Vec3f stopping = before - sliding(c, flow);
        const float wanted = stopping.norm();
        c.change = (wanted > c.limit ? c.limit / wanted : 1) * stopping - before;
        add(c, traction);
    });
    push(flow);
}

// A face gets half from each adjacent cell: first from the cells above, then from those below, so that no two contacts
// write to a face at the same time.
void WallFriction::push(const FlowStep& flow)
{
    const auto add_to = [&](int tile, int cell, const Contact& c, int a) {
        if (flow.solid_cells.open(tile, a)[cell] > 0) flow.velocity.u[a].tile(tile)[cell] += 0.5f * c.change[a];
    };
    for_each_contact([&](Contact& c) {
        for (int a = 0; a < 3; ++a) add_to(c.tile, c.cell, c, a);
    });
    for_each_contact([&](Contact& c) {
        for (int a = 0; a < 3; ++a) {
            const auto [tile, cell] = flow.phi.topology().next_cell(c.tile, c.cell, a, 1);
            if (tile != flow.phi.topology().tile_count()) add_to(tile, cell, c, a);
        }
    });
}

} // namespace spindrift
