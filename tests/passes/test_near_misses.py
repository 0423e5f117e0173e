"""Graphs that almost match a pattern: what is a kernel no more where one thing of them changes.

Each graph of `tests/golden/fuse` is changed in one place: a result is given back too, a stored
tensor is handed in by the caller, operands are swapped, or a number is another. The golden file
says which kernels go and which come, under four runtimes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from perfc.errors import PerfcError
from perfc.ir.syntax.parse import parse
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.inference.shapes import Shapes
from perfc.passes.manager import Analyses

FUSED = Path(__file__).parents[1] / "golden" / "fuse"
GOLDEN = Path(__file__).with_name("near_misses.txt")
FILES = (
    "activations",
    "assignments",
    "chains",
    "gated",
    "masked-rows",
    "quantised",
    "residual",
    "transformer",
    "views",
)
RUNTIMES = ("ort", "inductor", "tensorrt", "eager")
STORED = re.compile(r"^  (%\w+) = weight \{[^}]*\} : (\S+\[.*?\])(?: = (.*))?$")
MADE = re.compile(r"^  (%\w+)(?:, %?\w+)* = (\w+)\((%\w+), (%\w+)\)")
ATTRIBUTE = re.compile(r"\b(\w+)=(-?\d+)\b(?=[,}])")
NAMED = re.compile(r"^  (%\w+)")


def source(name: str) -> list[str]:
    """Lines of a graph, without what it expects and the passes that it asks for."""
    text = (FUSED / f"{name}.pir").read_text(encoding="utf-8")
    return text.partition("# ---- expect\n")[0].splitlines()[1:]


def variants(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """What is changed, and the lines then."""
    for i, line in enumerate(lines):
        if stored := STORED.match(line):
            name, type_, content = stored.groups()
            handed = [x.replace("@main(", f"@main({name}: {type_}, ") for x in lines]
            yield f"{name} handed in", [*handed[:i], *handed[i + 1 :]]
            if content and re.fullmatch(r"-?[\d.e-]+", content):
                other = line[: -len(content)] + ("7" if "i" in type_ else "7.5")
                yield f"{name} another number", [*lines[:i], other, *lines[i + 1 :]]
            if type_.endswith("[]"):
                row = f"  {name} = weight {{bytes=64}} : {type_[:-2]}[{last_extent(lines)}]"
                yield f"{name} a row", [*lines[:i], row, *lines[i + 1 :]]
            continue
        if made := MADE.match(line):
            name, op, a, b = made.groups()
            if a != b:
                swapped = line.replace(f"{op}({a}, {b})", f"{op}({b}, {a})")
                yield f"{name} swapped", [*lines[:i], swapped, *lines[i + 1 :]]
        for stated in ATTRIBUTE.finditer(line):
            value = f"{stated[1]}={int(stated[2]) + 1}"
            other = f"{line[: stated.start()]}{value}{line[stated.end() :]}"
            yield f"{line.split()[0]} {value}", [*lines[:i], other, *lines[i + 1 :]]
        if (named := NAMED.match(line)) and "return" not in line:
            shown = [
                x.replace("  return ", f"  return {named[1]}, ") if x.startswith("  return ") else x
                for x in lines
            ]
            yield f"{named[1]} given back", shown


def last_extent(lines: list[str]) -> str:
    """Of the first input."""
    found = re.search(r"@main\(%\w+: \w+\[(?:[^\]]*, )?([^\],]+)\]", "\n".join(lines))
    return found[1] if found else "1"


def kernels(lines: list[str]) -> dict[str, Counter[str]]:
    """Kernels of a graph under each runtime, by what they are and the operators in them."""
    am = Analyses()
    module = am.apply(Shapes(), parse("\n".join(lines)).module)
    found: dict[str, Counter[str]] = {}
    for runtime in RUNTIMES:
        table = am.get(Fuse(runtime), module)
        said = (
            f"{k.pattern or k.kind.value}({' '.join(n.op.mnemonic for n in k.nodes)})"
            for k in table.kernels
        )
        found[runtime] = Counter(said)
    return found


def differences(name: str) -> Iterator[str]:
    """Lines of one graph."""
    lines = source(name)
    base = kernels(lines)
    for what, changed in variants(lines):
        try:
            found = kernels(changed)
        except PerfcError as error:
            yield f"{name} {what}: {str(error)[:80]}"
            continue
        by_effect: dict[str, list[str]] = {}
        for runtime in RUNTIMES:
            gone = [f"-{k}" for k in (base[runtime] - found[runtime]).elements()]
            come = [f"+{k}" for k in (found[runtime] - base[runtime]).elements()]
            if gone or come:
                by_effect.setdefault(" ".join([*gone, *come]), []).append(runtime)
        for effect, those in by_effect.items():
            yield f"{name} {what}: {','.join(those)}: {effect}"


@pytest.mark.parametrize("name", FILES)
def test_what_almost_matches_is_told_apart(name: str, pytestconfig: pytest.Config) -> None:
    actual = list(differences(name))
    text = GOLDEN.read_text(encoding="utf-8") if GOLDEN.is_file() else ""
    own = [line for line in text.splitlines() if line.startswith(f"{name} ")]
    if pytestconfig.getoption("--update-goldens"):
        others = [line for line in text.splitlines() if not line.startswith(f"{name} ")]
        GOLDEN.write_text("\n".join(sorted([*others, *actual])) + "\n", encoding="utf-8")
        return
    assert sorted({*own} ^ {*actual})[:8] == [], "--update-goldens writes it"
