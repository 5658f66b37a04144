#!/usr/bin/env bash
# Installs the build in $1 below a temporary folder, builds the project beside this file against it, and runs it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cmake --install "$1" --prefix "$place/usr" > "$place/log" || { cat "$place/log"; exit 1; }
cmake -S "$here" -B "$place/build" -G Ninja -DCMAKE_PREFIX_PATH="$place/usr" -DCMAKE_BUILD_TYPE=Release > "$place/log" || { cat "$place/log"; exit 1; }
cmake --build "$place/build" > "$place/log" || { cat "$place/log"; exit 1; }
[ "$("$place/build/consumer")" = "4000 particles" ]
# The installed program finds the compiler of expressions without its build folder.
cd "$place"
usr/bin/spindrift new small > /dev/null
printf '\n[[liquid.expression]]\ncode = "vec3f@v *= 1;"\n' >> small.toml
usr/bin/spindrift liquid small.toml -q --frames 1 --set liquid.voxel=0.2

# A library that another program loads finds the compiler in its own folder, wherever that is, and nowhere else.
cat > load.py <<'END'
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.doubled_speed.argtypes, library.doubled_speed.restype = [ctypes.c_float], ctypes.c_float
print(library.doubled_speed(3), flush=True)
END
mkdir plugin elsewhere
cp build/libembedded.so plugin
cp usr/lib*/spindrift/libspindrift_ax.so plugin 2> /dev/null || cp usr/lib/*/spindrift/libspindrift_ax.so plugin
cd elsewhere
[ "$(python3 ../load.py "$place/plugin/libembedded.so")" = 6.0 ]
rm ../plugin/libspindrift_ax.so
python3 ../load.py "$place/plugin/libembedded.so" | grep -q "expressions need libspindrift_ax.so, which is not in any of $place/plugin"
