// Table of the functions that Spindrift adds to AX. The compiler takes the names from it, and `spindrift describe ax`
// prints it.
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
    bool takes_name; // the first argument is a quoted name
};
const std::vector<ExpressionFunction>& expression_functions();
const ExpressionFunction* find_expression_function(const std::string& name);

// Help text: the function table and the built-in variables.
std::string describe_expressions();
std::string describe_expressions_markdown();

// Built-in $ variables; they precede the user's parameters.
struct ExpressionVariable {
    const char* name;
    const char* help;
};
const std::vector<ExpressionVariable>& expression_variables();

} // namespace spindrift
