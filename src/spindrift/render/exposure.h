// How paths are shared out among pixels, and become a picture.
#pragma once

#include "spindrift/render/camera.h"
#include "spindrift/render/film.h"
#include "spindrift/render/path_tracer.h"
#include "spindrift/render/preview.h"

namespace spindrift {

class Exposure {
  public:
    // A pixel is `scale` pixels of the camera wide. `channels`: all of them, or colour and alpha alone.
    Exposure(const MovingCamera& camera, const PathTracer& tracer, int width, int height, int scale, size_t layers,
             bool channels);

    // Each pixel by its own paths alone: a few for floor and sky, half of `samples` where they agree, else all.
    void separately(int samples);
    // By paths that count for all pixels around (see render/film.h), most where they differ most: about the error of
    // separate pixels with `samples` paths.
    void together(int samples);
    // The same with so many paths for each pixel.
    void evenly(int paths);

    Picture picture;
    std::vector<float> nearest; // how far from the camera each pixel sees, at least

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

    // What parallel loops do for one pixel is never inlined: see render/floor_light.h.
    // `tent`: places follow the filter; otherwise they are spread evenly over the pixel.
    [[gnu::noinline]] Path trace(int x, int y, int path, bool tent, PathTracer::Seen& seen);
    void note(size_t pixel, const Ray& ray, const PathTracer::Sample& sample, const PathTracer::Seen& seen);
    bool detailed_around(int x, int y) const;

    [[gnu::noinline]] void add_paths(int x, int y, int begin, int end);
    [[gnu::noinline]] void finish(int x, int y, int pilot, int samples);

    [[gnu::noinline]] void trace_pilots(int x, int y);
    // Offset and values of one of them.
    float* pilot(int x, int y, int path) { return &pilot_values_[(number(x, y) * pilots_ + path) * (values_ + 2)]; }
    [[gnu::noinline]] int paths_needed(int x, int y, int samples) const;
    [[gnu::noinline]] void expose(int x, int y, int paths, Film& film);
    [[gnu::noinline]] void develop(int x, int y, const Film& film);

    const MovingCamera& camera_;
    const PathTracer& tracer_;
    int width_, height_;
    float scale_;
    size_t layers_, values_; // of a path: colour, alpha, masks
    bool channels_;
    std::vector<Pixel> pixels_;
    int pilots_ = 0;                  // paths a pixel whose values are kept
    std::vector<float> pilot_values_; // of all pixels
};

} // namespace spindrift
