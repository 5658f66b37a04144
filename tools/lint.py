#!/usr/bin/env python3
"""Runs clang-tidy on source files.

    tools/lint.py BUILD JOBS [file ...]

BUILD is a folder with compile_commands.json. Where files are compiled in batches, the whole batch of a file is checked: most of
the time goes into the headers that its files share. Without files, all sources are checked. Exits with 1 if there are findings.
"""
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

build, jobs = Path(sys.argv[1]), int(sys.argv[2])
source = Path(__file__).resolve().parent.parent / "src"
wanted = {Path(name).resolve() for name in sys.argv[3:]}


def sources_of(unit):
    """The files of ours that are compiled with it: those that a batch includes, or itself."""
    if source in unit.parents:
        return {unit}
    if "Unity" not in unit.parts:
        return set()
    return {Path(name) for name in re.findall(r'#include "([^"]+)"', unit.read_text()) if source in Path(name).parents}


units = {Path(command["file"]) for command in json.loads((build / "compile_commands.json").read_text())}
chosen = sorted(unit for unit in units if (sources_of(unit) if not wanted else sources_of(unit) & wanted))
missing = wanted - set().union(*map(sources_of, units))
if missing:
    sys.exit("lint: not compiled: " + ", ".join(map(str, sorted(missing))))


def check(unit):
    found = subprocess.run(["clang-tidy", "-p", str(build), "--quiet", str(unit)], capture_output=True, text=True)
    return unit, found.returncode, found.stdout, found.stderr


failed = 0
with ThreadPoolExecutor(jobs) as pool:
    for number, (unit, code, findings, errors) in enumerate(pool.map(check, chosen), 1):
        print(f"[{number}/{len(chosen)}] {', '.join(sorted(path.name for path in sources_of(unit)))}", flush=True)
        if code:
            failed += 1
            print(findings or errors, flush=True)
print(f"lint: {len(chosen) - failed} batches clean, {failed} with findings")
sys.exit(1 if failed else 0)
