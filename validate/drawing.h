// Dots with smooth edges on an image.
#pragma once

#include "spindrift/base/math.h"
#include "spindrift/io/image.h"

// A dot at pixel (x, y) of a panel whose first pixel is at (left, top). Clipped to the panel's width and height.
struct DotPanel {
    spindrift::Image& image;
    int left, top, width, height;

    void dot(float x, float y, const spindrift::Vec3f& color, float radius) const
    {
        using namespace spindrift;
        for (int v = static_cast<int>(y - radius); v <= static_cast<int>(y + radius) + 1; ++v)
            for (int u = static_cast<int>(x - radius); u <= static_cast<int>(x + radius) + 1; ++u) {
                if (u < 0 || u > width || v < 0 || v > height) continue;
                Vec3f& pixel = image.at(left + u, top + v);
                const float cover =
                    clamp01(radius + 0.5f - Vec2f(static_cast<float>(u) - x, static_cast<float>(v) - y).norm());
                pixel += cover * (color - pixel);
            }
    }
};
