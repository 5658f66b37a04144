#include "spindrift/io/state_file.h"

#include "spindrift/base/error.h"
#include "spindrift/base/state_error.h"
#include "spindrift/io/atomic_file.h"
#include "spindrift/io/finite.h"

#include <cstring>

namespace spindrift {

namespace {

constexpr std::string_view kMagic = "spindrift state 2\n";

class Writer {
  public:
    template <class T> void number(T value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
    void text(const std::string& s)
    {
        number(static_cast<uint64_t>(s.size()));
        bytes_ += s;
    }
    template <class T> void array(const std::vector<T>& values)
    {
        number(static_cast<uint64_t>(values.size()));
        bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    }
    void raw(std::string_view s) { bytes_ += s; }
    std::string& bytes() { return bytes_; }

  private:
    std::string bytes_;
};

// Reads what Writer wrote; `ok` becomes false permanently when something does not fit.
class Reader {
  public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}
    bool ok = true;

    template <class T> T number()
    {
        T value{};
        take(&value, sizeof value);
        return value;
    }
    std::string text()
    {
        const uint64_t size = number<uint64_t>();
        if (size > bytes_.size()) ok = false;
        if (!ok) return {};
        std::string s(bytes_.substr(0, size));
        bytes_.remove_prefix(size);
        return s;
    }
    template <class T> void array(std::vector<T>& values)
    {
        const uint64_t size = number<uint64_t>();
        if (size > bytes_.size() / sizeof(T)) ok = false;
        if (!ok) return;
        values.resize(size);
        take(values.data(), size * sizeof(T));
    }

    bool at_end() const { return bytes_.empty(); }

  private:
    void take(void* to, size_t size)
    {
        if (size > bytes_.size()) ok = false;
        if (!ok || size == 0) return;
        std::memcpy(to, bytes_.data(), size);
        bytes_.remove_prefix(size);
    }
    std::string_view bytes_;
};

} // namespace

std::string state_bytes(const std::string& fingerprint, const StateFile& state)
{
    Writer out;
    size_t field_bytes = 0;
    for (const auto& [name, field] : state.fields) field_bytes += field.size() * sizeof(float);
    out.bytes().reserve(state.particles.bytes() + field_bytes + field_bytes / 100 + 4096);
    out.raw(kMagic);
    out.text(fingerprint);
    out.number(static_cast<uint64_t>(state.numbers.size()));
    for (const auto& [name, value] : state.numbers) out.text(name), out.number(value);
    out.array(state.particles.P), out.array(state.particles.v), out.array(state.particles.id);
    out.number(static_cast<uint64_t>(state.particles.attributes.size()));
    for (const auto& [name, array] : state.particles.attributes) {
        out.text(name);
        out.number(static_cast<uint8_t>(array.index()));
        std::visit([&](const auto& values) { out.array(values); }, array);
    }
    const auto arrays = [&](const auto& named) {
        out.number(static_cast<uint64_t>(named.size()));
        for (const auto& [name, array] : named) out.text(name), out.array(array);
    };
    arrays(state.tiles), arrays(state.fields);
    out.number(hash_bytes(out.bytes()));
    return std::move(out.bytes());
}

void write_state(const std::string& path, const std::string& fingerprint, const StateFile& state)
{
    state.particles.for_each_array(
        [&](const std::string& name, const auto& array) { expect_finite(path, name, std::span(array)); });
    for (const auto& [name, field] : state.fields) expect_finite(path, name, std::span(field));
    write_file(path, state_bytes(fingerprint, state));
}

bool read_state(const std::string& path, const std::string& fingerprint, StateFile& state)
{
    if (!file_exists(path)) return false;
    const std::string bytes = read_file(path);
    // From another version of the program, or not a state at all.
    if (bytes.size() < kMagic.size() + sizeof(uint64_t) || bytes.compare(0, kMagic.size(), kMagic) != 0)
        bad_state("it was not written by this version of the program, or is cut short");
    const std::string_view body(bytes.data(), bytes.size() - sizeof(uint64_t));
    uint64_t sum;
    std::memcpy(&sum, bytes.data() + body.size(), sizeof sum);
    if (hash_bytes(body) != sum) bad_state("it is damaged: its checksum does not match");

    Reader in(body.substr(kMagic.size()));
    if (in.text() != fingerprint) return false;
    state = {};
    for (uint64_t left = in.number<uint64_t>(); left > 0 && in.ok; --left) {
        const std::string name = in.text();
        state.numbers[name] = in.number<int64_t>();
    }
    in.array(state.particles.P), in.array(state.particles.v), in.array(state.particles.id);
    for (uint64_t left = in.number<uint64_t>(); left > 0 && in.ok; --left) {
        const std::string name = in.text();
        const uint8_t type = in.number<uint8_t>();
        AttributeArray array;
        if (type > 2) in.ok = false;
        if (type == 1) array = std::vector<int32_t>();
        if (type == 2) array = std::vector<Vec3f>();
        std::visit([&](auto& values) { in.array(values); }, array);
        state.particles.attributes[name] = std::move(array);
    }
    const auto arrays = [&](auto& named) {
        for (uint64_t left = in.number<uint64_t>(); left > 0 && in.ok; --left) {
            const std::string name = in.text();
            in.array(named[name]);
        }
    };
    arrays(state.tiles), arrays(state.fields);
    if (!in.ok || !in.at_end()) bad_state("its sections are not those of a state");
    return true;
}

} // namespace spindrift
