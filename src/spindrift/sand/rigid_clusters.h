// Connected cells of sand that move as rigid bodies [Zhu 2005, (2.6) and (2.7)].
//
// A face belongs to the cluster of its adjacent cells. The motion of a cluster is the rigid one closest to the velocity
// of its faces, which conserves their linear and angular momentum: (2.6), and (2.7) with the inertia tensor, on a
// staggered grid. Where pressure presses a cluster on a solid, the normal velocity is the solid's, and if friction can
// stop the cluster there, it rests on the solid.
#pragma once

#include "spindrift/sand/wall_friction.h"

namespace spindrift {

class RigidClusters {
  public:
    // Connects the cells whose entry is not 0, through open faces.
    void find(const Field<uint8_t>& rigid, const FlowStep& flow);
    // Imposes the rigid motion of every cluster. The contacts are ordered by tile.
    void make_rigid(const FlowStep& flow, std::span<const WallFriction::Contact> contacts);

    // The index of a cell's cluster, -1 for none.
    const Field<int32_t>& cluster() const { return cluster_; }
    size_t count() const { return motions_.size(); }
    size_t bytes() const { return cluster_.bytes() + first_.capacity() * sizeof(int32_t); }

  private:
    using Vector6 = Eigen::Matrix<double, 6, 1>;
    using Matrix6 = Eigen::Matrix<double, 6, 6>;
    // Normal equations matrix * motion = right side of the rigid motion closest to velocities along given directions,
    // at given positions.
    struct NormalEquations {
        Matrix6 matrix = Matrix6::Zero();
        Vector6 right = Vector6::Zero();
        double weight = 0, square = 0; // of the velocities
        void add(const Vec3d& direction, const Vec3d& place, double velocity, double factor = 1);
        void add(const NormalEquations& other, double factor = 1);
        // The squared residual of a motion, relative to the squared velocities.
        double misfit(const Vector6& motion) const;
    };
    // The same for many faces of one axis: sums of r, r r^T, the velocity u and u r.
    struct FaceSums {
        double count = 0, u = 0;
        Vec3d r = Vec3d::Zero(), ur = Vec3d::Zero();
        Eigen::Matrix3d rr = Eigen::Matrix3d::Zero();
        void add(const Vec3d& place, double velocity);
        void add(const FaceSums& other);
    };
    struct ClusterSums {
        int cluster = -1;
        std::array<FaceSums, 3> faces;
        // Constraints by solids: along their normals, and if the cluster sticks, each weighted by the friction there.
        NormalEquations pressed, stuck;
        double friction = 0;    // largest impulse of friction there
        double solid_speed = 0; // largest among the solids
        void add(const ClusterSums& other);
    };
    struct Motion {
        Vec3d velocity = Vec3d::Zero(), turning = Vec3d::Zero();
        double at(const Vec3d& place, int axis) const { return velocity[axis] + turning.cross(place)[axis]; }
    };
    template <class Body> void for_each_face(int tile, const FlowStep& flow, const Body& body) const;
    std::vector<ClusterSums> sums_of_tile(int tile, const FlowStep& flow,
                                          std::span<const WallFriction::Contact> contacts) const;
    static NormalEquations equations_of(const std::array<FaceSums, 3>& faces);
    static Motion solve(const NormalEquations& equations);
    static Motion motion_of(const ClusterSums& sums);

    Field<int32_t> cluster_;
    std::vector<uint8_t> has_rigid_; // by tile, and 0 for missing tiles
    std::vector<Motion> motions_;
    std::vector<int32_t> first_;   // scratch: the union-find parent of each cell
    Vec3i origin_ = Vec3i::Zero(); // of positions [cells]
};

} // namespace spindrift
