// An expression compiled to machine code: one loop over flat arrays, a pointer for each attribute. Written in OpenVDB
// AX, whose parser and code generator are used; the loop around it is ours, because the particles are (stock AX moves
// points between the leaves of a VDB whenever P is written, which costs ten times the kernel itself). Neither AX nor
// LLVM shows in this header.
//
// What the language leaves undefined is defined here, so that no expression can take the process down: an integer
// divided by zero is zero, shifts take their amount modulo the width, numbers too large for an integer become the
// largest, an index beyond a vector is that of its last component, and where all this is constant, it is zero.
// Floating-point arithmetic is IEEE's in the order written: no part of a loop gives other bits than another.
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

// Something an expression names: an attribute, a volume that it samples.
struct KernelName {
    std::string name;
    ElementType type = ElementType::float32;
    bool written = false;
    SourcePosition position; // of its first use
};

// What may stand behind a $.
struct KernelParameter {
    std::string name;
    bool is_vector = false;
};

// What the functions of an expression see of the world. Called from many threads at once; must not throw.
class KernelWorld {
  public:
    virtual ~KernelWorld() = default;
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

// What one run of the loop works on. The machine code knows this layout.
struct KernelArguments {
    void* const* arrays = nullptr;      // in the order of Kernel::attributes()
    const double* parameters = nullptr; // three numbers each, in the order in which the kernel was given them
    const KernelWorld* world = nullptr;
    uint8_t* keep = nullptr; // zeroed for deleted points; not touched unless Kernel::deletes_points()
    int64_t loop_limit = 0;  // rounds that all loops of one element may take together
    int32_t* overrun = nullptr;
};

struct CompiledKernel;

class Kernel {
  public:
    // Throws Error(bad_input) that names `label`, the line and the column for anything that cannot be compiled.
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

    // Elements begin to end; after an overrun of the loop limit, *overrun is set and the rest is left alone.
    void run(const KernelArguments& arguments, size_t begin, size_t end) const;

  private:
    std::unique_ptr<CompiledKernel> compiled_;
};

} // namespace spindrift
