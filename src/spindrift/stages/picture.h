// A picture in the making: collects what stages draw at one frame, and owns it until it is rendered.
#pragma once

#include "spindrift/engine/stage.h"
#include "spindrift/io/vdb.h"
#include "spindrift/render/preview.h"

#include <deque>

namespace spindrift {

// How a layer looks where it differs from the rest of the picture.
struct LayerParams {
    std::string of; // a stage
    std::string color_by;
    void visit(ParamVisitor& v);
};

// Smoke of a file, ours or another program's: a grid "density", and perhaps "temperature" and "Cd".
struct SmokeFrame {
    FieldSet fields;
    RenderSmoke smoke;
    explicit SmokeFrame(const std::string& path);
    size_t cells() const { return smoke.density.field->topology().cell_count(); }
};

class Picture {
  public:
    // Measured.
    static constexpr double kBytesPerPixel = 64, kBytesPerTriangle = 300, kBytesPerSphere = 150;
    static constexpr double kBytesPerSmokeCell = 30;

    Picture(const RenderParams& params, const ShotParams& shot, int frame);

    const RenderParams& params() const { return params_; }
    // What colours the particles of this layer: what the layer says, or else the picture; and the same, where the
    // picture has a say only in its only layer.
    std::string color_by() const { return layer_.color_by.empty() ? params_.color_by : layer_.color_by; }
    std::string own_color_by() const { return alone_ ? color_by() : layer_.color_by; }
    // Whether this is the only layer.
    bool alone() const { return alone_; }
    int frame() const { return frame_; }
    float fps() const { return fps_; }
    // The moments that a solid that moves is needed at, in frames from the one that is shown.
    std::vector<float> moments(int count) const;

    void begin_layer(const LayerParams& layer, bool alone) { layer_ = layer, alone_ = alone; }
    void add_surface(Mesh mesh);
    void add_spheres(RenderSpheres spheres);
    // The spheres that are added next are clear as water, whatever their colours.
    void set_water_spheres(bool water) { water_spheres_ = water; }
    void add_smoke(const std::string& path);
    void add_solid(std::vector<Mesh> moments, bool container);
    // A number for the report of the frame.
    void count(const std::string& what, size_t number) { numbers_.emplace_back(what, static_cast<double>(number)); }

    const std::vector<std::pair<std::string, double>>& numbers() const { return numbers_; }
    // The bounds of all that is in it, and of its smoke alone.
    Box3f bounds() const;
    Box3f smoke_bounds() const;
    // Valid while the picture is.
    RenderScene scene();

  private:
    RenderParams params_;
    int frame_;
    float fps_;
    LayerParams layer_;
    bool alone_ = false, water_spheres_ = false;
    std::deque<Mesh> surfaces_;
    std::deque<RenderSpheres> spheres_;
    std::deque<SmokeFrame> smokes_;
    struct Solid {
        std::vector<Mesh> moments;
        bool container = false;
    };
    std::deque<Solid> solids_;
    std::vector<std::pair<std::string, double>> numbers_;
};

} // namespace spindrift
