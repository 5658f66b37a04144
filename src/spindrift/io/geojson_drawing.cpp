#include "spindrift/io/drawing.h"

#include "spindrift/base/error.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace spindrift {

namespace {

using Json = nlohmann::json;

class GeojsonReader {
  public:
    GeojsonReader(const std::string& name, const DrawingOptions& options) : name_(name), options_(options) {}

    Drawing read(const Json& root)
    {
        if (!root.is_object()) bad_input("{}: not a GeoJSON file: the root must be an object", name_);
        const std::string type = text(root, "type");
        if (type == "FeatureCollection") {
            const auto features = root.find("features");
            if (features == root.end() || !features->is_array()) bad_input("{}: has no array \"features\"", name_);
            for (const Json& feature : *features) add_feature(feature);
        } else {
            add_feature(root);
        }
        if (options_.coordinates == DrawingOptions::Coordinates::degrees ||
            (options_.coordinates == DrawingOptions::Coordinates::automatic && names_degrees(root)))
            project();
        else if (options_.scale)
            for_each_point([&](Vec2d& p) { p *= static_cast<double>(*options_.scale); });
        return {std::move(shapes_), std::move(note_)};
    }

  private:
    static std::string text(const Json& object, const char* key)
    {
        const auto found = object.find(key);
        if (found == object.end()) return "";
        if (found->is_string()) return found->get<std::string>();
        return found->is_number_integer() ? std::to_string(found->get<int64_t>()) : "";
    }
    std::optional<double> number(const Json& object, const char* key) const
    {
        const auto found = object.find(key);
        if (found == object.end() || found->is_null()) return std::nullopt;
        if (!found->is_number()) bad_input("{}: {} must be a number", where_, key);
        return found->get<double>();
    }

    void add_feature(const Json& feature)
    {
        where_ = fmt::format("{}: feature {}", name_, ++count_);
        if (!feature.is_object()) bad_input("{} is not an object", where_);
        DrawnShape shape;
        shape.where = where_;
        const Json* geometry = &feature;
        if (text(feature, "type") == "Feature") {
            const auto found = feature.find("geometry");
            if (found == feature.end() || found->is_null()) return; // features without geometry are allowed
            geometry = &*found;
            if (const auto properties = feature.find("properties");
                properties != feature.end() && properties->is_object()) {
                for (const char* key : {"type", "role", "class", "kind"})
                    if (shape.role.empty()) shape.role = text(*properties, key);
                shape.name = text(*properties, "name");
                shape.rate = number(*properties, "rate"), shape.start = number(*properties, "start");
                shape.end = number(*properties, "end"), shape.thickness = number(*properties, "thickness");
                shape.radius = number(*properties, "radius");
            }
            if (shape.name.empty()) shape.name = text(feature, "id");
        }
        add_geometry(*geometry, shape, 0);
        shapes_.push_back(std::move(shape));
    }

    void add_geometry(const Json& geometry, DrawnShape& shape, int depth)
    {
        if (!geometry.is_object() || depth > 16) bad_input("{} has no usable geometry", where_);
        const std::string type = text(geometry, "type");
        if (type == "GeometryCollection") {
            for (const Json& part : list(geometry, "geometries")) add_geometry(part, shape, depth + 1);
            return;
        }
        const Json& coordinates = list(geometry, "coordinates");
        const auto add_rings = [&](const Json& polygon) {
            for (const Json& ring : array(polygon)) shape.rings.push_back(points(ring, true));
        };
        if (type == "Polygon")
            add_rings(coordinates);
        else if (type == "MultiPolygon")
            for (const Json& polygon : coordinates) add_rings(polygon);
        else if (type == "LineString")
            shape.lines.push_back(points(coordinates, false));
        else if (type == "MultiLineString")
            for (const Json& line : coordinates) shape.lines.push_back(points(line, false));
        else if (type == "Point")
            shape.points.push_back(point(coordinates));
        else if (type == "MultiPoint")
            for (const Json& p : coordinates) shape.points.push_back(point(p));
        else
            bad_input("{} has a geometry of type '{}', which is not a GeoJSON type", where_, type.substr(0, 40));
    }

    const Json& list(const Json& object, const char* key) const
    {
        const auto found = object.find(key);
        if (found == object.end()) bad_input("{} has no {}", where_, key);
        return array(*found);
    }
    const Json& array(const Json& value) const
    {
        if (!value.is_array()) bad_input("{} has coordinates that are not a list", where_);
        return value;
    }
    Vec2d point(const Json& value) const
    {
        if (!value.is_array() || value.size() < 2 || !value[0].is_number() || !value[1].is_number())
            bad_input("{} has a position that is not [x, y]", where_);
        return {value[0].get<double>(), value[1].get<double>()};
    }
    Ring points(const Json& value, bool closed) const
    {
        Ring ring;
        for (const Json& p : array(value)) ring.push_back(point(p));
        if (closed && ring.size() > 1 && ring.front() == ring.back()) ring.pop_back();
        return ring;
    }

    template <class Body> void for_each_point(const Body& body)
    {
        for (DrawnShape& shape : shapes_) {
            for (auto* rings : {&shape.rings, &shape.lines})
                for (Ring& ring : *rings)
                    for (Vec2d& p : ring) body(p);
            for (Vec2d& p : shape.points) body(p);
        }
    }

    // "crs": {"properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}, or EPSG:4326.
    static bool names_degrees(const Json& root)
    {
        const auto crs = root.find("crs");
        if (crs == root.end() || !crs->is_object()) return false;
        const auto properties = crs->find("properties");
        if (properties == crs->end() || !properties->is_object()) return false;
        const std::string name = text(*properties, "name");
        return name.find("CRS84") != std::string::npos || name.ends_with(":4326");
    }

    // Projects to metres east and north of the centre, with the WGS 84 radii of curvature there.
    void project()
    {
        Vec2d low(kInfinity, kInfinity), high = -low;
        for_each_point([&](Vec2d& p) {
            if (!(std::abs(p.x()) <= 360 && std::abs(p.y()) <= 90))
                bad_input("{}: ({:g}, {:g}) is not a longitude and latitude; set coordinates = \"metres\" for plane "
                          "coordinates",
                          name_, p.x(), p.y());
            low = low.cwiseMin(p), high = high.cwiseMax(p);
        });
        const Vec2d middle = 0.5 * (low + high);
        constexpr double equator = 6378137, e2 = 0.00669437999014, radian = kPi / 180;
        const double s = std::sin(middle.y() * radian), flat = 1 - e2 * s * s;
        const double east = equator / std::sqrt(flat) * std::cos(middle.y() * radian) * radian;
        const double north = equator * (1 - e2) / (flat * std::sqrt(flat)) * radian;
        for_each_point([&](Vec2d& p) { p = (p - middle).cwiseProduct(Vec2d(east, north)); });
        note_ = fmt::format("{}: converted longitude and latitude to metres east and north of ({:.6f}, {:.6f})", name_,
                            middle.x(), middle.y());
    }

    const std::string& name_;
    const DrawingOptions& options_;
    std::string where_, note_;
    size_t count_ = 0;
    std::vector<DrawnShape> shapes_;
};

} // namespace

Drawing read_geojson_drawing(const std::string& text, const std::string& name, const DrawingOptions& options)
{
    Json root;
    try {
        root = Json::parse(text);
    } catch (const Json::parse_error& e) {
        const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(e.byte, text.size()));
        bad_input("{}:{}: not valid JSON", name, 1 + std::count(text.begin(), end, '\n'));
    } catch (const Json::exception&) {
        bad_input("{}: contains a number that is too large", name);
    }
    return GeojsonReader(name, options).read(root);
}

} // namespace spindrift
