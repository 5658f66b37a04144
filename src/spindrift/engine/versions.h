// Versions of a stage's frames. A change of settings never deletes computed frames:
//
//   <shot>/<stage>/                  the current version, where other programs look for frames
//   <shot>/<stage>/versions/<id>/    frames made with other settings, with their record and state
//
// The id is a hash of everything that the frames were made from, so returning to earlier settings finds their frames.
//
// A move survives a kill at any moment: the record is copied first, then files are renamed one by one, and the old
// record is removed last. After a kill both folders have the same record, and finish_move() completes the move.
#pragma once

#include "spindrift/engine/stage.h"

namespace spindrift {

// The folder of the version of a stage with this `made_from`.
std::string version_folder(const std::string& stage_folder, const std::string& made_from);

// Moves the frames of a stage, its state and products between the folders of two ShotPaths; touches only recorded
// files. Throws as expect_movable() does before anything is moved.
void move_version(const Stage& stage, const ShotPaths& from, const ShotPaths& to);
// Throws Error(failed) if a file changed since it was written, or if a file of another program is in the way.
void expect_movable(const Stage& stage, const ShotPaths& from, const ShotPaths& to);
// Whether any product of a complete shot, such as a film, exists.
bool has_products(const Stage& stage, const ShotPaths& paths);
// Completes a move that a kill interrupted.
void finish_move(const Stage& stage, const ShotPaths& current);

// A version that is not the current one.
struct Version {
    std::string stage, folder, id;
    int frames = 0, first = 0, last = 0; // the complete ones
    double bytes = 0;
    std::string made_from;
};
// All versions of a shot except the current ones, sorted by stage name.
std::vector<Version> kept_versions(const ShotPaths& current);
// The disk space they take, e.g. "2 versions with other settings take 3.4 GB"; empty if there are none.
std::string kept_text(const std::vector<Version>& versions);

// Implement `spindrift versions`: list the versions, or delete those with these ids ("all" for every one) and report
// it. Files of other programs in their folders are kept. Throws bad_input for an unknown id.
void list_versions(const ShotPaths& current);
void delete_versions(const ShotPaths& current, const std::vector<std::string>& ids, const StageKinds& kinds);

} // namespace spindrift
