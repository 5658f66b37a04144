#include "spindrift/stages/body_files.h"

#include "spindrift/base/error.h"
#include "spindrift/base/state_error.h"
#include "spindrift/bodies/motion_check.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/finite.h"
#include "spindrift/io/mesh_file.h"
#include "spindrift/stages/scene_shapes.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

namespace spindrift {

namespace {

// The file name of a body's mesh.
std::string mesh_name(const Bodies& bodies, size_t b)
{
    std::string name = bodies.name(b);
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_') c = '_';
    return fmt::format("bodies/{}_{}.ply", b, name);
}

std::string list_of(const auto& vector)
{
    return fmt::format("[{}]", fmt::join(vector.data(), vector.data() + vector.size(), ", "));
}

template <int N> Eigen::Matrix<double, N, 1> vector_of(const nlohmann::json& list)
{
    Eigen::Matrix<double, N, 1> v;
    for (int i = 0; i < N; ++i) v[i] = list.at(i).get<double>();
    return v;
}

} // namespace

std::vector<Bodies::Shapes> load_body_shapes(const SceneFile& scene, const std::vector<BodyParams>& bodies,
                                             const std::string& name)
{
    std::vector<Bodies::Shapes> shapes;
    for (size_t b = 0; b < bodies.size(); ++b) {
        const std::string place = fmt::format("{}[{}]", name, b);
        shapes.push_back({load_shape(scene, bodies[b], place)});
        for (Shape& part : load_shapes(scene, bodies[b].parts, place + ".part"))
            shapes.back().push_back(std::move(part));
        for (const Shape& shape : shapes.back())
            if (shape.moves())
                bad_input("{}: a body needs a single mesh, not one per frame", scene.where(place + ".file"));
    }
    return shapes;
}

void write_bodies(const std::string& path, const Bodies& bodies, int frame)
{
    std::string text = fmt::format("{{\"frame\": {}, \"bodies\": [", frame);
    for (size_t b = 0; b < bodies.size(); ++b) {
        const RigidMotion& m = bodies.place(b);
        for (const Vec3d& vector : {m.position, m.velocity, m.spin, m.orientation.vec().eval()})
            expect_finite(path, bodies.name(b), std::span<const double>(vector.data(), 3));
        text += fmt::format(
            "{}\n  {{\"id\": {}, \"name\": {}, \"mesh\": \"{}\",\n   \"P\": {}, \"orient\": {},\n   \"v\": {}, "
            "\"w\": {}}}",
            b ? "," : "", b, nlohmann::json(bodies.name(b)).dump(-1, ' ', true), mesh_name(bodies, b),
            list_of(m.position), list_of(m.orientation.coeffs()), list_of(m.velocity), list_of(m.spin));
    }
    write_file(path, text + "\n]}\n");
}

std::vector<RigidMotion> read_bodies(const std::string& path, size_t count)
{
    std::vector<RigidMotion> motion;
    try {
        const nlohmann::json file = nlohmann::json::parse(read_file(path));
        for (const nlohmann::json& body : file.at("bodies")) {
            RigidMotion m;
            m.position = vector_of<3>(body.at("P"));
            m.orientation.coeffs() = vector_of<4>(body.at("orient"));
            m.velocity = vector_of<3>(body.at("v")), m.spin = vector_of<3>(body.at("w"));
            motion.push_back(m);
        }
    } catch (const nlohmann::json::exception& error) {
        fail("{} is not a file of bodies ({}); delete it to have it computed again", path, error.what());
    }
    if (!std::ranges::all_of(motion, is_plausible))
        fail("{} has a body with an invalid position or orientation; delete it to have it computed again", path);
    if (motion.size() != count)
        fail("{} has {} bodies, and the scene has {}; delete it to have it computed again", path, motion.size(), count);
    return motion;
}

void write_body_meshes(const Bodies& bodies, const std::string& folder)
{
    for (size_t b = 0; b < bodies.size(); ++b)
        write_mesh(fmt::format("{}/{}", folder, mesh_name(bodies, b)), bodies.solids()[b].mesh());
}

void save_motion(const std::vector<RigidMotion>& motion, const std::string& name, StateFile& file)
{
    if (motion.empty()) return;
    std::vector<uint64_t>& bits = file.tiles[name];
    const auto keep = [&](const auto& vector) {
        expect_finite("the state", name, std::span<const double>(vector.data(), vector.size()));
        for (int i = 0; i < vector.size(); ++i) bits.push_back(std::bit_cast<uint64_t>(vector[i]));
    };
    for (const RigidMotion& m : motion) keep(m.position), keep(m.orientation.coeffs()), keep(m.velocity), keep(m.spin);
}

std::vector<RigidMotion> load_motion(const StateFile& file, const std::string& name)
{
    constexpr size_t kNumbers = 13;
    std::vector<RigidMotion> motion;
    const auto found = file.tiles.find(name);
    if (found == file.tiles.end()) return motion;
    if (found->second.size() % kNumbers != 0) bad_state("{} numbers for the motion of bodies", found->second.size());
    motion.resize(found->second.size() / kNumbers);
    const uint64_t* next = found->second.data();
    const auto fetch = [&](auto&& vector) {
        for (int i = 0; i < vector.size(); ++i) vector[i] = std::bit_cast<double>(*next++);
    };
    for (RigidMotion& m : motion) fetch(m.position), fetch(m.orientation.coeffs()), fetch(m.velocity), fetch(m.spin);
    return motion;
}

} // namespace spindrift
