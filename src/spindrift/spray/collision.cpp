#include "spindrift/spray/collision.h"

#include "spindrift/base/random.h"

#include <Eigen/Geometry>

namespace spindrift {

namespace {

double cubed(double x) { return x * x * x; }

// The two droplets in double precision, and the volumes drawn from them into the ligament.
struct Pair {
    Vec3d x_i, x_j, v_i, v_j;
    double volume_i, volume_j;
    double drawn_i = 0, drawn_j = 0; // [m3]

    Pair(const Droplet& i, const Droplet& j)
        : x_i(i.x.cast<double>()), x_j(j.x.cast<double>()), v_i(i.v.cast<double>()), v_j(j.v.cast<double>()),
          volume_i(ball_volume(i.radius)), volume_j(ball_volume(j.radius))
    {
    }
    double volume() const { return volume_i + volume_j; }
    double drawn() const { return drawn_i + drawn_j; }
    double speed() const { return (v_j - v_i).norm(); }

    // (4.18), with the sign for which z = 1 leaves the velocities as they are and z = 0 makes them equal.
    void slow_down(double z)
    {
        const Vec3d common = (volume_i * v_i + volume_j * v_j) / volume(), apart = z * (v_i - v_j);
        v_i = common + volume_j / volume() * apart;
        v_j = common - volume_i / volume() * apart;
    }
};

Droplet droplet(const Vec3d& x, const Vec3d& v, double volume)
{
    return {x.cast<float>(), v.cast<float>(), static_cast<float>(ball_radius(volume))};
}

// (4.21)-(4.24): volumes drawn into the ligament when droplets graze, in proportion to their interaction volumes.
void draw_ligament(Pair& pair, const Encounter& e, const CollisionRules& rules)
{
    const double d3 = cubed(e.ratio), tau = (1 - e.offset) * (1 + e.ratio), r_i = ball_radius(pair.volume_i);
    const auto [phi_i, phi_j] = interplay_shares(e.offset, e.ratio);
    const double motion =
        0.5 * rules.density * pair.speed() * pair.speed() * pair.volume_i * d3 / ((1 + d3) * (1 + d3));
    const double stretch = motion * ((1 + d3) - (1 - e.offset * e.offset) * (phi_j + d3 * phi_i));
    const double surface =
        2 * rules.surface_tension * std::sqrt(kPi * pair.volume_i * r_i * tau * (phi_i + d3 * phi_j));
    const double dissipated = 0.3 * motion * (1 + d3); // of the kinetic energy in the centre-of-mass frame
    const double share = (stretch - surface - dissipated) / (stretch + surface + dissipated);
    if (!(share > 0)) return;
    pair.drawn_i = share * phi_i * pair.volume_i;
    pair.drawn_j = share * phi_j * pair.volume_j;
}

// Number of droplets that a ligament breaks into (4.26).
int pieces_of(double ligament, double speed, const CollisionRules& rules, int most)
{
    if (!(ligament > 0)) return 0;
    const double pieces = ligament / ball_volume(1.89 * breakup_radius(ligament, speed, rules));
    return static_cast<int>(std::min(pieces, static_cast<double>(most)));
}

bool allowed(double volume, const CollisionRules& rules)
{
    const double radius = ball_radius(volume);
    return radius >= rules.min_radius && radius <= rules.max_radius;
}

// The pieces of the ligament, from i to j (4.27), of equal volume.
//
// As printed, (4.27) makes the piece next to j move least like j; the sign is inverted here. With w = V_lig,j / V_lig
// it reads u_n = u_i + 2 w n / (n_sat + 1) u_ij. Positions follow the same rule, which conserves the centre of mass.
//
// Each piece is then rotated by a random angle a and slowed down by (1 - a)^2, both relative to the velocity of the
// whole ligament. The resulting change of momentum is subtracted.
void break_up(const Pair& pair, int pieces, double eta, uint64_t random, Droplet* out)
{
    const double each = pair.drawn() / pieces, w = pair.drawn_j / pair.drawn();
    const Vec3d mean = pair.v_i + w * (pair.v_j - pair.v_i);
    std::array<Vec3d, kMostSatellites + 2> about_mean;
    Vec3d sum = Vec3d::Zero();
    Random numbers(random);
    for (int n = 1; n <= pieces; ++n) {
        const double along = 2 * w * n / (pieces + 1);
        const double angle = std::min(1.0, eta * pieces * static_cast<double>(numbers.uniform()));
        const double height = static_cast<double>(numbers.uniform(-1, 1));
        const double turn = 2 * kPi * static_cast<double>(numbers.uniform()), across = std::sqrt(1 - height * height);
        const Vec3d axis(across * std::cos(turn), across * std::sin(turn), height);
        const Vec3d v = (along - w) * (pair.v_j - pair.v_i);
        about_mean[n - 1] = (1 - angle) * (1 - angle) * (Eigen::AngleAxisd(angle, axis.normalized()) * v);
        sum += about_mean[n - 1];
    }
    for (int n = 1; n <= pieces; ++n) {
        const double along = 2 * w * n / (pieces + 1);
        out[n - 1] = droplet(pair.x_i + along * (pair.x_j - pair.x_i), mean + about_mean[n - 1] - sum / pieces, each);
    }
}

// (4.14)-(4.17)
void merge(const Pair& pair, const CollisionRules& rules, CollisionResult& result)
{
    if (!(pair.volume() > 0) || ball_radius(pair.volume()) > rules.max_radius) {
        result.outcome = Outcome::none;
        return;
    }
    const double share = pair.volume_j / pair.volume();
    result.droplets[0] =
        droplet(pair.x_i + share * (pair.x_j - pair.x_i), pair.v_i + share * (pair.v_j - pair.v_i), pair.volume());
    result.count = 1;
}

// Stretching and reflexive separation.
void part(Pair pair, const Encounter& e, const CollisionRules& rules, uint64_t random, CollisionResult& result)
{
    const double speed = pair.speed();
    const bool reflexive = result.outcome == Outcome::reflexive;
    if (reflexive) {
        pair.slow_down(std::sqrt(1 - reflexive_threshold(e.offset, e.ratio) / e.weber)); // (4.20)
        pair.drawn_i = pair.volume_i, pair.drawn_j = pair.volume_j;
    } else {
        draw_ligament(pair, e, rules);
        // Where the two threshold models disagree, z would be negative; use 0, which makes the velocities equal.
        const double merging = coalescence_offset(e.weber, e.ratio);
        pair.slow_down(merging < 1 ? std::max(0.0, (e.offset - merging) / (1 - merging)) : 0); // (4.19)
    }
    result.droplets[0].v = pair.v_i.cast<float>(), result.droplets[1].v = pair.v_j.cast<float>();

    // A reflexive pair breaks into pieces entirely; the first and the last replace the droplets.
    const int satellites = std::clamp(rules.max_satellites, 0, kMostSatellites), ends = reflexive ? 2 : 0;
    const int pieces = pieces_of(pair.drawn(), speed, rules, satellites + ends);
    const double rest_i = pair.volume_i - pair.drawn_i, rest_j = pair.volume_j - pair.drawn_j;
    if (pieces <= ends || !allowed(pair.drawn() / pieces, rules)) return;
    if (!reflexive && !(allowed(rest_i, rules) && allowed(rest_j, rules))) return;
    result.count = 2 + pieces - ends;
    const auto first = result.droplets.begin();
    break_up(pair, pieces, rules.perturbation, random, &*first + 2 - ends);
    if (reflexive) {
        std::rotate(first + 1, first + pieces - 1, first + pieces); // the last piece replaces the smaller droplet
        return;
    }
    result.droplets[0] = droplet(pair.x_i, pair.v_i, rest_i);
    result.droplets[1] = droplet(pair.x_j, pair.v_j, rest_j);
}

} // namespace

Encounter encounter_of(const Droplet& i, const Droplet& j, const CollisionRules& rules)
{
    const Vec3d x = (j.x - i.x).cast<double>(), u = j.v.cast<double>() - i.v.cast<double>();
    const double speed = u.norm(), reach = static_cast<double>(i.radius) + j.radius;
    const double away = speed > 0 ? (x - x.dot(u / speed) * (u / speed)).norm() : x.norm();
    Encounter e;
    e.weber = 2.0 * rules.density * j.radius * speed * speed / rules.surface_tension; // (4.2)
    e.offset = reach > 0 ? std::min(1.0, away / reach) : 0;                           // (4.3)
    e.ratio = i.radius > 0 ? static_cast<double>(j.radius) / i.radius : 1;            // (4.4)
    return e;
}

double breakup_radius(double volume, double speed, const CollisionRules& rules)
{
    const double r_0 = std::cbrt(volume / kPi); // initially a cylinder as long as its radius
    const double weber = 2 * r_0 * rules.density * speed * speed / rules.surface_tension;
    const double stretch = 3 / (4 * std::sqrt(2.0)) * 11.5 * 0.45 * std::sqrt(weber);
    // Solve stretch s^(7/2) + s^2 = 1 by Newton's method, with bisection where a step leaves the bracket.
    double low = 0, high = 1, s = 1 / (1 + std::pow(stretch, 2.0 / 7));
    for (int step = 0; step < 60 && high - low > 1e-12 * high; ++step) {
        const double power = stretch * s * s * std::sqrt(s); // stretch s^(5/2)
        const double value = s * power + s * s - 1;
        (value > 0 ? high : low) = s;
        const double next = s - value / (3.5 * power + 2 * s);
        const bool inside = next > low && next < high;
        if (std::abs(next - s) < 1e-13 * s) break;
        s = inside ? next : 0.5 * (low + high);
    }
    return s * r_0;
}

CollisionResult collide(const Droplet& larger, const Droplet& smaller, const CollisionRules& rules, uint64_t random)
{
    const Encounter e = encounter_of(larger, smaller, rules);
    CollisionResult result{outcome_of(e), 2, {}};
    result.droplets[0] = larger, result.droplets[1] = smaller;
    if (result.outcome == Outcome::coalescence)
        merge(Pair(larger, smaller), rules, result);
    else
        part(Pair(larger, smaller), e, rules, random, result);
    return result;
}

} // namespace spindrift
