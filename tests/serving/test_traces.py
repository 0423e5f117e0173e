"""Traces of other tools as loads: Mooncake's and logged responses of OpenAI's API."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfc.errors import PerfcError
from perfc.serving.simulation.arrivals import Request
from perfc.serving.simulation.traces import traced


def of(tmp_path: Path, *rows: dict[str, object]) -> tuple[Request, ...]:
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return traced(path).requests


def test_lines_of_mooncake_are_requests(tmp_path: Path) -> None:
    one, other = of(
        tmp_path,
        {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]},
        {"timestamp": 0, "input_length": 10, "output_length": 5},
    )
    assert (one.arrival_s, one.input_tokens, one.output_tokens) == (0.0, 10, 5)
    assert (other.arrival_s, other.input_tokens, other.output_tokens) == (27.482, 6955, 52)


def test_logged_responses_of_a_server_are_requests(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 900, "completion_tokens": 200, "total_tokens": 1100}
    cached = {**usage, "prompt_tokens_details": {"cached_tokens": 512}}
    one, other = of(
        tmp_path,
        {"id": "a", "created": 1_750_000_000, "usage": usage},
        {"id": "b", "created": 1_750_000_003, "usage": cached},
    )
    assert [one.arrival_s, other.arrival_s] == [0.0, 3.0]
    assert (one.input_tokens, one.output_tokens, one.cached_tokens) == (900, 200, 0)
    assert other.cached_tokens == 512


@pytest.mark.parametrize(
    "row",
    [
        {"usage": {"prompt_tokens": 9}},
        {"usage": {}},
        {"input_length": 9},
        {"input_length": "9", "output_length": 1},
        {"input_length": 9, "output_length": 1, "timestamp": "now"},
        {"usage": {"prompt_tokens": 1, "completion_tokens": 1}, "created": None},
    ],
)
def test_incomplete_lines_are_one_error_with_their_number(
    row: dict[str, object], tmp_path: Path
) -> None:
    with pytest.raises(PerfcError, match=r"trace.jsonl:1: \w+_\w+ = .* is no"):
        of(tmp_path, row)
