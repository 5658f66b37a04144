#include "spindrift/expression/functions.h"

#include <algorithm>
#include <fmt/format.h>

namespace spindrift {

const std::vector<ExpressionFunction>& expression_functions()
{
    using enum ExpressionFunction::Where;
    static const std::vector<ExpressionFunction> table = {
        {"volume", "float volume(string name, vec3f position)", "Samples a scalar volume at a position, trilinearly.",
         "vec3f@v.y += $dt * volume(\"density\", vec3f@P);", both, true},
        {"volumev", "vec3f volumev(string name, vec3f position)", "Samples a vector volume at a position, trilinearly.",
         "vec3f@v = volumev(\"wind\", vec3f@P);", both, true},
        {"collider_distance", "float collider_distance(vec3f position)",
         "Distance to the nearest collider [m]; negative inside.",
         "if (collider_distance(vec3f@P) < 0.0f) deletepoint();", both, false},
        {"collider_normal", "vec3f collider_normal(vec3f position)", "Unit vector away from the nearest collider.",
         "vec3f@v += collider_normal(vec3f@P) * $dt;", both, false},
        {"neighbours", "int neighbours(float radius)",
         "Number of other points within the radius [m]. All neighbour functions see points as they were before the "
         "expression ran.",
         "if (neighbours(0.02f) < 4) deletepoint();", points, false},
        {"neighbours_mean", "float neighbours_mean(string attribute, float radius)",
         "Mean of an attribute over this point and all points within the radius.",
         "float@age = neighbours_mean(\"age\", 0.02f);", points, true},
        {"neighbours_meanv", "vec3f neighbours_meanv(string attribute, float radius)",
         "Mean of a vector attribute over this point and all points within the radius.",
         "vec3f@v = neighbours_meanv(\"v\", 0.02f);", points, true},
        {"neighbours_gradient", "vec3f neighbours_gradient(string attribute, float radius)",
         "Gradient [1/m] of an attribute: least-squares linear fit within the radius.",
         "vec3f@v -= neighbours_gradient(\"temperature\", 0.02f) * $dt;", points, true},
        {"deletepoint", "void deletepoint()", "Deletes the point after the expression has run for all points.",
         "if (float@age > 2.0f) deletepoint();", points, false},
        {"ingroup", "bool ingroup(string group)", "Whether the point is in a group.",
         "if (ingroup(\"spray\")) vec3f@Cd = 1.0f;", points, true},
        {"addtogroup", "void addtogroup(string group)",
         "Adds the point to a group of the file; if the file has no such group, sets the attribute group_<name> to 1.",
         "if (length(vec3f@v) > 5.0f) addtogroup(\"spray\");", points, true},
        {"removefromgroup", "void removefromgroup(string group)", "Removes the point from a group.",
         "removefromgroup(\"spray\");", points, true},
        {"rand", "double rand(int64 seed)",
         "Random number from 0 to 1, determined by the seed. Unlike in stock AX, the seed is required.",
         "vec3f@Cd = rand(int@id);", both, false},
        {"rand32", "double rand32(int seed)", "Like rand, with the 32-bit generator of stock AX.",
         "float@twist = rand32(int@id);", both, false},
        {"getvoxelpws", "vec3f getvoxelpws()", "World position of the voxel.",
         "vec3f x = getvoxelpws(); float@density *= clamp(x.y, 0.0f, 1.0f);", volumes, false},
        {"getcoord", "vec3i getcoord()",
         "Index of the voxel; getcoordx(), getcoordy() and getcoordz() give one component.",
         "vec3i c = getcoord(); float@checker = (c.x + c.y + c.z) % 2;", volumes, false},
        {"getcoordx", "int getcoordx()", "Index of the voxel along x.", "int x = getcoordx();", volumes, false},
        {"getcoordy", "int getcoordy()", "Index of the voxel along y.", "int y = getcoordy();", volumes, false},
        {"getcoordz", "int getcoordz()", "Index of the voxel along z.", "int z = getcoordz();", volumes, false},
    };
    return table;
}

const ExpressionFunction* find_expression_function(const std::string& name)
{
    for (const ExpressionFunction& function : expression_functions())
        if (name == function.name) return &function;
    return nullptr;
}

const std::vector<ExpressionVariable>& expression_variables()
{
    static const std::vector<ExpressionVariable> table = {
        {"time", "time since the first frame [s]"},
        {"frame", "frame number"},
        {"dt", "time step that the expression advances by [s]"},
        {"fps", "frames per second"},
    };
    return table;
}

std::string describe_expressions()
{
    std::string text = "Expressions in OpenVDB AX on particles and volumes.\n\n"
                       "In a scene:\n"
                       "  [[liquid.expression]]\n"
                       "  at = \"after_advection\"\n"
                       "  code = \"vec3f@v += v$wind * clamp(vec3f@P.y / $top, 0.0f, 1.0f) * $dt;\"\n"
                       "  parameters = { wind = [4, 0, 1], top = 2 }\n"
                       "and on files: spindrift ax CODE --in FILES --out FILES --set wind=4,0,1 --set top=2\n\n"
                       "Variables, in addition to parameters:\n";
    for (const ExpressionVariable& variable : expression_variables())
        text += fmt::format("  ${:<8} {}\n", variable.name, variable.help);
    text += "\nFunctions, in addition to those of AX:\n";
    for (const ExpressionFunction& function : expression_functions())
        text += fmt::format("  {}\n      {}\n      {}\n", function.signature, function.help, function.example);
    return text;
}

std::string describe_expressions_markdown()
{
    std::string text = "| function | result | example |\n|---|---|---|\n";
    for (const ExpressionFunction& function : expression_functions())
        text += fmt::format("| `{}` | {} | `{}` |\n", function.signature, function.help, function.example);
    return text;
}

} // namespace spindrift
