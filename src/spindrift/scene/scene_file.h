// A scene: a TOML file plus `--set` overrides. Keeps the location of every value, so that each error is one message
// "file:line:column: what is wrong; what is allowed; did you mean ...".
//
//     const SceneFile scene("splash.toml", {"liquid.voxel=0.05"});
//     LiquidParams params;
//     scene.read("liquid", [&](ParamVisitor& v) { params.visit(v); });
#pragma once

#include "spindrift/scene/params.h"

#include <memory>

namespace spindrift {

class SceneFile {
  public:
    // Throws bad_input for a missing file, a syntax error, or an override that is not of the form `table.name=value`.
    SceneFile(const std::string& path, const std::vector<std::string>& overrides = {});
    ~SceneFile();
    SceneFile(SceneFile&&) noexcept;

    const std::string& path() const;
    // File name without folder and extension.
    std::string name() const;
    bool has(const std::string& table) const;
    // The names of all top-level tables.
    std::vector<std::string> tables() const;
    // A text in a table; empty if it is missing. Throws bad_input if it has another type.
    std::string text(const std::string& table, const std::string& name) const;
    // Fills parameters from the top-level table `name`; a missing table keeps the defaults. Throws bad_input for
    // unknown keys, wrong types and values out of range.
    void read(const std::string& table, const VisitFunction& visit) const;
    // The same from any table, e.g. "liquid.collider[1]"; ignores unknown keys.
    void read_part(const std::string& dotted_path, const VisitFunction& visit) const;
    // Every table of a list such as [[liquid.collider]] that has a `name`: its dotted path and that name.
    std::vector<std::pair<std::string, std::string>> named_tables() const;
    // "file:line:column" of a value such as "liquid.source[0].file", for errors found later; that of the nearest
    // existing parent if the value is not in the file.
    std::string where(const std::string& dotted_path) const;
    // The same for the key of the value.
    std::string where_named(const std::string& dotted_path) const;
    // Resolves a path in the scene relative to the scene's folder.
    std::string resolve(const std::string& file) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace spindrift
