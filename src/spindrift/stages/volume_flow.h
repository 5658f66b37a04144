// Velocities in VDB volumes, of a smoke or of another program, that move a tracked surface.
#pragma once

#include "spindrift/io/vdb.h"
#include "spindrift/track/tracker.h"

namespace spindrift {

// A grid of velocities, at cell centres or staggered.
class VelocityVolume {
  public:
    // Throws if the file has no such grid of vectors. `scale`: from the file's units to m/s.
    VelocityVolume(const std::string& path, const std::string& grid, float scale);
    void add(std::span<const Vec3f> points, float weight, std::span<Vec3f> velocities) const;
    float max_speed() const { return max_speed_; }
    Box3f bounds() const;

  private:
    FieldFileOf<Vec3f> file_;
    float scale_, max_speed_;
};

// Interpolates in time between two volumes, or stays with one.
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
