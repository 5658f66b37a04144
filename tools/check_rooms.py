#!/usr/bin/env python3
"""Checks that each room includes only headers of the rooms that src/CMakeLists.txt lets it use, and that no two headers
define a class of the same name: the linker would keep one of each pair of functions, in silence.

    tools/check_rooms.py [source folder]

Prints a line for each fault, and exits with 1 if there are any.
"""
import re
import sys
from pathlib import Path

source = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "src")
listed = (source / "CMakeLists.txt").read_text()

# Each room and the rooms it uses, from lines like "spindrift_room(field base)". Several libraries share the folder io.
uses = {}
for name, words in re.findall(r"^spindrift_(?:room|library)\((\w+)([^)]*)\)", listed, re.M):
    rooms = re.split(r"\s(?:PACKAGES|SOURCES)\s", words)[0].split()
    uses[name] = {"io" if room in ("images", "drawings") else room for room in rooms}
uses["io"] |= uses.pop("images") | uses.pop("drawings")


def allowed(room, seen=None):
    seen = set() if seen is None else seen
    if room not in seen:
        seen.add(room)
        for other in uses[room]:
            allowed(other, seen)
    return seen


broken = 0
classes = {}  # (namespace, name) -> header
for file in sorted((source / "spindrift").rglob("*")):
    if file.suffix not in (".h", ".cpp"):
        continue
    room = file.relative_to(source / "spindrift").parts[0]
    if room not in uses:
        print(f"{file}: the room {room} is not in src/CMakeLists.txt")
        broken += 1
        continue
    if file.suffix == ".h":
        space = re.search(r"^namespace (\w+(?:::\w+)*)", file.read_text(), re.M)
        for name in re.findall(r"^(?:template <.*> )?(?:class|struct) (\w+)(?: final)?(?: :.*)? \{", file.read_text(), re.M):
            other = classes.setdefault((space.group(1) if space else "", name), file)
            if other != file:
                print(f"{file}: {name} is also defined in {other}")
                broken += 1
    for number, line in enumerate(file.read_text().splitlines(), 1):
        include = re.match(r'#include "([^"]+)"', line)
        if not include:
            continue
        path = include.group(1).split("/")
        if path[0] != "spindrift" or len(path) != 3:
            print(f'{file}:{number}: write "spindrift/<room>/<header>", not "{include.group(1)}"')
            broken += 1
        elif path[1] not in allowed(room):
            print(f"{file}:{number}: {room} may not use {path[1]}")
            broken += 1
print(f"{broken} faults" if broken else "the order of the rooms holds, and every class has a name of its own")
sys.exit(1 if broken else 0)
