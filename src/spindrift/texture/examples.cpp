// The pictures that synthesis matches with, from examples and their files.
#include "spindrift/base/error.h"
#include "spindrift/texture/made_videos.h"
#include "spindrift/texture/texture.h"

#include <fmt/format.h>

namespace spindrift {

namespace {

constexpr int kColors = 3;
constexpr const char *kOpacity = "opacity", *kHeight = "height";

// A video in two colours.
ExampleFiles made_ripples(const ExemplarParams& made, int history)
{
    const Video video = make_video(
        {.width = made.size, .height = made.size, .feature = made.feature, .drift = Vec2f::Zero(), .seed = made.seed});
    ExampleFiles files;
    for (const Raster& frame : video.frames) {
        Raster& colored = files.frames.emplace_back(frame.width, frame.height, kColors);
        const std::vector<float> light = brightness(frame);
        for (size_t i = 0; i < light.size(); ++i)
            Eigen::Map<Vec3f>(&colored.values[kColors * i]) =
                made.color + clamp01(light[i]) * (made.second_color - made.color);
    }
    files.history.resize(files.frames.size());
    for (size_t f = static_cast<size_t>(history); f < files.frames.size(); ++f)
        for (int i = 1; i <= history; ++i) files.history[f].push_back(files.frames[f - static_cast<size_t>(i)]);
    return files;
}

ExampleFiles made_by_code(const TextureParams& params, const TextureParams::Example& example)
{
    ExemplarParams made = params.exemplar;
    made.kind = example.kind, made.seed = params.seed;
    made.color = example.color.value_or(params.color);
    made.second_color = example.second_color.value_or(params.second_color);
    made.amount = example.amount.value_or(made.amount);
    if (made.kind == ExemplarParams::Kind::ripples) return made_ripples(made, params.history);
    ExampleFiles files;
    files.frames = {make_exemplar(made)};
    return files;
}

void check_size(const std::string& what, const Raster& picture, int patch)
{
    if (std::min(picture.width, picture.height) < patch + 2)
        bad_input("{} has {} x {} pixels, but a patch of {} must fit with room to move; use a larger picture, or "
                  "lower `patch`",
                  what, picture.width, picture.height, patch);
}

// One of several examples may be plain.
void check_detail(const std::string& what, const std::vector<ExampleFiles>& files)
{
    Vec3f least = files.front().frames.front().color(0, 0), most = least;
    for (const ExampleFiles& own : files)
        for (const Raster& frame : own.frames)
            for (int y = 0; y < frame.height; ++y)
                for (int x = 0; x < frame.width; ++x)
                    least = least.cwiseMin(frame.color(x, y)), most = most.cwiseMax(frame.color(x, y));
    if ((most - least).maxCoeff() < 1e-4f) bad_input("{} the same colour everywhere", what);
}

// Its size and numbers.
void check_height(const std::string& what, const ExampleFiles& files)
{
    if (!files.height) return;
    const Raster &height = *files.height, &picture = files.frames.front();
    if (files.frames.size() > 1)
        bad_input("{} is a video, and its height one picture; give each frame a channel of its own, as EXR", what);
    if (height.width != picture.width || height.height != picture.height)
        bad_input("{}'s height has {} x {} pixels, its picture {} x {}", what, height.width, height.height,
                  picture.width, picture.height);
    check_values(what + "'s height", height);
}

// Colours, then all attributes that any example has.
class Values {
  public:
    explicit Values(const std::vector<ExampleFiles>& all)
    {
        const auto add = [this](const std::string& name) {
            if (std::ranges::count(names_, name) == 0) names_.push_back(name);
        };
        for (const ExampleFiles& files : all) {
            for (const std::string& name : files.attributes) add(name);
            if (files.height) add(kHeight);
        }
        for (const ExampleFiles& files : all) {
            std::vector<int>& channels = channels_.emplace_back();
            for (const std::string& name : names_) {
                const auto found = std::ranges::find(files.attributes, name);
                channels.push_back(found == files.attributes.end()
                                       ? -1
                                       : kColors + static_cast<int>(found - files.attributes.begin()));
            }
        }
    }
    int count() const { return kColors + static_cast<int>(names_.size()); }
    const std::vector<std::string>& names() const { return names_; }
    // Of a pixel of that example; `from` is its picture, or one of a frame before.
    float* copy(size_t example, const ExampleFiles& files, const Raster& from, int x, int y, float* out) const
    {
        const float* pixel = from.at(x, y);
        out = std::copy_n(pixel, kColors, out);
        for (size_t i = 0; i < names_.size(); ++i) {
            const int channel = channels_[example][i];
            if (files.height && names_[i] == kHeight)
                *out++ = files.height->at(x, y)[0];
            else
                *out++ = channel >= 0 ? pixel[channel] : names_[i] == kOpacity ? 1.0f : 0.0f;
        }
        return out;
    }

  private:
    std::vector<std::string> names_;
    std::vector<std::vector<int>> channels_; // of each example: that of each name, or -1
};

} // namespace

void check_values(const std::string& what, const Raster& picture)
{
    constexpr float kLargest = 65504; // of a 16-bit float; squares of larger numbers overflow
    const auto check = [&](const std::vector<float>& values, int channels) {
        const auto wrong = std::ranges::find_if(values, [](float value) { return !(std::abs(value) <= kLargest); });
        if (wrong == values.end()) return;
        const auto pixel = static_cast<int>((wrong - values.begin()) / channels);
        bad_input("{} has the value {} in pixel ({}, {}), counted from the upper left; at most {} is possible: change "
                  "the picture",
                  what, *wrong, pixel % picture.width, pixel / picture.width, kLargest);
    };
    check(picture.values, picture.channels), check(picture.guide, 1);
}

ExampleSet example_set(const TextureParams& params, std::vector<ExampleFiles> files)
{
    const std::vector<TextureParams::Example> examples = params.all_examples();
    files.resize(examples.size());
    const int patch = params.patch_sizes().front();
    for (size_t i = 0; i < examples.size(); ++i) {
        if (files[i].frames.empty()) files[i] = made_by_code(params, examples[i]);
        const std::string what = examples.size() == 1 ? "the example" : fmt::format("example {}", i + 1);
        for (const Raster& frame : files[i].frames) check_size(what, frame, patch), check_values(what, frame);
        check_height(what, files[i]);
        if (params.history > 0 && files[i].history.empty())
            bad_input("{} is a still picture, but `history` needs videos", what);
    }
    check_detail(examples.size() == 1 ? "the example has" : "all examples have", files);
    const Values values(files);
    ExampleSet set;
    set.extra = values.names();
    set.layout.channels = values.count(), set.layout.history = params.history;
    set.by_label = params.select == TextureParams::Select::label;
    set.layout.guided = params.select == TextureParams::Select::parameter;
    set.layout.history_weight = params.history_weight, set.layout.guide_weight = params.parameter_weight;
    for (size_t i = 0; i < examples.size(); ++i)
        for (size_t f = 0; f < files[i].frames.size(); ++f) {
            if (params.history > 0 && files[i].history[f].empty()) continue; // the video begins here
            const Raster& frame = files[i].frames[f];
            Raster& picture = set.pictures.emplace_back(frame.width, frame.height, set.layout.stride());
            for (int y = 0; y < frame.height; ++y)
                for (int x = 0; x < frame.width; ++x) {
                    float* out = values.copy(i, files[i], frame, x, y, picture.at(x, y));
                    for (int h = 0; h < params.history; ++h)
                        out = values.copy(i, files[i], files[i].history[f][h], x, y, out);
                    if (set.layout.guided)
                        *out = frame.guide.empty() ? examples[i].parameter : frame.guide[frame.pixel(x, y)];
                }
            set.examples.push_back(static_cast<int>(i));
        }
    return set;
}

} // namespace spindrift
