// Versions of a stage's frames. Nothing that was computed is removed because a setting changed:
//
//   <shot>/<stage>/                  the current version, where other programs look for frames
//   <shot>/<stage>/versions/<id>/    frames that were made with other settings, with their record and state
//
// The id is a hash of everything that the frames were made from, so that going back to a setting finds its frames.
//
// A move is safe at any moment: the record is copied first, then files are renamed one by one, and the record that was
// left is removed last. After a kill both places have the same record, and finish_move() puts the pieces together.
#pragma once

#include "spindrift/engine/stage.h"

namespace spindrift {

// The folder that keeps the version of a stage that was made from this.
std::string version_folder(const std::string& stage_folder, const std::string& made_from);

// Moves the frames of a stage with everything that belongs to them, known files only, between the places that two
// ShotPaths have for them. Throws as expect_movable() does before anything is moved.
void move_version(const Stage& stage, const ShotPaths& from, const ShotPaths& to);
// Throws Error(failed) if a file was changed since it was written, or one that is not ours is in the way.
void expect_movable(const Stage& stage, const ShotPaths& from, const ShotPaths& to);
// Whether anything is there that was made of the frames of a complete shot, such as a film.
bool has_products(const Stage& stage, const ShotPaths& paths);
// Brings the current version together again if a kill has interrupted a move.
void finish_move(const Stage& stage, const ShotPaths& current);

// A version that is not the current one.
struct Version {
    std::string stage, folder, id;
    int frames = 0, first = 0, last = 0; // those that are complete
    double bytes = 0;
    std::string made_from;
};
// All that a shot keeps, stage by stage in the order of their names.
std::vector<Version> kept_versions(const ShotPaths& current);
// What they take together, e.g. "2 versions with other settings take 3.4 GB"; empty if there are none.
std::string kept_text(const std::vector<Version>& versions);

// `spindrift versions`: lists them, or deletes those of these ids ("all": every one) after saying so. Files in their
// folders that are not ours stay. Throws bad_input for an id that is not there.
void list_versions(const ShotPaths& current);
void delete_versions(const ShotPaths& current, const std::vector<std::string>& ids, const StageKinds& kinds);

} // namespace spindrift
