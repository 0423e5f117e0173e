"""Laws of one analysis: bounds below times, parts that sum, names and order that count nothing."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfc
from perfc.ir.syntax.parse import parse_module
from perfc.ir.syntax.text import print_module

from .networks import ROWS, RUNTIMES, TARGETS, Network, networks, printed

SETTINGS = st.tuples(st.sampled_from(TARGETS[:2]), st.sampled_from(RUNTIMES))
WORK = ("flop", "mac", "parameters")
PLACES = frozenset({"digest", "name", "path", "source", "node", "anchor", "nodes", "model"})


def numbers(report: perfc.Report) -> list[float]:
    """Return the totals of an analysis."""
    total, work = report.prediction.total, report.to_dict()["summary"]
    counted = [work[k]["value"] for k in ("flop", "mac", "read_bytes", "write_bytes", "parameters")]
    return [report.roofline.floor_s, total.low_s, total.time_s, total.high_s, *counted]


@settings(deadline=None, max_examples=12)
@given(networks(), SETTINGS)
def test_bounds_are_below_times_and_parts_sum_to_the_whole(
    net: Network, setting: tuple[str, str]
) -> None:
    target, runtime = setting
    report = perfc.analyze(net.module, target, runtime=runtime)
    prediction, total = report.prediction, report.prediction.total
    assert 0 < report.roofline.floor_s <= total.low_s <= total.time_s <= total.high_s
    for bound, estimate in zip(report.roofline.kernels, prediction.kernels, strict=True):
        assert 0 <= bound.floor_s <= estimate.time_s
        assert estimate.time.low <= estimate.time.mid <= estimate.time.high
    assert prediction.kernels_s + total.fixed_s == pytest.approx(total.time_s)
    assert math.fsum(k.time_s for k in prediction.kernels) == pytest.approx(prediction.kernels_s)
    shown = report.to_dict()
    for name in ("flop", "mac"):
        whole = shown["summary"][name]["value"]
        assert sum(row[name]["value"] for row in shown["kernels"]) == whole


@settings(deadline=None, max_examples=8)
@given(networks(), SETTINGS, st.lists(st.integers(0, 9), min_size=3, max_size=3))
def test_names_and_order_count_nothing(
    net: Network, setting: tuple[str, str], keys: list[int]
) -> None:
    target, runtime = setting
    one, other = (perfc.analyze(n.module, target, runtime=runtime) for n in (net, net.renamed()))
    assert numbers(one) == numbers(other)
    moved = perfc.analyze(net.reordered(keys).module, target, runtime=runtime)
    work = [one.to_dict()["summary"][name]["value"] for name in WORK]
    assert [moved.to_dict()["summary"][name]["value"] for name in WORK] == work
    if runtime == "eager":  # a runtime that fuses merges a join into the last of its chains
        assert numbers(moved) == pytest.approx(numbers(one), rel=1e-9)


@settings(deadline=None, max_examples=8)
@given(networks(), st.integers(1, 64), st.sampled_from(TARGETS))
def test_a_size_may_be_given_before_or_after(net: Network, rows: int, target: str) -> None:
    before = perfc.analyze(net.module, target, dims={"n": rows})
    after = perfc.analyze(net.module, target).at(n=rows)
    assert numbers(before) == numbers(after)
    more = perfc.analyze(net.module, target, dims={"n": 2 * rows})
    assert more.roofline.floor_s >= before.roofline.floor_s


@settings(deadline=None, max_examples=5)
@given(networks(), SETTINGS)
def test_the_command_and_python_say_the_same(
    tmp_path_factory: pytest.TempPathFactory, net: Network, setting: tuple[str, str]
) -> None:
    path: Path = tmp_path_factory.mktemp("net") / "net.pir"
    target, runtime = setting
    path.write_text(print_module(net.module), encoding="utf-8")
    shown = printed("analyze", str(path), "-t", target, "--runtime", runtime)
    report = perfc.analyze(path, target, runtime=runtime)
    assert shown == json.loads(json.dumps(report.to_dict()))


@settings(deadline=None, max_examples=12)
@given(networks())
def test_a_module_is_read_as_it_is_printed(net: Network) -> None:
    text = print_module(net.module)
    assert print_module(parse_module(text)) == text
    assert numbers(perfc.analyze(parse_module(text), "a100")) == (
        numbers(perfc.analyze(net.module, "a100"))
    )
    assert perfc.analyze(net.module, "a100").env["n"] == ROWS
