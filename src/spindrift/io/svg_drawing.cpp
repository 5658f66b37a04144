#include "spindrift/io/drawing.h"

#include "spindrift/base/error.h"
#include "spindrift/io/svg_path.h"

#include <algorithm>
#include <fmt/format.h>
#include <pugixml.hpp>

namespace spindrift {

namespace {

using Node = pugi::xml_node;

// Properties that a shape inherits from its groups.
struct Inherited {
    SvgTransform transform = SvgTransform::Identity(); // to metres
    std::string role;
    double stroke = 0; // [user units]; 0: unspecified
    bool filled = true;
};

class SvgReader {
  public:
    SvgReader(const std::string& text, const std::string& name, const RoleOfWord& role_of_word)
        : name_(name), role_of_word_(role_of_word)
    {
        for (size_t i = 0; i < text.size(); ++i)
            if (text[i] == '\n') line_ends_.push_back(static_cast<std::ptrdiff_t>(i));
    }

    std::vector<DrawnShape> read(Node root, const DrawingOptions& options)
    {
        Inherited outer;
        outer.transform = to_metres(root, options);
        add_children(root, outer, 0);
        return std::move(shapes_);
    }

  private:
    static double number(Node node, const char* attribute)
    {
        return SvgScanner(node.attribute(attribute).value()).number().value_or(0);
    }
    // A property, given as an attribute or in `style`.
    static std::string property(Node node, std::string_view name)
    {
        std::string_view style = node.attribute("style").value();
        while (!style.empty()) {
            const size_t end = std::min(style.find(';'), style.size());
            const std::string_view item = style.substr(0, end);
            const size_t colon = item.find(':');
            const auto trimmed = [](std::string_view s) {
                const size_t from = std::min(s.find_first_not_of(" \t\r\n"), s.size());
                return s.substr(from, s.find_last_not_of(" \t\r\n") + 1 - from);
            };
            if (colon != std::string_view::npos && trimmed(item.substr(0, colon)) == name)
                return std::string(trimmed(item.substr(colon + 1)));
            style.remove_prefix(std::min(end + 1, style.size()));
        }
        return node.attribute(std::string(name).c_str()).value();
    }

    // Role at the start of a label or id, before a number or a separator: "goal-north", "wall12".
    std::string role_in(std::string_view label, std::string_view* rest = nullptr) const
    {
        const size_t end = std::min(label.find_first_of("-_:. 0123456789"), label.size());
        std::string role = role_of_word_(label.substr(0, end));
        if (!role.empty() && rest) *rest = label.substr(std::min(label.find_first_not_of("-_:. ", end), label.size()));
        return role;
    }
    std::string role_of(Node node) const
    {
        for (const char* key : {"data-type", "data-role"})
            if (std::string role = role_of_word_(node.attribute(key).value()); !role.empty()) return role;
        std::string_view classes = node.attribute("class").value();
        while (!classes.empty()) {
            const size_t end = std::min(classes.find(' '), classes.size());
            if (std::string role = role_of_word_(classes.substr(0, end)); !role.empty()) return role;
            classes.remove_prefix(std::min(end + 1, classes.size()));
        }
        for (const char* key : {"inkscape:label", "id"})
            if (std::string role = role_in(node.attribute(key).value()); !role.empty()) return role;
        return "";
    }
    std::string name_of(Node node) const
    {
        for (const char* key : {"data-name", "inkscape:label", "id"}) {
            std::string_view name = node.attribute(key).value(), rest = name;
            role_in(name, &rest);
            if (!name.empty()) return std::string(rest.empty() ? name : rest);
        }
        return node.child_value("title");
    }

    std::string where(Node node) const
    {
        const auto ends = std::lower_bound(line_ends_.begin(), line_ends_.end(), node.offset_debug());
        return fmt::format("{}:{}", name_, 1 + (ends - line_ends_.begin()));
    }

    // Metres per user unit: from the scene, or from a width with a unit of length, or 1. Flips y to point up.
    SvgTransform to_metres(Node root, const DrawingOptions& options) const
    {
        SvgScanner view(root.attribute("viewBox").value());
        const auto left = view.number(), top = view.number(), width = view.number(), height = view.number();
        const bool has_view = left && top && width && height && *width > 0 && *height > 0;
        const auto paper_width = svg_length_metres(root.attribute("width").value());
        double unit = 1;
        if (paper_width && has_view) unit = *paper_width / *width;
        if (options.scale) unit = static_cast<double>(*options.scale);
        const Vec2d corner = has_view ? Vec2d(*left, *top + *height) : Vec2d(0, number(root, "height"));
        SvgTransform transform = SvgTransform::Identity();
        transform.scale(Vec2d(unit, -unit)).translate(-corner);
        return transform;
    }

    void add_children(Node parent, const Inherited& from, int depth)
    {
        if (depth > 200) bad_input("{}: groups are nested more than 200 deep", where(parent));
        for (const Node node : parent.children()) {
            if (node.type() != pugi::node_element) continue;
            std::string_view kind = node.name();
            kind.remove_prefix(kind.rfind(':') + 1); // strip the namespace; npos + 1 is 0
            if (property(node, "display") == "none" || property(node, "visibility") == "hidden") continue;
            Inherited own = from;
            own.transform = from.transform * svg_transform(node.attribute("transform").value());
            if (const std::string role = role_of(node); !role.empty()) own.role = role;
            if (const auto stroke = SvgScanner(property(node, "stroke-width")).number()) own.stroke = *stroke;
            if (const std::string fill = property(node, "fill"); !fill.empty()) own.filled = fill != "none";
            if (kind == "g" || kind == "a" || kind == "switch" || kind == "svg") {
                if (kind == "svg") own.transform.translate(Vec2d(number(node, "x"), number(node, "y")));
                add_children(node, own, depth + 1);
            } else {
                add_shape(node, kind, own);
            }
        }
    }

    void add_shape(Node node, std::string_view kind, const Inherited& own)
    {
        std::vector<SvgSubpath> paths;
        const Vec2d corner(number(node, "x"), number(node, "y"));
        const Vec2d center(number(node, "cx"), number(node, "cy"));
        if (kind == "rect") {
            const double w = number(node, "width"), h = number(node, "height");
            paths = {{{corner, corner + Vec2d(w, 0), corner + Vec2d(w, h), corner + Vec2d(0, h)}, true}};
        } else if (kind == "circle") {
            paths = {{svg_ellipse(center, Vec2d::Constant(number(node, "r"))), true}};
        } else if (kind == "ellipse") {
            paths = {{svg_ellipse(center, Vec2d(number(node, "rx"), number(node, "ry"))), true}};
        } else if (kind == "line") {
            paths = {{{Vec2d(number(node, "x1"), number(node, "y1")), Vec2d(number(node, "x2"), number(node, "y2"))},
                      false}};
        } else if (kind == "polygon" || kind == "polyline") {
            SvgScanner points(node.attribute("points").value());
            SvgSubpath& path = paths.emplace_back();
            path.closed = kind == "polygon";
            for (auto x = points.number(), y = points.number(); x && y; x = points.number(), y = points.number())
                path.points.emplace_back(*x, *y);
        } else if (kind == "path") {
            const double scale = std::sqrt(std::abs(own.transform.linear().determinant()));
            paths = svg_path(node.attribute("d").value(), scale > 0 ? 0.01 / scale : 1);
        } else {
            return; // text, images, definitions
        }

        DrawnShape shape;
        shape.role = own.role, shape.name = name_of(node), shape.where = where(node);
        const auto given = [&](const char* key) { return SvgScanner(node.attribute(key).value()).number(); };
        shape.rate = given("data-rate"), shape.start = given("data-start"), shape.end = given("data-end");
        shape.thickness = given("data-thickness");
        const double stretch = std::sqrt(std::abs(own.transform.linear().determinant()));
        if (!shape.thickness && own.stroke > 0 && stretch > 0) shape.thickness = own.stroke * stretch;
        shape.filled = own.filled;
        for (SvgSubpath& path : paths) {
            for (Vec2d& p : path.points) p = own.transform * p;
            (path.closed ? shape.rings : shape.lines).push_back(std::move(path.points));
        }
        shapes_.push_back(std::move(shape));
    }

    const std::string& name_;
    const RoleOfWord& role_of_word_;
    std::vector<std::ptrdiff_t> line_ends_;
    std::vector<DrawnShape> shapes_;
};

} // namespace

Drawing read_svg_drawing(const std::string& text, const std::string& name, const DrawingOptions& options,
                         const RoleOfWord& role_of_word)
{
    pugi::xml_document document;
    const pugi::xml_parse_result result = document.load_buffer(text.data(), text.size());
    if (!result) {
        const auto offset = std::clamp<std::ptrdiff_t>(result.offset, 0, static_cast<std::ptrdiff_t>(text.size()));
        bad_input("{}:{}: not an SVG file: {}", name, 1 + std::count(text.begin(), text.begin() + offset, '\n'),
                  result.description());
    }
    const Node root = document.document_element();
    if (std::string_view kind = root.name(); kind != "svg" && !kind.ends_with(":svg"))
        bad_input("{}: not an SVG file: its outermost element is <{}>", name, kind.substr(0, 40));
    return {SvgReader(text, name, role_of_word).read(root, options), {}};
}

} // namespace spindrift
