// What a new kind of stage needs: a class of its own, and a line in the list of kinds. It is then run, resumed, read by
// other stages and drawn.
#include "io/temp_folder.h"
#include "spindrift/base/error.h"
#include "spindrift/engine/graph.h"
#include "spindrift/engine/shot.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/image.h"
#include "spindrift/stages/all_stages.h"
#include "spindrift/stages/drawable.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

// ------------------------------------------------------------------------------------------------------ the new kind

struct DotsFacts : DrawableFacts {
    void draw(const DrawnFrame& frame, DrawnScene& picture) const override
    {
        const std::string path = frame.input(stage, frame.frame);
        add_particles(read_particles(path), path, picture.color_by(), {1, 0.2f, 0.1f}, 1, picture);
    }
};

// Dots in a row, which rise by their height in each frame.
class DotsStage : public TimeStage {
  public:
    using TimeStage::TimeStage;
    void visit(ParamVisitor& v) override { v("count", count_, unit::none, between(1, 100), "Number of dots."); }
    std::vector<std::string> endings() const override { return {"vdb"}; }
    bool drawable() const override { return true; }
    void prepare(const StageContext&) override
    {
        auto facts = std::make_shared<DotsFacts>();
        facts->stage = name(), facts->extent = {Vec3f::Zero(), Vec3f(0.2f * static_cast<float>(count_), 1, 0.2f)};
        facts_ = facts;
    }
    std::shared_ptr<const StageFacts> facts() const override { return facts_; }
    Estimate estimate() const override { return {}; }
    FrameReport start(int frame) override
    {
        dots_.resize(static_cast<size_t>(count_)), frame_ = frame;
        for (size_t i = 0; i < dots_.size(); ++i) dots_.P[i] = Vec3f(0.1f + 0.2f * static_cast<float>(i), 0.3f, 0.1f);
        return {};
    }
    FrameReport advance() override
    {
        ++frame_;
        for (Vec3f& x : dots_.P) x.y() *= 1.1f;
        return {};
    }
    void write(const std::string& path) override { write_particles(path, dots_, 0.2f, 0.1f); }
    StateFile save() const override { return {{{"frame", frame_}}, dots_}; }
    FrameReport restore(StateFile state) override
    {
        frame_ = static_cast<int>(state.numbers["frame"]), dots_ = std::move(state.particles);
        return {};
    }

  private:
    int count_ = 3, frame_ = 0;
    Particles dots_;
    std::shared_ptr<const StageFacts> facts_;
};

const StageKinds& kinds_with_dots()
{
    static const StageKinds kinds = [] {
        StageKinds all = all_stages();
        all.insert(all.begin(), stage_kind<DotsStage>("dots", "Dots in a row.")); // the line
        return all;
    }();
    return kinds;
}

class NewKind : public ::testing::Test {
  protected:
    void run(const std::string& scene)
    {
        write_file(folder_ / "scene.toml", scene);
        ShotOptions options;
        options.scene = folder_ / "scene.toml", options.folder = folder_ / "out";
        Progress progress(Progress::Style::quiet);
        Shot(options, kinds_with_dots()).run(progress);
    }
    std::string frame(int n) const { return folder_ / fmt::format("out/dots/dots.{:04}.vdb", n); }
    TempFolder folder_;
};

const std::string kDots = R"([shot]
frames = "1-4"
[dots]
count = 5
)";

} // namespace

TEST_F(NewKind, IsRunAndDrawn)
{
    run(kDots + "[render]\nwidth = 64\nheight = 36\nsamples = 4\nbackground = false\nfloor = false\n");
    const Particles dots = read_particles(frame(4)).particles;
    ASSERT_EQ(dots.size(), 5u);
    EXPECT_NEAR(dots.P[0].y(), 0.3f * 1.331f, 1e-3f);
    // Some pixels are red.
    const Image picture = read_image(folder_ / "out/render/render.0004.png");
    int red = 0;
    for (int y = 0; y < 36; ++y)
        for (int x = 0; x < 64; ++x) red += picture.at(x, y).x() > 2 * picture.at(x, y).z() + 0.05f;
    EXPECT_GT(red, 50);
}

TEST_F(NewKind, IsResumedFromItsState)
{
    run(kDots);
    const std::string last = read_file(frame(4));
    std::filesystem::remove(frame(4));
    const auto before = std::filesystem::last_write_time(frame(2));
    run(kDots);
    EXPECT_EQ(read_file(frame(4)), last);
    EXPECT_EQ(std::filesystem::last_write_time(frame(2)), before);
}

TEST_F(NewKind, IsReadByOtherStagesAndChecked)
{
    write_file(folder_ / "scene.toml", kDots + "[render]\n[[render.layer]]\nof = \"dots\"\nmode = \"matte\"\n");
    EXPECT_EQ(ShotGraph(SceneFile(folder_ / "scene.toml"), kinds_with_dots()).text(),
              "dots\nrender <- show: dots, solids: dots (no frames)\n");
    EXPECT_TRUE(error_of(ExitCode::bad_input, [&] {
                    run("[shot]\nframes = \"1-4\"\n[dots]\ncuont = 5\n");
                }).ends_with("scene.toml:4:1: unknown parameter dots.cuont; did you mean 'count'?"));
    EXPECT_TRUE(error_of(ExitCode::bad_input, [&] {
                    run("[shot]\nframes = \"1-4\"\n[dots]\ncount = 0\n");
                }).find("scene.toml:4:9") != std::string::npos);
}

} // namespace spindrift
