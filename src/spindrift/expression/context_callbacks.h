// Runtime support shared by expressions on particles and on volumes: parameters, volumes and colliders.
#pragma once

#include "spindrift/expression/expression.h"

#include <atomic>
#include <exception>
#include <mutex>

namespace spindrift {

// Built-in variables and user parameters in the kernel's order: declarations and values.
std::vector<KernelParameter> declare_parameters(const std::string& label, const ExpressionParameters& parameters);
std::vector<double> parameter_values(const ExpressionParameters& parameters, const ExpressionContext& context);

// Throws Error(bad_input) if the kernel samples something that the context lacks.
void check_context(const std::string& label, const std::string& text, const Kernel& kernel,
                   const ExpressionContext& context);

class ContextCallbacks : public KernelCallbacks {
  public:
    ContextCallbacks(const Kernel& kernel, const ExpressionContext& context);

    float volume(int slot, const float* x) const override;
    void volume_vector(int slot, const float* x, float* out) const override;
    float collider_distance(const float* x) const override;
    void collider_normal(const float* x, float* out) const override;

    // Rethrows an exception of a context function: exceptions cannot unwind through generated code.
    void rethrow() const;

  protected:
    template <class Body> auto guarded(const Body& body) const -> decltype(body())
    {
        try {
            return body();
        } catch (...) {
            const std::scoped_lock lock(mutex_);
            if (!thrown_) thrown_ = std::current_exception();
        }
        if constexpr (std::is_same_v<decltype(body()), Vec3f>)
            return Vec3f::Zero();
        else
            return {};
    }

  private:
    const ExpressionContext& context_;
    std::vector<const std::function<float(const Vec3f&)>*> volumes_; // by slot; null for vector volumes
    std::vector<const std::function<Vec3f(const Vec3f&)>*> vector_volumes_;
    mutable std::mutex mutex_;
    mutable std::exception_ptr thrown_;
};

[[noreturn]] void fail_at_loop_limit(const std::string& label, int frame, int64_t limit);

} // namespace spindrift
