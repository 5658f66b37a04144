// How stages appear in pictures. A kind whose frames can be drawn derives its facts from DrawableFacts and adds itself
// to a DrawnScene; [render] knows no kind by name.
#pragma once

#include "spindrift/engine/stage.h"
#include "spindrift/scene/shapes.h"
#include "spindrift/stages/drawn_scene.h"

namespace spindrift {

class TakenParticles;

// What a stage draws from.
struct DrawnFrame {
    int frame = 0;
    const InputPath& input;
    const TakenParticles& taken; // particles that a spray has taken over, which are not drawn twice
};

struct DrawableFacts : StageFacts {
    std::string stage;              // its name
    Box3f extent;                   // what a camera should see; empty if it does not know
    bool bounded = true;            // false: the extent is a guess, which a frame may exceed
    std::optional<Box3f> container; // a tank around it
    std::vector<Shape> colliders;
    std::string collider_text;     // everything that their look depends on: pictures are made again when it changes
    std::vector<Mesh> body_meshes; // around the centre of mass; their motion is in the stage's frames

    // What rehearsals found about its frames, as memory of a picture [bytes].
    virtual double memory(const Foreseen& foreseen) const { return (void)foreseen, 0; }
    // Adds its frame. Some kinds only bring solids, and draw nothing themselves.
    virtual void draw(const DrawnFrame& frame, DrawnScene& picture) const { (void)frame, (void)picture; }
};

// One colour a particle: that of a colour attribute, or else the attribute's smallest value at one end of the map and
// its largest at the other. `file` is for messages.
std::vector<Vec3f> colors_of(const Particles& particles, const std::string& attribute, const std::string& file);
// Particles as spheres of one radius, or each of its own times a scale; clear as water, or in colours.
void add_particles(const ParticleFile& file, const std::string& path, const std::string& color_by,
                   const Vec3f& plain_color, float scale, DrawnScene& picture, bool water = false);
// Bodies where a frame of their stage has them, each in a colour of its own, and colliders.
void add_bodies(const DrawableFacts& facts, const std::string& file_of_frame, DrawnScene& picture);
void add_colliders(const DrawableFacts& facts, DrawnScene& picture);

} // namespace spindrift
