#include "spindrift/cli/cli.h"

int main(int argc, char** argv) { return spindrift::run_command_line(argc, argv); }
