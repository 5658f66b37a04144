#include "spindrift/scene/motion.h"

#include "spindrift/scene/limits.h"

#include <algorithm>

namespace spindrift {

namespace {

bool every_turn_has_an_axis(const Keys& keys)
{
    return std::ranges::all_of(
        keys, [](const std::vector<float>& key) { return key[4] == 0 || key[1] != 0 || key[2] != 0 || key[3] != 0; });
}

bool all_above_zero(const Keys& keys)
{
    return std::ranges::all_of(keys, [](const std::vector<float>& key) {
        return std::all_of(key.begin() + 1, key.end(), [](float x) { return x > 0; });
    });
}

} // namespace

void MotionParams::visit_keys(ParamVisitor& v)
{
    v.rows("translate", translate, 4, unit::none,
           "Keyframes [frame, x, y, z] of a translation in metres; held before the first and after the last.");
    v.rows("rotate", rotate, 5, unit::none,
           "Keyframes [frame, ax, ay, az, degrees] of a rotation about an axis through the pivot.");
    v("interpolation", interpolation, choices("linear", "smooth", "step"),
      "Between keyframes: linear; smooth, a curve that starts and ends at rest and may overshoot a "
      "key where it reverses; or step, held until the next key.");
    v("pivot", pivot, unit::metres, limits::position(),
      "Fixed point of rotation and scaling, before any translation. Default: the middle of the shape.");
    v.require(in_order(translate), "translate", "must have keyframes in ascending order of frames");
    v.require(in_order(rotate), "rotate", "must have keyframes in ascending order of frames");
    v.require(every_turn_has_an_axis(rotate), "rotate", "must have an axis other than [0, 0, 0] for each turn");
}

void MotionParams::visit_more(ParamVisitor& v)
{
    v.rows("scale", scale, 4, unit::none,
           "Keyframes [frame, sx, sy, sz] of a scale factor along the shape's own axes. Distances are exact for "
           "boxes, half-spaces and uniform scaling; otherwise they are lower bounds.");
    v("name", name, "Name under which others refer to it as their parent.");
    v("parent", parent,
      "Name of another source, sink, collider, emitter or [[shot.null]] that this one moves with: its translation, "
      "rotation and "
      "scale are applied after this shape's own. Deformation of a mesh sequence is not inherited.");
    v.require(in_order(scale), "scale", "must have keyframes in ascending order of frames");
    v.require(all_above_zero(scale), "scale", "must be above 0 in every key");
}

bool MotionParams::scales_evenly() const
{
    return std::ranges::all_of(scale,
                               [](const std::vector<float>& key) { return key[1] == key[2] && key[2] == key[3]; });
}

void NullParams::visit(ParamVisitor& v)
{
    visit_keys(v), visit_more(v);
    v.require(!name.empty(), "name", "must be given: a null is referred to by its name only");
}

Motion::Motion(const MotionParams& params, const Vec3f& middle, std::shared_ptr<const Motion> parent)
    : translate_(params.translate), rotate_(params.rotate), scale_(params.scale), interpolation_(params.interpolation),
      pivot_(params.pivot.value_or(middle)), parent_(std::move(parent))
{
    keyed_ = !translate_.empty() || !rotate_.empty() || !scale_.empty() || parent_;
    moves_ = keys_change(translate_) || keys_change(rotate_) || keys_change(scale_) || (parent_ && parent_->moves());
    scales_ = !scale_.empty() || (parent_ && parent_->scales());
    // Interpolating logarithms keeps smooth curves of the scale above zero.
    if (interpolation_ == Interpolation::smooth)
        for (std::vector<float>& key : scale_)
            std::transform(key.begin() + 1, key.end(), key.begin() + 1, [](float s) { return std::log(s); });
}

Motion::Pose Motion::own(float frame) const
{
    Pose pose;
    if (!translate_.empty()) {
        const KeyedValue shift = value_at(translate_, frame, interpolation_);
        pose.shift = shift.value, pose.shift_rate = shift.rate;
    }
    if (!rotate_.empty()) {
        const KeyedTurn turn = turn_at(rotate_, frame, interpolation_);
        pose.rotation = turn.turn, pose.spin = turn.spin;
    }
    if (!scale_.empty()) {
        const KeyedValue scale = value_at(scale_, frame, interpolation_);
        const bool logarithm = interpolation_ == Interpolation::smooth;
        pose.scale = logarithm ? Vec3d(scale.value.array().exp()) : scale.value;
        pose.growth = logarithm ? scale.rate : Vec3d(scale.rate.cwiseQuotient(scale.value));
    }
    return pose;
}

std::vector<float> Motion::scale_frames() const
{
    constexpr int kParts = 8; // of the time between two keys
    std::vector<float> frames = parent_ ? parent_->scale_frames() : std::vector<float>();
    for (size_t k = 0; k < scale_.size(); ++k) {
        const float from = scale_[k][0], to = k + 1 < scale_.size() ? scale_[k + 1][0] : from;
        for (int part = 0; part < (from < to ? kParts : 1); ++part)
            frames.push_back(from + (to - from) * static_cast<float>(part) / kParts);
    }
    return frames;
}

Motion::Pose Motion::at(float frame) const
{
    Pose pose = own(frame);
    if (!parent_) return pose;
    const Pose outer = parent_->at(frame);
    const double size = outer.scale.x(), growth = outer.growth.x(); // a parent scales uniformly
    const Vec3d pivot = pivot_.cast<double>(), parents = parent_->pivot_.cast<double>();
    const Vec3d arm = size * (outer.rotation * (pivot + pose.shift - parents)); // from the parent's pivot to this one's
    pose.shift = parents + outer.shift + arm - pivot;
    pose.shift_rate =
        outer.shift_rate + outer.spin.cross(arm) + growth * arm + size * (outer.rotation * pose.shift_rate);
    pose.spin = outer.spin + outer.rotation * pose.spin;
    pose.rotation = outer.rotation * pose.rotation;
    pose.scale *= size, pose.growth.array() += growth;
    return pose;
}

} // namespace spindrift
