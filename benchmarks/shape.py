"""Print the shape of the code: sizes that cannot hide, imports between rooms, what tests hold.

    python -m benchmarks.shape          the table
    python -m benchmarks.shape --json   the same figures as JSON

The size of a room is its tokens of Python, the words of strings beyond their twelfth, the words
of keys and strings of tables beside code, and those of scripts and templates: moving code into a
string or a table makes nothing smaller. Numbers are free; targets, fitted weights and published
configurations are data. ``tests/project/test_shape.py`` holds the figures.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("perfc", "ir", "passes", "analyzers", "kernels")
ALL = (*PRODUCT, "lab", "tests", "benchmarks")
DATA = (
    "perfc/targets",
    "analyzers/weights",
    "perfc/frontend/config/configs",
    "perfc/frontend/diffusion/pipelines",
)
"""Folders of published or fitted values."""
FREE_WORDS = 12
"""Words of a string that are no more than its own token: assumed, about one line."""
WORD = re.compile(r"\w+|[^\w\s]")
STRING = r"""(?i:[rbuf]{0,2})(?:(?s:"{3}(?:\\.|.)*?"{3}|'{3}(?:\\.|.)*?'{3})"""
STRING += r"""|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
TOKEN = re.compile(
    rf"(?m)(?P<alone>(?<!\\\n)^[ \t]*(?>{STRING})(?=[ \t]*(?:#|$)))|#.*|{STRING}"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|\.?\d(?:[eE][+-]?\d|[\w.])*|\w+"
    r"|\.\.\.|->|:=|!=|(?:\*\*|//|<<|>>|[-+*/%@&|^<>=])=?|[~.,:;]"
)
"""Tokens of Python; ``alone`` is a string on whole lines: outside brackets a docstring."""
SCRIPTS = {".j2", ".js", ".mjs", ".html", ".css", ".jinja"}
WALL = "the core imports no room above it"
"""Contract of import-linter whose sources are the core; what it forbids are the rooms above."""
DOORS = {"perfc", "perfc.errors", "perfc.cli", "perfc.api", "perfc.testing"}
"""Modules that users import."""
TESTED = ("view", "study", "commands", "review")
"""Folders of tests that have a figure of their own."""


def files(*folders: str) -> Iterator[Path]:
    """Return the files of folders, without links and byte code."""
    for folder in folders:
        for place, inside, names in os.walk(ROOT / folder):
            inside[:] = sorted(
                n for n in inside if n != "__pycache__" and not Path(place, n).is_symlink()
            )
            yield from (Path(place, n) for n in sorted(names))


def modules(*folders: str) -> list[Path]:
    """Return the Python files of folders."""
    return [path for path in files(*folders) if path.suffix == ".py"]


def place_of(path: Path) -> str:
    """Return where a file stands in the checkout."""
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def docstrings(parsed: ast.AST) -> list[ast.Constant]:
    """Return the strings that stand alone: docstrings of all kinds."""
    return [
        node.value
        for node in ast.walk(parsed)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]


def tokens(text: str) -> list[int]:
    """Return the line of each token of code: layout, comments and docstrings do not count.

    Every version of Python gives the same; `tokenize` splits formatted strings from 3.12 on.
    """
    lines: list[int] = []
    depth = line = at = 0
    for match in TOKEN.finditer(text):
        kind = match.lastgroup
        depth += (kind == "open") - (kind == "close")
        # a string alone on its lines is a docstring, inside brackets it is an argument
        if match[0][0] != "#" and (kind != "alone" or depth > 0):
            line, at = line + text.count("\n", at, match.start()), match.start()
            lines.append(line + 1)
    return lines


@cache
def code(path: Path) -> int:
    """Return the tokens of code of a file."""
    return len(tokens(path.read_text(encoding="utf-8")))


def words_of_strings(path: Path) -> int:
    """Return the words of the strings of a file beyond the twelfth of each."""
    skipped = set(map(id, docstrings(tree(path))))
    return sum(
        max(len(WORD.findall(node.value)) - FREE_WORDS, 0)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in skipped
    )


def words_of_table(value: object) -> int:
    """Return the words of the keys and strings of a table; numbers are free."""
    match value:
        case dict():
            return sum(len(WORD.findall(str(k))) + words_of_table(v) for k, v in value.items())
        case list():
            return sum(map(words_of_table, value))
        case str():
            return len(WORD.findall(value))
        case _:
            return 0


def size(path: Path) -> int:
    """Return the size of a file: code, long strings, table, script or template."""
    if place_of(path).startswith(DATA):
        return 0
    match path.suffix:
        case ".py":
            return code(path) + words_of_strings(path)
        case ".json" if "lock" not in path.name and "schema" not in path.name:
            return words_of_table(json.loads(path.read_text(encoding="utf-8")))
        case ".toml" if "lock" not in path.name:
            return words_of_table(tomllib.loads(path.read_text(encoding="utf-8")))
        case suffix if suffix in SCRIPTS and not path.name.endswith(".min.js"):
            return len(WORD.findall(path.read_text(encoding="utf-8")))
        case _:
            return 0


def rooms() -> tuple[str, ...]:
    """Return the rooms that have a ceiling each: folders of the product."""
    inner = {p.parent.name: None for p in sorted((ROOT / "perfc").glob("*/__init__.py"))}
    return (
        "ir",
        "passes",
        "analyzers",
        "kernels",
        *(f"perfc/{n}" for n in inner if not (ROOT / "perfc" / n).is_symlink()),
        "perfc/*.py",
    )


def sizes() -> dict[str, int]:
    """Return the size of each room."""
    named = rooms()
    total = Counter(dict.fromkeys(named, 0))
    for path in files(*PRODUCT):
        place = place_of(path)
        total[next((r for r in named if place.startswith(f"{r}/")), "perfc/*.py")] += size(path)
    return dict(total)


@cache
def placed() -> dict[str, str]:
    """Return "core" or "above" of each package and module that the contract of the wall lists."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    wall = next(c for c in contracts if c["name"] == WALL)
    core, above = wall["source_modules"], wall["forbidden_modules"]
    # a package whose modules are of several rooms is not listed; what it imports itself is core's
    inner = (m.rsplit(".", n)[0] for m in core for n in range(1, m.count(".") + 1))
    return {
        **dict.fromkeys(inner, ""),
        **dict.fromkeys(core, "core"),
        **dict.fromkeys(above, "above"),
    }


def room_of(name: str) -> str:
    """Return "core" or "above" by the longest name that is listed; "" for a module of no room."""
    holders = (name.rsplit(".", n)[0] if n else name for n in range(name.count(".") + 1))
    holder = next(h for h in holders if h in placed())
    return placed()[holder] or ("core" if holder == name else "")


def name_of(path: Path) -> str:
    """Return the name that a module is imported by."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    inside = parts if parts[0] == "perfc" else ("perfc", *parts)
    return ".".join(inside).removesuffix(".__init__")


@cache
def named() -> dict[str, Path]:
    """Return the modules of the product by name."""
    return {name_of(path): path for path in modules(*PRODUCT)}


def imports(path: Path, nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Return the modules of the product that nodes of a file import, at any depth of functions."""
    package = (
        name_of(path).split(".") if path.name == "__init__.py" else name_of(path).split(".")[:-1]
    )
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield from _source(source, alias.name)


def _source(source: str, name: str) -> Iterator[str]:
    """Return the module a name is imported from; a re-export counts as its source."""
    if f"{source}.{name}" in named():
        yield f"{source}.{name}"
        return
    path = named().get(source)
    if path and path.name == "__init__.py":
        for node in tree(path).body:
            if isinstance(node, ast.ImportFrom) and any(
                (a.asname or a.name) == name for a in node.names
            ):
                inner = next(a.name for a in node.names if (a.asname or a.name) == name)
                base = (
                    source.split(".")[: len(source.split(".")) - node.level + 1]
                    if node.level
                    else []
                )
                origin = ".".join([*base, *([node.module] if node.module else [])])
                if origin != source:
                    yield from _source(origin, inner)
                    return
    yield source


def at_run_time(parsed: ast.AST) -> Iterator[ast.AST]:
    """Return the nodes of a tree, without what stands under ``if TYPE_CHECKING``."""
    for node in ast.iter_child_nodes(parsed):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        yield node
        yield from at_run_time(node)


@cache
def edges() -> set[tuple[str, str]]:
    """Return the pairs of modules of the product of which the first imports the second."""
    return {
        (name_of(path), name)
        for path in modules(*PRODUCT)
        for name in imports(path, list(at_run_time(tree(path))))
        if name in named()
    }


def walls() -> dict[str, int]:
    """Return imports upwards out of the core, and modules of the core that others import."""
    upwards = [(a, b) for a, b in edges() if room_of(a) == "core" and room_of(b) == "above"]
    doors = {b for a, b in edges() if room_of(a) == "above" and room_of(b) == "core"}
    return {
        "modules of no room": sum(not room_of(name) for name in named()),
        "imports from the core to a room above it": len(upwards),
        "modules of the core that rooms above import": len(doors),
    }


def inner_share(*folders: str) -> float:
    """Return the share of the tokens of tests that use a name of a module that is no door."""
    inner = total = 0
    for path in modules(*folders):
        if path.name.startswith("test_"):
            a, b = _tests(path)
            inner, total = inner + a, total + b
    return inner / total


def _tests(path: Path) -> tuple[int, int]:
    """Return the tokens of the tests of a file that use inner names, and of all its tests."""
    parsed = tree(path)
    unsafe = {
        alias.asname or alias.name.split(".")[0]
        for node in ast.walk(parsed)
        for alias in (node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ())
        if _is_inner(node, alias.name)
    }
    uses: dict[str, set[str]] = {}
    lines: dict[str, tuple[int, int]] = {}
    for top in parsed.body:
        for name in _bound(top):
            uses[name] = _used(top)
            marks = getattr(top, "decorator_list", [])
            lines[name] = (min(n.lineno for n in [top, *marks]), top.end_lineno or top.lineno)
    at = tokens(path.read_text(encoding="utf-8"))
    inner = total = 0
    for name, (first, last) in lines.items():
        if name.startswith(("test_", "Test")):
            count = sum(first <= line <= last for line in at)
            total += count
            inner += count * bool(_reached(name, uses) & (unsafe | {INSIDE}))
    return inner, total


INSIDE = "import of an inner module"
"""Name that stands for an import within a function."""


def _bound(top: ast.stmt) -> list[str]:
    """Return the names that a function, class or assignment of a module binds."""
    if isinstance(top, (ast.FunctionDef, ast.ClassDef)):
        return [top.name]
    if not isinstance(top, (ast.Assign, ast.AnnAssign)):
        return []
    names = [n for n in ast.walk(top) if isinstance(n, ast.Name)]
    return [n.id for n in names if isinstance(n.ctx, ast.Store)]


def _used(top: ast.stmt) -> set[str]:
    """Return the names that a statement uses when it runs; an argument may be a fixture."""
    used = set[str]()
    left: list[ast.AST] = [top]
    while left:
        node = left.pop()
        if isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.arg):
            used.add(node.arg)
            continue
        elif isinstance(node, ast.ImportFrom) and any(_is_inner(node, a.name) for a in node.names):
            used.add(INSIDE)
        hints = (getattr(node, "returns", None), getattr(node, "annotation", None))
        left += (n for n in ast.iter_child_nodes(node) if n not in hints)
    return used


def _is_inner(node: ast.AST, name: str) -> bool:
    """Return whether an import is of a module of the product that is no door."""
    source = node.module or "" if isinstance(node, ast.ImportFrom) else name
    if source == "perfc":
        return f"perfc.{name}" in named() and f"perfc.{name}" not in DOORS
    return source.split(".")[0] in ("perfc", "perfc_lab") and source not in DOORS


def _reached(name: str, uses: Mapping[str, set[str]]) -> set[str]:
    """Return the names that a function uses, with those of what it uses in its file."""
    seen, open_ = set[str](), [name]
    while open_:
        for used in uses.get(open_.pop(), ()):
            if used not in seen:
                seen.add(used)
                open_.append(used)
    return seen


def classes() -> dict[str, int]:
    """Return how many classes have ends of their own or are views, and rows by position."""
    ends = views = positions = 0
    for path in modules(*PRODUCT):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                fields = " ".join(
                    n.target.id
                    for n in node.body
                    if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
                )
                ends += "low" in fields and "high" in fields
                views += node.name.endswith("View")
            positions += (
                isinstance(node, ast.Subscript)
                and isinstance(node.value, ast.Subscript)
                and isinstance(node.value.slice, ast.Constant)
                and isinstance(node.value.slice.value, int)
                and not isinstance(node.value.slice.value, bool)
            )
    return {
        "classes with a low and a high of their own": ends,
        "classes named View": views,
        "rows by position": positions,
    }


def circles() -> int:
    """Return the circles of imports when modules are loaded."""
    graph: dict[str, set[str]] = {}
    for path in modules(*PRODUCT):
        tops = list(
            at_run_time(
                ast.Module(
                    [
                        s
                        for s in tree(path).body
                        if not isinstance(s, (ast.FunctionDef, ast.ClassDef))
                    ],
                    [],
                )
            )
        )
        graph[place_of(path)] = {
            place_of(named()[n]) for n in imports(path, tops) if n in named()
        } - {place_of(path)}
    while graph:
        leaves = {p for p, used in graph.items() if not used & graph.keys()}
        if not leaves:
            break
        graph = {p: used for p, used in graph.items() if p not in leaves}
    return len(graph)


MAIN_PATH = """
import json, os, sys, threading
root, words = sys.argv[1], sys.argv[2:]
seen, found = {}, []
def note(frame, event, _):
    if event == "call":
        seen[frame.f_code] = 1
threading.setprofile(note)
sys.setprofile(note)
from contextlib import redirect_stdout
from io import StringIO
from perfc.cli import run
with redirect_stdout(StringIO()):
    run(words)
sys.setprofile(None)
for code in seen:
    path = os.path.realpath(code.co_filename)
    if "<" not in (code.co_name[0], code.co_filename[0]) and path.startswith(root + os.sep):
        found.append((os.path.relpath(path, root), code.co_firstlineno))
print(json.dumps(found))
"""
"""Program that prints the named functions of this checkout that a command runs."""


def main_path() -> dict[str, float]:
    """Return the files and tokens whose functions run in the README's ``perfc analyze``."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    match = re.search(r"perfc (analyze \S+\.onnx\S*[^\n|]*)", readme)
    words = match[1].split() if match else []
    command = [sys.executable, "-c", MAIN_PATH, str(ROOT), *words]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    functions = {tuple(pair) for pair in json.loads(result.stdout.splitlines()[-1])}
    where = {place for place, _ in functions}
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    named_there = re.findall(r"[\w/]+\.py\b", page)
    listed = {p for p in where if any(f"/{p}".endswith(f"/{name}") for name in named_there)}
    return {
        "files of the main path": len(where),
        "tokens of the main path": sum(code(ROOT / place) for place in where),
        "share of functions run in the files of docs/architecture.md, %": round(
            100 * sum(place in listed for place, _ in functions) / len(functions), 1
        ),
    }


def figures() -> dict[str, float]:
    """Return every figure of the table by its name."""
    size_of = sizes()
    return {
        **{f"size of {room}": count for room, count in size_of.items()},
        "size of the product": sum(size_of.values()),
        **{f"code of {f}": sum(map(code, modules(f))) for f in ("lab", "tests", "benchmarks")},
        "code of everything": sum(map(code, modules(*ALL))),
        **main_path(),
        **walls(),
        "tests through inner names, %": round(100 * inner_share("tests", "lab/tests"), 1),
        **{
            f"tests of {f} through inner names, %": round(100 * inner_share(f"tests/{f}"), 1)
            for f in TESTED
        },
        **classes(),
        "circles of imports": circles(),
    }


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    table = figures()
    if options.json:
        print(json.dumps(table, indent=2))
    else:
        print("\n".join(f"{name:66s} {value:>12,}" for name, value in table.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
