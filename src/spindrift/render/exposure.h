// Distributes paths over the pixels, and computes the picture from them.
#pragma once

#include "spindrift/render/camera.h"
#include "spindrift/render/film.h"
#include "spindrift/render/path_tracer.h"
#include "spindrift/render/preview.h"

namespace spindrift {

class Exposure {
  public:
    // A pixel is `scale` pixels of the camera wide. `channels`: compute all channels, not only colour and alpha.
    Exposure(const MovingCamera& camera, const PathTracer& tracer, int width, int height, int scale, size_t layers,
             bool channels);

    // Computes each pixel from its own paths alone: a few for floor and sky, half of `samples` where their variance is
    // small, otherwise all.
    void separately(int samples);
    // Shares paths between neighbouring pixels (see render/film.h), and traces more where their variance is larger.
    // About the error of separately() with `samples` paths.
    void together(int samples);
    // The same with a given number of paths for every pixel.
    void evenly(int paths);

    Picture picture;
    std::vector<float> nearest; // smallest distance from the camera among the paths of each pixel

  private:
    struct Pixel {
        Vec3f sum = Vec3f::Zero();
        float squares = 0; // of luminance
        float alpha = 0;
        int paths = 0;
        bool detailed = false, hazy = false;
        bool noisy() const;
    };
    struct Path {
        Vec2f offset; // from the pixel's centre
        PathTracer::Sample sample;
    };
    template <class Body> void for_each_pixel(const Body& body);
    size_t number(int x, int y) const { return static_cast<size_t>(y) * width_ + x; }

    // Bodies of parallel loops are never inlined: see render/floor_light.h.
    // `tent`: samples are distributed like the filter, otherwise uniformly over the pixel.
    [[gnu::noinline]] Path trace(int x, int y, int path, bool tent, PathTracer::Seen& seen);
    void note(size_t pixel, const Ray& ray, const PathTracer::Sample& sample, const PathTracer::Seen& seen);
    bool detailed_around(int x, int y) const;

    [[gnu::noinline]] void add_paths(int x, int y, int begin, int end);
    [[gnu::noinline]] void finish(int x, int y, int pilot, int samples);

    [[gnu::noinline]] void trace_pilots(int x, int y);
    // Offset and values of a pilot path.
    float* pilot(int x, int y, int path) { return &pilot_values_[(number(x, y) * pilots_ + path) * (values_ + 2)]; }
    // Noise of a pixel, and the paths that separately() would trace for it.
    struct Noise {
        float deviation = 0; // of a path, relative to what is visible; 0 where pilot paths suffice
        float separate_paths = 0;
    };
    [[gnu::noinline]] Noise noise_around(int x, int y, int samples) const;
    int paths_for(const Noise& noise, float scale, int samples) const;
    [[gnu::noinline]] float scale_of_paths(const std::vector<Noise>& noise, int samples) const;
    [[gnu::noinline]] void expose(int x, int y, int paths, Film& film);
    [[gnu::noinline]] void develop(int x, int y, const Film& film);

    const MovingCamera& camera_;
    const PathTracer& tracer_;
    int width_, height_;
    float scale_;
    size_t layers_, values_; // of a path: colour, alpha, masks
    bool channels_;
    std::vector<Pixel> pixels_;
    int pilots_ = 0;                  // paths per pixel whose values are stored
    std::vector<float> pilot_values_; // of all pixels
};

} // namespace spindrift
