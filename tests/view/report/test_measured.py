"""Places of measured times in a prediction."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfc import cli
from perfc.analyzers.estimate.interval import Interval

RESNET = Path(__file__).parents[3] / "examples/models/resnet50.onnx.gz"
ENDS = st.floats(1.01, 50)


@given(ENDS, ENDS, st.floats(0.01, 100))
def test_ends_hold_nine_in_ten_and_shares_grow(low: float, high: float, value: float) -> None:
    interval = Interval(1 / low, 1.0, high)
    ends = [interval.share_below(t) for t in (1 / low, 1.0, high)]
    assert ends == pytest.approx([0.05, 0.5, 0.95], abs=1e-4)
    assert 0 <= interval.share_below(value) <= interval.share_below(value * 1.1) <= 1


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        ("1us", "is below the lower bound of"),
        ("2.2ms", "as expected, limited most by"),
        ("20ms", "perfc trace TRACE --model MODEL names the causes"),
    ],
)
def test_a_measured_time_is_placed_in_the_prediction(
    measured: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["analyze", str(RESNET), "-t", "a100", "-q", "--measured", measured]) == 0
    assert words in capsys.readouterr().out.splitlines()[-1]


def test_a_measured_time_is_a_duration_of_one_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["analyze", str(RESNET), "--measured", "5 parsecs"]) == 2
    assert "is no duration" in capsys.readouterr().err
    assert cli.run(["analyze", str(RESNET), "-t", "a100,t4", "--measured", "5ms"]) == 2
