// Layers of pictures of a scene: looks, masks, channels, and pictures that are made again.
#include "io/temp_folder.h"
#include "spindrift/engine/shot.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/image.h"
#include "spindrift/io/vdb.h"
#include "spindrift/stages/all_stages.h"
#include "spindrift/stages/drawn_scene.h"

namespace spindrift {

namespace {

class RenderLayers : public ::testing::Test {
  protected:
    void run(const std::string& scene, const std::string& folder = "out") const
    {
        write_file(folder_ / "scene.toml", scene);
        ShotOptions options;
        options.scene = folder_ / "scene.toml", options.folder = folder_ / folder;
        Progress progress(Progress::Style::quiet);
        Shot(options, all_stages()).run(progress);
    }
    // The message without the folder.
    std::string error(const std::string& scene, ExitCode code = ExitCode::bad_input) const
    {
        const std::string message = error_of(code, [&] { run(scene); });
        const size_t at = message.find("scene.toml");
        return at == std::string::npos ? message : message.substr(at);
    }
    std::string read(const std::string& file) const { return read_file(folder_ / file); }
    ChannelImage channels(int frame = 1) const
    {
        return read_channels(folder_ / fmt::format("out/render/render.{:04}.exr", frame));
    }
    TempFolder folder_;
};

std::string box_of_liquid(const std::string& name, const std::string& min, const std::string& max)
{
    return fmt::format("[{0}]\nkind = \"liquid\"\nvoxel = 0.1\n[{0}.domain]\nmin = [-1, 0, -0.5]\nmax = [1, 1, 0.5]\n"
                       "[[{0}.source]]\nmin = {1}\nmax = {2}\n",
                       name, min, max);
}

const std::string kShot = "[shot]\nframes = \"1-1\"\n";
const std::string kRender = "[render]\nwidth = 64\nheight = 36\nsamples = 4\nformat = \"exr\"\nfloor = false\n"
                            "background = false\n";
const std::string kSmoke = "[smoke]\nvoxel = 0.1\n[smoke.domain]\nmin = [-1, 0, -0.5]\nmax = [1, 1, 0.5]\n"
                           "[[smoke.source]]\nshape = \"sphere\"\ncenter = [0, 0.5, 0]\nradius = 0.3\n";

} // namespace

TEST_F(RenderLayers, MasksCoverThePictureAndAHoldoutHidesWhatIsBehindIt)
{
    const std::string left = box_of_liquid("left", "[-1, 0, -0.5]", "[-0.3, 0.6, 0.5]");
    const std::string right = box_of_liquid("right", "[0.3, 0, -0.5]", "[1, 0.6, 0.5]");
    const std::string post = "[[right.collider]]\nshape = \"sphere\"\ncenter = [0, 0.3, 0]\nradius = 0.25\n";
    run(kShot + left + right + post + kRender +
        "[[render.layer]]\nof = \"left\"\ncolor = [0.8, 0.05, 0.05]\n[[render.layer]]\nof = \"right\"\nmode = "
        "\"holdout\"\n");
    const ChannelImage image = channels();
    const auto& red = image.find("R")->values;
    const auto& green = image.find("G")->values;
    const auto& alpha = image.find("A")->values;
    const auto& of_left = image.find("mask_left.Y")->values;
    const auto& of_right = image.find("mask_right.Y")->values;
    const auto& of_solids = image.find("mask_solids.Y")->values;
    int lefts = 0, rights = 0, solids = 0;
    for (size_t i = 0; i < alpha.size(); ++i) {
        EXPECT_NEAR(alpha[i], of_left[i] + of_solids[i], 2e-3f); // without the holdout
        EXPECT_LE(of_left[i] + of_right[i] + of_solids[i], 1.002f);
        if (of_left[i] > 0.999f) {
            EXPECT_GT(red[i], 2 * green[i]); // the colour of the layer
            ++lefts;
        }
        if (of_right[i] > 0.999f) {
            EXPECT_EQ(red[i] + green[i] + alpha[i], 0);
            ++rights;
        }
        solids += of_solids[i] > 0.999f;
    }
    EXPECT_GT(lefts, 50);
    EXPECT_GT(rights, 50);
    EXPECT_GT(solids, 5);
}

TEST_F(RenderLayers, LooksThatDoNotApplyToAKindAreRefused)
{
    const std::string liquid = box_of_liquid("milk", "[-1, 0, -0.5]", "[0, 0.6, 0.5]");
    const auto layer = [&](const std::string& stages, const std::string& of, const std::string& line) {
        return error(kShot + stages + "[render]\n[[render.layer]]\nof = \"" + of + "\"\n" + line + "\n");
    };
    EXPECT_EQ(
        layer(liquid, "milk", "look = \"paint\""),
        "scene.toml:15:8: render.layer[0].look does not apply to \"milk\"; a layer of that stage has: mode, color, "
        "color_by");
    EXPECT_EQ(
        layer(liquid, "surface", "color_by = \"speed\""),
        "scene.toml:15:12: render.layer[0].color_by does not apply to \"surface\"; a layer of that stage has: mode, "
        "look, color");
    EXPECT_TRUE(layer(kSmoke, "smoke", "color_by = \"density\"").ends_with("has: mode, color"));
    EXPECT_TRUE(layer(kSmoke, "smoke", "look = \"water\"").ends_with("has: mode, color"));
}

TEST_F(RenderLayers, AColourAppliesToGrainsAndDropletsMayBeWaterBesideOtherLayers)
{
    const std::string sand = "[sand]\nvoxel = 0.1\n[sand.domain]\nmin = [-1, 0, -0.5]\nmax = [1, 1, 0.5]\n"
                             "[[sand.source]]\nmin = [-1, 0, -0.5]\nmax = [0, 0.5, 0.5]\n[grains]\neach = 4\n";
    const std::string spray =
        "[[spray.emitter]]\nshape = \"sphere\"\ncenter = [0.5, 0.5, 0]\nradius = 0.3\nrate = 1e4\n"
        "droplet_radius = 0.005\nspeed = 0\n";
    const std::string shot = "[shot]\nframes = \"1-2\"\n" + sand + spray;
    const std::string layers = "spray_scale = 8\n[[render.layer]]\nof = \"grains\"\ncolor = [0, 0.8, 0]\n"
                               "[[render.layer]]\nof = \"spray\"\n";
    run(shot + kRender + layers);
    const ChannelImage matte = channels(2);
    int green = 0;
    for (size_t i = 0; i < matte.find("A")->values.size(); ++i)
        if (matte.find("mask_grains.Y")->values[i] > 0.999f)
            green += matte.find("G")->values[i] > 3 * matte.find("R")->values[i];
    EXPECT_GT(green, 50);
    run(shot + kRender + layers + "look = \"water\"\n");
    const ChannelImage water = channels(2);
    EXPECT_NE(water.find("R")->values, matte.find("R")->values);
    run(shot + kRender + "spray_look = \"water\"\n" + layers);
    EXPECT_EQ(channels(2).find("R")->values, water.find("R")->values);
}

TEST_F(RenderLayers, StagesWhoseLayersWouldHaveOneNameAreRefusedBeforeTheShotStarts)
{
    const std::string liquid = kShot + box_of_liquid("milk", "[-1, 0, -0.5]", "[0, 0.6, 0.5]");
    const std::string skins = "[milk-skin]\nkind = \"surface\"\nof = \"milk\"\n[milk_skin]\nkind = \"surface\"\n"
                              "of = \"milk\"\nvoxel = 0.2\n";
    EXPECT_EQ(error(liquid + skins + "[render]\nshow = [\"milk-skin\", \"milk_skin\"]\n"),
              "scene.toml:15:2: the layers of [milk_skin] and of [milk-skin] would both have the name \"milk_skin\" in "
              "pictures of [render]; rename the stage");
    const std::string solids = "[solids]\nkind = \"surface\"\nof = \"milk\"\n[render]\n";
    EXPECT_EQ(error(liquid + solids),
              "scene.toml:12:2: the layers of [solids] and of colliders and bodies would both have the name \"solids\" "
              "in pictures of [render]; rename the stage");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
    run(liquid + solids + "solids = \"hidden\"\nwidth = 16\nheight = 9\n");
}

TEST_F(RenderLayers, BodiesMayHaveOneColour)
{
    const std::string scene = kShot + "[liquid]\nvoxel = 0.1\n[liquid.domain]\nmin = [-1, 0, -1]\nmax = [1, 1, 1]\n"
                                      "[[liquid.body]]\nshape = \"sphere\"\ncenter = [0, 0.5, 0]\nradius = 0.4\n";
    run(scene + kRender + "body_color = [0, 0.7, 0]\n");
    const ChannelImage image = channels();
    int seen = 0;
    for (size_t i = 0; i < image.find("A")->values.size(); ++i)
        if (image.find("mask_solids.Y")->values[i] > 0.999f) {
            EXPECT_GT(image.find("G")->values[i], 3 * image.find("R")->values[i]);
            ++seen;
        }
    EXPECT_GT(seen, 50);
}

// Edges of the container come from the liquid, although only smoke is drawn.
TEST_F(RenderLayers, PicturesOfSmokeFollowTheContainerOfALiquidThatIsNotDrawn)
{
    const std::string smoke = kShot + kSmoke + "[render]\nshow = \"smoke\"\nwidth = 64\nheight = 36\nsamples = 1\n";
    const auto liquid = [](const char* top) {
        return fmt::format("[liquid]\nvoxel = 0.1\n[liquid.domain]\nmin = [-1, 0, -0.5]\nmax = [1, {}, 0.5]\n"
                           "[[liquid.source]]\nmin = [-1, 0, -0.5]\nmax = [0, 0.3, 0.5]\n",
                           top);
    };
    run(smoke + liquid("1"));
    const std::string low = read("out/render/render.0001.png");
    run(smoke + liquid("0.7"));
    const std::string changed = read("out/render/render.0001.png");
    run(smoke + liquid("0.7"), "fresh");
    EXPECT_TRUE(changed == read("fresh/render/render.0001.png"));
    EXPECT_FALSE(changed == low) << "a test that could fail";
}

// Closed sides of the liquid clip the surface of another program's particles.
TEST_F(RenderLayers, SurfacesOfOtherParticlesFollowTheDomainOfTheLiquid)
{
    Particles particles;
    for (int x = 0; x < 12; ++x)
        for (int y = 0; y < 8; ++y)
            for (int z = 0; z < 8; ++z) {
                particles.P.emplace_back(0.05f * Vec3f(static_cast<float>(x) - 6 + 0.5f, static_cast<float>(y) + 0.5f,
                                                       static_cast<float>(z) - 4 + 0.5f));
                particles.v.emplace_back(Vec3f::Zero());
                particles.id.push_back(static_cast<int32_t>(particles.id.size()));
            }
    write_particles(folder_ / "water.vdb", particles, 0.1f, 0.025f);
    const auto scene = [](const char* side) {
        return kShot + fmt::format("[liquid]\nvoxel = 0.1\n[liquid.domain]\nmin = [-1, 0, -0.5]\nmax = [{}, 1, 0.5]\n"
                                   "[[liquid.source]]\nmin = [-1, 0, -0.5]\nmax = [0, 0.3, 0.5]\n"
                                   "[surface]\ninput = \"water.vdb\"\n",
                                   side);
    };
    run(scene("1"));
    const std::string wide = read("out/surface/surface.0001.ply");
    run(scene("0.3"));
    const std::string narrow = read("out/surface/surface.0001.ply");
    run(scene("0.3"), "fresh");
    EXPECT_TRUE(narrow == read("fresh/surface/surface.0001.ply"));
    EXPECT_FALSE(narrow == wide) << "a test that could fail";
}

TEST_F(RenderLayers, VelocityChannelsShowTheVelocityOfSmoke)
{
    run("[shot]\nframes = \"1-3\"\n" + kSmoke + "velocity = [1.5, 0, 0]\n" + kRender);
    const ChannelImage image = channels(3);
    const auto& mask = image.find("mask_smoke.Y")->values;
    const auto& speed = image.find("velocity.X")->values;
    float shown = 0, most = 0;
    for (size_t i = 0; i < mask.size(); ++i)
        if (mask[i] > 0.5f) shown = std::max(shown, speed[i]);
    const FieldSet smoke = read_fields(folder_ / "out/smoke/smoke.0003.vdb", {"vel"});
    for (const Vec3f& v : smoke.vectors.at("vel").field.values()) most = std::max(most, v.x());
    EXPECT_GT(most, 1);
    EXPECT_GT(shown, 0.6f * most); // inside the smoke, where half of the light is lost
    EXPECT_LE(shown, most);
}

TEST_F(RenderLayers, StaggeredVelocitiesOfSmokeAreAveragedAtCellCentres)
{
    constexpr float kVoxel = 0.1f;
    const Topology topology = Topology::covering({0, 0, 0}, {16, 8, 8});
    Field<float> density(topology, 0);
    Field<Vec3f> velocity(topology, Vec3f::Zero());
    const auto at = [](const Vec3f& x) { return Vec3f(2 * x.x() + x.y(), 3 * x.y(), x.x() - x.z()); };
    for_each_tile(topology, [&](int t) {
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3f low = kVoxel * (topology.first_cell(t) + cell_in_tile(c)).cast<float>();
            const Vec3f center = low + Vec3f::Constant(0.5f * kVoxel);
            density.tile(t)[c] = 1;
            for (int a = 0; a < 3; ++a) { // the lower face along the axis
                Vec3f face = center;
                face[a] = low[a];
                velocity.tile(t)[c][a] = at(face)[a];
            }
        }
    });
    write_fields(folder_ / "smoke.vdb", {{"density", &density}}, kVoxel, {}, {{"vel", &velocity, nullptr, true}});
    const SmokeFrame frame(folder_ / "smoke.vdb", true);
    ASSERT_TRUE(frame.smoke.velocity.field);
    for (const Vec3i& cell : {Vec3i(2, 3, 4), Vec3i(7, 3, 2), Vec3i(8, 5, 6)}) { // one beside the next tile
        const Vec3f center = frame.smoke.velocity.origin + kVoxel * cell.cast<float>();
        EXPECT_LT((frame.smoke.velocity.field->at(cell) - at(center)).norm(), 1e-5f);
    }
}

// Remedies name parameters of the stage that fails, whatever its name.
TEST_F(RenderLayers, ErrorsOfSolversNameTheStage)
{
    const std::string shot = "[shot]\nframes = \"1-2\"\n";
    const auto expect = [&](const std::string& scene, ExitCode code, const std::vector<std::string>& parts) {
        const std::string message = error(shot + scene, code);
        for (const std::string& part : parts) EXPECT_TRUE(contains(message, part)) << part << "\n" << message;
    };
    expect("[fog]\nkind = \"smoke\"\nvoxel = 0.01\n[fog.domain]\nmin = [0, 0, 0]\nmax = [0.2, 0.2, 0.2]\n"
           "[[fog.source]]\nshape = \"sphere\"\ncenter = [0.1, 0.1, 0.1]\nradius = 0.05\nvelocity = [1e5, 0, 0]\n",
           ExitCode::failed, {"fog would need", "raise fog.voxel or fog.cfl"});
    expect("[milk]\nkind = \"liquid\"\nvoxel = 0.01\n[[milk.source]]\nmin = [0, 0, 0]\nmax = [0.1, 0.1, 0.1]\n"
           "velocity = [1e5, 0, 0]\n",
           ExitCode::failed, {"milk would need", "raise milk.voxel"});
    for (const char* model : {"grains", "fluid"})
        expect(fmt::format("[dune]\nkind = \"sand\"\nmodel = \"{}\"\nvoxel = 0.01\n[[dune.source]]\nmin = [0, 0, 0]\n"
                           "max = [0.1, 0.1, 0.1]\nvelocity = [1e5, 0, 0]\n",
                           model),
               ExitCode::failed, {"dune would need", "raise dune.voxel"});
    expect("[people]\nkind = \"crowd\"\ncell = 0.01\n[[people.boundary]]\nbox = [[0, 0], [1000, 1000]]\n"
           "[[people.group]]\ncount = 1\nbox = [[1, 1], [2, 2]]\n",
           ExitCode::bad_input, {"people.cell is 0.01 m", "raise people.cell"});
    const std::string still = "[milk]\nkind = \"liquid\"\nvoxel = 0.05\n[[milk.source]]\nmin = [0, 0, 0]\n"
                              "max = [0.2, 0.2, 0.2]\n[skin]\nkind = \"surface\"\n";
    expect(still + "attributes = \"heat\"\n", ExitCode::bad_input, {"skin.attributes names \"heat\""});
    expect(still + "filter.dilate = 1\n", ExitCode::bad_input, {"skin.filter.dilate is 1 m", "raise skin.voxel"});
}

} // namespace spindrift
