// The tuning constants of sand in one place: what each does, and how its value was found. "Chosen" means by judgement,
// without a measurement that would single it out.
#pragma once

namespace spindrift {

struct SandTuning {
    // ------------------------------------------------------------------------------------------------ model `grains`
    // Largest volume fraction of a cell that is accepted when sand is moved apart. Chosen.
    static constexpr float densest = 1.02f;
    // Volume fractions: below the first, each particle flies on its own; above the second, sand moves with the grid; in
    // between the two are blended. Chosen.
    static constexpr float flying = 0.3f, flowing = 0.6f;
    // Longest move of a particle in a step, and the distance that it keeps from solids [cells]. Chosen.
    static constexpr float longest_move = 0.5f, gap_to_solids = 0.02f;
    // Distance of a cell's centre from solids beyond which the cell is free of them [cells]: half the diagonal, sqrt(3)
    // / 2, and a margin.
    static constexpr float far_from_solids = 0.9f;
    // Random displacement of new particles, as a share of their spacing. Chosen: enough to hide the lattice; more would
    // have to be pushed apart at once.
    static constexpr float jitter = 0.5f;
    // Range around a flow in which its velocity is imposed [cells]: covers all faces that particles at its corners
    // sample.
    static constexpr float flow_reach = 1.75f;
    // Steps between searches for particles to merge. Searching is expensive, and every other step suffices.
    static constexpr int steps_to_merge = 2;
    // Least mass of a particle, as a share of a new one, and the longest and shortest axis of its ellipsoid relative to
    // its radius, whatever the flow does. Chosen.
    static constexpr float smallest_share = 1.0f / 8, longest_axis = 2.5f, shortest_axis = 0.4f;
    // A particle with more than this share of a new one's mass is not merged: it would hardly find a partner. Chosen.
    static constexpr float mergeable_share = 0.75f;

    // Moving sand apart where cells are too full: the most passes; those after which it ends with a pass that gains
    // less than `stuck`, since between solids there may be no way out; and the excess over the capacity of a cell below
    // which nothing is moved. Chosen.
    static constexpr int most_passes = 24, passes_to_try = 9;
    static constexpr float stuck = 0.0005f, too_full = 0.005f;
    static constexpr float farthest_push = 0.25f; // of a particle in a pass [cells]
    static constexpr int push_iterations = 40;    // at most, of the solver
    // Share of such a displacement that continues through the surface of a solid: without it, sand that lies flat on a
    // floor, or in a corner, could not leave it. Chosen.
    static constexpr float push_off_solids = 0.25f;

    // Multiple, added to the excess of a cell, of what the blur of a push takes from it: 2, since moving particles by
    // face displacements and splatting them again both blur, and a little more, since particles are few. Chosen.
    static constexpr float sharpening = 2.25f;
    // How far outside its tile a particle may look up its displacement [cells]: the copied cells reach a cell farther.
    static constexpr float beside_tile = 0.999f;

    // Sand is not compressed further once less than this share of its capacity is free. With 0, particle noise let a
    // pile settle and creep for ever.
    static constexpr float loose = 0.05f;
    // Least capacity that a cell is given when its volume fraction is found: a few grains in a corner are not dense.
    // Chosen.
    static constexpr float least_room = 0.1f;
    static constexpr int stress_iterations = 60; // at most, of pressure in a step. Chosen
    // Iterations of friction in a step, and its tolerance relative to that of pressure. It is warm-started from the
    // last step, so few suffice: piles are as steep with 4 as with 20. The second values are for sand that carries a
    // body, whose weight is passed on across many cells; with so few iterations it would sink for ever.
    static constexpr int friction_iterations = 4, friction_iterations_under_bodies = 12;
    static constexpr double friction_tolerance = 5, friction_tolerance_under_bodies = 2;
    // Cells per step: tolerances of friction are relative to this motion where sand gains no speed by falling. Chosen.
    static constexpr float creep = 0.01f;
    // Relative error below which the motion of a collider across a tile counts as linear. Chosen.
    static constexpr float linear = 1e-3f;
    // Sand is at rest on what is below if it is slower than this share of the speed that it gains by falling half a
    // cell. Chosen.
    static constexpr float slow = 0.25f;
    // A tile whose cells are all emptier than this has no stress: a step of half a cell cannot fill them.
    static constexpr float sparse = 0.25f;
    // Least volume fraction of the cell below a surface cell that rests on it. Chosen.
    static constexpr float support = 0.8f;
    // A shear beside a cell with a smaller free share acts on a wall. Half a cell.
    static constexpr float on_wall = 0.5f;
    // Range around particles that the grid covers [cells]: the reach of their trilinear weights.
    static constexpr int grid_reach = 1;

    // ------------------------------------------------------------------------------------------------- model `fluid`
    // Share of FLIP: relative motion of grains is lost much faster than that of water. Chosen.
    static constexpr float flip = 0.9f;
    static constexpr float cells_per_step = 2; // longest move of sand in a step. Chosen
    // Gradient steps to the stress per time step, and their length. From 0.5 on they would not converge; three suffice
    // because each step continues from the last stress.
    static constexpr int sweeps = 3;
    static constexpr float sweep = 0.4f;
    // A cell is rigid if the yield surface leaves room for this multiple of the stress that would stop the remaining
    // shear, the second times the square of the depth. [Zhu 2005, (2.5)] considers one cell alone: stopping a layer d
    // cells deep takes d^2 times as much, and with a smaller reserve columns stood that should fall.
    static constexpr float least_reserve = 4, reserve_by_depth2 = 2;
    // Sine of the steepest friction angle: the tangent must stay finite.
    static constexpr float steepest = 0.99f;
    // Weight of a solid in the rigid motion of a cluster, relative to the sand that it holds: "infinite".
    static constexpr double solid_weight = 1e4;
    // Misfit between the motion of a cluster and of the solids that hold it above which it slides. Chosen.
    static constexpr double most_misfit = 0.01;
    // Distance of a contact's cell from a solid [cells].
    static constexpr float next_to = 1;

    // Half the width of the differences that give the normal of a solid [cells]; of both models. Chosen.
    static constexpr float normal_width = 0.1f;
    // Friction of `stick = 1`, "infinite": of both models.
    static constexpr float clings = 1e3f;

    // ------------------------------------------------------------------------------------------------- grains to draw
    // Ellipsoids of new particles touch; enlarged by this, they fill the space between them. Chosen on a still heap.
    static constexpr float filling = 1.8f;
    // A grain this far from the centre of its particle, in semi-axes, is dropped; others outside are pulled in by the
    // second, a share of the distance, in each frame. Chosen.
    static constexpr float lost = 4, drawn_in = 0.25f;
    // A particle is invisible if its cell and all cells around are fuller than this. Chosen: higher values draw sand
    // that cannot be seen, lower ones leave holes.
    static constexpr float hidden = 0.85f;
    // Volume of solid grains in sand at rest: between loose (0.55) and dense (0.64) random packing of spheres.
    static constexpr float packing = 0.6f;
    // Random part of a grain's normal, relative to the normal of the sand's surface. Chosen for the look.
    static constexpr float bumpiness = 0.5f;
    // Gradient of the displacement around a particle: regularisation, relative to a full cell of neighbours, and the
    // largest value that is believed, since crossing streams have no gradient. Chosen.
    static constexpr float doubt = 0.01f, most_gradient = 2;
};

} // namespace spindrift
