"""Figures of the code stay at their ceilings, each room at its own; ceilings fall only."""

from __future__ import annotations

import ast
import subprocess

import pytest

from benchmarks.shape import ROOT, figures

CEILINGS: dict[str, float] = {
    "size of ir": 148619,
    "size of passes": 107660,
    "size of analyzers": 130718,
    "size of kernels": 30180,
    "size of perfc/commands": 71765,
    "size of perfc/common": 5476,
    "size of perfc/deployment": 18505,
    "size of perfc/distributed": 18954,
    "size of perfc/frontend": 185881,
    "size of perfc/machine": 14429,
    "size of perfc/measuring": 115461,
    "size of perfc/review": 86823,
    "size of perfc/serving": 58848,
    "size of perfc/study": 48182,
    "size of perfc/targets": 0,
    "size of perfc/view": 105545,
    "size of perfc/*.py": 3330,
    "size of the product": 1150376,
    "code of lab": 401767,
    "code of tests": 748805,
    "code of benchmarks": 80612,
    "code of everything": 2258448,
    "files of the main path": 246,
    "tokens of the main path": 255354,
    "share of functions run in the files of docs/architecture.md, %": 14.3,
    "imports from the core to a room above it": 21,
    "modules of the core that rooms above import": 235,
    "tests through inner names, %": 83.2,
    "tests of view through inner names, %": 72.6,
    "tests of study through inner names, %": 76.7,
    "tests of commands through inner names, %": 59.7,
    "tests of review through inner names, %": 55.9,
    "classes with a low and a high of their own": 43,
    "classes named View": 66,
    "rows by position": 96,
    "circles of imports": 0,
}
"""Figures of ``python -m benchmarks.shape``, with the most they may be; without slack."""
FLOORS = {"share of functions run in the files of docs/architecture.md, %"}
"""Figures that may not fall, as more is better; their values rise only."""
PLACE = "tests/project/test_shape.py"


def ceilings_of(text: str) -> dict[str, float]:
    """Return the ceilings that a version of this file has, {} of one without."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "CEILINGS":
            assert node.value is not None
            held: dict[str, float] = ast.literal_eval(node.value)
            return held
    return {}


def worse(name: str, value: float, limit: float) -> bool:
    """Return whether a figure is beyond its limit."""
    return value < limit if name in FLOORS else value > limit


def test_figures_stay_at_their_ceilings() -> None:
    table = figures()
    beyond = {n: (v, CEILINGS.get(n)) for n, v in table.items() if worse(n, v, CEILINGS.get(n, 0))}
    assert not beyond, f"{beyond}: (now, ceiling); a room takes what it needs from itself"
    assert CEILINGS.keys() <= table.keys()


def test_ceilings_fall_only() -> None:
    try:
        result = subprocess.run(
            ["git", "show", f"HEAD^:{PLACE}"], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except OSError:
        pytest.skip("git is not installed")
    if result.returncode:
        pytest.skip("no parent commit with ceilings")
    before = ceilings_of(result.stdout)
    raised = {n: (v, CEILINGS.get(n)) for n, v in before.items() if worse(n, CEILINGS.get(n, v), v)}
    assert not raised, f"{raised}: (before, now)"


def test_ceilings_are_read_from_a_file() -> None:
    assert ceilings_of("CEILINGS: dict[str, float] = {'a': 1, 'b': 2.5}\n") == {"a": 1, "b": 2.5}
    assert ceilings_of("x = 1\n") == {}
    assert worse("a", 2, 1)
    assert not worse("a", 1, 1)
