// Decides which version folder each stage writes to when settings change. See versions.h for the layout.
//
// The scene as written owns the current version. A run with --set never displaces it: stages whose frames would differ
// write to a version folder of their own, unless the current folder has no results yet.
#include "spindrift/engine/shot.h"
#include "spindrift/engine/versions.h"
#include "spindrift/io/atomic_file.h"

#include <fmt/format.h>

namespace spindrift {

std::string Shot::kept_folder(const Link& link) const
{
    return version_folder(paths_.stage_folder(link.stage->name()), link.made_from);
}

StageCache Shot::current_cache(const Link& link) const
{
    const std::string name = link.stage->name();
    return {paths_.stage_folder(name), name, link.stage->endings(), link.made_from};
}

// Whether the current version has any results: frames, products of them (such as a film), or a state to resume from.
bool Shot::has_results(const Link& link) const
{
    const StageCache current = current_cache(link);
    return current.exists() &&
           (!current.frames().empty() || file_exists(current.state_path()) || has_products(*link.stage, paths_));
}

void Shot::choose_versions()
{
    bool any_aside = false;
    std::vector<Link*> others; // selected stages that are not the current version
    for (Link& link : links_) {
        const StageCache current = current_cache(link);
        const std::string kept = kept_folder(link);
        const bool is_current = current.exists() && !current.outdated();
        const bool is_kept = !is_current && file_exists(kept + "/" + StageCache::kRecord);
        link.folder = is_kept ? kept : paths_.stage_folder(link.stage->name());
        link.aside = false;
        link.takes_over = link.runs && !is_current && (is_kept || current.exists());
        if (is_current || !link.runs) continue;
        others.push_back(&link);
        any_aside |= is_kept || has_results(link);
    }
    // If one stage of a --set run goes aside, so do all that differ: a current folder must not mix versions.
    if (options_.overrides.empty() || !any_aside) return;
    for (Link* link : others) {
        link->folder = kept_folder(*link);
        link->aside = true, link->takes_over = false;
    }
}

// The disk space that versions take and how to list them; empty if there are none.
std::string Shot::kept_note() const
{
    const std::vector<Version> kept = kept_versions(paths_);
    if (kept.empty()) return {};
    const bool named = paths_.folder != "out/" + paths_.shot;
    return fmt::format("{} in {}; list or delete with: spindrift versions {}{}", kept_text(kept), paths_.folder,
                       scene_.path(), named ? " -o " + paths_.folder : "");
}

ShotPaths Shot::paths_now() const
{
    ShotPaths paths = paths_;
    for (const Link& link : links_)
        if (link.aside) paths.versions[link.stage->name()] = link.folder;
    return paths;
}

ShotPaths Shot::paths_of_version(const Link& link, const std::string& made_from) const
{
    ShotPaths paths = paths_;
    const std::string name = link.stage->name();
    paths.versions[name] = version_folder(paths_.stage_folder(name), made_from);
    return paths;
}

void Shot::expect_only_ours(const Link& link) const
{
    const FrameRange range = frames_of(*link.stage);
    cache_of(link).expect_only_ours(range);
    if (link.aside) return;
    const StageCache current = current_cache(link);
    current.expect_only_ours(range);
    if (link.takes_over && has_results(link))
        expect_movable(*link.stage, paths_, paths_of_version(link, current.recorded()));
}

namespace {

std::string frames_text(size_t frames) { return frames == 1 ? "1 frame" : fmt::format("{} frames", frames); }

} // namespace

// What a run does about versions of this stage, for people; empty if nothing.
std::string Shot::version_note(const Link& link) const
{
    if (!link.aside && !link.takes_over) return {};
    const StageCache current = current_cache(link), own = cache_of(link);
    const std::string folder = paths_.stage_folder(link.stage->name());
    const std::string changed = current.exists() ? current.what_changed() + "; " : "";
    const size_t here = current.frames().size(), kept = link.folder == folder ? 0 : own.frames().size();
    if (link.aside)
        return fmt::format("{}this run has --set, so its frames go to {}{}{}", changed, link.folder,
                           kept > 0 ? fmt::format(", which already holds {}", frames_text(kept)) : "",
                           here > 0 ? fmt::format("; {} ({}) is not changed", folder, frames_text(here)) : "");
    std::string note;
    if (has_results(link))
        note =
            fmt::format("{}{} to {}", changed,
                        here > 0 ? frames_text(here) + " made before move" : "the remains of frames made before move",
                        version_folder(folder, current.recorded()));
    if (kept > 0)
        note += fmt::format("{}{} with these settings are restored from {}", note.empty() ? changed : "; ",
                            frames_text(kept), link.folder);
    return note;
}

// Moves a version that takes over to the current folder, after moving the frames there to their own version folder.
void Shot::make_current(Link& link, Progress& progress)
{
    const Stage& stage = *link.stage;
    if (const std::string note = version_note(link); !note.empty())
        progress.warn(fmt::format("{}: {}", stage.name(), note));
    if (!link.takes_over) return;
    if (StageCache current = current_cache(link); has_results(link))
        move_version(stage, paths_, paths_of_version(link, current.recorded()));
    else if (current.exists())
        current.clear();
    const std::string folder = paths_.stage_folder(stage.name());
    if (link.folder != folder) move_version(stage, paths_of_version(link, link.made_from), paths_);
    link.folder = folder, link.takes_over = false;
}

} // namespace spindrift
