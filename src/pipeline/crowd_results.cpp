#include "pipeline/crowd_results.h"

#include "base/error.h"
#include "crowd/plane.h"
#include "io/atomic_file.h"
#include "io/image.h"
#include "io/vdb.h"

#include <fmt/format.h>
#include <fstream>
#include <unordered_map>

namespace spindrift {

namespace {

// Whether a step from a to b crosses a line, and to which side: 1 from its right to its left, -1 back, 0 not at all.
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

struct Counts {
    std::vector<std::string> names;
    std::vector<std::vector<double>> rows; // of each frame
};

// Curves over time, each scaled to its own highest value.
Image plot_of(const Counts& counts)
{
    constexpr int kWidth = 800, kHeight = 400, kMargin = 12;
    Image image(kWidth, kHeight);
    std::fill(image.pixels.begin(), image.pixels.end(), Vec3f::Ones());
    const Vec3f ink = Vec3f::Constant(0.05f);
    for (int x = kMargin; x < kWidth - kMargin; ++x) image.at(x, kHeight - kMargin) = ink;
    for (int y = kMargin; y < kHeight - kMargin; ++y) image.at(kMargin, y) = ink;
    const Vec3f colors[] = {{0.05f, 0.05f, 0.05f}, {0.10f, 0.28f, 0.70f}, {0.85f, 0.42f, 0.05f},
                            {0.10f, 0.50f, 0.20f}, {0.60f, 0.10f, 0.45f}, {0.45f, 0.35f, 0.05f}};
    const size_t frames = counts.rows.size();
    for (size_t c = 0; c < counts.names.size(); ++c) {
        double most = 0;
        for (const auto& row : counts.rows) most = std::max(most, std::abs(row[c]));
        if (most == 0) continue;
        const auto height_at = [&](double frame) {
            const auto below = std::min(static_cast<size_t>(frame), frames - 1),
                       above = std::min(below + 1, frames - 1);
            const double share = frame - static_cast<double>(below);
            return std::abs(counts.rows[below][c] * (1 - share) + counts.rows[above][c] * share) / most;
        };
        int last = -1;
        for (int x = 0; x < kWidth - 2 * kMargin; ++x) {
            const double frame = static_cast<double>(x) / (kWidth - 2 * kMargin - 1) * static_cast<double>(frames - 1);
            const int y = kHeight - kMargin - static_cast<int>(height_at(frame) * (kHeight - 2 * kMargin - 1));
            for (int at = std::min(last < 0 ? y : last, y); at <= std::max(last < 0 ? y : last, y); ++at)
                image.at(kMargin + x, at) = colors[c % std::size(colors)];
            last = y;
        }
    }
    return image;
}

} // namespace

void write_crowd_results(const std::vector<std::string>& files, const FloorPlan& plan, float fps,
                         const std::string& folder, Progress& progress)
{
    Counts counts;
    counts.names = {"people", "left"};
    for (const PlanPolygon& area : plan.areas) counts.names.push_back("in " + area.name);
    for (const PlanLine& line : plan.lines) counts.names.push_back("over " + line.name);

    // Written as they are read: those of a large crowd do not fit into memory.
    write_atomically(folder + "/trajectories.txt", [&](const std::string& temporary) {
        std::ofstream out(temporary);
        out << fmt::format("# framerate: {}\n# id\tframe\tx/m\ty/m\tz/m\n", fps);
        std::unordered_map<int32_t, Vec2d> before;
        std::vector<double> crossed(plan.lines.size());
        size_t seen = 0;
        for (size_t frame = 0; frame < files.size(); ++frame) {
            const Particles people = read_particles(files[frame]).particles;
            std::vector<size_t> order(people.size());
            for (size_t i = 0; i < order.size(); ++i) order[i] = i;
            std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return people.id[a] < people.id[b]; });
            std::unordered_map<int32_t, Vec2d> now;
            std::vector<double> inside(plan.areas.size());
            for (const size_t i : order) {
                const Vec2d x(people.P[i].x(), -people.P[i].z());
                out << fmt::format("{}\t{}\t{:.4f}\t{:.4f}\t0\n", people.id[i], frame, x.x(), x.y());
                now[people.id[i]] = x;
                seen = std::max(seen, static_cast<size_t>(people.id[i]) + 1);
                for (size_t a = 0; a < plan.areas.size(); ++a) inside[a] += contains(plan.areas[a].shape, x) ? 1 : 0;
                if (const auto was = before.find(people.id[i]); was != before.end())
                    for (size_t l = 0; l < plan.lines.size(); ++l)
                        crossed[l] += crossing(was->second, x, plan.lines[l].points);
            }
            std::vector<double> row = {static_cast<double>(people.size()), static_cast<double>(seen - people.size())};
            row.insert(row.end(), inside.begin(), inside.end());
            row.insert(row.end(), crossed.begin(), crossed.end());
            counts.rows.push_back(std::move(row));
            before = std::move(now);
        }
        if (!out.flush()) fail("cannot write {}", temporary);
    });
    std::string table = "frame,seconds";
    for (const std::string& name : counts.names) table += "," + name;
    table += "\n";
    for (size_t frame = 0; frame < counts.rows.size(); ++frame) {
        table += fmt::format("{},{:.4f}", frame, static_cast<double>(frame) / static_cast<double>(fps));
        for (const double value : counts.rows[frame]) table += fmt::format(",{:.0f}", value);
        table += "\n";
    }
    write_file(folder + "/counts.csv", table);
    write_image(folder + "/counts.png", plot_of(counts));
    for (size_t frame = 0; frame < counts.rows.size(); ++frame)
        if (frame > 0 && counts.rows[frame][0] == 0) {
            progress.say(fmt::format("crowd: everyone has left after {:.1f} s",
                                     static_cast<double>(frame) / static_cast<double>(fps)));
            break;
        }
}

} // namespace spindrift
