"""Laws of a difference: back it is the opposite, its parts are the whole, names are no change."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfc.ir.syntax.text import print_module

from .networks import RUNTIMES, Network, networks, printed


def difference(folder: Path, old: Network, new: Network, runtime: str) -> Any:
    """Return what `perfc diff` prints of two networks as JSON."""
    paths = [folder / "old.pir", folder / "new.pir"]
    for path, net in zip(paths, (old, new), strict=True):
        path.write_text(print_module(net.module), encoding="utf-8")
    return printed("diff", *map(str, paths), "-t", "a100", "--runtime", runtime)


def changes(shown: Any) -> dict[str, float]:
    """Return the change of each metric."""
    return {row["metric"]: row["delta"] for row in shown["totals"] if row["delta"] is not None}


@settings(deadline=None, max_examples=8)
@given(networks(), networks(), st.sampled_from(RUNTIMES))
def test_there_and_back_is_the_opposite(
    tmp_path_factory: pytest.TempPathFactory, old: Network, new: Network, runtime: str
) -> None:
    folder = tmp_path_factory.mktemp("pair")
    there, back = (difference(folder, *pair, runtime) for pair in ((old, new), (new, old)))
    opposite = {name: -change for name, change in changes(back).items()}
    assert changes(there) == pytest.approx(opposite, rel=1e-9, abs=1e-15)
    for row in there["totals"]:
        other = next(r for r in back["totals"] if r["metric"] == row["metric"])
        if row.get("delta_low") is not None:
            ends = (-other["delta_high"], -other["delta_low"])
            assert (row["delta_low"], row["delta_high"]) == pytest.approx(ends, rel=1e-6, abs=1e-12)
    assert there["factor_s"] == pytest.approx(-back["factor_s"], abs=1e-15)


@settings(deadline=None, max_examples=8)
@given(networks(), networks(), st.sampled_from(RUNTIMES))
def test_kernels_fixed_time_and_factor_are_the_change(
    tmp_path_factory: pytest.TempPathFactory, old: Network, new: Network, runtime: str
) -> None:
    shown = difference(tmp_path_factory.mktemp("pair"), old, new, runtime)
    kernels_s = math.fsum((k["time_s_new"] or 0) - (k["time_s_old"] or 0) for k in shown["kernels"])
    whole_s = kernels_s + shown["fixed_s_new"] - shown["fixed_s_old"] + shown["factor_s"]
    assert whole_s == pytest.approx(changes(shown)["time"], rel=1e-6, abs=1e-12)


@settings(deadline=None, max_examples=6)
@given(networks(), st.sampled_from(RUNTIMES))
def test_other_names_are_no_difference(
    tmp_path_factory: pytest.TempPathFactory, net: Network, runtime: str
) -> None:
    shown = difference(tmp_path_factory.mktemp("pair"), net, net.renamed(), runtime)
    assert not any(changes(shown).values())
    assert not shown["changes"]


@settings(deadline=None, max_examples=6)
@given(networks(), st.sampled_from(RUNTIMES), st.lists(st.integers(0, 9), min_size=3, max_size=3))
def test_another_order_is_no_other_work(
    tmp_path_factory: pytest.TempPathFactory, net: Network, runtime: str, keys: list[int]
) -> None:
    """A runtime that fuses merges a join of several chains into the last of them."""
    shown = difference(tmp_path_factory.mktemp("pair"), net, net.reordered(keys), runtime)
    moved = {name for name, change in changes(shown).items() if change}
    by_order = (
        {"peak_memory"} if runtime == "eager" else {*changes(shown)} - {"flop", "mac", "parameters"}
    )
    assert moved <= by_order
    assert not shown["changes"] or runtime != "eager"
