"""Laws of budgets and findings: a limit holds up to its value, and no further."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfc
from perfc.ir.syntax.text import print_module

from .networks import Network, networks, printed

METRICS = {"flop": "flop", "mac": "mac", "traffic": "B", "parameters": "", "weights": "B"}
"""Budgets of counts, with the unit of a limit."""


def value_of(net: Network, metric: str) -> float:
    """Return what an analysis counts."""
    summary = perfc.analyze(net.module, "a100").to_dict()["summary"]
    match metric:
        case "traffic":
            return summary["read_bytes"]["value"] + summary["write_bytes"]["value"]
        case "weights":
            return summary["weight_bytes"]["value"]
        case _:
            return summary[metric]["value"]


@settings(deadline=None, max_examples=6)
@given(networks(), st.sampled_from(sorted(METRICS)))
def test_a_limit_holds_at_its_value_and_fails_below(
    tmp_path_factory: pytest.TempPathFactory, net: Network, metric: str
) -> None:
    folder: Path = tmp_path_factory.mktemp("project")
    (folder / "net.pir").write_text(print_module(net.module), encoding="utf-8")
    value = value_of(net, metric)
    for limit in (value - 1, value, value + 1):
        if limit < 0:
            continue
        unit = METRICS[metric]
        budget = f'[[budget]]\nmodel = "*.pir"\n{metric} = {{ max = "{limit:.0f} {unit}" }}\n'
        (folder / "perfc.toml").write_text(budget, encoding="utf-8")
        code = int(limit < value)
        shown = printed("check", "--config", str(folder / "perfc.toml"), code=code)
        assert shown["outcome"] == ("fail" if code else "pass")


@settings(deadline=None, max_examples=4)
@given(networks())
def test_a_finding_is_listed_from_its_gain_on(
    tmp_path_factory: pytest.TempPathFactory, net: Network
) -> None:
    path = tmp_path_factory.mktemp("net") / "net.pir"
    path.write_text(print_module(net.module), encoding="utf-8")
    gains = shares(path, 0.0)
    for gain in sorted(gains)[:2]:
        for limit in (gain, math.nextafter(gain, 1)):
            assert shares(path, limit) == sorted(g for g in gains if g >= limit)


def shares(path: Path, least: float) -> list[float]:
    """Return the gains of the findings of a network, as shares of its time."""
    code = None if least else 1
    shown = printed("lint", str(path), "--min-gain", repr(least), code=code)
    return sorted(f["gain"]["share"] for file in shown["files"] for f in file["findings"])
