// How stages appear in pictures. A kind whose frames can be drawn derives its facts from DrawableFacts and adds itself
// to a DrawnScene; [render] knows no kind by name.
#pragma once

#include "spindrift/engine/stage.h"
#include "spindrift/scene/shapes.h"
#include "spindrift/stages/drawn_scene.h"

namespace spindrift {

class TakenParticles;

// The inputs of a stage that draws a frame.
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

    // The parameters of a layer that apply to this kind; a layer that sets another one is refused.
    struct Looks {
        bool look = false, color = false, color_by = false;
    };
    virtual Looks looks() const { return {}; }
    // Memory of a picture [bytes], from the numbers that rehearsals found.
    virtual double memory(const Foreseen& foreseen) const { return (void)foreseen, 0; }
    // Adds the frame of the stage. Some kinds only have solids, and draw nothing themselves.
    virtual void draw(const DrawnFrame& frame, DrawnScene& picture) const { (void)frame, (void)picture; }
};

// A colour for each particle: that of a colour attribute, or else from the colour map, scaled to the attribute's
// smallest and largest value. `file` is for messages.
std::vector<Vec3f> colors_of(const Particles& particles, const std::string& attribute, const std::string& file);
// Adds particles as spheres of one radius, or of individual radii times a scale; clear as water, or in the colour of
// the layer, if it has one, or of an attribute, or else in a plain colour.
void add_particles(const ParticleFile& file, const std::string& path, const std::string& color_by,
                   const Vec3f& plain_color, float scale, DrawnScene& picture, bool water = false);
// Adds the bodies of a frame, each in its own colour, and colliders.
void add_bodies(const DrawableFacts& facts, const std::string& file_of_frame, DrawnScene& picture);
void add_colliders(const DrawableFacts& facts, DrawnScene& picture);

} // namespace spindrift
