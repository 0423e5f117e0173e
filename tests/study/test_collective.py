"""Collectives among GPUs: sizes that are none, and the figures of one."""

from __future__ import annotations

import json
from typing import Any

import pytest

import perfc
from perfc import cli
from perfc.errors import ParseError, TargetError

MOST_RANKS = 1 << 20


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
        perfc.op("collective", "h100", bytes=nbytes, ranks=ranks, nodes=nodes)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("nbytes", "ranks", "nodes"),
    [(1, 2, 1), (1 << 50, MOST_RANKS, MOST_RANKS), (5, 8, 2), (5, 2, 2)],
)
def test_a_row_has_a_floor_an_interval_around_its_time_and_the_rate_of_the_message(
    nbytes: int, ranks: int, nodes: int
) -> None:
    view = perfc.op("collective", "h100,a100", bytes=nbytes, ranks=ranks, nodes=nodes)
    said = (view.operation, view.nbytes, view.ranks, view.nodes, view.dtype)
    assert said == ("all-reduce", nbytes, ranks, nodes, "bf16")
    assert [r.target for r in view.rows] == ["h100-sxm5-80gb", "a100-sxm4-80gb"]
    for row in view.rows:
        assert 0 < row.floor_s <= row.low_s <= row.time_s <= row.high_s
        assert row.bytes_per_s == pytest.approx(nbytes / row.time_s)


def test_who_does_not_take_part_is_said() -> None:
    with pytest.raises(ParseError, match=r"no collective 'gossip' [(]there are all-reduce, "):
        perfc.op("collective", "h100", operation="gossip", bytes=1, ranks=2)
    with pytest.raises(TargetError, match="a processor, not a GPU"):
        perfc.op("collective", "generic-x86-64", bytes=1, ranks=2)


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
    assert usual.target == "a100-sxm4-80gb"


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
