// What viscosity does to the velocity in a step, implicitly: the velocity changes as little as it can while dissipation
// is as small as it can be (Batty and Bridson 2008). Each cell, edge and face counts with the share of its volume that
// liquid fills, which is all that a free surface needs: nothing pulls on it, so that a falling thread can bend, and a
// blob can turn. At solids the liquid sticks.
//
// Where the wall runs between an open and a closed face, dissipation is that of the distance to the wall instead of
// that to the closed face. Sheets (world/sheets.h) close no face that lies along them: they drag the faces beside them
// along, and nothing is dragged along through them.
#pragma once

#include "spindrift/liquid/elasticity.h"
#include "spindrift/points/sort.h"
#include "spindrift/solvers/viscous.h"
#include "spindrift/world/solids.h"

namespace spindrift {

// The attribute with a particle's own viscosity [Pa s].
constexpr const char* kViscosityAttribute = "viscosity";

// A liquid's viscosity over its density [m2/s]: the same everywhere, or at cell centres (0 where it is not known).
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
    // Sets up the system for a free surface (distance in cells, see free_surface.h), solids and a step of `dt`.
    void prepare(const Topology& topology, const Field<float>& phi, const Solids& solids, const SolidCells& cells,
                 const KinematicViscosity& viscosity, float voxel, float dt);
    // The velocity at the end of the step. Closed faces receive the solid's velocity. An elastic liquid has a strain.
    ViscousResult apply(MacField& velocity, double tolerance, const StrainField* strain = nullptr);

    // Faces around the liquid that viscosity moves become known: they go on as the liquid does, in a straight line
    // where others could only repeat it.
    void mark_known(MacField& known) const;

    // The largest dt viscosity / (density voxel^2): how many cells, squared, momentum spreads over in the step.
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
    // An edge that was left out, and which of the faces around it go where it wants them.
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
    std::vector<uint8_t> plain_;                // tiles with the same weights everywhere
    std::vector<std::vector<LooseEdge>> loose_; // of each tile
    // A face beside a sheet, and how much of its mass stands for the sheet's hold on it.
    struct Sticking {
        int axis, cell;
        float weight;
    };
    std::vector<std::vector<Sticking>> sticking_; // of each tile; none without sheets
    ViscousSolver solver_;
};

} // namespace spindrift
