"""Laws of questions over settings: each row is the analysis of its setting, in any order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfc
from perfc.ir.syntax.text import print_module

from .networks import TARGETS, Network, networks, printed


def written(folder: Path, net: Network) -> str:
    """Return the path of a network's file."""
    path = folder / "net.pir"
    path.write_text(print_module(net.module), encoding="utf-8")
    return str(path)


@settings(deadline=None, max_examples=5)
@given(networks(), st.permutations(TARGETS))
def test_a_comparison_is_the_analyses_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, net: Network, targets: list[str]
) -> None:
    path = written(tmp_path_factory.mktemp("net"), net)
    orders = (targets, TARGETS)
    one, other = (by_target(printed("compare", path, "-t", ",".join(o))) for o in orders)
    assert one == other
    for target, row in one.items():
        report = perfc.analyze(path, target)
        assert row["time_s"] == report.prediction.total.time_s
        assert row["floor_s"] == report.roofline.floor_s


def by_target(shown: Any) -> dict[str, Any]:
    """Return the rows of a comparison by target."""
    return {row["target"]: row for row in shown["rows"]}


@settings(deadline=None, max_examples=5)
@given(networks(), st.lists(st.integers(1, 256), min_size=2, max_size=3, unique=True))
def test_a_sweep_is_the_analyses_of_its_sizes(
    tmp_path_factory: pytest.TempPathFactory, net: Network, rows: list[int]
) -> None:
    path = written(tmp_path_factory.mktemp("net"), net)
    sizes = ",".join(map(str, rows))
    shown = printed("sweep", path, "--dim", f"n={sizes}", "-t", "a100")
    assert [point["dims"]["n"] for point in shown["points"]] == sorted(rows)
    for point in shown["points"]:
        report = perfc.analyze(path, "a100", dims=point["dims"])
        assert point["time_s"] == report.prediction.total.time_s
        assert point["floor_s"] == report.roofline.floor_s
