// What the stages of a shot draw at one frame: collects their layers, and owns them until the picture is rendered.
#pragma once

#include "spindrift/engine/stage.h"
#include "spindrift/io/vdb.h"
#include "spindrift/render/preview.h"

#include <deque>

namespace spindrift {

// Parameters of a layer that differ from those of the picture.
struct LayerParams {
    enum class Look { as_picture, water, paint };
    std::string of; // a stage
    RenderLayer::Mode mode = RenderLayer::Mode::shown;
    Look look = Look::as_picture; // of a surface or of droplets
    std::optional<Vec3f> color;   // of water, paint, particles or smoke
    std::string color_by;         // an attribute of particles
    void visit(ParamVisitor& v);
};

// Smoke of a file, ours or another program's: a grid "density", and perhaps "temperature", "Cd", and, if `velocity` is
// wanted, "vel".
struct SmokeFrame {
    FieldSet fields;
    RenderSmoke smoke;
    explicit SmokeFrame(const std::string& path, bool velocity = false);
    size_t cells() const { return smoke.density.field->topology().cell_count(); }
};

// The name of a stage's layer in a picture, which is part of channel names: letters, digits and _, starting with a
// letter.
std::string layer_channel(const std::string& stage);

class DrawnScene {
  public:
    // Measured.
    static constexpr double kBytesPerPixel = 180, kBytesPerTriangle = 300, kBytesPerSphere = 150;
    static constexpr double kBytesPerSmokeCell = 30;
    static constexpr double kBytesPerMovingSmokeCell = 40; // for velocities: a field of them, and motions for rays

    DrawnScene(const RenderParams& params, const ShotParams& shot, int frame);

    const RenderParams& params() const { return params_; }
    int frame() const { return frame_; }
    float fps() const { return fps_; }
    // The times at which moving solids are needed, in frames relative to that of the picture.
    std::vector<float> moments(int count) const;

    // Following calls add to this layer. `alone`: the picture has no other layers but solids.
    void begin_layer(const std::string& name, const LayerParams& layer, bool alone);
    const LayerParams& layer() const { return layer_; }
    bool alone() const { return alone_; }
    // The attribute that colours the particles of this layer: the layer's own, or else none if the layer has a colour,
    // or else the picture's, or else `usual`. In `own_color_by` the picture's counts only for its only layer.
    std::string color_by(const std::string& usual = {}) const;
    std::string own_color_by() const { return alone_ ? color_by() : layer_.color_by; }

    // `look`, if the layer does not set one.
    void add_surface(Mesh mesh, LayerParams::Look look = LayerParams::Look::as_picture);
    void add_spheres(RenderSpheres spheres);
    void add_smoke(const std::string& path);
    // Smoke as points; `before` are earlier frames of it, the oldest first, whose shadows are blended in.
    void add_markers(ParticleFile now, const std::vector<ParticleFile>& before);
    void add_solid(std::vector<Mesh> moments, bool container);
    // A number for the report of the frame; numbers of one name are added up.
    void count(const std::string& what, size_t number);

    const std::vector<std::pair<std::string, double>>& numbers() const { return numbers_; }
    // The bounds of everything, and of smoke only.
    Box3f bounds() const;
    Box3f smoke_bounds() const;
    // Valid for the lifetime of this object.
    RenderScene scene() const;

  private:
    int layer_index() const { return static_cast<int>(layers_.size()) - 1; }

    RenderParams params_;
    int frame_;
    float fps_;
    std::vector<RenderLayer> layers_;
    LayerParams layer_;
    bool alone_ = false;
    struct Surface {
        Mesh mesh;
        int layer;
        LayerParams look;
    };
    struct Solid {
        std::vector<Mesh> moments;
        bool container = false;
        int layer = 0;
    };
    std::deque<Surface> surfaces_;
    std::deque<RenderSpheres> spheres_;
    std::deque<SmokeFrame> smokes_;
    std::deque<RenderMarkers> markers_;
    std::deque<Solid> solids_;
    std::vector<std::pair<std::string, double>> numbers_;
};

} // namespace spindrift
