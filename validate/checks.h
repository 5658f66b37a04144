// The checks of spindrift_validate that have files of their own. Each prints tables.
#pragma once

void surface_tension();
void spray_regimes();
void smoke_advection();
void turbulence_spectrum();
void crowd_circle();
void crowd_streams();
void crowd_scenes();
void floating_bodies();
void sand_piles();
void sand_columns();
void sand_silo();
void sand_mass();
void sand_cloud();
void sand_spheres();
void sand_paddles();
void sand_fluid();
void sand_models();
void plates();
void sand_motion();
