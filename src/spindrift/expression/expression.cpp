#include "spindrift/expression/expression.h"

#include "spindrift/base/error.h"
#include "spindrift/base/interrupt.h"
#include "spindrift/base/parallel.h"
#include "spindrift/expression/context_callbacks.h"
#include "spindrift/expression/neighbours.h"

#include <Eigen/Eigenvalues>
#include <fmt/ranges.h>
#include <optional>

namespace spindrift {

namespace {

constexpr size_t kChunk = 8192; // small enough for a chunk's arrays to stay in cache for the finite check

template <class T> constexpr ElementType element_type()
{
    if constexpr (std::is_same_v<T, float>)
        return ElementType::float32;
    else if constexpr (std::is_same_v<T, int32_t>)
        return ElementType::int32;
    else
        return ElementType::vec3f;
}

// Type of an attribute; empty if the particles have no attribute of this name.
std::optional<ElementType> type_of(const Particles& particles, const std::string& name)
{
    if (name == "P" || name == "v") return ElementType::vec3f;
    if (name == "id") return ElementType::int32;
    const auto found = particles.attributes.find(name);
    if (found == particles.attributes.end()) return std::nullopt;
    return std::visit([]<class T>(const std::vector<T>&) { return element_type<T>(); }, found->second);
}

bool is_group(const std::string& name) { return name.starts_with("group_"); }

void* array_of(Particles& particles, const KernelName& attribute)
{
    if (attribute.name == "P") return particles.P.data();
    if (attribute.name == "v") return particles.v.data();
    if (attribute.name == "id") return particles.id.data();
    switch (attribute.type) {
    case ElementType::float32:
        return particles.attribute<float>(attribute.name).data();
    case ElementType::int32:
        return particles.attribute<int32_t>(attribute.name).data();
    case ElementType::vec3f:
        return particles.attribute<Vec3f>(attribute.name).data();
    }
    return nullptr;
}

// Adds the neighbour functions. Copies positions and attributes first, because the expression may overwrite them.
class ParticleCallbacks final : public ContextCallbacks {
  public:
    ParticleCallbacks(const Kernel& kernel, const ExpressionContext& context, const Particles& particles,
                      int64_t neighbour_limit, int32_t& overrun)
        : ContextCallbacks(kernel, context), limit_(neighbour_limit), overrun_(overrun)
    {
        if (!kernel.needs_neighbours()) return;
        positions_ = particles.P;
        tree_.emplace(positions_);
        for (const KernelName& attribute : kernel.neighbour_attributes()) {
            Values& values = values_.emplace_back();
            particles.for_each_array([&]<class T>(const std::string& name, const std::vector<T>& array) {
                if (name != attribute.name) return;
                if constexpr (std::is_same_v<T, Vec3f>)
                    values.vectors = array;
                else
                    values.numbers.assign(array.begin(), array.end());
            });
        }
    }

    int neighbours(size_t i, float radius) const override
    {
        const size_t found = tree_->count(positions_[i], radius);
        return static_cast<int>(found - std::min<size_t>(found, 1)); // excludes the particle itself
    }

    float neighbours_mean(size_t i, int slot, float radius) const override
    {
        const auto& numbers = values_[slot].numbers;
        double sum = 0;
        const size_t count = for_each(i, radius, [&](size_t j, const Vec3f&) { sum += double(numbers[j]); });
        return count > 0 ? static_cast<float>(sum / static_cast<double>(count)) : numbers[i];
    }

    void neighbours_mean_vector(size_t i, int slot, float radius, float* out) const override
    {
        const auto& vectors = values_[slot].vectors;
        Vec3d sum = Vec3d::Zero();
        const size_t count = for_each(i, radius, [&](size_t j, const Vec3f&) { sum += vectors[j].cast<double>(); });
        const Vec3f mean = count > 0 ? (sum / static_cast<double>(count)).cast<float>().eval() : vectors[i];
        for (int c = 0; c < 3; ++c) out[c] = mean[c];
    }

    // Least squares: the gradient g that minimises the sum of w (a_j - a_i - g . (x_j - x_i))^2, where w falls to zero
    // at the radius. The gradient is zero in directions without neighbours.
    void neighbours_gradient(size_t i, int slot, float radius, float* out) const override
    {
        const auto& numbers = values_[slot].numbers;
        const double radius2 = double(radius) * double(radius);
        Eigen::Matrix3d spread = Eigen::Matrix3d::Zero();
        Vec3d slope = Vec3d::Zero();
        for_each(i, radius, [&](size_t j, const Vec3f& x) {
            const Vec3d d = (x - positions_[i]).cast<double>();
            const double w = radius2 > 0 ? std::max(0.0, 1 - d.squaredNorm() / radius2) : 0;
            spread += w * d * d.transpose();
            slope += w * (double(numbers[j]) - double(numbers[i])) * d;
        });
        Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> axes;
        axes.computeDirect(spread);
        Vec3d gradient = Vec3d::Zero();
        for (int k = 0; k < 3; ++k)
            if (const double width = axes.eigenvalues()[k]; width > 1e-6 * axes.eigenvalues()[2])
                gradient += axes.eigenvectors().col(k).dot(slope) / width * axes.eigenvectors().col(k);
        for (int c = 0; c < 3; ++c) out[c] = static_cast<float>(gradient[c]);
    }

  private:
    // Counts against the loop limit: a radius that covers all particles would otherwise cost n^2.
    template <class F> size_t for_each(size_t i, float radius, const F& f) const
    {
        int64_t count = 0;
        tree_->for_each(positions_[i], radius, [&](size_t j, const Vec3f& x) {
            f(j, x);
            return ++count <= limit_;
        });
        if (count > limit_) std::atomic_ref(overrun_).store(1, std::memory_order_relaxed);
        return static_cast<size_t>(count);
    }

    struct Values {
        std::vector<float> numbers;
        std::vector<Vec3f> vectors;
    };
    int64_t limit_;
    int32_t& overrun_;
    std::vector<Vec3f> positions_;
    std::optional<NeighbourTree> tree_;
    std::vector<Values> values_; // by slot
};

// Index of the first kept particle with a non-finite value; `end` if there is none. x - x is zero or NaN, which avoids
// branches in the loop.
size_t first_not_finite(const void* array, ElementType type, const std::vector<uint8_t>& keep, size_t begin, size_t end)
{
    const size_t width = type == ElementType::vec3f ? 3 : 1;
    const auto* numbers = static_cast<const float*>(array);
    const auto finite = [&](size_t from, size_t to) {
        bool all = true;
        for (size_t k = from * width; k < to * width; ++k) all &= numbers[k] - numbers[k] == 0;
        return all;
    };
    if (type == ElementType::int32 || finite(begin, end)) return end;
    size_t i = begin;
    while (i < end && (finite(i, i + 1) || (!keep.empty() && !keep[i]))) ++i;
    return i;
}

} // namespace

Expression::Expression(std::string label, std::string text, ExpressionOptions options)
    : label_(std::move(label)), text_(std::move(text)), options_(std::move(options)),
      kernel_(label_, text_, KernelTarget::points, declare_parameters(label_, options_.parameters))
{
    for (const KernelName& attribute : kernel_.attributes()) {
        const auto own = type_of({}, attribute.name);
        if (own && *own != attribute.type)
            source_error(label_, text_, attribute.position,
                         fmt::format("@{} is a {}, not a {}", attribute.name, element_type_name(*own),
                                     element_type_name(attribute.type)));
    }
}

void Expression::set(const std::string& parameter, const std::variant<double, Vec3f>& value)
{
    const auto found = options_.parameters.find(parameter);
    if (found == options_.parameters.end() || found->second.index() != value.index())
        fail("{}: the expression has no parameter {} of this type", label_, parameter);
    found->second = value;
}

void Expression::check(const Particles& particles, const ExpressionContext& context) const
{
    const auto check_name = [&](const KernelName& wanted, bool may_be_missing, bool any_number) {
        const auto type = type_of(particles, wanted.name);
        if (!type && !may_be_missing) {
            std::vector<std::string> known;
            particles.for_each_array([&](const std::string& name, const auto&) { known.push_back(name); });
            source_error(
                label_, text_, wanted.position,
                fmt::format("particles have no attribute \"{}\"; there are: {}", wanted.name, fmt::join(known, ", ")));
        }
        if (!type || *type == wanted.type) return;
        if (any_number && *type != ElementType::vec3f) return;
        source_error(label_, text_, wanted.position,
                     fmt::format("the attribute \"{}\" holds {} values, not {}", wanted.name, element_type_name(*type),
                                 element_type_name(wanted.type)));
    };
    for (const KernelName& attribute : kernel_.attributes())
        check_name(attribute, attribute.written || is_group(attribute.name), false);
    for (const KernelName& attribute : kernel_.neighbour_attributes())
        check_name(attribute, false, attribute.type == ElementType::float32);
    check_context(label_, text_, kernel_, context);
}

void Expression::run(Particles& particles, const ExpressionContext& context) const
{
    std::vector<uint8_t> keep;
    run(particles, context, keep);
    if (!keep.empty()) remove_particles(particles, keep);
}

void Expression::run(Particles& particles, const ExpressionContext& context, std::vector<uint8_t>& keep) const
{
    check(particles, context);
    const size_t count = particles.size();
    int32_t overrun = 0;
    const ParticleCallbacks callbacks(kernel_, context, particles, options_.loop_limit, overrun);

    std::vector<int32_t> empty_group; // zeros, for a group that has no attribute yet
    std::vector<void*> arrays;
    for (const KernelName& attribute : kernel_.attributes()) {
        const bool missing = !attribute.written && !type_of(particles, attribute.name);
        if (missing) empty_group.resize(count);
        arrays.push_back(missing ? empty_group.data() : array_of(particles, attribute));
    }
    keep.assign(kernel_.deletes_points() ? count : 0, 1);
    const std::vector<double> parameters = parameter_values(options_.parameters, context);
    const KernelArguments arguments = {arrays.data(), parameters.data(),   &callbacks,
                                       keep.data(),   options_.loop_limit, &overrun};

    const auto first_bad = [&](size_t begin, size_t end) {
        size_t first = end;
        for (size_t a = 0; a < arrays.size(); ++a)
            if (kernel_.attributes()[a].written)
                first = std::min(first, first_not_finite(arrays[a], kernel_.attributes()[a].type, keep, begin, end));
        return first;
    };
    std::atomic<size_t> bad = count;
    parallel_chunks(count, kChunk, [&](size_t begin, size_t end) {
        check_interrupt();
        if (std::atomic_ref(overrun).load(std::memory_order_relaxed)) return;
        kernel_.run(arguments, begin, end);
        const size_t first = first_bad(begin, end);
        size_t known = bad;
        while (first < end && first < known && !bad.compare_exchange_weak(known, first)) {
        }
    });
    callbacks.rethrow();
    if (overrun) fail_at_loop_limit(label_, context.frame, options_.loop_limit);
    if (bad < count)
        fail("{}: frame {}: the expression gives the particle with id {} a value that is not finite; does it divide by "
             "zero?",
             label_, context.frame, particles.id[bad]);
}

} // namespace spindrift
