// An expression compiled to machine code: one loop over flat arrays, with a pointer per attribute. OpenVDB AX parses
// the text and generates the code for one element; the loop is ours, because stock AX moves points between VDB leaves
// whenever P is written, which costs ten times the kernel itself. This header exposes neither AX nor LLVM.
//
// Operations that the language leaves undefined are defined here, so that no expression can crash the process: integer
// division by zero gives zero; shift amounts are taken modulo the width; numbers too large for an integer saturate; an
// index beyond a vector reads its last component; undefined constants are zero. Floating-point arithmetic follows IEEE
// in the order written, so results do not depend on how a loop is split or vectorised.
#pragma once

#include "spindrift/expression/source.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace spindrift {

enum class KernelTarget { points, volumes };

enum class ElementType { float32, int32, vec3f };
const char* element_type_name(ElementType type);

// An attribute or a sampled volume that an expression names.
struct KernelName {
    std::string name;
    ElementType type = ElementType::float32;
    bool written = false;
    SourcePosition position; // of its first use
};

// A user parameter, written with $.
struct KernelParameter {
    std::string name;
    bool is_vector = false;
};

// Callbacks for the functions that an expression calls. Called from many threads at once; must not throw.
class KernelCallbacks {
  public:
    virtual ~KernelCallbacks() = default;
    virtual float volume(int, const float*) const { return 0; }
    virtual void volume_vector(int, const float*, float* out) const { out[0] = out[1] = out[2] = 0; }
    virtual float collider_distance(const float*) const { return 0; }
    virtual void collider_normal(const float*, float* out) const { out[0] = out[1] = out[2] = 0; }
    virtual int neighbours(size_t, float) const { return 0; }
    virtual float neighbours_mean(size_t, int, float) const { return 0; }
    virtual void neighbours_mean_vector(size_t, int, float, float* out) const { out[0] = out[1] = out[2] = 0; }
    virtual void neighbours_gradient(size_t, int, float, float* out) const { out[0] = out[1] = out[2] = 0; }
    virtual void voxel_position(size_t, float* out) const { out[0] = out[1] = out[2] = 0; }
    virtual void voxel_coordinate(size_t, int32_t* out) const { out[0] = out[1] = out[2] = 0; }
};

// Arguments of one run of the loop. The generated code depends on this layout.
struct KernelArguments {
    void* const* arrays = nullptr;      // in the order of Kernel::attributes()
    const double* parameters = nullptr; // three numbers each, in the order passed to the constructor
    const KernelCallbacks* callbacks = nullptr;
    uint8_t* keep = nullptr; // set to zero for deleted points; untouched unless Kernel::deletes_points()
    int64_t loop_limit = 0;  // total iterations of all loops of one element
    int32_t* overrun = nullptr;
};

struct CompiledKernel;

class Kernel {
  public:
    // Throws Error(bad_input) with `label`, line and column if the text cannot be compiled.
    Kernel(const std::string& label, const std::string& text, KernelTarget target,
           const std::vector<KernelParameter>& parameters);
    ~Kernel();
    Kernel(Kernel&&) noexcept;
    Kernel& operator=(Kernel&&) noexcept;

    const std::vector<KernelName>& attributes() const;
    const std::vector<KernelName>& volumes() const; // sampled by volume() and volumev()
    const std::vector<KernelName>& neighbour_attributes() const;
    bool deletes_points() const;
    bool needs_collider() const;
    bool needs_neighbours() const;

    // Processes elements [begin, end). If an element exceeds the loop limit, sets *overrun and stops.
    void run(const KernelArguments& arguments, size_t begin, size_t end) const;

  private:
    std::unique_ptr<CompiledKernel> compiled_;
};

} // namespace spindrift
