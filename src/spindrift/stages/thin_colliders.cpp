#include "spindrift/stages/thin_colliders.h"

namespace spindrift {

const Solids* ThinColliders::at(int frame, float reach, const std::vector<Shape>& colliders, float fps)
{
    if (reach != reach_) {
        reach_ = reach;
        std::vector<Shape> thin;
        for (const Shape& shape : colliders)
            if (shape.is_wall_below(2 * reach)) thin.push_back(shape);
        solids_.reset();
        if (thin.empty()) return nullptr;
        solids_.emplace(DomainParams(), std::move(thin), fps);
        solids_->find_sheets(reach);
    }
    if (!solids_) return nullptr;
    solids_->set_frame(static_cast<float>(frame));
    return &*solids_;
}

} // namespace spindrift
