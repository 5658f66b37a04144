// Fills a box, steps once and prints how many particles there are.
#include <cstdio>
#include <spindrift/liquid/liquid.h>

int main()
{
    spindrift::LiquidParams params;
    params.voxel = 0.1f;
    params.domain.min = spindrift::Vec3f::Zero(), params.domain.max = spindrift::Vec3f::Ones();
    params.sources.emplace_back().max = spindrift::Vec3f(1, 0.5f, 1);
    spindrift::Liquid liquid(params);
    liquid.start(1);
    std::printf("%zu particles\n", liquid.advance().particles);
}
