// Pictures of a shot: its surface as water, or its particles, and its spray and smoke; a crowd; or sand.
#pragma once

#include "io/vdb.h"
#include "pipeline/crowd_setup.h"
#include "pipeline/liquid_setup.h"
#include "pipeline/sand_setup.h"
#include "pipeline/smoke_setup.h"
#include "pipeline/spray_setup.h"
#include "pipeline/stage.h"
#include "render/preview.h"

namespace spindrift {

class RenderStage : public FrameStage {
  public:
    RenderStage(std::shared_ptr<const LiquidSetup> liquid, std::shared_ptr<const SpraySetup> spray,
                std::shared_ptr<const SmokeSetup> smoke, std::shared_ptr<const CrowdSetup> crowd,
                std::shared_ptr<const SandSetup> sand)
        : liquid_(std::move(liquid)), spray_(std::move(spray)), smoke_(std::move(smoke)), crowd_(std::move(crowd)),
          sand_(std::move(sand))
    {
    }

    std::string name() const override { return "render"; }
    std::string help() const override { return "Preview pictures, a contact sheet and a film."; }
    std::vector<std::string> inputs() const override;
    std::vector<std::string> optional_inputs() const override;
    std::string input_files() const override { return input_files_; }
    std::vector<std::string> endings() const override { return {is_png() ? "png" : "exr"}; }
    void visit(ParamVisitor& v) override;
    void prepare(const SceneFile& scene, const ShotParams& shot) override;
    Estimate estimate() const override;
    std::string dependencies() const override { return dependencies_; }
    Rehearsal rehearsal() const override { return Rehearsal::some_frames; }
    double coarseness(double k) const override;
    std::vector<std::string> coarser(double k) const override;
    Growth growth() const override { return {1.5, 2}; }
    double memory(const Forecast& forecast) const override;
    double memory_of_helpers() const override;
    FrameReport make(int frame, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs) override;
    std::vector<std::string> products(const ShotPaths& paths) const override;
    void shot_complete(const std::vector<std::string>& files, const ShotPaths& paths, Progress& progress) override;

  private:
    using Show = RenderParams::Show;
    void add_spheres(const ParticleFile& file, const std::string& color_by, const std::string& path,
                     RenderSpheres& spheres) const;
    // The bodies that this picture shows: those of the sand, or of the liquid.
    const std::vector<Mesh>& body_meshes() const
    {
        return params_.show == Show::sand ? sand_->body_meshes : liquid_->body_meshes;
    }
    bool has_bodies() const
    {
        const bool sand = params_.show == Show::sand;
        return params_.show != Show::crowd && !(sand ? sand_->params.bodies : liquid_->params.bodies).empty();
    }
    // A solid at each moment that a picture needs: one, or several while the shutter is open.
    struct Solid {
        std::vector<Mesh> moments;
        bool container = false;
    };
    void add_bodies(const std::string& file_of_frame, std::vector<Solid>& solids) const;
    void add_colliders(const std::vector<Shape>& colliders, int frame, std::vector<Solid>& solids) const;
    // In frames from the one that is shown.
    std::vector<float> moments(int count) const;
    Box3f extent_of_shot();
    void add_grains(const ParticleFile& file, RenderSpheres& spheres) const;
    void add_people(const ParticleFile& file, const std::string& path, RenderSpheres& capsules) const;
    bool is_png() const { return params_.format == RenderParams::Format::png; }

    std::shared_ptr<const LiquidSetup> liquid_;
    std::shared_ptr<const SpraySetup> spray_;
    std::shared_ptr<const SmokeSetup> smoke_;
    std::shared_ptr<const CrowdSetup> crowd_;
    std::shared_ptr<const SandSetup> sand_;
    RenderParams params_;
    std::string input_, input_files_; // smoke of another program: as written, and from where the program runs
    bool has_spray_ = false, has_smoke_ = false; // of what a frame is made
    ShotParams shot_;
    std::string dependencies_;          // colliders, which are drawn whether or not a picture reads their stage
    std::optional<Box3f> input_extent_; // of that smoke over the shot, once it is known
};

} // namespace spindrift
