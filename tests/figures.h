// Figures that a benchmark or a validation must reach. Each has a name, a measured value and a target. Misses are
// collected and listed at the end of the run, which then exits with 1.
//
//     Figures figures;
//     figures.require("still water: kinetic energy", energy, at_most(1e-5, " J/kg"));
//     return figures.report(); // prints the misses
#pragma once

#include <fmt/format.h>
#include <string>
#include <vector>

namespace spindrift {

struct Target {
    enum class Better { less, more };
    Better better = Better::less;
    double value = 0;
    std::string text; // as printed

    // The target itself is allowed. False for NaN.
    bool holds(double measured) const { return better == Better::less ? measured <= value : measured >= value; }
};

// The unit is appended as it is, with its space if it needs one.
inline Target at_most(double value, const std::string& unit = "")
{
    return {Target::Better::less, value, fmt::format("at most {:.4g}{}", value, unit)};
}
inline Target at_least(double value, const std::string& unit = "")
{
    return {Target::Better::more, value, fmt::format("at least {:.4g}{}", value, unit)};
}

class Figures {
  public:
    // Returns whether the figure is reached. `shown` is the measured value as printed; by default four digits of it.
    bool require(const std::string& name, double measured, const Target& target, const std::string& shown = "")
    {
        ++count_;
        if (target.holds(measured)) return true;
        misses_.push_back(fmt::format("{}: {}, asked for {}", name,
                                      shown.empty() ? fmt::format("{:.4g}", measured) : shown, target.text));
        return false;
    }
    // A figure that could not be measured is missed.
    void fail(const std::string& name, const std::string& reason)
    {
        ++count_;
        misses_.push_back(fmt::format("{}: {}", name, reason));
    }

    const std::vector<std::string>& misses() const { return misses_; }
    // Prints the misses and returns the exit code of the program.
    int report() const
    {
        if (misses_.empty()) {
            fmt::print("\nAll {} figures asked for are reached.\n", count_);
            return 0;
        }
        fmt::print("\n{} of {} figures asked for are missed:\n", misses_.size(), count_);
        for (const std::string& miss : misses_) fmt::print("- {}\n", miss);
        return 1;
    }

  private:
    size_t count_ = 0;
    std::vector<std::string> misses_;
};

} // namespace spindrift
