// Implicit viscosity: minimises the change of velocity plus dissipation [Batty 2008]. Each cell, edge and face is
// weighted by the share of its volume that liquid fills. This suffices for a free surface: it has no traction, so that
// a falling thread can bend, and a blob can rotate. At solids the liquid sticks.
//
// Where a wall runs between an open and a closed face, dissipation uses the distance to the wall instead of that to the
// closed face. Sheets (world/sheets.h) close no face parallel to them: they drag the faces beside them, and there is no
// drag through them.
#pragma once

#include "spindrift/liquid/elasticity.h"
#include "spindrift/points/sort.h"
#include "spindrift/solvers/viscous.h"
#include "spindrift/world/solids.h"

namespace spindrift {

// Attribute with a particle's own viscosity [Pa s].
constexpr const char* kViscosityAttribute = "viscosity";

// Viscosity over density [m2/s]: uniform, or at cell centres (0 where unknown).
struct KinematicViscosity {
    float everywhere = 0;
    const Field<float>* at_cells = nullptr;
    float elasticity = 0; // shear modulus over density [m2/s2], see elasticity.h
};

// The mean over the particles of each cell, divided by the density; 0 where there is none.
void viscosity_at_cells(const Particles& particles, const ParticleIndex& index, const Topology& topology, float density,
                        Field<float>& out);

class Viscosity {
  public:
    // Assembles the system for a free surface (distance in cells, see free_surface.h), solids and a step of `dt`.
    void prepare(const Topology& topology, const Field<float>& phi, const Solids& solids, const SolidCells& cells,
                 const KinematicViscosity& viscosity, float voxel, float dt);
    // Computes the velocity at the end of the step. Closed faces receive the solid's velocity. `strain` is that of an
    // elastic liquid.
    ViscousResult apply(MacField& velocity, double tolerance, const StrainField* strain = nullptr);

    // Marks faces around the liquid that viscosity moves as known: they extrapolate the liquid linearly, where other
    // extrapolation could only repeat it.
    void mark_known(MacField& known) const;

    // The largest dt viscosity / (density voxel^2): over how many cells, squared, momentum spreads in the step.
    float stiffness() const { return stiffness_; }
    ViscousSolver& solver() { return solver_; }
    const LiquidShares& shares() const { return shares_; }
    size_t bytes() const;

  private:
    void load_from(const StrainField& strain);
    void load_from_sheets(const MacField& velocity);
    void find_what_holds_faces();
    void drop_parted_edges(const Sight& sight, bool elastic);
    void stick_to_sheets(const Sight& sight);
    void drop_loose_edges(bool elastic);
    void move_loose_faces(MacField& velocity) const;

    struct Face {
        int axis;
        Topology::Cell cell;
    };
    // An edge that was removed, and which of the faces around it follow it.
    struct LooseEdge {
        int axis, offset;
        std::array<bool, 4> loose;
    };
    std::array<Face, 4> faces_around(int tile, const LooseEdge& edge) const;

    const Solids* solids_ = nullptr;
    const SolidCells* cells_ = nullptr;
    float voxel_ = 0, dt_ = 0, stiffness_ = 0, elastic_stiffness_ = 0;
    ViscousMatrix matrix_;
    LiquidShares shares_; // only for elastic liquids
    MacField load_, held_;
    std::vector<uint8_t> plain_;                // tiles with uniform weights
    std::vector<std::vector<LooseEdge>> loose_; // by tile
    // A face beside a sheet, and the part of its mass that represents the sheet's drag.
    struct Sticking {
        int axis, cell;
        float weight;
    };
    std::vector<std::vector<Sticking>> sticking_; // by tile; empty without sheets
    ViscousSolver solver_;
};

} // namespace spindrift
