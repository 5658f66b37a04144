// Energy spectrum of a velocity field on a cube of samples.
#pragma once

#include "spindrift/field/tiles.h"

#include <complex>
#include <vector>

namespace spindrift {

// In-place Fourier transform of a power-of-two number of values, `stride` apart.
inline void fourier(std::complex<float>* data, int size, int stride, std::vector<std::complex<float>>& line)
{
    line.resize(size);
    for (int i = 0, j = 0; i < size; ++i) {
        line[j] = data[static_cast<ptrdiff_t>(i) * stride];
        for (int bit = size >> 1; (j ^= bit) < bit && bit > 0; bit >>= 1) {
        }
    }
    for (int half = 1; half < size; half *= 2)
        for (int k = 0; k < half; ++k) {
            const double angle = -kPi * k / half;
            const std::complex<float> turn(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)));
            for (int i = k; i < size; i += 2 * half) {
                auto &a = line[i], &b = line[i + half];
                const std::complex<float> t(turn.real() * b.real() - turn.imag() * b.imag(),
                                            turn.real() * b.imag() + turn.imag() * b.real());
                b = a - t, a += t;
            }
        }
    for (int i = 0; i < size; ++i) data[static_cast<ptrdiff_t>(i) * stride] = line[i];
}

// Energy in shells k - 1/2 .. k + 1/2 of the wave number [waves per cube], of a cube (a power of two of samples) with
// its first cell at `first`. The cube is not periodic, so a Hann window is applied.
inline std::vector<double> energy_spectrum(const Field<float> (&u)[3], const Vec3i& first, int size)
{
    std::vector<float> fade(static_cast<size_t>(size));
    for (int i = 0; i < size; ++i) fade[i] = static_cast<float>(1 - std::cos(2 * kPi * (i + 0.5) / size));
    const int plane = size * size;
    std::vector<std::complex<float>> data(static_cast<size_t>(plane) * size);
    std::vector<double> spectrum(static_cast<size_t>(size / 2));
    for (const Field<float>& component : u) {
        parallel_for(size, [&](size_t x) {
            for (int y = 0; y < size; ++y)
                for (int z = 0; z < size; ++z)
                    data[x * static_cast<size_t>(plane) + static_cast<size_t>(y * size + z)] =
                        component.at(first + Vec3i(static_cast<int>(x), y, z)) * fade[x] * fade[y] * fade[z];
        });
        parallel_for(size, [&](size_t s) {
            std::vector<std::complex<float>> line;
            auto* slice = data.data() + s * static_cast<size_t>(plane);
            for (int i = 0; i < size; ++i) fourier(slice + i * size, size, 1, line);
            for (int i = 0; i < size; ++i) fourier(slice + i, size, size, line);
        });
        parallel_for(size, [&](size_t s) {
            std::vector<std::complex<float>> line;
            for (int i = 0; i < size; ++i)
                fourier(data.data() + s * static_cast<size_t>(size) + static_cast<size_t>(i), size, plane, line);
        });
        const auto wave = [&](int i) { return i < size / 2 ? i : i - size; };
        for (int x = 0; x < size; ++x)
            for (int y = 0; y < size; ++y)
                for (int z = 0; z < size; ++z) {
                    const double k =
                        std::sqrt(double(wave(x)) * wave(x) + double(wave(y)) * wave(y) + double(wave(z)) * wave(z));
                    const auto shell = static_cast<size_t>(k + 0.5);
                    const auto& v = data[static_cast<size_t>(x) * plane + y * size + z];
                    if (shell < spectrum.size()) spectrum[shell] += static_cast<double>(std::norm(v));
                }
    }
    return spectrum;
}

// Exponent of the least-squares power law in k between two wave numbers, with equal weight per octave.
inline double fitted_slope(const std::vector<double>& spectrum, double low, double high)
{
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (size_t k = static_cast<size_t>(std::ceil(low)); static_cast<double>(k) <= high; ++k) {
        const double weight = 1 / static_cast<double>(k), x = std::log(static_cast<double>(k)),
                     y = std::log(spectrum[k]);
        n += weight, sx += weight * x, sy += weight * y, sxx += weight * x * x, sxy += weight * x * y;
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

} // namespace spindrift
