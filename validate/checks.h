// The checks of spindrift_validate. Each prints tables, and states in `figures` what is asked of it; most only inform.
#pragma once

#include "figures.h"
#include "spindrift/io/plot.h"

#include <string>

void still_water(spindrift::Figures& figures);
void dam_break_to_rest(spindrift::Figures& figures);
void martin_moyce(spindrift::Figures& figures);
void spinning_disc(spindrift::Figures& figures);
void emitter(spindrift::Figures& figures);
void column(spindrift::Figures& figures);
void surface_modes(spindrift::Figures& figures);
void surface_tension(spindrift::Figures& figures);
void honey_coil(spindrift::Figures& figures);
void twisted_jelly(spindrift::Figures& figures);
void spray_regimes(spindrift::Figures& figures);
void smoke_advection(spindrift::Figures& figures);
void shaped_smoke(spindrift::Figures& figures);
void track(spindrift::Figures& figures);
void track_shapes(spindrift::Figures& figures);
void track_liquid(spindrift::Figures& figures);
void texture(spindrift::Figures& figures);
void texture_decay(spindrift::Figures& figures);
void texture_stretch(spindrift::Figures& figures);
void turbulence_spectrum(spindrift::Figures& figures);
void crowd_circle(spindrift::Figures& figures);
void crowd_streams(spindrift::Figures& figures);
void crowd_scenes(spindrift::Figures& figures);
void sand_piles(spindrift::Figures& figures);
void sand_columns(spindrift::Figures& figures);
void sand_silo(spindrift::Figures& figures);
void sand_mass(spindrift::Figures& figures);
void sand_cloud(spindrift::Figures& figures);
void sand_spheres(spindrift::Figures& figures);
void sand_paddles(spindrift::Figures& figures);
void sand_fluid(spindrift::Figures& figures);
void sand_models(spindrift::Figures& figures);
void plates(spindrift::Figures& figures);
void sand_motion(spindrift::Figures& figures);
void floating_bodies(spindrift::Figures& figures);

// Path of a file in out/validation, which is created if needed.
std::string output_path(const std::string& name);
// To output_path(name).
void write_plot(const std::string& name, const spindrift::Plot& plot);
