#!/usr/bin/env python3
"""Checks that docs/references.md has an entry for every citation such as [Narain 2011, (5.13)] in code and documents.

    tools/check_references.py [project folder]

Prints each citation without an entry and exits with 1 if there are any.
"""
import re
import sys
from pathlib import Path

root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
listed = set(re.findall(r"^\| ([^|]+? \d{4}) \|", (root / "docs/references.md").read_text(), re.M))
citation = re.compile(r"\[((?:[a-z]+ )*[A-Z][\w-]+ (?:18|19|20)\d\d)(?:, [^\]]*)?\]")
files = [f for folder in ("src", "tests", "bench", "validate", "fuzz", "examples", "scenes", "docs") for f in (root / folder).rglob("*")]
missing = 0
for file in sorted(files) + [root / "README.md"]:
    if file.suffix not in (".h", ".cpp", ".c", ".md", ".toml", ".ax") or "consumer" in file.parts:
        continue
    for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
        for key in citation.findall(line):
            if key not in listed:
                print(f"{file.relative_to(root)}:{number}: [{key}] is not in docs/references.md")
                missing += 1
print(f"{missing} citations have no entry" if missing else f"every citation is among {len(listed)} references")
sys.exit(1 if missing else 0)
