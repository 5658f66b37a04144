#include "spindrift/plan/geos_region.h"

#include "spindrift/base/error.h"

#include <algorithm>
#include <fmt/format.h>
#include <geos_c.h>

namespace spindrift {

namespace {

// GEOS needs a context for each thread. It also keeps the last error message.
struct Context {
    GEOSContextHandle_t geos = GEOS_init_r();
    std::string message;
    Context()
    {
        GEOSContext_setErrorMessageHandler_r(
            geos, [](const char* text, void* self) { static_cast<Context*>(self)->message = text; }, this);
    }
    ~Context() { GEOS_finish_r(geos); }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
};

Context& context()
{
    thread_local Context instance;
    return instance;
}

GEOSContextHandle_t geos() { return context().geos; }

GEOSGeometry* checked(GEOSGeometry* result)
{
    if (!result) fail("the floor plan's geometry could not be worked out: {}", context().message);
    return result;
}

bool checked(char answer)
{
    if (answer == 2) fail("the floor plan's geometry could not be worked out: {}", context().message);
    return answer == 1;
}

struct Deleter {
    void operator()(GEOSGeometry* g) const { GEOSGeom_destroy_r(geos(), g); }
};
using Owned = std::unique_ptr<GEOSGeometry, Deleter>;

GEOSCoordSequence* sequence(const std::vector<Vec2d>& points)
{
    std::vector<double> numbers;
    for (const Vec2d& p : points) numbers.push_back(p.x()), numbers.push_back(p.y());
    return GEOSCoordSeq_copyFromBuffer_r(geos(), numbers.data(), static_cast<unsigned>(points.size()), 0, 0);
}

GEOSGeometry* ring_geometry(Ring ring)
{
    ring.push_back(ring.front());
    return checked(GEOSGeom_createLinearRing_r(geos(), sequence(ring)));
}

GEOSGeometry* polygon_geometry(const Polygon& polygon)
{
    if (polygon.outer.size() < 3) return checked(GEOSGeom_createEmptyPolygon_r(geos()));
    std::vector<GEOSGeometry*> holes;
    for (const Ring& hole : polygon.holes)
        if (hole.size() >= 3) holes.push_back(ring_geometry(hole));
    return checked(GEOSGeom_createPolygon_r(geos(), ring_geometry(polygon.outer), holes.data(),
                                            static_cast<unsigned>(holes.size())));
}

// Keeps only parts with an area: overlays leave points and lines where shapes touch.
GEOSGeometry* areas_only(GEOSGeometry* geometry)
{
    Owned owner(checked(geometry));
    const int type = GEOSGeomTypeId_r(geos(), geometry);
    if (type == GEOS_POLYGON || type == GEOS_MULTIPOLYGON) return owner.release();
    std::vector<GEOSGeometry*> parts;
    const int count = type == GEOS_GEOMETRYCOLLECTION ? GEOSGetNumGeometries_r(geos(), geometry) : 0;
    for (int i = 0; i < count; ++i) {
        const GEOSGeometry* part = GEOSGetGeometryN_r(geos(), geometry, i);
        const int kind = GEOSGeomTypeId_r(geos(), part);
        if (kind == GEOS_POLYGON || kind == GEOS_MULTIPOLYGON) parts.push_back(GEOSGeom_clone_r(geos(), part));
    }
    Owned all(checked(GEOSGeom_createCollection_r(geos(), GEOS_GEOMETRYCOLLECTION, parts.data(),
                                                  static_cast<unsigned>(parts.size()))));
    return checked(GEOSUnaryUnion_r(geos(), all.get()));
}

// Even-odd repair keeps every loop but opens areas that are enclosed twice; the union with the other method closes
// them.
GEOSGeometry* repaired(const GEOSGeometry* geometry)
{
    const auto with = [&](GEOSMakeValidMethods method) {
        GEOSMakeValidParams* params = GEOSMakeValidParams_create_r(geos());
        GEOSMakeValidParams_setMethod_r(geos(), params, method);
        GEOSMakeValidParams_setKeepCollapsed_r(geos(), params, 0);
        GEOSGeometry* result = GEOSMakeValidWithParams_r(geos(), geometry, params);
        GEOSMakeValidParams_destroy_r(geos(), params);
        return Owned(areas_only(result));
    };
    const Owned lines = with(GEOS_MAKE_VALID_LINEWORK), structure = with(GEOS_MAKE_VALID_STRUCTURE);
    return areas_only(GEOSUnion_r(geos(), lines.get(), structure.get()));
}

Ring ring_of(const GEOSGeometry* ring, bool counter_clockwise)
{
    const GEOSCoordSequence* points = GEOSGeom_getCoordSeq_r(geos(), ring);
    unsigned count = 0;
    GEOSCoordSeq_getSize_r(geos(), points, &count);
    Ring result(count);
    for (unsigned i = 0; i < count; ++i) GEOSCoordSeq_getXY_r(geos(), points, i, &result[i].x(), &result[i].y());
    if (!result.empty()) result.pop_back();
    char is_ccw = 0;
    if (count >= 4) GEOSCoordSeq_isCCW_r(geos(), points, &is_ccw);
    if ((is_ccw == 1) != counter_clockwise) std::reverse(result.begin(), result.end());
    return result;
}

} // namespace

struct Region::Handle {
    Owned geometry;
};

namespace {
const GEOSGeometry* raw(const auto& handle) { return handle->geometry.get(); }
} // namespace

Region::Region() : Region(static_cast<void*>(checked(GEOSGeom_createEmptyPolygon_r(geos())))) {}

Region::Region(void* geometry) : handle_(std::make_shared<Handle>(Handle{Owned(static_cast<GEOSGeometry*>(geometry))}))
{
}

Region::Region(const Polygon& polygon, std::string* problem)
{
    Owned geometry(polygon_geometry(polygon));
    char* reason = nullptr;
    GEOSGeometry* place = nullptr;
    if (!checked(GEOSisValidDetail_r(geos(), geometry.get(), 0, &reason, &place))) {
        const Owned where(place);
        double x = 0, y = 0;
        if (place) GEOSGeomGetX_r(geos(), place, &x), GEOSGeomGetY_r(geos(), place, &y);
        std::string text = reason ? reason : "not valid";
        std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
        if (problem) *problem = fmt::format("{} at ({:g}, {:g})", text, x, y);
        GEOSFree_r(geos(), reason);
        geometry.reset(repaired(geometry.get()));
    }
    handle_ = std::make_shared<Handle>(Handle{std::move(geometry)});
}

Region::Region(const std::vector<Polygon>& polygons)
{
    std::vector<Region> regions;
    regions.reserve(polygons.size());
    for (const Polygon& p : polygons) regions.emplace_back(p);
    *this = joined(regions);
}

Region::Region(const std::vector<Vec2d>& line, double thickness)
{
    std::vector<Vec2d> points;
    for (const Vec2d& p : line)
        if (points.empty() || p != points.back()) points.push_back(p);
    if (points.size() < 2) {
        *this = Region();
        return;
    }
    if (points.size() > 2 && points.front() == points.back()) points.push_back(points[1]); // closed, without ends
    const Owned path(checked(GEOSGeom_createLineString_r(geos(), sequence(points))));
    *this = Region(areas_only(
        GEOSBufferWithStyle_r(geos(), path.get(), thickness / 2, 2, GEOSBUF_CAP_FLAT, GEOSBUF_JOIN_MITRE, 2.0)));
}

bool Region::empty() const { return checked(GEOSisEmpty_r(geos(), raw(handle_))); }

double Region::area() const
{
    double result = 0;
    GEOSArea_r(geos(), raw(handle_), &result);
    return result;
}

std::vector<Polygon> Region::polygons() const
{
    std::vector<Polygon> result;
    const int count = GEOSGetNumGeometries_r(geos(), raw(handle_));
    for (int i = 0; i < count; ++i) {
        const GEOSGeometry* part = GEOSGetGeometryN_r(geos(), raw(handle_), i);
        if (checked(GEOSisEmpty_r(geos(), part))) continue;
        Polygon& polygon = result.emplace_back();
        polygon.outer = ring_of(GEOSGetExteriorRing_r(geos(), part), true);
        const int holes = GEOSGetNumInteriorRings_r(geos(), part);
        for (int k = 0; k < holes; ++k)
            polygon.holes.push_back(ring_of(GEOSGetInteriorRingN_r(geos(), part, k), false));
    }
    return result;
}

Region Region::joined(const std::vector<Region>& regions)
{
    std::vector<GEOSGeometry*> parts;
    parts.reserve(regions.size());
    for (const Region& region : regions) parts.push_back(GEOSGeom_clone_r(geos(), raw(region.handle_)));
    const Owned all(checked(GEOSGeom_createCollection_r(geos(), GEOS_GEOMETRYCOLLECTION, parts.data(),
                                                        static_cast<unsigned>(parts.size()))));
    return Region(areas_only(GEOSUnaryUnion_r(geos(), all.get())));
}

Region Region::minus(const Region& other) const
{
    return Region(areas_only(GEOSDifference_r(geos(), raw(handle_), raw(other.handle_))));
}

Region Region::common(const Region& other) const
{
    return Region(areas_only(GEOSIntersection_r(geos(), raw(handle_), raw(other.handle_))));
}

Region Region::offset(double distance) const
{
    // A mitre limit just above one: wider turns get one more tangent in the middle.
    return Region(areas_only(
        GEOSBufferWithStyle_r(geos(), raw(handle_), distance, 2, GEOSBUF_CAP_ROUND, GEOSBUF_JOIN_MITRE, 1.02)));
}

Region Region::snapped(double quantum) const
{
    return Region(areas_only(GEOSGeom_setPrecision_r(geos(), raw(handle_), quantum, 0)));
}

bool Region::touches(const Region& other) const
{
    return checked(GEOSIntersects_r(geos(), raw(handle_), raw(other.handle_)));
}

bool Region::covers(const Region& other) const
{
    return checked(GEOSCovers_r(geos(), raw(handle_), raw(other.handle_)));
}

std::vector<std::pair<int, int>> Region::touching_pairs(const std::vector<Region>& regions)
{
    GEOSSTRtree* tree = GEOSSTRtree_create_r(geos(), 10);
    std::vector<int> index(regions.size());
    for (size_t i = 0; i < regions.size(); ++i) {
        index[i] = static_cast<int>(i);
        if (!regions[i].empty()) GEOSSTRtree_insert_r(geos(), tree, raw(regions[i].handle_), &index[i]);
    }
    std::vector<std::pair<int, int>> pairs; // of overlapping bounding boxes first
    for (size_t i = 0; i < regions.size(); ++i) {
        std::pair<int, std::vector<std::pair<int, int>>*> query(index[i], &pairs);
        if (regions[i].empty()) continue;
        GEOSSTRtree_query_r(
            geos(), tree, raw(regions[i].handle_),
            [](void* item, void* data) {
                auto& [self, result] = *static_cast<decltype(query)*>(data);
                if (const int other = *static_cast<int*>(item); self < other) result->emplace_back(self, other);
            },
            &query);
    }
    GEOSSTRtree_destroy_r(geos(), tree);
    std::erase_if(pairs, [&](const auto& p) { return !regions[p.first].touches(regions[p.second]); });
    std::sort(pairs.begin(), pairs.end());
    return pairs;
}

Region Region::joined(const std::vector<Region>& regions, const std::vector<std::pair<int, int>>& touching)
{
    // Groups of regions connected by touching, each listed under its first member.
    std::vector<int> first(regions.size());
    for (size_t i = 0; i < first.size(); ++i) first[i] = static_cast<int>(i);
    const auto root = [&](int i) {
        while (first[i] != i) i = first[i] = first[first[i]];
        return i;
    };
    for (const auto& [i, j] : touching) {
        const int a = root(i), b = root(j);
        first[std::max(a, b)] = std::min(a, b);
    }
    std::vector<std::vector<Region>> groups(regions.size());
    for (size_t i = 0; i < regions.size(); ++i) groups[root(static_cast<int>(i))].push_back(regions[i]);
    // Only groups with several members need a union.
    std::vector<GEOSGeometry*> parts;
    for (const auto& group : groups) {
        if (group.empty()) continue;
        const Region whole = group.size() == 1 ? group.front() : joined(group);
        const int count = GEOSGetNumGeometries_r(geos(), raw(whole.handle_));
        for (int k = 0; k < count; ++k) {
            const GEOSGeometry* part = GEOSGetGeometryN_r(geos(), raw(whole.handle_), k);
            if (!checked(GEOSisEmpty_r(geos(), part))) parts.push_back(GEOSGeom_clone_r(geos(), part));
        }
    }
    return Region(checked(
        GEOSGeom_createCollection_r(geos(), GEOS_MULTIPOLYGON, parts.data(), static_cast<unsigned>(parts.size()))));
}

} // namespace spindrift
