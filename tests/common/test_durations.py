"""Durations as people write them, and members of enumerations by their names."""

from __future__ import annotations

import math
from enum import Enum

import pytest

from perfc.common.choice import member
from perfc.common.durations import seconds_of
from perfc.errors import ParseError


@pytest.mark.parametrize(
    ("written", "time_s"),
    [
        ("30us", 3e-05),
        ("30 µs", 3e-05),
        ("30μs", 3e-05),
        (" 7ns ", 7e-09),
        ("1.5ms", 1.5e-3),
        ("2s", 2.0),
        ("0s", 0.0),
        (0, 0.0),
        (3, 3.0),
        (0.25, 0.25),
        ("999999999s", 999999999.0),
    ],
)
def test_a_duration_is_its_number_in_seconds(written: object, time_s: float) -> None:
    assert seconds_of(written, "--x") == time_s


@pytest.mark.parametrize(
    "written",
    [
        "",
        "30",
        "us",
        "-1us",
        "1e3us",
        "1234567890s",
        "3 m",
        "3 min",
        -1,
        -1e-9,
        math.nan,
        math.inf,
        True,
        None,
        [1],
    ],
)
def test_what_is_no_duration_is_refused_with_its_place(written: object) -> None:
    with pytest.raises(ParseError) as caught:
        seconds_of(written, "--x")
    message = str(caught.value)
    assert message.startswith("--x: ")
    hint = "5ms" if isinstance(written, str) else "or a number of seconds"
    assert message.endswith(f"is no duration (as in 30us, {hint})")


class Color(Enum):
    RED = "red"
    GREEN = "green"


def test_a_member_is_known_by_its_value_alone() -> None:
    assert member(Color, "green", "--color") is Color.GREEN
    with pytest.raises(ParseError) as caught:
        member(Color, "GREEN", "--color")
    assert str(caught.value) == "--color: no 'GREEN' (there are red, green)"
