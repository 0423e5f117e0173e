"""Collectives among GPUs: sizes that are none, and the figures of one."""

from __future__ import annotations

import json
from typing import Any

import pytest

import perfc
from perfc import cli
from perfc.errors import ParseError, TargetError
from perfc.machine import load_machine
from perfc.study.collective import MOST_RANKS, check_sizes, collective, operations


@pytest.mark.parametrize(
    ("nbytes", "ranks", "nodes"),
    [(1, 2, 1), (1 << 50, MOST_RANKS, MOST_RANKS), (5, 8, 2), (5, 2, 2)],
)
def test_sizes_at_their_limits_are_sizes(nbytes: int, ranks: int, nodes: int) -> None:
    check_sizes(nbytes, ranks, nodes)


@pytest.mark.parametrize(
    ("nbytes", "ranks", "nodes", "said"),
    [
        (0, 2, 1, "--bytes: bytes = 0 is none (1 or more)"),
        ((1 << 50) + 1, 2, 1, "--bytes: bytes = 1125899906842625 is none (1 or more)"),
        (1, 1, 1, "--ranks: ranks = 1 is none (2 or more)"),
        (1, MOST_RANKS + 1, 1, "--ranks: ranks = 1048577 is none (2 or more)"),
        (1, 2, 0, "--nodes: nodes = 0 is none (1 or more)"),
        (1, 8, 3, "--nodes: 8 ranks do not spread over 3 nodes"),
        (1, 2, 4, "--nodes: 2 ranks do not spread over 4 nodes"),
    ],
)
def test_sizes_that_are_none_are_refused(nbytes: int, ranks: int, nodes: int, said: str) -> None:
    with pytest.raises(ParseError) as caught:
        check_sizes(nbytes, ranks, nodes)
    assert str(caught.value) == said


def test_a_row_has_a_floor_an_interval_around_its_time_and_the_rate_of_the_message() -> None:
    machines = [load_machine("h100"), load_machine("a100")]
    view = collective("all-reduce", 1 << 26, 8, machines, nodes=1)
    assert (view.operation, view.nbytes, view.ranks, view.nodes) == ("all-reduce", 1 << 26, 8, 1)
    assert view.dtype == "bf16"
    assert [r.target for r in view.rows] == [m.name for m in machines]
    for row in view.rows:
        assert 0 < row.floor_s <= row.low_s <= row.time_s <= row.high_s
        assert row.bytes_per_s == pytest.approx(view.nbytes / row.time_s)
    assert collective("all-reduce", 1 << 26, 8, machines, dtype="f32").dtype == "f32"


def test_a_graph_launches_sooner_than_a_host() -> None:
    h100 = [load_machine("h100")]
    (host,) = collective("all-gather", 64, 2, h100).rows
    (graph,) = collective("all-gather", 64, 2, h100, is_graph=True).rows
    assert graph.time_s != host.time_s


def test_who_does_not_take_part_is_said() -> None:
    assert operations()[0] == "all-reduce"
    with pytest.raises(ParseError, match=r"no collective 'gossip' [(]there are all-reduce, "):
        collective("gossip", 1, 2, [])
    with pytest.raises(TargetError, match="a processor, not a GPU"):
        collective("all-reduce", 1, 2, [load_machine("generic-x86-64")])


def test_python_answers_as_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = "op collective --operation all-gather --bytes 16MiB --ranks 8 --nodes 2 -t a100,h200"
    assert cli.run([*words.split(), "--dtype", "f16", "--output-format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    view = perfc.op(
        "collective",
        "a100,h200",
        operation="all-gather",
        bytes=16 << 20,
        ranks=8,
        nodes=2,
        dtype="f16",
    )
    assert [r.time_s for r in view.rows] == [r["time_s"] for r in said["rows"]]
    assert (view.dtype, view.nodes, len(view.rows)) == ("f16", 2, 2)
    (usual,) = perfc.op("collective", bytes=1 << 20, ranks=2).rows
    assert usual.target == load_machine("a100").name


@pytest.mark.parametrize(
    ("extents", "said"),
    [
        ({"ranks": 8}, "--bytes: collective needs bytes"),
        ({"bytes": 64, "ranks": 8, "m": 3}, "collective has no extent 'm' [(]it has operation, "),
        ({"bytes": "64MiB", "ranks": 8}, "--bytes: '64MiB' is no whole number"),
        ({"bytes": 64, "ranks": True}, "--ranks: True is no whole number"),
        ({"bytes": 64, "ranks": 8, "operation": 3}, "--operation: 3 is no name"),
        ({"bytes": 64, "ranks": 8, "batch": 3}, "collective has no extent 'batch'"),
        ({"bytes": 64, "ranks": 8, "dims": {"n": 3}}, "a collective has no batch, seq, dims"),
        ({"bytes": 64, "ranks": 8, "function": "causal"}, "no function 'causal' of collective"),
    ],
)
def test_python_refuses_in_one_line(extents: dict[str, Any], said: str) -> None:
    with pytest.raises(ParseError, match=said):
        perfc.op("collective", "h100", **extents)
