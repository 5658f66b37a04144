// Textures that move with a liquid's surface [Bargteil 2006, chapter 4]. Each frame has a mesh of its own; values of
// vertices are carried from frame to frame along a map (texture/frame_map.h), and each way of texturing makes colours
// from them:
//
//     colors      colours of the first frame, which blur [4.1]
//     parameters  the place on the first surface, where a solid pattern is looked up, which stretches [4.2]
//     react       two substances that react and diffuse, and keep their scale [4.3]
//     example     the colours of the frame before, made like an example again [4.4]
//     guide       two colours, mixed by the parameter that guides other textures (texture/guide.h)
//
//     Texture texture(params);
//     texture.start(mesh);                  // texture.carry(mesh, 1 / fps) for each frame after the first
//     texture.synthesize();
//     write_mesh("frame.ply", texture.mesh());
//
// Results are bit-identical for any number of threads.
//
// With `texel` the surface of each frame is remeshed into equal triangles (mesh/remesh.h), one vertex a texel;
// otherwise the texture is as fine as the mesh.
//
// Limits: directions are those of the nearest point one frame before, so that textures turn with the flow only where
// the map is smooth.
#pragma once

#include "spindrift/scene/params.h"
#include "spindrift/texture/frame_map.h"
#include "spindrift/texture/guide.h"
#include "spindrift/texture/pattern.h"
#include "spindrift/texture/reaction.h"
#include "spindrift/texture/synthesis.h"

#include <memory>

namespace spindrift {

struct TextureParams {
    enum class Mode { colors, parameters, react, example, guide };
    enum class Start { checker, stripes, spots, noise, surface }; // the first four as in Pattern
    enum class Select { any, label, parameter };
    // One of several examples.
    struct Example {
        ExemplarParams::Kind kind = ExemplarParams::Kind::spots;
        std::optional<float> amount;
        std::string file; // instead of `kind`
        std::optional<Vec3f> color, second_color;
        std::string height_file;
        float parameter = 0;
        std::string parameter_file; // instead of `parameter`, for each pixel

        void visit(ParamVisitor& v);
    };

    enum class Rule { automatic, none, foam }; // automatic: foam, if anything is guided

    Mode mode = Mode::colors;
    MapSource map = MapSource::best;
    std::optional<float> reach;
    std::vector<std::string> carry; // attributes
    Vec3f color = {0.85f, 0.8f, 0.7f}, second_color = {0.45f, 0.05f, 0.04f};
    Start pattern = Start::checker;
    float size = 0.1f; // of the pattern, or the distance between spots [m]
    int start_steps = 3000, steps = 4;
    ReactionParams reaction;    // without `spacing`, which is `size`
    std::optional<float> texel; // [m]
    ExemplarParams exemplar;
    std::string exemplar_file;
    std::vector<Example> examples; // instead of `exemplar` and its file
    Select select = Select::any;
    float parameter_weight = 1, history_weight = 1;
    int history = 0;   // frames of a video that a match compares besides the present one
    float motion = 24; // of videos: see MotionRemoval::smoothing; 0 for none [pixels]
    std::optional<float> coherence;
    int patch = 33; // [texels], then half and a quarter of it
    SynthesisParams synthesis;
    Rule rule = Rule::automatic;
    FoamParams foam;
    bool features = false;
    float feature_smoothing = 0; // [m]
    float orientation = 0;
    int seed = 1;

    void visit(ParamVisitor& v);
    std::vector<int> patch_sizes() const;
    // Those of `examples`, or the single one.
    std::vector<Example> all_examples() const;
    bool chosen_by(Select by) const { return mode == Mode::example && select == by; }
    bool guided() const { return rule == Rule::foam || mode == Mode::guide || chosen_by(Select::parameter); }
    bool foams() const { return rule != Rule::none && guided(); }
    bool turns() const { return mode == Mode::example || orientation > 0; }
    bool needs_features() const { return features || foams() || orientation > 0; }

  private:
    void visit_reaction(ParamVisitor& v);
    void visit_examples(ParamVisitor& v);
    void visit_flow(ParamVisitor& v);
};

// What the files of an example hold. Pictures have colours, and further channels that become attributes; their guide is
// the parameter.
struct ExampleFiles {
    std::vector<Raster> frames; // none: made by code; one picture, or those of a video
    // The attributes of channels after the first three; `opacity` is 1 for other examples, the rest 0.
    std::vector<std::string> attributes = {};
    // The frames before each frame, without the motion of the whole: `history` for each, the most recent first.
    std::vector<std::vector<Raster>> history = {};
    std::optional<Raster> height = {}; // of one channel, with the size of the pictures
};
// Throws Error(bad_input) if a value of the picture is not finite, or too large for its square. `what`: for the
// message.
void check_values(const std::string& what, const Raster& picture);
// What synthesis matches with. `files` are those of params.all_examples(), or empty. Throws Error(bad_input).
ExampleSet example_set(const TextureParams& params, std::vector<ExampleFiles> files);

class Texture {
  public:
    // `motion`: see FrameMapSettings. `files`: see example_set(). Throws Error(bad_input) if an example is smaller than
    // a patch, or has no detail.
    explicit Texture(const TextureParams& params, bool motion = true, std::vector<ExampleFiles> files = {});

    // Where walls are: features of the flow leave out the surface that lies on them. Before each frame, if they move.
    using Distance = std::function<float(const Vec3f&)>;
    void set_walls(Distance distance) { walls_ = std::move(distance); }

    void start(Mesh surface);
    // To the next frame, that many seconds later. Throws Error(failed) if the frames have no map.
    void carry(Mesh surface, float seconds);
    // Changes the parameter by its attribute "parameter_rate" [1/s], if there is one, for that many seconds.
    void change_parameter(float seconds);
    // Makes the colours of the frame.
    void synthesize();

    // The surface with its attributes, and with "color" and the values that are carried.
    const Mesh& mesh() const { return mesh_; }
    // Changes attributes of the vertices: what react reads, and what is carried.
    void set_attributes(std::map<std::string, AttributeArray> attributes) { mesh_.attributes = std::move(attributes); }
    // The surface as it was given, which the next frame is mapped to. The same as mesh() without `texel`.
    const Mesh& surface() const { return texel_ ? surface_ : mesh_; }
    // Continues with the meshes of an earlier run. Throws StateError if values are missing.
    void restore(Mesh mesh, Mesh surface);
    bool has_texels() const { return texel_.has_value(); }

    int new_vertices() const { return new_vertices_; }           // of the last frame: without a place on the one before
    const ReactionReport& reaction() const { return reaction_; } // of the last frame
    // What is synthesized besides colours.
    const std::vector<std::string>& attributes_of_colors() const { return extra_; }
    const Synthesis* synthesis() const { return synthesis_.get(); } // null in other modes

  private:
    std::vector<std::string> channels() const;
    std::optional<AttributeArray> fresh_of_example(const std::string& channel, const Mesh& surface) const;
    void shift_history(std::map<std::string, AttributeArray>& carried) const;
    std::optional<AttributeArray> fresh(const std::string& channel, const Mesh& surface) const;
    Vec3f pattern_color(const Vec3f& place) const;
    Mesh with_texels(const Mesh& surface, std::vector<SurfacePoint>& on_surface) const;
    void add_features(Mesh& surface, const std::vector<SurfacePoint>& from, float seconds);
    void strain_of_texels(const Mesh& surface, const std::vector<SurfacePoint>& on_surface);
    void guide(const Mesh& before, const std::vector<SurfacePoint>& from, float seconds);
    void react_on_new_surface();
    void react_on_surface();
    void show_guide();
    void synthesize_example();
    ReactionFields fields(const Mesh& mesh) const;
    std::vector<std::string> texel_names(int first_frame, int last_frame) const;
    void gather(const std::vector<std::string>& names, int stride, std::vector<float>& texels) const;
    void scatter(const std::vector<std::string>& names, int stride, const std::vector<float>& texels);
    std::vector<int32_t> labels() const;

    TextureParams params_;
    bool motion_;
    Distance walls_;
    std::optional<float> texel_;
    std::unique_ptr<Synthesis> synthesis_;
    std::vector<std::string> extra_; // names of what is synthesized besides colours
    Mesh mesh_, surface_;
    std::vector<Mat3f> strain_;     // of the vertices; empty unless directions follow it
    std::vector<uint8_t> advected_; // vertices that are not new
    int new_vertices_ = 0;
    ReactionReport reaction_;
};

} // namespace spindrift
