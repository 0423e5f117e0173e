"""Figures of the code stay at their ceilings, each room at its own; ceilings fall only."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Mapping

import pytest

from benchmarks.shape import ROOT, circles, classes, figures, sizes, walls

CEILINGS: dict[str, float] = {
    "size of ir": 154213,
    "size of passes": 108583,
    "size of analyzers": 126033,
    "size of kernels": 30419,
    "size of perfc/commands": 69987,
    "size of perfc/common": 11368,
    "size of perfc/deployment": 13513,
    "size of perfc/distributed": 18968,
    "size of perfc/frontend": 187969,
    "size of perfc/machine": 13869,
    "size of perfc/measuring": 114203,
    "size of perfc/review": 87573,
    "size of perfc/serving": 64066,
    "size of perfc/study": 40209,
    "size of perfc/targets": 0,
    "size of perfc/view": 107458,
    "size of perfc/*.py": 4358,
    "size of the product": 1152789,
    "code of lab": 406208,
    "code of tests": 735581,
    "code of benchmarks": 80478,
    "code of everything": 2253312,
    "files of the main path": 253,
    "tokens of the main path": 273677,
    "share of functions run in the files of docs/architecture.md, %": 13.9,
    "modules of no room": 0,
    "imports from the core to a room above it": 0,
    "modules of the core that rooms above import": 150,
    "tests through inner names, %": 74.3,
    "tests of view through inner names, %": 25.2,
    "tests of study through inner names, %": 20.1,
    "tests of commands through inner names, %": 7.0,
    "tests of review through inner names, %": 10.6,
    "classes with a low and a high of their own": 37,
    "classes named View": 25,
    "rows by position": 103,
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


def beyond(table: Mapping[str, float]) -> dict[str, tuple[float, float | None]]:
    """Return the figures beyond their ceilings, each with its ceiling."""
    return {n: (v, CEILINGS.get(n)) for n, v in table.items() if worse(n, v, CEILINGS.get(n, 0))}


def test_rooms_and_walls_stay_at_their_ceilings() -> None:
    of_rooms = {f"size of {room}": size for room, size in sizes().items()}
    table = {**of_rooms, **walls(), **classes(), "circles of imports": circles()}
    assert not beyond(table), "(now, ceiling); a room takes what it needs from itself"
    assert table.keys() <= CEILINGS.keys()


@pytest.mark.long
def test_every_figure_stays_at_its_ceiling() -> None:
    table = figures()
    assert not beyond(table)
    assert CEILINGS.keys() == table.keys()


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
