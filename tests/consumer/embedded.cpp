// A library that another program loads, as a plug-in of Houdini or a Python module: runs an expression on a particle.
#include <spindrift/expression/expression.h>

#include <cstdio>

// The particle's speed after the expression has doubled it; 0 if there is an error, which is printed.
extern "C" float doubled_speed(float speed)
{
    try {
        spindrift::Particles particles;
        particles.P.emplace_back(0, 0, 0), particles.v.emplace_back(speed, 0, 0), particles.id.push_back(0);
        spindrift::Expression("embedded", "vec3f@v *= 2;").run(particles, {});
        return particles.v[0].x();
    } catch (const std::exception& error) {
        std::puts(error.what());
        return 0;
    }
}
