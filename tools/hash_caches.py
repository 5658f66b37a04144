#!/usr/bin/env python3
"""Runs scenes at reduced cost with one or more builds of the program, and prints a hash of each cache folder: a table
that shows which results a change of the code alters.

    tools/hash_caches.py --program build/spindrift --program ../before/build/spindrift [scene.toml...]

Without scenes, runs all in scenes/. Voxels are enlarged by --coarser, only the first --frames frames are computed, and
pictures are small. A hash covers the names and bytes of all files of a folder, except the record and states of the run.
With two programs, the last column counts the files that differ. Exits with 1 if a program fails in all scenes.
"""
import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IGNORED = re.compile(r"\.record$|\.state$|/\.|\.mp4$|contact")


def options_for(program, scene, arguments):
    tables = tomllib.loads(scene.read_text())
    known = subprocess.run([program, "describe", "render"], capture_output=True, text=True).stdout
    options = ["--frames", f"1-{arguments.frames}"]
    for name, table in tables.items():
        if not isinstance(table, dict):
            continue
        if "voxel" in table:
            options += ["--set", f"{name}.voxel={arguments.coarser * table['voxel']:.9g}"]
        if name == "render" or table.get("kind") == "render":
            values = {"width": 96, "height": 54, "samples": 2}
            if re.search(r"\bquality\b", known):  # earlier programs have full quality only
                values["quality"] = "full"
            for key, value in values.items():
                options += ["--set", f"{name}.{key}={value}"]
    return options


def hashes_of(folder):
    """For each folder of a stage: a hash of each file."""
    found = {}
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = file.relative_to(folder).as_posix()
        if not IGNORED.search("/" + name):
            found.setdefault(name.split("/")[0], {})[name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def run(program, scene, arguments):
    """Hashes by stage, or a message."""
    with tempfile.TemporaryDirectory() as place:
        command = [program, "run", str(scene), "-o", place, *options_for(program, scene, arguments)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.seconds)
        except subprocess.TimeoutExpired:
            return f"not done after {arguments.seconds} s"
        if done.returncode != 0:
            return "failed: " + (done.stderr.strip().splitlines() or ["no message"])[-1][:100]
        return hashes_of(Path(place))


def short(files):
    joined = "".join(name + digest for name, digest in sorted(files.items()))
    return hashlib.sha256(joined.encode()).hexdigest()[:12]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", action="append", required=True)
    parser.add_argument("--frames", type=int, default=4)
    parser.add_argument("--coarser", type=float, default=2)
    parser.add_argument("--seconds", type=float, default=180, help="limit for each run")
    parser.add_argument("scenes", nargs="*", type=Path)
    arguments = parser.parse_args()
    scenes = arguments.scenes or sorted((ROOT / "scenes").glob("*.toml"))
    print("| scene | stage | files |" + " hash |" * len(arguments.program) + " |")
    print("|---|---|---|" + "---|" * len(arguments.program) + "---|")
    complete = 0
    for scene in scenes:
        results = [run(program, scene, arguments) for program in arguments.program]
        complete += all(not isinstance(r, str) for r in results)
        stages = sorted({stage for r in results if not isinstance(r, str) for stage in r}) or ["-"]
        for stage in stages:
            files = [None if isinstance(r, str) else r.get(stage, {}) for r in results]
            cells = [r if f is None else short(f) if f else "-" for r, f in zip(results, files)]
            names = {name for f in files if f for name in f}
            verdict = ""
            if len(files) == 2 and None not in files:
                other = sum(files[0].get(name) != files[1].get(name) for name in names)
                verdict = f"{other} differ" if other else "same"
            print(f"| {scene.stem} | {stage} | {len(names)} | " + " | ".join(cells) + f" | {verdict} |", flush=True)
    return 0 if complete else 1


sys.exit(main())
