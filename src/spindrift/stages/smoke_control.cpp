#include "spindrift/stages/smoke_control.h"

#include "spindrift/io/vdb.h"
#include "spindrift/scene/limits.h"
#include "spindrift/stages/shaped_smoke_stage.h"
#include "spindrift/turbulence/sampler.h"

namespace spindrift {

void SmokeControlParams::visit(ParamVisitor& v)
{
    v("by", by, "A [shaped_smoke] whose markers draw this smoke along. Default: none.");
    v("strength", strength, unit::per_second, limits::rate(), "Rate at which the air takes on their velocity.");
}

struct SmokeControl::Volumes {
    int frame;
    FieldSet fields;
    const FieldFile& density() const { return fields.numbers.at("density"); }
    const FieldFileOf<Vec3f>& velocity() const { return fields.vectors.at("vel"); }
};

void SmokeControl::apply(SmokeFields& fields, float time, float dt)
{
    const int frame = static_cast<int>(std::ceil(time - 1e-4f));
    if (!volumes_ || volumes_->frame != frame)
        volumes_ = std::make_shared<const Volumes>(
            Volumes{frame, read_fields(density_file_of(input_(params_.by, frame)), {"density", "vel"})});
    const FieldFile& density = volumes_->density();
    const FieldFileOf<Vec3f>& velocity = volumes_->velocity();
    for_each_tile(*fields.topology, [&](int tile) {
        constexpr float kFull = 0.25f; // density of markers at which they act fully
        Sampler dense(*density.topology), moving(*velocity.topology);
        const Vec3f middle = Vec3f::Constant(0.5f), first = fields.topology->first_cell(tile).cast<float>();
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3f x = fields.voxel * (first + cell_in_tile(c).cast<float>() + middle);
            float smoke = 0, weights = 0;
            dense.for_each_sample(x / density.voxel, middle,
                                  [&](int t, int o, float weight) { smoke += weight * density.field.tile(t)[o]; });
            if (smoke <= 0) continue;
            Vec3f wanted = Vec3f::Zero();
            moving.for_each_sample(x / velocity.voxel, middle, [&](int t, int o, float weight) {
                wanted += weight * velocity.field.tile(t)[o], weights += weight;
            });
            if (weights < 0.99f) continue;
            const float share = 1 - std::exp(-params_.strength * std::min(1.0f, smoke / kFull) * dt);
            Vec3f& u = fields.velocity->tile(tile)[c];
            u += share * (wanted - u);
        }
    });
}

} // namespace spindrift
