#include "spindrift/ripples/ripples.h"

#include "spindrift/base/error.h"
#include "spindrift/base/scratch.h"
#include "spindrift/points/state_checks.h"
#include "spindrift/turbulence/sampler.h"

namespace spindrift {

namespace {

// Ripples end at this distance from the liquid's surface [cells of the liquid]: beyond it the distance has no reliable
// slope.
constexpr float kValidBand = 1.3f;
constexpr float kMinSlope = 0.5f;
// Distance outside the tiles, which are surrounded by air [cells of the liquid].
constexpr float kOutside = 1.5f;

// The liquid's surface in one tile of the finer grid.
class SurfaceTile {
  public:
    SurfaceTile(const SmoothField& surface, const Vec3i& tile, float voxel) : voxel_(voxel)
    {
        surface.sample(tile, samples_);
    }
    Row distance(int o) const { return load_row(samples_.value + o); } // [m]
    Row3 gradient(int o) const
    {
        return (1 / voxel_) *
               Row3{load_row(samples_.slope[0] + o), load_row(samples_.slope[1] + o), load_row(samples_.slope[2] + o)};
    }
    RowMask valid(int o) const
    {
        const Row3 g = gradient(o);
        const Row phi = distance(o), size = max(phi, -phi);
        return (size < splat(kValidBand * voxel_)) & (g.x * g.x + g.y * g.y + g.z * g.z > splat(kMinSlope * kMinSlope));
    }

  private:
    float voxel_;
    SmoothField::Tile samples_;
};

Row choose(RowMask mask, Row a, Row b) { return mask ? a : b; }
Row abs_row(Row x) { return max(x, -x); }
float sum(Row r) { return ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7])); }

int floor_div(int a, int b) { return (a >= 0 ? a : a - b + 1) / b; }

} // namespace

float max_speed(const Flow& flow)
{
    return parallel_reduce(
        flow.topology().tile_count(), 0.0f,
        [&](size_t t) {
            const int tile = static_cast<int>(t);
            float most = 0;
            for (int c = 0; c < kTileCells; ++c)
                if (flow.open(tile, c))
                    for (const Field<float>& u : flow.velocity.u) most = std::max(most, std::abs(u.tile(tile)[c]));
            return most;
        },
        [](float a, float b) { return std::max(a, b); }, 16);
}

Vec3i Ripples::coarse_cell(const Vec3i& fine_cell) const
{
    const int n = params_.refine;
    return {floor_div(fine_cell.x(), n), floor_div(fine_cell.y(), n), floor_div(fine_cell.z(), n)};
}

void Ripples::step(const Flow& flow, float gravity, float dt)
{
    if (!flow.fluid_distance) fail("ripples need the distance to the liquid's surface");
    const float tau = gravity > 0 ? ripple_time(flow.voxel, gravity) : kInfinity;
    copy_flow(flow);
    find_energy(tau);
    turbulence_.step({flow.velocity, flow.voxel, flow.solid_distance, flow.fluid_distance, &energy_}, dt);
    advect_difference(flow, dt);
    drive(tau, dt);
    extend_along_normals();
    correct_volume();
}

void Ripples::set(const Flow& flow, const Field<float>& difference, const Field<float>& difference_before)
{
    copy_flow(flow);
    update_tiles();
    for_each_tile(*topology_, [&](int tile) {
        const int from = difference.topology().find(topology_->tile(tile));
        std::copy_n(difference.tile(from), kTileCells, d_.tile(tile));
    });
    store_before(difference_before);
}

void Ripples::copy_flow(const Flow& flow)
{
    voxel_ = flow.voxel;
    const bool same = flow.topology().codes() == flow_topology_->codes();
    if (!same || ones_.bytes() == 0) {
        if (!same) *flow_topology_ = flow.topology();
        diffusion_.set_topology(*flow_topology_);
        ones_.reset(*flow_topology_, 1, 0);
    }
    const auto keep = [&](const Field<float>* from, float otherwise, Field<float>& to) {
        to.reset_uninitialized(*flow_topology_, otherwise);
        for_each_tile(*flow_topology_, [&](int tile) {
            if (from)
                std::copy_n(from->tile(tile), kTileCells, to.tile(tile));
            else
                std::fill_n(to.tile(tile), kTileCells, otherwise);
        });
    };
    keep(flow.fluid_distance, kOutside * voxel_, distance_);
    keep(flow.solid_distance, 1, solid_distance_);
}

// (3.14) E' = (delta / tau')^2, with delta the mean of |phi - phi~| over a cell of the liquid's grid. A tile of the
// finer grid contains whole cells of the liquid's grid.
void Ripples::find_energy(float tau)
{
    energy_.reset(*flow_topology_, 0);
    const int n = params_.refine, across = kTileSize / n;
    const float share = 1 / static_cast<float>(n * n * n);
    for_each_tile(*topology_, [&](int tile) {
        const Vec3i first = coarse_cell(topology_->first_cell(tile));
        const int to = flow_topology_->find(tile_of_cell(first));
        if (to == flow_topology_->tile_count()) return;
        float height[kTileCells / 8] = {};
        const float* d = d_.tile(tile);
        for (int c = 0; c < kTileCells; ++c) {
            const Vec3i at = cell_in_tile(c) / n;
            height[(at.x() * across + at.y()) * across + at.z()] += std::abs(d[c]);
        }
        for (int k = 0; k < across * across * across; ++k) {
            const Vec3i cell = first + Vec3i(k / (across * across), k / across % across, k % across);
            const float speed = share * height[k] / tau;
            energy_.tile(to)[offset_of_cell(cell)] = speed * speed;
        }
    });
}

// Tiles around the current and the previous surface.
void Ripples::update_tiles()
{
    std::vector<uint64_t> codes = band_;
    const int n = params_.refine;
    std::vector<std::vector<uint64_t>> near(flow_topology_->tile_count());
    for_each_tile(*flow_topology_, [&](int tile) {
        std::vector<uint64_t>& found = near[tile];
        const Vec3i first = flow_topology_->first_cell(tile);
        for (int c = 0; c < kTileCells; ++c)
            if (in_band(distance_.tile(tile)[c]))
                found.push_back(morton_of_tile(tile_of_cell((first + cell_in_tile(c)) * n)));
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
    });
    band_.clear();
    for (const auto& found : near) band_.insert(band_.end(), found.begin(), found.end());
    std::sort(band_.begin(), band_.end());
    codes.insert(codes.end(), band_.begin(), band_.end());

    auto taken = std::make_unique<Topology>(std::move(codes));
    if (taken->codes() == topology_->codes()) return;
    next_.reset_uninitialized(*taken, 0);
    for_each_tile(*taken, [&](int tile) {
        std::copy_n(d_.tile(topology_->find(taken->tile(tile))), kTileCells, next_.tile(tile));
    });
    std::swap(d_, next_), std::swap(topology_, taken);
}

// Advect d with U + u', in substeps limited by the reach of the advection on the finer grid.
void Ripples::advect_difference(const Flow& flow, float dt)
{
    update_tiles();
    turbulence_.velocity().sample_cells(*topology_, voxel(), eddies_);
    if (max_abs(d_) == 0) return;
    Carrier carrier;
    carrier.velocity = &flow.velocity;
    carrier.refine = params_.refine;
    carrier.detail = eddies_;
    // Eddies in a sheared jet can be several times faster than the liquid; the step ignores them and ripples there are
    // cut short.
    const float way = max_speed(flow) * dt / voxel();
    const float steps = std::max(1.0f, std::ceil(way / kMaxTraceCells));
    constexpr float kMaxSteps = 1000;
    if (!(steps <= kMaxSteps))
        fail("ripples would move {:.3g} cells in one step of the liquid; check the velocities of sources, colliders "
             "and bodies",
             way);
    carrier.cells = dt / voxel() / steps;
    const AdvectedField field = {Location::center, &d_, &next_};
    for (int step = 0; step < static_cast<int>(steps); ++step) {
        advect(carrier, Advection::maccormack, {&field, 1}, scratch_);
        std::swap(d_, next_);
    }
}

// Local mean of what turbulence does to the surface, at wavelengths too long for ripples.
void Ripples::find_mean_drive()
{
    mean_drive_.reset(*flow_topology_, 0), mean_weight_.reset(*flow_topology_, 0);
    const SmoothField surface(distance_, params_.refine);
    const int n = params_.refine;
    for_each_tile(*topology_, [&](int tile) {
        const Vec3i first = topology_->first_cell(tile);
        const int to = flow_topology_->find(tile_of_cell(coarse_cell(first)));
        if (to == flow_topology_->tile_count()) return;
        const SurfaceTile base(surface, topology_->tile(tile), voxel_);
        for_each_row([&](int x, int y, int o) {
            const Row3 g = base.gradient(o);
            const Row near =
                choose(base.valid(o) & (abs_row(base.distance(o)) < splat(0.5f * voxel_)), splat(1), splat(0));
            const Row drive =
                near * -(g.x * load_row(eddies_[0].tile(tile) + o) + g.y * load_row(eddies_[1].tile(tile) + o) +
                         g.z * load_row(eddies_[2].tile(tile) + o));
            for (int z = 0; z < kTileSize; z += n) {
                float added = 0, weight = 0;
                for (int k = z; k < z + n; ++k) added += drive[k], weight += near[k];
                const int c = offset_of_cell(coarse_cell(first + Vec3i(x, y, z)));
                mean_drive_.tile(to)[c] += added, mean_weight_.tile(to)[c] += weight;
            }
        });
    });
    constexpr int kSteps = 2; // two steps of diffusion approximate a Gaussian
    const float deviation = 0.25f * params_.longest;
    for (int s = 0; s < kSteps; ++s)
        for (Field<float>* field : {&mean_drive_, &mean_weight_})
            diffusion_.step(*field, ones_, 0.5f * deviation * deviation / kSteps);
    for_each_tile(*flow_topology_, [&](int tile) {
        float *mean = mean_drive_.tile(tile), *weight = mean_weight_.tile(tile);
        for (int c = 0; c < kTileCells; ++c) mean[c] = weight[c] > 1e-4f ? mean[c] / weight[c] : 0;
    });
}

// Integrates the source -u' . grad phi~ and the relaxation (3.13) exactly: d' = s - d / tau'.
void Ripples::drive(float tau, float dt)
{
    find_mean_drive();
    const float left = std::exp(-dt / tau), gained = tau < kInfinity ? tau * (1 - left) : dt;
    const Row most = splat(params_.most_height * voxel_);
    const SmoothField surface(distance_, params_.refine), mean(mean_drive_, params_.refine);
    for_each_tile(*topology_, [&](int tile) {
        const SurfaceTile base(surface, topology_->tile(tile), voxel_);
        SmoothField::Tile offset;
        mean.sample(topology_->tile(tile), offset);
        float* d = d_.tile(tile);
        for_each_row([&](int, int, int o) {
            const Row3 g = base.gradient(o);
            const Row s = -(g.x * load_row(eddies_[0].tile(tile) + o) + g.y * load_row(eddies_[1].tile(tile) + o) +
                            g.z * load_row(eddies_[2].tile(tile) + o)) -
                          load_row(offset.value + o);
            const Row moved = min(max(left * load_row(d + o) + gained * s, -most), most);
            store_row(d + o, choose(base.valid(o), moved, splat(0)));
        });
    });
}

void Ripples::begin_frame() { store_before(d_); }

void Ripples::store_before(const Field<float>& d)
{
    *topology_before_ = d.topology();
    before_.reset_uninitialized(*topology_before_, 0);
    for_each_tile(*topology_before_, [&](int tile) { std::copy_n(d.tile(tile), kTileCells, before_.tile(tile)); });
}

// Vectors n along the gradient with grad phi~ . n = 1, at the cells of topology(); zero away from the surface.
Field<Vec3f> Ripples::normals() const
{
    Field<Vec3f> out;
    out.reset_uninitialized(*topology_, Vec3f::Zero());
    const SmoothField surface(distance_, params_.refine);
    for_each_tile(*topology_, [&](int tile) {
        const SurfaceTile base(surface, topology_->tile(tile), voxel_);
        for (int o = 0; o < kTileCells; o += kTileSize) {
            const Row3 g = base.gradient(o);
            const RowMask valid = base.valid(o);
            for (int k = 0; k < kTileSize; ++k) {
                const Vec3f gradient(g.x[k], g.y[k], g.z[k]);
                out.tile(tile)[o + k] = valid[k] ? Vec3f(gradient / gradient.squaredNorm()) : Vec3f::Zero();
            }
        }
    });
    return out;
}

// The liquid's surface is advected by U: phi~_before(x - dt U) = phi~(x), which is -d(x) on the rippled surface. The
// rippled surface also rises along n, with grad phi~ . n = 1. At its previous position phi_before = 0:
//
//     -d(x) - rise + d_before(x - dt U - rise n) = 0.
//
// U is taken at x, not at the liquid's surface below, so that it includes the rotation of the normal.
void Ripples::add_motion(std::span<const Vec3f> points, float seconds, std::span<Vec3f> velocities) const
{
    constexpr int kIterations = 8;
    constexpr float kRelaxation = 0.7f; // under-relaxation: converges although d varies slightly along the normal
    if (max_abs(d_) == 0 && max_abs(before_) == 0) return;
    const Field<Vec3f> normals = this->normals();
    parallel_chunks(points.size(), 1024, [&](size_t begin, size_t end) {
        Sampler now(*topology_), before(*topology_before_);
        const auto sample = [&](Sampler& sampler, const auto& field, const Vec3f& x) {
            auto sum = field.background();
            sampler.for_each_sample(x / voxel(), Vec3f::Constant(0.5f), [&](int tile, int offset, float weight) {
                sum += weight * field.tile(tile)[offset];
            });
            return sum;
        };
        for (size_t i = begin; i < end; ++i) {
            const Vec3f from = points[i] - seconds * velocities[i], normal = sample(now, normals, points[i]);
            const float d = sample(now, d_, points[i]);
            const auto residual_at = [&](float rise) {
                return sample(before, before_, from - rise * normal) - d - rise;
            };
            float rise = 0, residual = residual_at(rise); // [m]
            for (int k = 0; k < kIterations; ++k) {
                const float next = rise + kRelaxation * residual, next_residual = residual_at(next);
                if (!(std::abs(next_residual) < std::abs(residual))) break; // a fold
                rise = next, residual = next_residual;
            }
            if (rise != 0) velocities[i] += rise / seconds * normal;
        }
    });
}

// Sets cells off the surface to the value at the nearest point of the liquid's surface.
void Ripples::extend_along_normals()
{
    constexpr int kMargin = 8;
    constexpr float kReach = kMargin - 2.0f; // cells
    if (max_abs(d_) == 0) return;
    const SmoothField surface(distance_, params_.refine);
    const float fine = voxel(), band = kValidBand * static_cast<float>(params_.refine);
    using Samples = MacBlock<kMargin>;
    for (float reached = 0; reached < band; reached += kReach) {
        next_.reset_uninitialized(*topology_, 0);
        for_each_tile(*topology_, [&](int tile) {
            auto& before = thread_scratch<Block<float, kMargin>>();
            before.gather(d_, tile);
            const SurfaceTile base(surface, topology_->tile(tile), voxel_);
            for_each_row([&](int x, int y, int o) {
                const Row3 g = base.gradient(o);
                const Row away = base.distance(o) / fine, here = load_row(d_.tile(tile) + o);
                const Row steep = max(g.x * g.x + g.y * g.y + g.z * g.z, splat(kMinSlope * kMinSlope));
                const Row step = -away / steep;
                const Row longest = max(max(abs_row(step * g.x), abs_row(step * g.y)), abs_row(step * g.z));
                const Row part = step * min(splat(1), kReach / max(longest, splat(1e-6f)));
                const Row3 to = {static_cast<float>(x) + 0.5f + part * g.x, static_cast<float>(y) + 0.5f + part * g.y,
                                 Row{0, 1, 2, 3, 4, 5, 6, 7} + 0.5f + part * g.z};
                const auto place = Samples::Places(to).of(-1);
                const Row there = Samples::Corners(before, place).value(place);
                // Keep values next to the surface.
                const Row share = min(max(abs_row(away) - 1, splat(0)), splat(1));
                store_row(next_.tile(tile) + o, choose(base.valid(o), mix(here, there, share), splat(0)));
            });
        });
        std::swap(d_, next_);
    }
}

Ripples::Volumes Ripples::volumes() const
{
    const SmoothField surface(distance_, params_.refine);
    const float fine = voxel();
    const auto filled = [&](Row phi) { return min(max(0.5f - phi / fine, splat(0)), splat(1)); };
    const double cell = std::pow(static_cast<double>(fine), 3);
    return parallel_reduce(
        topology_->tile_count(), Volumes{},
        [&](size_t t) {
            const int tile = static_cast<int>(t);
            const float* d = d_.tile(tile);
            Volumes here;
            if (std::all_of(d, d + kTileCells, [](float v) { return v == 0; })) return here;
            const Vec3i first = topology_->first_cell(tile);
            const SurfaceTile base(surface, topology_->tile(tile), voxel_);
            for_each_row([&](int x, int y, int o) {
                Row open;
                for (int z = 0; z < kTileSize; z += params_.refine) {
                    const float distance = solid_distance_.at(coarse_cell(first + Vec3i(x, y, z)));
                    for (int k = z; k < z + params_.refine; ++k) open[k] = distance > 0 ? 1.0f : 0.0f;
                }
                const Row own = base.distance(o), rise = load_row(d + o), phi = own + rise;
                here.added += cell * static_cast<double>(sum(open * (filled(phi) - filled(own))));
                const Row at_surface = choose(abs_row(phi) < splat(0.5f * fine), splat(1 / fine), splat(0));
                here.under_ripples += cell * static_cast<double>(sum(open * at_surface * abs_row(rise)));
            });
            return here;
        },
        [](const Volumes& a, const Volumes& b) {
            return Volumes{a.added + b.added, a.under_ripples + b.under_ripples};
        },
        16);
}

double Ripples::added_volume() const { return volumes().added; }

// Scales crests and troughs by opposite factors until the volume equals that without ripples.
void Ripples::correct_volume()
{
    constexpr float kMaxShare = 0.5f;
    const Volumes all = volumes();
    if (!(all.under_ripples > 0)) return;
    const float share = std::clamp(static_cast<float>(all.added / all.under_ripples), -kMaxShare, kMaxShare);
    const Row most = splat(params_.most_height * voxel_);
    for_each_tile(*topology_, [&](int tile) {
        float* d = d_.tile(tile);
        for (int o = 0; o < kTileCells; o += kTileSize) {
            const Row rise = load_row(d + o);
            store_row(d + o, min(max(rise + share * abs_row(rise), -most), most));
        }
    });
}

Ripples::Surface Ripples::surface() const
{
    const int n = params_.refine, across = kTileSize / n;
    std::vector<uint64_t> codes = band_;
    for (int t = 0; t < flow_topology_->tile_count(); ++t) {
        const Vec3i first = flow_topology_->first_cell(t);
        const float* distance = distance_.tile(t);
        for (int k = 0; k < n * n * n; ++k) { // tiles of the finer grid in this tile
            const Vec3i corner = Vec3i(k / (n * n), k / n % n, k % n) * across;
            bool inside = false;
            for (int c = 0; c < across * across * across; ++c) {
                const Vec3i cell = corner + Vec3i(c / (across * across), c / across % across, c % across);
                inside |= distance[offset_of_cell(cell)] < 0;
            }
            if (inside) codes.push_back(morton_of_tile(tile_of_cell((first + corner) * n)));
        }
    }
    const Topology filled(std::move(codes));
    // Surround with tiles of air to close the inside.
    std::vector<uint64_t> around;
    for (int t = 0; t < filled.tile_count(); ++t)
        for (int k = 0; k < 27; ++k)
            around.push_back(morton_of_tile(filled.tile(t) + Vec3i(k / 9, k / 3 % 3, k % 3) - Vec3i::Ones()));
    Surface out;
    out.topology = std::make_unique<Topology>(std::move(around));
    const float away = kOutside * static_cast<float>(params_.refine);
    out.phi.reset_uninitialized(*out.topology, away);
    const SmoothField own(distance_, params_.refine);
    for_each_tile(*out.topology, [&](int tile) {
        const Vec3i at = out.topology->tile(tile);
        if (filled.find(at) == filled.tile_count()) {
            std::fill_n(out.phi.tile(tile), kTileCells, away);
            return;
        }
        SmoothField::Tile base;
        own.sample(at, base);
        const float* d = d_.tile(topology_->find(at));
        for (int o = 0; o < kTileCells; o += kTileSize)
            store_row(out.phi.tile(tile) + o, (load_row(base.value + o) + load_row(d + o)) / voxel());
    });
    return out;
}

size_t Ripples::bytes() const
{
    size_t all = turbulence_.bytes() + flow_topology_->bytes() + topology_->bytes() + topology_before_->bytes() +
                 scratch_.bytes();
    const Field<float>* const fields[] = {&distance_,    &solid_distance_, &energy_,    &mean_drive_,
                                          &mean_weight_, &ones_,           &d_,         &next_,
                                          &eddies_[0],   &eddies_[1],      &eddies_[2], &before_};
    for (const Field<float>* field : fields) all += field->bytes();
    return all;
}

Ripples::State Ripples::state() const
{
    const auto values = [](const Field<float>& field) {
        return std::vector<float>(field.values().begin(), field.values().end());
    };
    return {voxel_,
            topology_->codes(),
            band_,
            flow_topology_->codes(),
            values(d_),
            values(distance_),
            values(solid_distance_),
            topology_before_->codes(),
            values(before_),
            turbulence_.state()};
}

void Ripples::restore(State state)
{
    const size_t cells = state.tiles.size() * kTileCells, flow_cells = state.flow_tiles.size() * kTileCells;
    if (state.difference.size() != cells || state.distance.size() != flow_cells ||
        state.solid_distance.size() != flow_cells)
        bad_state("ripples have {} tiles, but {} values", state.tiles.size(), state.difference.size());
    for (const auto* tiles : {&state.tiles, &state.band, &state.flow_tiles, &state.tiles_before})
        check_state_tiles(*tiles, "ripples");
    check_state_values(state.difference, cells, "ripples.difference");
    check_state_values(state.distance, flow_cells, "ripples.distance");
    check_state_values(state.difference_before, state.tiles_before.size() * kTileCells, "ripples.difference_before");
    check_state_number(state.voxel, state.tiles.empty() ? 0.0f : 1e-8f, 1e5f, "voxel of ripples");
    if (!state.turbulence.tiles.empty() && state.turbulence.voxel != state.voxel)
        bad_state("the voxel of turbulence is {}, but that of ripples is {}", state.turbulence.voxel, state.voxel);
    voxel_ = state.voxel, band_ = std::move(state.band);
    *topology_before_ = Topology(std::move(state.tiles_before));
    *topology_ = Topology(std::move(state.tiles)), *flow_topology_ = Topology(std::move(state.flow_tiles));
    const auto fetch = [](const std::vector<float>& values, const Topology& topology, float background,
                          Field<float>& field) {
        field.reset_uninitialized(topology, background);
        std::copy(values.begin(), values.end(), field.values().begin());
    };
    fetch(state.difference, *topology_, 0, d_);
    fetch(state.difference_before, *topology_before_, 0, before_);
    fetch(state.distance, *flow_topology_, kOutside * voxel_, distance_);
    fetch(state.solid_distance, *flow_topology_, 1, solid_distance_);
    diffusion_.set_topology(*flow_topology_);
    ones_.reset(*flow_topology_, 1, 0);
    turbulence_.restore(std::move(state.turbulence));
}

} // namespace spindrift
