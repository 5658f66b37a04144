// Velocities in VDB volumes, of a smoke or of another program, that move a tracked surface.
#pragma once

#include "spindrift/io/vdb.h"
#include "spindrift/track/tracker.h"

namespace spindrift {

// Velocities on a grid, at cell centres or staggered. Many programs write them only where their liquid is, while a
// surface needs them on both sides: they are continued by a few cells from the values that the file has.
class VelocityVolume {
  public:
    // `grid` names a grid of vectors, or what three grids of numbers have before ".x", ".y" and ".z". Throws if the
    // file has neither. `scale`: from the file's units to m/s.
    VelocityVolume(const std::string& path, const std::string& grid, float scale);
    // Adds the velocity, where it is known, and its share there, each times a weight.
    void add(std::span<const Vec3f> points, float weight, std::span<Vec3f> velocities, std::span<Vec3f> shares) const;
    float max_speed() const { return max_speed_; }
    Box3f bounds() const;

  private:
    // One component of the velocity, for each axis on a grid of its own; infinite where it is unknown.
    struct Component {
        std::shared_ptr<const Topology> topology;
        Field<float> values;
        float voxel = 0;
        Vec3f origin = Vec3f::Zero(); // of the first value
    };
    static Component component_of(const FieldFile& file);
    Component component_of(const FieldFileOf<Vec3f>& file, int axis) const;

    Component components_[3];
    float max_speed_ = 0;
};

// Interpolates in time between two volumes, or stays with one. Where only one of them knows the velocity, it counts
// alone; where none does, nothing moves.
class VolumeFlow : public TrackFlow {
  public:
    // The step is part of the time between the volumes: its shares 0 and 1 are at `from` and `to` of that time.
    VolumeFlow(const VelocityVolume& before, const VelocityVolume& after, float from, float to)
        : before_(before), after_(after), from_(from), to_(to)
    {
    }
    void sample(std::span<const Vec3f> points, float share, std::span<Vec3f> velocities) const override;
    float max_speed() const override { return std::max(before_.max_speed(), after_.max_speed()); }

  private:
    const VelocityVolume &before_, &after_;
    const float from_, to_;
};

} // namespace spindrift
