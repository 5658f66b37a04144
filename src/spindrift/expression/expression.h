// Artists' expressions in OpenVDB AX, run on particles:
//
//     Expression wind("liquid.after_forces", "vec3f@v += v$wind * $dt;", {{"wind", Vec3f(2, 0, 0)}});
//     wind.check(particles, context);   // once, before the shot: throws if an input is missing
//     wind.run(particles, context);     // every step
//
// The text is compiled once, to a loop over the particles' own arrays. AX parses it and generates the code for one
// particle; the loop around that code is ours (llvm_loop.h). Missing attributes are added if the expression writes
// them; attributes that it only reads must exist. The neighbour functions see all particles as they were before the
// run. Results are bitwise equal for any number of threads.
//
// `spindrift describe ax` lists the functions and variables.
#pragma once

#include "spindrift/expression/kernel.h"
#include "spindrift/points/particles.h"

#include <functional>
#include <map>
#include <variant>

namespace spindrift {

using ExpressionParameters = std::map<std::string, std::variant<double, Vec3f>>;

// What an expression can read besides its particles or voxels. The functions are called from many threads at once; an
// exception from one of them ends the run.
struct ExpressionContext {
    int frame = 1;
    double time = 0; // since the first frame [s]
    double dt = 0;   // [s]
    double fps = 24;
    std::map<std::string, std::function<float(const Vec3f&)>> volumes;
    std::map<std::string, std::function<Vec3f(const Vec3f&)>> vector_volumes;
    std::function<float(const Vec3f&)> collider_distance; // set both or neither
    std::function<Vec3f(const Vec3f&)> collider_normal;
};

constexpr int64_t kDefaultLoopLimit = 100000;

struct ExpressionOptions {
    ExpressionParameters parameters;
    int64_t loop_limit = kDefaultLoopLimit; // total iterations of all loops of one particle or voxel
};

class Expression {
  public:
    // `label` names the expression in errors. Throws Error(bad_input) with line, column and a caret.
    Expression(std::string label, std::string text, ExpressionOptions options = {});

    // Changes the value of an existing parameter. The type (number or vector) must stay the same.
    void set(const std::string& parameter, const std::variant<double, Vec3f>& value);

    // Throws Error(bad_input) if the expression reads something that does not exist.
    void check(const Particles& particles, const ExpressionContext& context) const;

    // Throws Error(failed) if a particle exceeds the loop limit or gets non-finite values; the particles are then in an
    // unspecified state.
    void run(Particles& particles, const ExpressionContext& context) const;
    // As above, but does not remove deleted particles: it sets their entries in `keep` to zero. `keep` is empty if the
    // expression never deletes.
    void run(Particles& particles, const ExpressionContext& context, std::vector<uint8_t>& keep) const;

    const Kernel& kernel() const { return kernel_; }

  private:
    std::string label_, text_;
    ExpressionOptions options_;
    Kernel kernel_;
};

} // namespace spindrift
