#include "spindrift/stages/stage_expressions.h"

#include "spindrift/base/error.h"
#include "spindrift/expression/volume_files.h"
#include "spindrift/io/atomic_file.h"

namespace spindrift {

namespace {

constexpr const char* kRadii = "pscale"; // name in files
constexpr float kFarthest = 1e6f;        // largest distance of a particle from the origin [m]

float nearest(const std::vector<Shape>& shapes, const Vec3f& x, float frame)
{
    float distance = kInfinity;
    for (const Shape& shape : shapes) distance = std::min(distance, shape.distance(x, frame));
    return distance;
}

// The outward normal of the nearest collider.
Vec3f normal(const std::vector<Shape>& shapes, const Vec3f& x, float frame)
{
    const float step = 1e-3f * std::max(1.0f, x.cwiseAbs().maxCoeff());
    Vec3f gradient;
    for (int a = 0; a < 3; ++a) {
        const Vec3f aside = step * Vec3f::Unit(a);
        gradient[a] = nearest(shapes, x + aside, frame) - nearest(shapes, x - aside, frame);
    }
    const float length = gradient.norm();
    return length > 0 ? Vec3f(gradient / length) : Vec3f::Zero();
}

} // namespace

void set_colliders(const std::vector<Shape>& colliders, float frame, ExpressionContext& context)
{
    if (colliders.empty()) return;
    context.collider_distance = [&colliders, frame](const Vec3f& x) { return nearest(colliders, x, frame); };
    context.collider_normal = [&colliders, frame](const Vec3f& x) { return normal(colliders, x, frame); };
}

void SampledVolumes::add(int frame, ExpressionContext& context) const
{
    if (files_.none()) return;
    const std::scoped_lock lock(last_->mutex);
    if (const std::string file = file_at(frame); file != last_->file) {
        last_->volumes = {};
        add_volumes(file, last_->volumes);
        last_->file = file;
    }
    context.volumes.insert(last_->volumes.volumes.begin(), last_->volumes.volumes.end());
    context.vector_volumes.insert(last_->volumes.vector_volumes.begin(), last_->volumes.vector_volumes.end());
}

void ExpressionParams::visit(ParamVisitor& v)
{
    v("at", at, choices("after_forces", "after_advection", "before_writing"),
      "When it runs: in each step before pressure and collisions, in each step after advection, or on the data "
      "written for a frame, which does not affect the simulation.");
    ExpressionSource::visit(v);
}

void ExpressionSource::visit(ParamVisitor& v)
{
    v("code", code, "The expression, in OpenVDB AX; see: spindrift describe ax");
    v("file", file, "An .ax file with the expression, instead of code; the folder is relative to the scene's.");
    v.group("parameters", parameters,
            "Values of $name and v$name in the expression, e.g. { radius = 0.05, wind = [4, 0, 1] } for $radius and "
            "v$wind.");
    v("volumes", volumes,
      "VDB files whose grids volume() and volumev() sample by name, e.g. \"wind.####.vdb\"; the folder is relative to "
      "the "
      "scene's.");
    v("loop_limit", loop_limit, unit::none, between(1, 2e9),
      "Maximum number of loop iterations per particle, all loops together.");
    v.require(code.empty() != file.empty(), file.empty() ? "code" : "file", "an expression needs either code or file");
}

ExpressionSource::Loaded ExpressionSource::load(const SceneFile& scene, const std::string& name) const
{
    Loaded loaded{scene.where(name + ".code") + ": " + name,
                  code,
                  {},
                  SampledVolumes(volumes.empty() ? "" : scene.resolve(volumes), scene.where(name + ".volumes")),
                  {}};
    loaded.options.loop_limit = loop_limit;
    for (const auto& [parameter, value] : parameters.values) {
        if (const auto* x = std::get_if<float>(&value))
            loaded.options.parameters[parameter] = static_cast<double>(*x);
        else
            loaded.options.parameters[parameter] = std::get<Vec3f>(value);
    }
    loaded.dependencies = loaded.volumes.signature(name);
    if (file.empty()) return loaded;
    const std::string path = scene.resolve(file);
    if (!file_exists(path)) bad_input("{}: there is no file {}", scene.where(name + ".file"), path);
    loaded.text = read_file(path), loaded.label = path;
    loaded.dependencies += fmt::format("{}: {:016x}\n", name, hash_bytes(loaded.text));
    return loaded;
}

void StageExpressions::visit(ParamVisitor& v, const char* list, const char* help)
{
    list_ = list;
    v.list(list, params_, help);
}

void StageExpressions::prepare(const SceneFile& scene, const std::string& stage, const FrameRange& range, float fps,
                               const std::vector<Shape>& colliders)
{
    colliders_ = colliders, range_ = range, fps_ = fps;
    loaded_.clear(), dependencies_.clear();
    for (size_t i = 0; i < params_.size(); ++i) {
        ExpressionSource::Loaded loaded = params_[i].load(scene, fmt::format("{}.{}[{}]", stage, list_, i));
        dependencies_ += loaded.dependencies;
        loaded_.push_back({params_[i].at, Expression(loaded.label, std::move(loaded.text), loaded.options),
                           std::move(loaded.volumes)});
    }
}

bool StageExpressions::any(At at) const
{
    return std::ranges::any_of(loaded_, [&](const Loaded& l) { return l.at == at; });
}

bool StageExpressions::writes(At at, const std::string& attribute) const
{
    return std::ranges::any_of(loaded_, [&](const Loaded& l) {
        return l.at == at && std::ranges::any_of(l.expression.kernel().attributes(), [&](const KernelName& name) {
                   return name.written && name.name == attribute;
               });
    });
}

ExpressionContext StageExpressions::context(const Loaded& loaded, float frame, float dt,
                                            const ExpressionContext& fields) const
{
    ExpressionContext context = fields;
    context.frame = static_cast<int>(std::ceil(frame - 1e-4f));
    context.time = static_cast<double>(frame - static_cast<float>(range_.first)) / fps_;
    context.dt = dt, context.fps = fps_;
    loaded.volumes.add(context.frame, context);
    set_colliders(colliders_, frame, context);
    return context;
}

// How an expression uses pscale, if the particles do not have it yet.
StageExpressions::Radius StageExpressions::radius_needed(const Loaded& loaded, const Particles& particles) const
{
    if (!radii_ || particles.attributes.contains(kRadii)) return Radius::as_it_is;
    const Kernel& kernel = loaded.expression.kernel();
    const auto named = [](const KernelName& attribute) { return attribute.name == kRadii; };
    const auto own = std::ranges::find_if(kernel.attributes(), named);
    if (own != kernel.attributes().end()) return own->written ? Radius::written : Radius::read;
    return std::ranges::any_of(kernel.neighbour_attributes(), named) ? Radius::read : Radius::as_it_is;
}

void StageExpressions::check(const Particles& particles, const ExpressionContext& fields) const
{
    const auto first = static_cast<float>(range_.first);
    for (const Loaded& l : loaded_) {
        const bool has_fields = l.at == At::after_advection;
        Particles with_radii; // only names and types of attributes matter here
        const bool lacks = radius_needed(l, particles) != Radius::as_it_is;
        if (lacks) {
            with_radii.attributes = particles.attributes;
            with_radii.resize(0);
            with_radii.attribute<float>(kRadii);
        }
        l.expression.check(lacks ? with_radii : particles,
                           context(l, first, 1 / fps_, has_fields ? fields : ExpressionContext()));
    }
}

ParticleHooks StageExpressions::hooks(std::function<ExpressionContext()> fields)
{
    ParticleHooks hooks;
    if (any(At::after_forces))
        hooks.after_forces = [this](Particles& particles, float frame, float dt) {
            run(At::after_forces, particles, frame, dt);
        };
    if (any(At::after_advection))
        hooks.after_advection = [this, fields = std::move(fields)](Particles& particles, float frame, float dt) {
            run(At::after_advection, particles, frame, dt, fields ? fields() : ExpressionContext());
        };
    return hooks;
}

void StageExpressions::run(At at, Particles& particles, float frame, float dt, const ExpressionContext& fields)
{
    for (Shape& shape : colliders_) shape.prepare(frame);
    for (const Loaded& l : loaded_) {
        if (l.at != at) continue;
        const Radius radius = radius_needed(l, particles);
        if (radius != Radius::as_it_is) particles.attribute<float>(kRadii) = radii_(particles);
        l.expression.run(particles, context(l, frame, dt, fields));
        if (radius == Radius::read) particles.attributes.erase(kRadii);
        for (size_t i = 0; i < particles.size(); ++i)
            if (!(particles.P[i].array().abs() < kFarthest).all())
                fail("frame {}: an expression has moved particle {} to ({:.4g}, {:.4g}, {:.4g}) m, farther than {:.0g} "
                     "m from "
                     "the origin",
                     frame, particles.id[i], particles.P[i].x(), particles.P[i].y(), particles.P[i].z(), kFarthest);
    }
}

void StageExpressions::run_on_vertices(At at, Mesh& mesh, int frame, const std::string& stage)
{
    if (!any(at)) return;
    const size_t count = mesh.positions.size();
    const bool moves = !mesh.velocities.empty();
    if (mesh.normals.empty()) compute_normals(mesh);
    Particles points;
    points.P = std::move(mesh.positions), points.v = std::move(mesh.velocities);
    points.v.resize(count, Vec3f::Zero());
    points.attributes = std::move(mesh.attributes), points.attributes["N"] = mesh.normals;
    points.id.resize(count);
    for (size_t i = 0; i < count; ++i) points.id[i] = static_cast<int32_t>(i);
    run(at, points, static_cast<float>(frame), 1 / fps_);
    if (points.size() != count)
        fail("{}: an expression deletes vertices; a surface without them would have holes", stage);
    points.attributes.erase("N");
    mesh.positions = std::move(points.P), mesh.attributes = std::move(points.attributes);
    if (moves) mesh.velocities = std::move(points.v);
}

} // namespace spindrift
