// OBJ: text lines "v x y z", "vn x y z" and "f a b c" with corners a, a/t, a//n or a/t/n, counted from one, or from the
// end if negative. Texture coordinates, groups and materials are skipped.
#include "spindrift/base/error.h"
#include "spindrift/io/mesh_readers.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace spindrift {

namespace {

// Keywords without influence on a polygon mesh. Any other keyword means that the file is not OBJ.
constexpr std::array<std::string_view, 36> kIgnored = {
    "vt",     "vp",       "l",        "p",    "o",     "g",     "s",          "mg",        "usemtl",
    "mtllib", "usemap",   "maplib",   "lod",  "bevel", "deg",   "bmat",       "step",      "cstype",
    "curv",   "curv2",    "surf",     "parm", "trim",  "hole",  "scrv",       "sp",        "end",
    "con",    "c_interp", "d_interp", "call", "csh",   "ctech", "shadow_obj", "trace_obj", "stech"};

class ObjReader {
  public:
    ObjReader(const std::string& path, std::string_view text) : path_(path), text_(text) {}

    Mesh read()
    {
        // Faces may refer to later vertices, so count them first.
        vertex_total_ = count_vertices();
        mesh_.positions.reserve(vertex_total_);
        while (at_ < text_.size()) {
            ++line_;
            const std::string_view keyword = next_word();
            if (keyword == "v")
                mesh_.positions.push_back(vector());
            else if (keyword == "vn")
                mesh_.normals.push_back(vector());
            else if (keyword == "f")
                add_face();
            else if (!keyword.empty() && std::find(kIgnored.begin(), kIgnored.end(), keyword) == kIgnored.end())
                wrong("this is not a line of an OBJ file");
            skip_line();
        }
        // A "v" on a line continued by a backslash was counted although it is not a vertex.
        if (mesh_.positions.size() != vertex_total_)
            bad_input("{}: its vertices cannot be counted: a \"v\" follows a line continuation", path_);
        // OBJ stores normals per corner. They become vertex normals only if all corners of a vertex agree.
        if (!normals_match_ || mesh_.normals.size() != mesh_.positions.size()) mesh_.normals.clear();
        return std::move(mesh_);
    }

  private:
    [[noreturn]] void wrong(const std::string& what) const { bad_input("{}, line {}: {}", path_, line_, what); }

    size_t count_vertices() const
    {
        size_t count = 0;
        for (size_t begin = 0; begin < text_.size();) {
            const size_t word = text_.find_first_not_of(" \t", begin);
            if (word != text_.npos && text_[word] == 'v' && word + 1 < text_.size())
                count += text_[word + 1] == ' ' || text_[word + 1] == '\t';
            const size_t end = text_.find('\n', begin);
            begin = end == text_.npos ? text_.size() : end + 1;
        }
        return count;
    }

    // The next word of this line, empty at its end. A backslash continues a line; # starts a comment.
    std::string_view next_word()
    {
        for (;;) {
            while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
            if (text_.substr(at_, 2) == "\\\n")
                at_ += 2, ++line_;
            else if (text_.substr(at_, 3) == "\\\r\n")
                at_ += 3, ++line_;
            else
                break;
        }
        if (at_ < text_.size() && text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
        const size_t end = std::min(text_.find_first_of(" \t\r\n", at_), text_.size());
        const std::string_view word = text_.substr(at_, end - at_);
        at_ = end;
        return word;
    }

    void skip_line()
    {
        while (!next_word().empty()) {
        }
        at_ += at_ < text_.size();
    }

    Vec3f vector()
    {
        Vec3f value;
        for (int axis = 0; axis < 3; ++axis) {
            std::string_view word = next_word();
            if (word.starts_with('+')) word.remove_prefix(1);
            const char* end = word.data() + word.size();
            const auto [rest, error] = std::from_chars(word.data(), end, value[axis]);
            if (error != std::errc() || rest != end || !std::isfinite(value[axis]))
                wrong("three finite numbers are needed");
        }
        return value;
    }

    // Parses and removes the number of a corner: from 1 up, or from -1 down, counted from the last.
    long next_number(std::string_view& corner) const
    {
        long number = 0;
        const auto [rest, error] = std::from_chars(corner.data(), corner.data() + corner.size(), number);
        if (error != std::errc()) wrong("a corner of a face is not a number");
        corner.remove_prefix(rest - corner.data());
        return number;
    }

    int vertex_of(std::string_view corner)
    {
        const long number = next_number(corner);
        const long index = number < 0 ? static_cast<long>(mesh_.positions.size()) + number : number - 1;
        if (number == 0 || index < 0 || index >= static_cast<long>(vertex_total_))
            wrong(fmt::format("a face uses vertex {}, but there are {}", number, vertex_total_));

        long normal = -1;
        for (int slash = 0; slash < 2 && corner.starts_with('/'); ++slash) {
            corner.remove_prefix(1);
            if (corner.empty() || corner.front() == '/') continue;
            const long entry = next_number(corner);
            if (slash == 1) normal = entry < 0 ? static_cast<long>(mesh_.normals.size()) + entry : entry - 1;
        }
        if (!corner.empty()) wrong("a corner of a face is not of the form 1, 1/2, 1//3 or 1/2/3");
        normals_match_ = normals_match_ && normal == index;
        return static_cast<int>(index);
    }

    // Triangulates a polygon as a fan around its first corner.
    void add_face()
    {
        Vec3i triangle = Vec3i::Zero();
        int corners = 0;
        for (std::string_view word; !(word = next_word()).empty(); ++corners) {
            triangle[std::min(corners, 2)] = vertex_of(word);
            if (corners < 2) continue;
            mesh_.triangles.push_back(triangle);
            triangle[1] = triangle[2];
        }
        if (corners < 3) wrong(fmt::format("a face with {} corners", corners));
    }

    const std::string& path_;
    std::string_view text_;
    size_t at_ = 0, line_ = 0, vertex_total_ = 0;
    bool normals_match_ = true;
    Mesh mesh_;
};

} // namespace

Mesh read_obj(const std::string& path, std::string_view bytes)
{
    Mesh mesh = ObjReader(path, bytes).read();
    if (!mesh.positions.empty() && mesh.triangles.empty()) bad_input("{} has vertices but no faces", path);
    if (mesh.positions.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
        bad_input("{} has too many vertices to index", path);
    return mesh;
}

} // namespace spindrift
