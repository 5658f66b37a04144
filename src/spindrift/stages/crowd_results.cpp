#include "spindrift/stages/crowd_results.h"

#include "spindrift/base/error.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/plot.h"
#include "spindrift/io/vdb.h"
#include "spindrift/plan/plane.h"

#include <fmt/format.h>
#include <fstream>
#include <unordered_map>

namespace spindrift {

namespace {

// Whether the step from a to b crosses a line: 1 from its right to its left, -1 from left to right, 0 not at all.
int crossing(const Vec2d& a, const Vec2d& b, const std::vector<Vec2d>& line)
{
    int sum = 0;
    const auto side = [](const Vec2d& p, const Vec2d& from, const Vec2d& to) {
        return (to - from).x() * (p - from).y() - (to - from).y() * (p - from).x() > 0;
    };
    for (size_t i = 1; i < line.size(); ++i) {
        const Vec2d &from = line[i - 1], &to = line[i];
        const bool start = side(a, from, to), end = side(b, from, to);
        if (start != end && side(from, a, b) != side(to, a, b)) sum += end ? 1 : -1;
    }
    return sum;
}

// Counts of one frame.
struct Count {
    double people = 0, left = 0;
    std::vector<double> inside;  // per area
    std::vector<double> crossed; // per line so far: right to left and left to right, alternating
};

// Reads one frame at a time: those of a large crowd do not fit into memory together. Calls `each` for every person of a
// frame in the order of their ids.
template <class Each>
std::vector<Count> count_people(const std::vector<std::string>& files, const FloorPlan& plan, const Each& each)
{
    std::vector<Count> counts;
    std::unordered_map<int32_t, Vec2d> before;
    std::vector<double> crossed(2 * plan.lines.size());
    size_t seen = 0;
    for (size_t frame = 0; frame < files.size(); ++frame) {
        const Particles people = read_particles(files[frame]).particles;
        std::vector<size_t> order(people.size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return people.id[a] < people.id[b]; });
        std::unordered_map<int32_t, Vec2d> now;
        now.reserve(people.size());
        Count count;
        count.inside.resize(plan.areas.size());
        for (const size_t i : order) {
            const Vec2d x(people.P[i].x(), -people.P[i].z());
            each(frame, people.id[i], x);
            now[people.id[i]] = x;
            seen = std::max(seen, static_cast<size_t>(people.id[i]) + 1);
            for (size_t a = 0; a < plan.areas.size(); ++a) count.inside[a] += contains(plan.areas[a].shape, x) ? 1 : 0;
            if (const auto was = before.find(people.id[i]); was != before.end())
                for (size_t l = 0; l < plan.lines.size(); ++l)
                    if (const int over = crossing(was->second, x, plan.lines[l].points); over != 0)
                        crossed[2 * l + (over < 0)] += std::abs(over);
        }
        count.people = static_cast<double>(people.size());
        count.left = static_cast<double>(seen - people.size());
        count.crossed = crossed;
        counts.push_back(std::move(count));
        before = std::move(now);
    }
    return counts;
}

double area_of(const Polygon& polygon)
{
    const auto of_ring = [](const std::vector<Vec2d>& ring) {
        double twice = 0;
        for (size_t i = 0; i < ring.size(); ++i) {
            const Vec2d &a = ring[i], &b = ring[(i + 1) % ring.size()];
            twice += a.x() * b.y() - a.y() * b.x();
        }
        return 0.5 * std::abs(twice);
    };
    double area = of_ring(polygon.outer);
    for (const auto& hole : polygon.holes) area -= of_ring(hole);
    return area;
}

// All counts over time.
struct Table {
    const FloorPlan& plan;
    const std::vector<Count>& counts;
    double fps;

    double seconds(size_t frame) const { return static_cast<double>(frame) / fps; }
    double density(size_t frame, size_t area) const
    {
        return counts[frame].inside[area] / area_of(plan.areas[area].shape);
    }
    size_t ways() const { return 2 * plan.lines.size(); }
    std::string way_name(size_t way) const { return (way % 2 ? "back over " : "over ") + plan.lines[way / 2].name; }
    // Flow over a line in one direction [people/s], averaged over a few seconds around the frame.
    double flow(size_t frame, size_t way) const
    {
        constexpr double kHalfWindow = 2.5; // [s]
        const auto reach = static_cast<size_t>(std::max(1.0, std::round(kHalfWindow * fps)));
        const size_t from = frame > reach ? frame - reach : 0, to = std::min(frame + reach, counts.size() - 1);
        if (to == from) return 0;
        return (counts[to].crossed[way] - counts[from].crossed[way]) / (seconds(to) - seconds(from));
    }
    // When a share of all people had left [s]; NaN if they have not.
    double left_at(double share) const
    {
        const double all = counts.back().people + counts.back().left;
        for (size_t frame = 0; frame < counts.size(); ++frame)
            if (all > 0 && counts[frame].left >= share * all && counts.back().left > 0) return seconds(frame);
        return std::numeric_limits<double>::quiet_NaN();
    }
    template <class Value> double greatest(const Value& value) const
    {
        double most = 0;
        for (size_t frame = 0; frame < counts.size(); ++frame) most = std::max(most, std::abs(value(frame)));
        return most;
    }
    template <class Value> PlotSeries curve(const std::string& name, const Value& value) const
    {
        constexpr size_t kPoints = 600; // more would not be visible
        PlotSeries series{name, {}, false};
        const size_t step = std::max<size_t>(1, counts.size() / kPoints);
        for (size_t frame = 0; frame < counts.size(); frame += step)
            series.points.emplace_back(seconds(frame), value(frame));
        return series;
    }
};

// Escapes a name for CSV.
std::string cell_of(std::string name)
{
    std::replace(name.begin(), name.end(), ',', ';');
    std::replace(name.begin(), name.end(), '\n', ' ');
    return name;
}

std::string frames_csv(const Table& table)
{
    std::string csv = "frame,seconds,people,left";
    for (const PlanPolygon& area : table.plan.areas)
        csv += fmt::format(",in {0},density in {0} [1/m2]", cell_of(area.name));
    for (size_t way = 0; way < table.ways(); ++way) csv += "," + cell_of(table.way_name(way));
    csv += "\n";
    for (size_t frame = 0; frame < table.counts.size(); ++frame) {
        const Count& count = table.counts[frame];
        csv += fmt::format("{},{:.4f},{:.0f},{:.0f}", frame, table.seconds(frame), count.people, count.left);
        for (size_t a = 0; a < table.plan.areas.size(); ++a)
            csv += fmt::format(",{:.0f},{:.4f}", count.inside[a], table.density(frame, a));
        for (const double crossed : count.crossed) csv += fmt::format(",{:.0f}", crossed);
        csv += "\n";
    }
    return csv;
}

std::string summary_csv(const Table& table)
{
    std::string csv = "what,value,unit\n";
    const auto row = [&](const std::string& what, double value, const char* unit) {
        csv += fmt::format("{},{:.6g},{}\n", cell_of(what), value, unit);
    };
    // A time that lies beyond the end of the shot is an empty cell, as spreadsheets and CSV readers expect for a
    // missing number. The number of people who have left by the end has a row of its own.
    const auto time_row = [&](const std::string& what, double share) {
        const double seconds = table.left_at(share);
        csv += fmt::format("{},{},s\n", what, std::isfinite(seconds) ? fmt::format("{:.6g}", seconds) : "");
    };
    row("people", table.counts.back().people + table.counts.back().left, "");
    row("left by the end of the shot", table.counts.back().left, "");
    row("end of the shot", table.seconds(table.counts.size() - 1), "s");
    time_row("half have left after", 0.5);
    time_row("nine in ten have left after", 0.9);
    time_row("everyone has left after", 1);
    for (size_t a = 0; a < table.plan.areas.size(); ++a)
        row("greatest density in " + table.plan.areas[a].name,
            table.greatest([&](size_t frame) { return table.density(frame, a); }), "1/m2");
    for (size_t way = 0; way < table.ways(); ++way) {
        row(table.way_name(way), table.counts.back().crossed[way], "");
        row("greatest flow " + table.way_name(way),
            table.greatest([&](size_t frame) { return table.flow(frame, way); }), "1/s");
    }
    return csv;
}

void write_plots(const Table& table, const std::string& folder)
{
    const FloorPlan& plan = table.plan;
    Plot people{"People", "time [s]", "people", {}}, density{"Density", "time [s]", "people a square metre", {}},
        flow{"Flow", "time [s]", "people a second", {}};
    people.series.push_back(table.curve("on the floor", [&](size_t f) { return table.counts[f].people; }));
    people.series.push_back(table.curve("left", [&](size_t f) { return table.counts[f].left; }));
    for (size_t a = 0; a < plan.areas.size(); ++a) {
        people.series.push_back(
            table.curve("in " + plan.areas[a].name, [&](size_t f) { return table.counts[f].inside[a]; }));
        density.series.push_back(table.curve(plan.areas[a].name, [&](size_t f) { return table.density(f, a); }));
    }
    for (size_t way = 0; way < table.ways(); ++way)
        if (table.counts.back().crossed[way] > 0)
            flow.series.push_back(table.curve(table.way_name(way), [&](size_t f) { return table.flow(f, way); }));
    write_file(folder + "/people.svg", svg_of(people));
    if (!density.series.empty()) write_file(folder + "/density.svg", svg_of(density));
    if (!flow.series.empty()) write_file(folder + "/flow.svg", svg_of(flow));
}

} // namespace

std::vector<std::string> crowd_result_files(const std::string& folder)
{
    std::vector<std::string> files;
    for (const char* name : {"trajectories.txt", "counts.csv", "summary.csv", "people.svg", "density.svg", "flow.svg"})
        files.push_back(folder + "/" + name);
    return files;
}

std::string write_crowd_results(const std::vector<std::string>& files, const FloorPlan& plan, float fps,
                                bool trajectories, const std::string& folder)
{
    std::vector<Count> counts;
    if (trajectories)
        write_atomically(folder + "/trajectories.txt", [&](const std::string& temporary) {
            std::ofstream out(temporary);
            out << fmt::format("# framerate: {}\n# id\tframe\tx/m\ty/m\tz/m\n", fps);
            counts = count_people(files, plan, [&](size_t frame, int32_t id, const Vec2d& x) {
                out << fmt::format("{}\t{}\t{:.4f}\t{:.4f}\t0\n", id, frame, x.x(), x.y());
            });
            if (!out.flush()) fail("cannot write {}", temporary);
        });
    else
        counts = count_people(files, plan, [](size_t, int32_t, const Vec2d&) {});
    const Table table{plan, counts, static_cast<double>(fps)};
    write_file(folder + "/counts.csv", frames_csv(table));
    write_file(folder + "/summary.csv", summary_csv(table));
    write_plots(table, folder);
    if (const double seconds = table.left_at(1); std::isfinite(seconds))
        return fmt::format("crowd: everyone has left after {:.1f} s", seconds);
    return fmt::format("crowd: {:.0f} of {:.0f} people have left by the end of the shot", counts.back().left,
                       counts.back().left + counts.back().people);
}

} // namespace spindrift
