// Accumulated wall-clock times of named phases.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace spindrift {

class PhaseTimes {
  public:
    // Runs body() and adds its duration to the phase.
    template <class Body> void measure(const char* phase, const Body& body)
    {
        const auto start = std::chrono::steady_clock::now();
        body();
        add(phase, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    void add(const std::string& phase, double seconds)
    {
        for (auto& [name, sum] : phases_)
            if (name == phase) {
                sum += seconds;
                return;
            }
        phases_.emplace_back(phase, seconds);
    }
    // In order of first use.
    const std::vector<std::pair<std::string, double>>& phases() const { return phases_; }
    double total() const
    {
        double sum = 0;
        for (const auto& p : phases_) sum += p.second;
        return sum;
    }
    void clear() { phases_.clear(); }

  private:
    std::vector<std::pair<std::string, double>> phases_;
};

} // namespace spindrift
