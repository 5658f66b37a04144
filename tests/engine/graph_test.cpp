// The graph of a shot's stages: names, kinds, inputs named or resolved, and errors.
#include "spindrift/engine/graph.h"

#include "io/temp_folder.h"
#include "spindrift/base/error.h"
#include "spindrift/engine/shot.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/stages/all_stages.h"

#include <gtest/gtest.h>

namespace spindrift {

namespace {

// A minimal stage: for each frame it writes a number plus those of the stages that it reads.
struct NumberFacts : StageFacts {
    int number = 0;
};

class NumberStage : public FrameStage {
  public:
    using FrameStage::FrameStage;
    void visit(ParamVisitor& v) override
    {
        v("number", number_, unit::none, between(-100, 100), "What is written.");
        v("from", from_, "Stages whose numbers are added.");
    }
    std::vector<Port> ports(const ShotGraph&) const override
    {
        Port from{"from", {"number", "twice"}, from_, Port::Unnamed::none};
        from.many = from.optional = true;
        return {from};
    }
    std::vector<std::string> endings() const override { return {"txt"}; }
    void prepare(const StageContext& context) override
    {
        auto facts = std::make_shared<NumberFacts>();
        facts->number = number_;
        for (const StageView& view : context.inputs.all("from")) {
            names_.push_back(view.name);
            facts->number += view.as<NumberFacts>()->number;
        }
        facts_ = facts;
    }
    std::shared_ptr<const StageFacts> facts() const override { return facts_; }
    Estimate estimate() const override { return {}; }
    FrameReport make(int frame, const InputPath& input, const std::vector<std::string>& outputs) override
    {
        int sum = number_;
        for (const std::string& name : names_) sum += std::stoi(read_file(input(name, frame)));
        write_file(outputs[0], std::to_string(sum));
        return {};
    }

  private:
    int number_ = 1;
    std::vector<std::string> from_, names_;
    std::shared_ptr<const NumberFacts> facts_;
};

// Runs out of memory in one of its functions.
class HungryStage : public NumberStage {
  public:
    using NumberStage::NumberStage;
    void visit(ParamVisitor& v) override { v("when", when_, "The function: prepare or make."); }
    std::vector<Port> ports(const ShotGraph&) const override { return {}; }
    void prepare(const StageContext& context) override
    {
        if (when_ == "prepare") throw std::bad_alloc();
        NumberStage::prepare(context);
    }
    Estimate estimate() const override { return {0, 0, "", "lower hungry.appetite"}; }
    FrameReport make(int, const InputPath&, const std::vector<std::string>&) override { throw std::bad_alloc(); }

  private:
    std::string when_;
};

// Some of its solves do not converge: two in frame 2, one in frame 3.
class StrainedStage : public TimeStage {
  public:
    using TimeStage::TimeStage;
    void visit(ParamVisitor&) override {}
    std::vector<std::string> endings() const override { return {"txt"}; }
    void prepare(const StageContext&) override {}
    Estimate estimate() const override { return {}; }
    FrameReport start(int frame) override { return reach(frame); }
    FrameReport restore(StateFile state) override
    {
        frame_ = static_cast<int>(state.numbers["frame"]);
        return {};
    }
    FrameReport advance() override { return reach(frame_ + 1); }
    void write(const std::string& path) override
    {
        if (frame_ == ends_before_writing) fail("ended before frame {} was written", frame_);
        write_file(path, std::to_string(frame_));
    }
    static inline int ends_before_writing = 0; // a frame at which the run ends, as a kill would
    StateFile save() const override
    {
        StateFile state;
        state.numbers["frame"] = frame_;
        return state;
    }

  private:
    FrameReport reach(int frame)
    {
        frame_ = frame;
        FrameReport report;
        report.unconverged = frame == 2 ? 2 : frame == 3 ? 1 : 0;
        return report;
    }
    int frame_ = 0;
};

struct Listener : Progress {
    Listener() : Progress(Style::quiet) {}
    void frame_done(int frame, const FrameReport& report) override { unconverged[frame] = report.unconverged; }
    void warn(const std::string& text) override { warnings.push_back(text); }
    std::map<int, int> unconverged;
    std::vector<std::string> warnings;
};

const StageKinds& number_kinds()
{
    static const StageKinds kinds = {stage_kind<NumberStage>("number", "A number."),
                                     stage_kind<NumberStage>("twice", "Another."),
                                     stage_kind<HungryStage>("hungry", "Runs out of memory."),
                                     stage_kind<StrainedStage>("strained", "Has solves that do not converge.")};
    return kinds;
}

class Graph : public ::testing::Test {
  protected:
    std::string write(const std::string& text) const
    {
        const std::string path = folder_ / "scene.toml";
        write_file(path, text);
        return path;
    }
    std::string text_of(const std::string& scene_text, const StageKinds& kinds = all_stages()) const
    {
        const SceneFile scene(write(scene_text));
        return ShotGraph(scene, kinds).text();
    }
    // The error message without the folder.
    std::string error(const std::string& scene_text, const StageKinds& kinds = all_stages()) const
    {
        try {
            text_of(scene_text, kinds);
        } catch (const Error& e) {
            EXPECT_EQ(e.code, ExitCode::bad_input);
            const std::string message = e.what();
            return message.substr(message.find("scene.toml"));
        }
        return "no error";
    }
    TempFolder folder_;
};

const char* const kTwoLiquids = R"(
[milk]
kind = "liquid"
[[milk.source]]
shape = "sphere"

[coffee]
kind = "liquid"
[[coffee.source]]
shape = "sphere"
)";

} // namespace

TEST_F(Graph, ResolvesInputsOfAPlainSceneWithoutNames)
{
    EXPECT_EQ(text_of("[liquid]\n[[liquid.source]]\n[spray.whitewater]\ntrapped_air = 1\n[render]\n"),
              "liquid\n"
              "spray <- liquid: liquid\n"
              "surface <- of: liquid\n"
              "render <- show: surface, show: spray, solids: liquid (no frames), solids: spray (no frames)\n");
    EXPECT_EQ(text_of("[sand]\n[[sand.source]]\n[render]\n"),
              "sand\ngrains <- of: sand\nrender <- show: grains, solids: sand (no frames)\n");
}

TEST_F(Graph, HoldsAnyNumberOfStagesOfAKind)
{
    EXPECT_EQ(text_of(std::string(kTwoLiquids) + R"(
[milk_skin]
kind = "surface"
of = "milk"
[coffee_skin]
kind = "surface"
of = "coffee"
[spray]
liquid = ["milk", "coffee"]
whitewater.trapped_air = 1
[drops]
kind = "surface"
of = "spray"
[beauty]
kind = "render"
[milk_alone]
kind = "render"
show = "milk_skin"
)"),
              "coffee (liquid)\n"
              "milk (liquid)\n"
              "spray <- liquid: milk, liquid: coffee\n"
              "coffee_skin (surface) <- of: coffee\n"
              "drops (surface) <- of: spray\n"
              "milk_skin (surface) <- of: milk\n"
              "beauty (render) <- show: coffee_skin, show: drops, show: milk_skin, solids: coffee (no frames), solids: "
              "milk (no frames), solids: spray (no frames)\n"
              "milk_alone (render) <- show: milk_skin, solids: coffee (no frames), solids: milk (no frames), solids: "
              "spray (no "
              "frames)\n");
}

TEST_F(Graph, ReportsErrorsWithTheirPosition)
{
    EXPECT_EQ(error("[liqid]\n"),
              "scene.toml:1:2: unknown table [liqid]; did you mean 'liquid'?; a table with another name "
              "needs a kind, such as kind = \"surface\"");
    EXPECT_EQ(error("[milk]\nkind = \"liqud\"\n"),
              "scene.toml:2:8: milk.kind is \"liqud\", which is not a kind of stage; did you mean 'liquid'?");
    EXPECT_EQ(error("[liquid]\nkind = \"smoke\"\n"),
              "scene.toml:2:8: [liquid] cannot be of the kind \"smoke\", because its name is that of another kind; "
              "rename it");
    EXPECT_EQ(error("[liquid]\nkind = 3\n"), "scene.toml:2:8: liquid.kind must be a text in quotes, not the integer 3");
    EXPECT_EQ(error("[\"../x\"]\nkind = \"liquid\"\n"),
              "scene.toml:1:1: '../x' is not a name for a stage; use letters, digits, - and _");
    EXPECT_EQ(error(std::string(kTwoLiquids) + "[surface]\n"),
              "scene.toml:11:1: [surface] may read \"coffee\", \"milk\"; say which, as in of = \"coffee\"");
    EXPECT_EQ(error(std::string(kTwoLiquids) + "[surface]\nof = \"mlik\"\n"),
              "scene.toml:12:6: surface.of is \"mlik\", but the scene has no such stage; did you mean 'milk'?");
    EXPECT_EQ(error("[smoke]\n[[smoke.source]]\n[surface]\nof = \"smoke\"\n"),
              "scene.toml:4:6: surface.of is \"smoke\", a stage of the kind \"smoke\"; it must be of the kind "
              "\"liquid\", \"spray\"");
    EXPECT_EQ(error("[surface]\n"), "scene.toml:1:1: there are no particles to mesh; add [liquid], or "
                                    "name the files of another program as surface.input");
    EXPECT_EQ(error("[liquid]\n[[liquid.source]]\n[surface]\nof = [\"liquid\"]\n"),
              "scene.toml:4:6: surface.of must be a text in quotes, not a list of 1");
    EXPECT_EQ(error("[render]\n"),
              "scene.toml:1:1: there is nothing to draw; add a table such as [liquid], or name the "
              "files of another program as render.input");
}

TEST_F(Graph, ReportsLayersOfARenderWithTheirPosition)
{
    const std::string scene = std::string(kTwoLiquids) + "[milk_skin]\nkind = \"surface\"\nof = \"milk\"\n" +
                              "[coffee_skin]\nkind = \"surface\"\nof = \"coffee\"\n[beauty]\nkind = \"render\"\n";
    const auto render = [&](const std::string& text) { return error(scene + text); };
    EXPECT_EQ(render("[[beauty.layer]]\nof = \"milk_skin\"\n[[beauty.layer]]\nof = \"cofee_skin\"\n"),
              "scene.toml:22:6: beauty.layer[1].of is \"cofee_skin\", but the scene has no such stage; did you mean "
              "'coffee_skin'?");
    EXPECT_EQ(render("show = [\"milk_skin\", \"coffee_skin\"]\n[[beauty.layer]]\nof = \"cofee_skin\"\n"),
              "scene.toml:21:6: beauty.layer[0].of is \"cofee_skin\", which beauty.show does not name; did you mean "
              "'coffee_skin'?");
    EXPECT_EQ(render("[[beauty.layer]]\nof = \"milk_skin\"\n[[beauty.layer]]\nmode = \"matte\"\n"),
              "scene.toml:21:1: beauty.layer[1] does not say what it draws; name a stage, as in of = \"surface\"");
}

TEST_F(Graph, RefusesAStageThatIsNamedTwice)
{
    EXPECT_EQ(error("[liquid]\n[[liquid.source]]\n[render]\nshow = [\"surface\", \"surface\"]\n"),
              "scene.toml:4:8: render.show names \"surface\" a second time; name each stage once");
    EXPECT_EQ(error("[liquid]\n[[liquid.source]]\n[spray]\nliquid = [\"liquid\", \"liquid\"]\n"
                    "whitewater.trapped_air = 1\n"),
              "scene.toml:4:10: spray.liquid names \"liquid\" a second time; name each stage once");
    for (const char* show : {"", "show = \"surface\"\n"}) {
        const std::string message = error(std::string("[liquid]\n[[liquid.source]]\n[render]\n") + show +
                                          "[[render.layer]]\nof = \"surface\"\n[[render.layer]]\nof = \"surface\"\n");
        EXPECT_TRUE(
            message.ends_with(":6: render.layer[1].of is \"surface\", and an earlier layer draws that stage; remove "
                              "one of them"))
            << message;
    }
}

TEST_F(Graph, FramesOfBodiesThatAPictureHidesAreNotRead)
{
    const std::string scene = "[liquid]\n[[liquid.source]]\n[[liquid.body]]\n[render]\nshow = \"surface\"\n";
    EXPECT_TRUE(text_of(scene).ends_with("render <- show: surface, bodies: liquid\n")) << text_of(scene);
    EXPECT_TRUE(
        text_of(scene + "solids = \"hidden\"\n").ends_with("render <- show: surface, solids: liquid (no frames)\n"));
}

TEST_F(Graph, RefusesCycles)
{
    EXPECT_EQ(error("[a]\nkind = \"number\"\nfrom = \"a\"\n", number_kinds()),
              "scene.toml:3:8: stages read each other in a cycle: a reads a");
    EXPECT_EQ(error("[a]\nkind = \"number\"\nfrom = \"c\"\n[b]\nkind = \"twice\"\nfrom = \"a\"\n[c]\nkind = "
                    "\"number\"\nfrom = [\"b\"]\n",
                    number_kinds()),
              "scene.toml:6:8: stages read each other in a cycle: a reads c reads b reads a");
}

TEST_F(Graph, RunsStagesOfCustomKinds)
{
    const std::string scene = write("[shot]\nframes = \"1-2\"\n[one]\nkind = \"number\"\n[number]\nnumber = 5\nfrom = "
                                    "\"one\"\n[sum]\nkind = \"twice\"\nnumber = 0\nfrom = [\"number\", \"one\"]\n");
    ShotOptions options;
    options.scene = scene, options.folder = folder_ / "out";
    Progress progress(Progress::Style::quiet);
    Shot(options, number_kinds()).run(progress);
    EXPECT_EQ(read_file(folder_ / "out/sum/sum.0002.txt"), "7");
    EXPECT_EQ(read_file(folder_ / "out/number/number.0001.txt"), "6");
    // Only the changed stage is computed again, under the name of its table.
    options.overrides = {"number.number=7"}, options.only = "number";
    Shot(options, number_kinds()).run(progress);
    EXPECT_EQ(read_file(folder_ / "out/number/number.0001.txt"), "6");
}

TEST_F(Graph, NamesTheStageThatRunsOutOfMemory)
{
    const auto message = [&](const std::string& when) {
        ShotOptions options;
        options.folder = folder_ / "out";
        options.scene =
            write("[shot]\nframes = \"1-2\"\n[number]\n[much]\nkind = \"hungry\"\nwhen = \"" + when + "\"\n");
        try {
            Progress progress(Progress::Style::quiet);
            Shot(options, number_kinds()).run(progress);
        } catch (const Error& e) {
            EXPECT_EQ(e.code, ExitCode::failed);
            return std::string(e.what());
        }
        return std::string("no error");
    };
    const std::string preparing = message("prepare");
    EXPECT_EQ(preparing.substr(preparing.find("scene.toml")),
              "scene.toml:4:1: out of memory while much was prepared; its input is too large for this machine");
    EXPECT_TRUE(message("make").starts_with("much: out of memory; lower hungry.appetite, and see")) << message("make");
}

TEST_F(Graph, ReportsSolvesThatDidNotConverge)
{
    ShotOptions options;
    options.scene = write("[shot]\nframes = \"1-4\"\n[strained]\n"), options.folder = folder_ / "out";
    const std::string expected =
        "strained: 3 solves in 2 frames from 2 to 3 did not reach the tolerance; look at these "
        "frames, and try smaller time steps or less extreme values if they look wrong";
    Listener first;
    Shot(options, number_kinds()).run(first);
    EXPECT_EQ(first.unconverged, (std::map<int, int>{{1, 0}, {2, 2}, {3, 1}, {4, 0}}));
    EXPECT_EQ(first.warnings, std::vector<std::string>{expected});
    // The record of the frames keeps them.
    Listener again;
    Shot(options, number_kinds()).run(again);
    EXPECT_TRUE(again.unconverged.empty());
    EXPECT_EQ(again.warnings, std::vector<std::string>{expected});
}

TEST_F(Graph, ARunThatEndsBeforeAFrameIsWrittenStillReportsItsSolves)
{
    ShotOptions options;
    options.scene = write("[shot]\nframes = \"1-4\"\n[strained]\n"), options.folder = folder_ / "out";
    Listener listener;
    StrainedStage::ends_before_writing = 2;
    EXPECT_THROW(Shot(options, number_kinds()).run(listener), Error);
    StrainedStage::ends_before_writing = 0;
    Shot(options, number_kinds()).run(listener);
    EXPECT_EQ(listener.unconverged, (std::map<int, int>{{1, 0}, {2, 2}, {3, 1}, {4, 0}}));
    ASSERT_EQ(listener.warnings.size(), 1u);
    EXPECT_TRUE(listener.warnings[0].starts_with("strained: 3 solves in 2 frames from 2 to 3 "))
        << listener.warnings[0];
}

TEST_F(Graph, IsDrawnAsSvg)
{
    const SceneFile scene(write(std::string(kTwoLiquids) + "[skin]\nkind = \"surface\"\nof = \"milk\"\n"));
    const std::string svg = ShotGraph(scene, all_stages()).svg();
    EXPECT_TRUE(svg.starts_with("<svg xmlns="));
    for (const char* name : {">milk<", ">coffee<", ">skin<", ">surface<"})
        EXPECT_NE(svg.find(name), std::string::npos) << name;
    EXPECT_NE(svg.find("<title>of</title>"), std::string::npos);
}

} // namespace spindrift
