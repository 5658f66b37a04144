// The mesh that a shape is made of, closed, or open where a sheet will do: one file for the whole shot, or one for each
// frame, as animation programs write them (ship.####.obj). Between frames vertices move in straight lines where all
// files agree on the triangles; where two do not, the distance passes from one to the other.
#pragma once

#include "spindrift/mesh/distance.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace spindrift {

// The files that a name stands for: one, or all frames on disk of a pattern.
std::vector<std::string> mesh_files(const std::string& name);

class MeshSequence {
  public:
    // Reads every file. Throws bad_input("{where}: ...") for one that is missing, empty or not finite, and for one that
    // is open unless it may be.
    MeshSequence(std::string name, const std::string& where, bool may_be_open = false);
    bool still() const { return first_ == last_; }
    // True if every file is closed: then the mesh has an inside.
    bool closed() const { return closed_; }

    // A mesh with what it takes to ask questions about it.
    class Moment {
      public:
        Moment(float frame, Mesh mesh, bool closed);
        // For a pair of frames that differ in their triangles: `share` of the way from one to the other.
        Moment(float frame, Mesh mesh, const Mesh& next, float share, bool closed);
        float frame() const { return frame_; }
        const Box3f& bounds() const { return bounds_; }
        float distance(const Vec3f& x) const;
        // True if the line from one place to another meets the mesh.
        bool meets(const Vec3f& from, const Vec3f& to) const
        {
            return (next_ && share_ > 0.5f ? *next_ : distance_).meets(from, to);
        }
        // The least way through the mesh along its normals, at the middles of its triangles; `most` if it is more.
        float thickness(float most) const;
        // Of the nearest place on the surface [m/frame]; along the normal only where triangles differ.
        Vec3f velocity(const Vec3f& x) const;
        // The largest component of any velocity [m/frame].
        float speed() const { return speed_; }

      private:
        float frame_;
        Mesh mesh_; // with velocities, unless `next_` is there or it is still
        MeshDistance distance_;
        std::optional<MeshDistance> next_;
        float share_ = 0, speed_ = 0;
        Box3f bounds_;
    };
    // At a moment in frames; the first and last files hold before and after them.
    std::shared_ptr<const Moment> at(float frame) const;
    // To look at.
    Mesh mesh(float frame) const;

  private:
    Mesh load(int frame) const;
    std::shared_ptr<const Mesh> recent(int frame) const;
    std::string name_, where_;
    int first_ = 0, last_ = 0;
    bool closed_ = true;
    // The last frames asked for: a step of the simulation is shorter than a frame.
    mutable std::mutex mutex_;
    mutable std::map<int, std::shared_ptr<const Mesh>> recent_;
};

} // namespace spindrift
