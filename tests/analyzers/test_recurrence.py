"""Steps of recurrent layers take their time one after another."""

from __future__ import annotations

import pytest

import perfc

LSTM = """<ir_version: 10, opset_import: ["" : 18]>
lstm (float[{steps}, batch, 64] x, float[1, 256, 64] w, float[1, 256, 64] r)
 => (float[{steps}, 1, batch, 64] y) {{
  y, h, c = LSTM <hidden_size = 64> (x, w, r)
}}"""


def predicted(steps: int, runtime: str = "eager", dtype: str = "") -> perfc.Report:
    """A small layer of as many steps on an A100."""
    text = LSTM.format(steps=steps).encode()
    return perfc.analyze(text, "a100", runtime=runtime, dtype=dtype)


@pytest.mark.parametrize("dtype", ["", "f16"])
@pytest.mark.parametrize("runtime", ["eager", "cudagraph", "ort", "inductor"])
def test_a_sequence_takes_longer_than_its_operations(runtime: str, dtype: str) -> None:
    short, long = (predicted(n, runtime, dtype).prediction for n in (10, 1000))
    assert long.total.time_s > 20 * short.total.time_s
    assert 1e-3 < long.total.time_s < 20e-3
    assert long.total.floor_s <= long.total.low_s <= long.total.time_s <= long.total.high_s
    assert long.kernels[0].is_extrapolating
    assert any("no measurement of" in note or "never measured" in note for note in long.notes)


def test_whole_runs_without_such_layers_teach_nothing_of_them() -> None:
    """Nobody measured a run with a recurrent layer: who asks for that predictor is told."""
    found = perfc.analyze(
        LSTM.format(steps=10).encode(), "a100", runtime="ort", dtype="f16", predictor="runs"
    ).prediction
    assert found.total.predictor == "runs"
    assert any("no measured run with recurrent layers" in note for note in found.notes)


def test_floors_know_nothing_of_steps() -> None:
    """No barrier is proved to cost anything."""
    assert predicted(1000).prediction.total.floor_s < 100e-6
