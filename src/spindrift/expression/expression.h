// Artists' expressions in OpenVDB AX, run on particles:
//
//     Expression wind("liquid.after_forces", "vec3f@v += v$wind * $dt;", {{"wind", Vec3f(2, 0, 0)}});
//     wind.check(particles, context);   // once, before the shot: whether all that it needs is there
//     wind.run(particles, context);     // every step
//
// Compiled once, to a loop over the particles' own arrays. Attributes that it writes are added if they are missing; one
// that it only reads must be there. Every particle sees the others, through the functions on neighbours, as they were
// before. Results are the same bits for any number of threads.
//
// Functions, variables and what they mean: `spindrift describe ax`.
#pragma once

#include "spindrift/expression/kernel.h"
#include "spindrift/points/particles.h"

#include <functional>
#include <map>
#include <variant>

namespace spindrift {

using ExpressionParameters = std::map<std::string, std::variant<double, Vec3f>>;

// What an expression can see beside its particles or voxels. Functions are called from many threads at once; whatever
// one of them throws ends the run.
struct ExpressionContext {
    int frame = 1;
    double time = 0; // since the first frame [s]
    double dt = 0;   // [s]
    double fps = 24;
    std::map<std::string, std::function<float(const Vec3f&)>> volumes;
    std::map<std::string, std::function<Vec3f(const Vec3f&)>> vector_volumes;
    std::function<float(const Vec3f&)> collider_distance; // both or neither
    std::function<Vec3f(const Vec3f&)> collider_normal;
};

constexpr int64_t kDefaultLoopLimit = 100000;

struct ExpressionOptions {
    ExpressionParameters parameters;
    int64_t loop_limit = kDefaultLoopLimit; // rounds that all loops of one particle or voxel may take together
};

class Expression {
  public:
    // `label` says whose expression it is, in errors. Throws Error(bad_input) with line, column and a caret.
    Expression(std::string label, std::string text, ExpressionOptions options = {});

    // Another value for a parameter that the expression was made with, a number for a number.
    void set(const std::string& parameter, const std::variant<double, Vec3f>& value);

    // Throws Error(bad_input) if the expression reads something that is not there.
    void check(const Particles& particles, const ExpressionContext& context) const;

    // Throws Error(failed) if a particle's loops take too many rounds or it comes out with values that are not finite;
    // the particles are then in no useful state.
    void run(Particles& particles, const ExpressionContext& context) const;
    // The same, but particles that the expression deletes stay: their entry in `keep` becomes zero. It is empty if the
    // expression has no means to delete.
    void run(Particles& particles, const ExpressionContext& context, std::vector<uint8_t>& keep) const;

    const Kernel& kernel() const { return kernel_; }

  private:
    std::string label_, text_;
    ExpressionOptions options_;
    Kernel kernel_;
};

} // namespace spindrift
