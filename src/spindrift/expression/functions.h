// The functions that Spindrift adds to the language, in one table: the compiler takes its names from here, and
// `spindrift describe ax` prints it.
#pragma once

#include <string>
#include <vector>

namespace spindrift {

struct ExpressionFunction {
    enum class Where { points, volumes, both };
    const char* name;
    const char* signature;
    const char* help;
    const char* example;
    Where where;
    bool takes_name; // the first argument is a name in quotes
};
const std::vector<ExpressionFunction>& expression_functions();
const ExpressionFunction* find_expression_function(const std::string& name);

// The table for people, and the parameters that every expression knows.
std::string describe_expressions();
std::string describe_expressions_markdown();

// What is always there behind a $, before the parameters of the user.
struct ExpressionVariable {
    const char* name;
    const char* help;
};
const std::vector<ExpressionVariable>& expression_variables();

} // namespace spindrift
