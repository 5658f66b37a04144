// A scene as the user wrote it: a TOML file plus `--set` overrides. Knows where every value stands, so that each error
// is one message "file:line:column: what is wrong; what is allowed; did you mean ...".
#pragma once

#include "spindrift/scene/params.h"

#include <memory>

namespace spindrift {

class SceneFile {
  public:
    // Throws bad_input for a missing file, a syntax error, or an override that is not `table.name=value`.
    SceneFile(const std::string& path, const std::vector<std::string>& overrides = {});
    ~SceneFile();
    SceneFile(SceneFile&&) noexcept;

    const std::string& path() const;
    // The file's name without folder and ending.
    std::string name() const;
    bool has(const std::string& table) const;
    // The names of all top-level tables.
    std::vector<std::string> tables() const;
    // A text in a table; empty if the table does not have it. Throws bad_input if it is something else.
    std::string text(const std::string& table, const std::string& name) const;
    // Fills parameters from the top-level table `name`; a table that is not there leaves the defaults. Throws
    // bad_input for unknown keys, wrong types and values out of range.
    void read(const std::string& table, const VisitFunction& visit) const;
    // The same from a table anywhere, e.g. "liquid.collider[1]"; keys that are none of these parameters are left aside.
    void read_part(const std::string& dotted_path, const VisitFunction& visit) const;
    // Every table of a list such as [[liquid.collider]] that has a `name`: its dotted path and that name.
    std::vector<std::pair<std::string, std::string>> named_tables() const;
    // "file:line:column" of a value such as "liquid.source[0].file", for errors found later; the nearest parent that
    // exists if the value itself is not in the file.
    std::string where(const std::string& dotted_path) const;
    // The same of the name that the value is given under.
    std::string where_named(const std::string& dotted_path) const;
    // A path written in the scene, relative to the scene's folder.
    std::string resolve(const std::string& file) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace spindrift
