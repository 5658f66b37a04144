// Mesh of a shape, closed (or open where a sheet is allowed): one file for the whole shot, or one per frame, as
// animation programs write them (ship.####.obj). Between frames vertices move linearly if both files have the same
// triangles; otherwise the distance is blended from one to the other.
#pragma once

#include "spindrift/mesh/distance.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace spindrift {

// Files of a name: one, or all existing frames of a pattern.
std::vector<std::string> mesh_files(const std::string& name);

class MeshSequence {
  public:
    // Reads every file. Throws bad_input("{where}: ...") if one is missing, empty, not finite, or open although
    // may_be_open is false.
    MeshSequence(std::string name, const std::string& where, bool may_be_open = false);
    bool still() const { return first_ == last_; }
    // True if every file is closed, so that the mesh has an inside.
    bool closed() const { return closed_; }
    // True if not all files have the same triangles.
    bool triangles_change() const { return triangles_change_; }
    // True if a part is thinner than `thickness` in one of the files: a part of the mesh, or of what is outside. Tests
    // at most 32 files, and fewer large ones, evenly spread.
    bool is_thinner(float thickness, bool outside) const;

    // The mesh at one time, prepared for queries.
    class Moment {
      public:
        Moment(float frame, Mesh mesh, bool closed);
        // For two frames with different triangles: the fraction `share` of the way from one to the other.
        Moment(float frame, Mesh mesh, const Mesh& next, float share, bool closed);
        float frame() const { return frame_; }
        const Box3f& bounds() const { return bounds_; }
        float distance(const Vec3f& x) const;
        // True if the segment intersects the mesh.
        bool meets(const Vec3f& from, const Vec3f& to) const
        {
            return (next_ && share_ > 0.5f ? *next_ : distance_).meets(from, to);
        }
        // Smallest thickness along the normals, sampled on the triangles, of the mesh or of what is outside; `most` if
        // it is larger.
        float thickness(float most, bool outside) const;
        // Velocity of the nearest surface point [m/frame]; only its normal component where triangles differ.
        Vec3f velocity(const Vec3f& x) const;
        // The largest component of any velocity [m/frame].
        float speed() const { return speed_; }

      private:
        float frame_;
        Mesh mesh_; // with velocities, unless next_ is set or the mesh is still
        MeshDistance distance_;
        std::optional<MeshDistance> next_;
        float share_ = 0, speed_ = 0;
        Box3f bounds_;
    };
    // The mesh at a time in frames; the first and last files are held before and after.
    std::shared_ptr<const Moment> at(float frame) const;
    // The mesh for display.
    Mesh mesh(float frame) const;

  private:
    Mesh load(int frame) const;
    std::shared_ptr<const Mesh> recent(int frame) const;
    std::string name_, where_;
    int first_ = 0, last_ = 0;
    bool closed_ = true, triangles_change_ = false;
    // Cache of recent frames: a simulation step is shorter than a frame.
    mutable std::mutex mutex_;
    mutable std::map<int, std::shared_ptr<const Mesh>> recent_;
};

} // namespace spindrift
