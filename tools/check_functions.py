#!/usr/bin/env python3
"""Checks that no function is longer than 90 lines, and that no control flow is nested deeper than five levels.

    tools/check_functions.py [--longest N] [folder or file...]

Without arguments, checks the C++ code of the whole project. --longest prints the N longest and the N most deeply nested
functions instead.

A function has the lines from its name to its closing brace. if, else, for, while, do, switch, try and catch add a level;
an `else if` is on the level of its `if`. A lambda adds no level of its own, but what is nested in it counts on from where
it stands. Prints a line for each fault, and exits with 1 if there are any.
"""
import re
import sys
from pathlib import Path

MOST_LINES, MOST_LEVELS = 90, 5
FOLDERS = ("src", "tests", "bench", "validate", "fuzz", "examples")

TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^(\s]*)\(.*?\)(?P=delimiter)")
      | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
      | (?P<number>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)
      | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
      | (?P<word>[A-Za-z_]\w*)
      | (?P<mark>::|->|.)""",
    re.X | re.S,
)


def tokens_of(text):
    """Pairs of a token and its line. Strings are all '""'; lines of the preprocessor are left out."""
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group().count("\n"), text, flags=re.M)
    found, line = [], 1
    for match in TOKEN.finditer(text):
        if match.lastgroup != "skip":
            quoted = match.group("raw") or match.group("string") or match.group("char")
            found.append(('""' if quoted else match.group(), line))
        line += match.group().count("\n")
    return found


class Reader:
    """Finds the functions of a file: (name, first line, number of lines, levels, line of the deepest statement)."""

    def __init__(self, text):
        self.tokens = tokens_of(text)
        self.at = 0
        self.functions = []
        self.deepest = self.deepest_line = 0

    def peek(self, ahead=0):
        place = self.at + ahead
        return self.tokens[place][0] if place < len(self.tokens) else ""

    def line(self):
        return self.tokens[min(self.at, len(self.tokens) - 1)][1]

    # --- declarations

    def scope(self):
        """Declarations up to the closing brace of a namespace or class, or to the end of the file."""
        while self.peek() and self.peek() != "}":
            self.declaration()
        self.at += 1

    def declaration(self):
        if self.peek() in ("public", "protected", "private") and self.peek(1) == ":":
            self.at += 2
            return
        first = self.at
        while self.peek() not in ("", ";", "{", "}"):
            if self.peek() in ("(", "["):
                self.brackets()
            else:
                self.at += 1
        if self.peek() == "}":  # of the scope
            return
        if self.peek() in ("", ";"):
            self.at += 1
            return
        head = [token for token, _ in self.tokens[first : self.at]]
        plain = re.sub(r"template <.*?> (?=class|struct|union)", "", " ".join(head))
        if re.match(r"(inline )?namespace\b", plain) or plain == 'extern ""':
            self.at += 1
            self.scope()
        elif re.search(r"(^|[;:>\]] |\b(typedef|static|const) )(class|struct|union)\b", plain) and "(" not in plain:
            self.at += 1
            self.scope()
        elif "(" in head and "=" not in self.outer(head):
            self.function(first, head)
        else:
            self.braces(0)

    @staticmethod
    def outer(head):
        """The tokens outside of parentheses, without the names of operators."""
        depth, found = 0, []
        for token in re.sub(r"operator \S+( =)?( \( \))?", "operator", " ".join(head)).split():
            depth += (token == "(") - (token == ")")
            if depth == 0:
                found.append(token)
        return found

    def function(self, first, head):
        initializes = re.search(r"\) (noexcept )?: ", " ".join(head))
        while initializes and re.match(r"[\w>]", self.tokens[self.at - 1][0]):  # a member with braces
            self.braces(0)
            while self.peek() not in ("{", ";", ""):
                self.piece(0)
        self.deepest, self.deepest_line = 0, 0
        self.braces(0)
        last = self.tokens[self.at - 1][1]
        name = re.sub(r"\s*(::|~)\s*", r"\1", " ".join(head)).split(" (")[0].split(" ")[-1]
        if name in ("TEST", "TEST_F", "TEST_P"):
            name = "".join(head[head.index("(") + 1 : head.index(")")]).replace(",", ".")
        start = self.tokens[first][1]
        self.functions.append((name, start, last - start + 1, self.deepest, self.deepest_line))

    # --- statements; `level` is the number of control structures around

    def step(self):
        self.at += 1

    def braces(self, level):
        self.step()
        while self.peek() and self.peek() != "}":
            self.statement(level)
        self.step()

    def brackets(self, level=0):
        closing = {"(": ")", "[": "]"}[self.peek()]
        self.step()
        while self.peek() and self.peek() != closing:
            self.piece(level)
        self.step()

    def piece(self, level):
        """One token of an expression, or all that a bracket encloses."""
        if self.peek() == "{":
            self.braces(level)
        elif self.peek() in ("(", "["):
            self.brackets(level)
        else:
            self.step()

    def enter(self, level):
        if level > self.deepest:
            self.deepest, self.deepest_line = level, self.line()

    def statement(self, level):
        word = self.peek()
        if word == "{":
            self.braces(level)
        elif word in ("if", "for", "while", "switch", "catch"):
            self.enter(level + 1)
            while self.peek() != "(":
                self.step()
            self.brackets(level)
            self.statement(level + 1)
            while word == "if" and self.peek() == "else":
                self.step()
                if self.peek() == "if":
                    self.statement(level)  # takes its own else along
                else:
                    self.statement(level + 1)
        elif word in ("do", "try"):
            self.enter(level + 1)
            self.step()
            self.statement(level + 1)
            if word == "do":
                self.expression(level)
        elif word in ("case", "default"):
            while self.peek() not in (":", ""):
                self.step()
            self.step()
        else:
            self.expression(level)

    def expression(self, level):
        while self.peek() not in (";", "}", ""):
            self.piece(level)
        if self.peek() == ";":
            self.step()


def files_in(arguments):
    root = Path(__file__).resolve().parent.parent
    for place in [Path(a) for a in arguments] or [root / folder for folder in FOLDERS]:
        yield from sorted(p for p in place.rglob("*") if p.suffix in (".h", ".cpp")) if place.is_dir() else [place]


def main():
    arguments = sys.argv[1:]
    show = int(arguments[1]) if arguments[:1] == ["--longest"] else 0
    found = []
    for file in files_in(arguments[2:] if show else arguments):
        reader = Reader(file.read_text())
        reader.scope()
        found += [(file, *function) for function in reader.functions]
    if show:
        for file, name, line, lines, _, _ in sorted(found, key=lambda f: -f[3])[:show]:
            print(f"{file}:{line}: {name} has {lines} lines")
        for file, name, _, _, levels, deepest in sorted(found, key=lambda f: -f[4])[:show]:
            print(f"{file}:{deepest}: {name} is nested {levels} levels deep")
        return 0
    faults = 0
    for file, name, line, lines, levels, deepest in found:
        if lines > MOST_LINES:
            print(f"{file}:{line}: {name} has {lines} lines; {MOST_LINES} are allowed")
            faults += 1
        if levels > MOST_LEVELS:
            print(f"{file}:{deepest}: {name} is nested {levels} levels deep; {MOST_LEVELS} are allowed")
            faults += 1
    print(f"{faults} faults" if faults else f"{len(found)} functions are short enough, and nested no deeper than allowed")
    return 1 if faults else 0


sys.exit(main())
