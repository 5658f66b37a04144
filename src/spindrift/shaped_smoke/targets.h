// The shapes that the smoke takes, and the target particles in them [Madill 2013, 4.2].
//
// Targets with the same frame form a group and are taken at the same time. A group is active from its frame until the
// next one's, or until it lets go. Target particles are sampled at the frame at which their group begins, and move with
// their shapes from then on: rigidly with keyframes, or bound to a mesh sequence (embedding.h).
#pragma once

#include "spindrift/shaped_smoke/embedding.h"
#include "spindrift/shaped_smoke/params.h"

#include <memory>

namespace spindrift {

class Targets {
  public:
    // `places` are for messages. Throws bad_input("{place}: ...") for targets that cannot be taken: two at one frame
    // without shares, a sequence whose triangles change, a flat or empty shape. `start` is the first frame of the shot.
    Targets(const std::vector<TargetParams>& params, std::vector<Shape> shapes, std::vector<std::string> places,
            int start);

    // What was repaired, or looks doubtful with the voxel and the number of control particles of these parameters.
    std::vector<std::string> warnings(const ShapedSmokeParams& smoke) const;
    // Index of the group that is active at a time in frames, or -1.
    int active(float frame) const;
    int group_count() const { return static_cast<int>(groups_.size()); }

    // Starts over without particles in this group (or none, with -1).
    void begin(int group);
    int group() const { return group_; }
    // Adds exactly `count` target particles, shared among the shapes of the group.
    void add(size_t count, uint64_t seed);
    // Sizes of the calls of add() since begin(), which repeat them when resuming.
    const std::vector<uint64_t>& batches() const { return batches_; }
    size_t size() const { return count_; }
    // Positions at a time in frames.
    void place(float frame, std::vector<Vec3f>& positions);
    // Target particles per volume [1/m3] at the time last placed: the mean of all shapes of the group, and, if there
    // are several, that in the shape of each particle.
    double density() const;
    bool several() const { return group_ >= 0 && groups_[group_].members.size() > 1; }
    void find_densities(std::vector<float>& densities) const;
    // Signed distance to the union of the group's shapes, at the time last prepared.
    void prepare_distance(float frame);
    float distance(const Vec3f& x) const;

  private:
    struct Group {
        int frame = 0;
        float end = kInfinity;
        std::vector<size_t> members;
    };
    // Particles of one shape, added at once.
    struct Points {
        size_t member; // index of the target
        std::vector<Vec3f> rest;
        std::unique_ptr<Embedding> bound; // null for shapes that do not bend
    };
    // How much of a shape there is.
    struct Amount {
        double volume = 0;    // when its group began [m3]
        double enclosed = 0;  // by its triangles then; parts that overlap count twice
        double growth = 1;    // of its volume until the time last placed
        size_t particles = 0; // in it
    };
    void make_groups(int start);
    void check_sequence(size_t i) const;
    bool bends(size_t i) const;
    double share_of(size_t i) const { return static_cast<double>(params_[i].share.value_or(1)); }
    std::string few_controls(size_t i, double share, double volume, const ShapedSmokeParams& smoke) const;

    std::vector<TargetParams> params_;
    std::vector<Shape> shapes_;
    std::vector<std::string> places_;
    std::vector<Group> groups_; // in order of frames
    std::vector<size_t> past_;  // targets that were over before the shot began
    int group_ = -1;
    float prepared_ = 0;
    std::vector<Amount> amounts_; // of each target
    size_t count_ = 0;
    std::vector<uint64_t> batches_;
    std::vector<Points> points_;
};

} // namespace spindrift
