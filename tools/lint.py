#!/usr/bin/env python3
"""Runs clang-tidy on source files.

    tools/lint.py BUILD JOBS [file ... | --sample HASH]

BUILD is a folder with compile_commands.json. Where files are compiled in batches, the whole batch of a file is checked: most of
the time goes into the headers that its files share. A header is checked with a batch that includes it. Without files, all sources
in src/ are checked; with --sample, one in sixteen of their batches, which the hexadecimal digits HASH choose. Exits with 1 if there
are findings.
"""
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

build, jobs = Path(sys.argv[1]), int(sys.argv[2])
source = Path(__file__).resolve().parent.parent / "src"
sample = int(sys.argv[4][-8:], 16) % 16 if sys.argv[3:4] == ["--sample"] else None
wanted = set() if sample is not None else {Path(name).resolve() for name in sys.argv[3:]}


def sources_of(unit):
    """The files of ours that are compiled with it: those that a batch includes, or itself."""
    if source in unit.parents:
        return {unit}
    if "Unity" not in unit.parts:
        return set()
    return {Path(name) for name in re.findall(r'#include "([^"]+)"', unit.read_text()) if source in Path(name).parents}


units = {Path(command["file"]) for command in json.loads((build / "compile_commands.json").read_text())}


def including(header):
    """The batches that include a header, directly or through other headers; that of the same name first."""
    includers = {}
    for path in list(source.rglob("*.h")) + list(source.rglob("*.cpp")):
        for name in re.findall(r'#include "([^"]+)"', path.read_text()):
            includers.setdefault(name, []).append(path)
    reached, new = set(), [header]
    while new:
        name = str(new.pop().relative_to(source))
        found = [user for user in includers.get(name, []) if user not in reached]
        reached.update(found)
        new += [user for user in found if user.suffix == ".h"]
    return sorted((unit for unit in units if sources_of(unit) & reached),
                  key=lambda unit: (header.with_suffix(".cpp") not in sources_of(unit), unit))


def batches_of(files):
    compiled = {path for unit in units for path in sources_of(unit)}
    found = {unit for unit in units if sources_of(unit) & files}
    missing = {path for path in files - compiled if path.suffix == ".cpp"}
    for header in sorted(path for path in files if path.suffix == ".h"):
        batches = including(header)
        if not batches:
            missing.add(header)
        elif not found & set(batches):
            found.add(batches[0])
    if missing:
        sys.exit("lint: not compiled: " + ", ".join(map(str, sorted(missing))))
    return sorted(found)


if wanted:
    chosen = batches_of(wanted)
else:
    chosen = sorted(unit for unit in units if sources_of(unit))
    if sample is not None:
        chosen = chosen[sample::16]


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
