#include "spindrift/io/svg_path.h"

#include <charconv>
#include <map>

namespace spindrift {

void SvgScanner::skip_space()
{
    while (at_ < text_.size() && std::string_view(" \t\r\n\f").find(text_[at_]) != std::string_view::npos) ++at_;
}

bool SvgScanner::skip(char c)
{
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    skip_space();
    return true;
}

std::optional<double> SvgScanner::number()
{
    skip(',');
    size_t from = at_;
    if (from < text_.size() && text_[from] == '+') ++from; // from_chars does not accept it
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + from, text_.data() + text_.size(), value);
    if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
    at_ = end - text_.data();
    return value;
}

std::optional<bool> SvgScanner::flag()
{
    skip(',');
    if (at_ >= text_.size() || (text_[at_] != '0' && text_[at_] != '1')) return std::nullopt;
    return text_[at_++] == '1';
}

std::optional<char> SvgScanner::letter()
{
    skip_space();
    if (at_ >= text_.size() || !std::isalpha(static_cast<unsigned char>(text_[at_]))) return std::nullopt;
    return text_[at_++];
}

std::string_view SvgScanner::word()
{
    skip(',');
    const size_t from = at_;
    while (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_]))) ++at_;
    return text_.substr(from, at_ - from);
}

bool SvgScanner::at_end()
{
    skip_space();
    return at_ >= text_.size();
}

namespace {

class PathReader {
  public:
    PathReader(std::string_view data, double tolerance) : scanner_(data), tolerance_(tolerance) {}

    std::vector<SvgSubpath> read()
    {
        char command = 0;
        while (!scanner_.at_end()) {
            if (const auto letter = scanner_.letter())
                command = *letter;
            else if (command == 'z' || command == 'Z' || command == 0)
                break; // numbers without a command
            if (paths_.empty() && command != 'M' && command != 'm') break;
            if (!draw(command)) break;
            if (command == 'M') command = 'L';
            if (command == 'm') command = 'l';
        }
        std::erase_if(paths_, [](const SvgSubpath& p) { return p.points.size() < 2; });
        return std::move(paths_);
    }

  private:
    // Draws one command with its numbers; false if they are missing.
    bool draw(char command)
    {
        const bool relative = command >= 'a';
        const Vec2d base = relative ? at_ : Vec2d(0, 0);
        const auto point = [&]() -> std::optional<Vec2d> {
            const auto x = scanner_.number();
            const auto y = x ? scanner_.number() : std::nullopt;
            if (!y) return std::nullopt;
            return Vec2d(base + Vec2d(*x, *y));
        };
        const char upper = static_cast<char>(std::toupper(static_cast<unsigned char>(command)));
        if (upper == 'Z') {
            paths_.back().closed = true;
            at_ = paths_.back().points.front();
            paths_.push_back({{at_}, false}); // a following subpath starts here
            previous_ = 'Z';
            return true;
        }
        if (upper == 'H' || upper == 'V') {
            const auto value = scanner_.number();
            if (!value) return false;
            const int axis = upper == 'H' ? 0 : 1;
            Vec2d to = at_;
            to[axis] = base[axis] + *value;
            line_to(to);
        } else if (upper == 'M' || upper == 'L') {
            const auto to = point();
            if (!to) return false;
            if (upper == 'M') paths_.push_back({{}, false});
            line_to(*to);
        } else if (upper == 'C' || upper == 'S') {
            const Vec2d mirrored = previous_ == 'C' || previous_ == 'S' ? Vec2d(2 * at_ - control_) : at_;
            const auto first = upper == 'C' ? point() : mirrored;
            const auto second = first ? point() : std::nullopt;
            const auto to = second ? point() : std::nullopt;
            if (!to) return false;
            curve_to(*first, *second, *to);
            control_ = *second;
        } else if (upper == 'Q' || upper == 'T') {
            const Vec2d mirrored = previous_ == 'Q' || previous_ == 'T' ? Vec2d(2 * at_ - control_) : at_;
            const auto middle = upper == 'Q' ? point() : mirrored;
            const auto to = middle ? point() : std::nullopt;
            if (!to) return false;
            const Vec2d from = at_;
            curve_to(from + 2.0 / 3 * (*middle - from), *to + 2.0 / 3 * (*middle - *to), *to);
            control_ = *middle;
        } else if (upper == 'A') {
            const auto rx = scanner_.number(), ry = scanner_.number(), turn = scanner_.number();
            const auto large = scanner_.flag(), sweep = scanner_.flag();
            const auto to = point();
            if (!rx || !ry || !turn || !large || !sweep || !to) return false;
            arc_to(Vec2d(std::abs(*rx), std::abs(*ry)), *turn * kPi / 180, *large, *sweep, *to);
        } else {
            return false;
        }
        previous_ = upper;
        return true;
    }

    void line_to(const Vec2d& to)
    {
        Ring& points = paths_.back().points;
        if (points.empty() || points.back() != to) points.push_back(to);
        at_ = to;
    }

    void curve_to(const Vec2d& a, const Vec2d& b, const Vec2d& to)
    {
        // The distance between a cubic and n chords is at most its second derivative over 8 n^2.
        const Vec2d from = at_;
        const double bend = 6 * std::max((from - 2 * a + b).norm(), (a - 2 * b + to).norm());
        const double wanted = std::ceil(std::sqrt(bend / (8 * tolerance_)));
        const int n = wanted >= 1 ? static_cast<int>(std::min(wanted, 64.0)) : 1;
        for (int i = 1; i <= n; ++i) {
            const double t = static_cast<double>(i) / n, s = 1 - t;
            line_to(i == n ? to : s * s * s * from + 3 * s * s * t * a + 3 * s * t * t * b + t * t * t * to);
        }
    }

    // Endpoint to centre parameterisation of SVG 1.1, appendix F.6.
    void arc_to(Vec2d radii, double turn, bool large, bool sweep, const Vec2d& to)
    {
        const Vec2d from = at_;
        if (from == to) return;
        if (!(radii.minCoeff() > 0)) return line_to(to);
        const Eigen::Rotation2Dd rotation(turn);
        const Vec2d half = rotation.inverse() * Vec2d((from - to) / 2);
        const double stretch = half.cwiseQuotient(radii).squaredNorm();
        if (stretch > 1) radii *= std::sqrt(stretch);
        const Vec2d unit = half.cwiseQuotient(radii);
        const double off = std::sqrt(std::max(0.0, 1 / unit.squaredNorm() - 1)) * (large == sweep ? -1 : 1);
        const Vec2d middle = off * Vec2d(unit.y(), -unit.x()); // of the unit circle
        const auto angle = [](const Vec2d& v) { return std::atan2(v.y(), v.x()); };
        const double start = angle(unit - middle);
        double sweep_angle = angle(-unit - middle) - start;
        if (sweep && sweep_angle < 0) sweep_angle += 2 * kPi;
        if (!sweep && sweep_angle > 0) sweep_angle -= 2 * kPi;
        const Vec2d center = rotation * Vec2d(middle.cwiseProduct(radii)) + (from + to) / 2;
        const int n = std::max(2, static_cast<int>(std::ceil(std::abs(sweep_angle) / (2 * kPi) * 64)));
        for (int i = 1; i < n; ++i) {
            const double a = start + sweep_angle * i / n;
            line_to(center + rotation * Vec2d(radii.x() * std::cos(a), radii.y() * std::sin(a)));
        }
        line_to(to);
    }

    SvgScanner scanner_;
    double tolerance_;
    std::vector<SvgSubpath> paths_;
    Vec2d at_ = Vec2d::Zero(), control_ = Vec2d::Zero();
    char previous_ = 0;
};

} // namespace

std::vector<SvgSubpath> svg_path(std::string_view data, double tolerance) { return PathReader(data, tolerance).read(); }

Ring svg_ellipse(const Vec2d& center, const Vec2d& radii)
{
    constexpr int sides = 48;
    Ring ring;
    for (int i = 0; i < sides; ++i) {
        const double angle = 2 * kPi * (i + 0.5) / sides;
        ring.emplace_back(center + radii.cwiseProduct(Vec2d(std::cos(angle), std::sin(angle))) / std::cos(kPi / sides));
    }
    return ring;
}

SvgTransform svg_transform(std::string_view text)
{
    SvgTransform result = SvgTransform::Identity();
    SvgScanner scanner(text);
    while (!scanner.at_end()) {
        const std::string_view kind = scanner.word();
        if (kind.empty() || !scanner.skip('(')) break;
        std::vector<double> n;
        while (const auto value = scanner.number()) n.push_back(*value);
        if (!scanner.skip(')')) break;
        SvgTransform step = SvgTransform::Identity();
        if (kind == "matrix" && n.size() == 6)
            step.matrix() << n[0], n[2], n[4], n[1], n[3], n[5], 0, 0, 1;
        else if (kind == "translate" && (n.size() == 1 || n.size() == 2))
            step.translate(Vec2d(n[0], n.size() == 2 ? n[1] : 0));
        else if (kind == "scale" && (n.size() == 1 || n.size() == 2))
            step.scale(Vec2d(n[0], n.back()));
        else if (kind == "rotate" && n.size() == 1)
            step.rotate(n[0] * kPi / 180);
        else if (kind == "rotate" && n.size() == 3)
            step.translate(Vec2d(n[1], n[2])).rotate(n[0] * kPi / 180).translate(Vec2d(-n[1], -n[2]));
        else if (kind == "skewX" && n.size() == 1)
            step.matrix()(0, 1) = std::tan(n[0] * kPi / 180);
        else if (kind == "skewY" && n.size() == 1)
            step.matrix()(1, 0) = std::tan(n[0] * kPi / 180);
        result = result * step;
    }
    return result;
}

std::optional<double> svg_length_metres(std::string_view text)
{
    static const std::map<std::string_view, double> metres = {
        {"m", 1}, {"cm", 1e-2}, {"mm", 1e-3}, {"Q", 0.25e-3}, {"in", 0.0254}, {"pt", 0.0254 / 72}, {"pc", 0.0254 / 6}};
    SvgScanner scanner(text);
    const auto value = scanner.number();
    const auto found = metres.find(scanner.word());
    if (!value || found == metres.end() || !(*value > 0)) return std::nullopt;
    return *value * found->second;
}

} // namespace spindrift
