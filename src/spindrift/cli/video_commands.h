// Videos as textures on a plane [Narain 2011, 2.5.2]:
//   spindrift footage   writes example videos that are made by code
//   spindrift transfer  gives one video the looks of another (figure 2.8)
//   spindrift enlarge   continues a small video on a larger plane, with any number of channels (figure 2.9)
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace spindrift {

// Adds the commands; their callbacks set `action`, and `threads` if it is asked for.
void add_video_commands(CLI::App& app, std::function<void()>& action, int& threads);

} // namespace spindrift
