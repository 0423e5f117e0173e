"""Measuring beside other programs is said."""

from __future__ import annotations

import pytest

from perfc.commands import measure
from perfc.kernels import host


@pytest.mark.parametrize(
    ("device", "share", "is_said"),
    [("cpu", 0.9, True), ("cpu", 0.0, False), ("cpu", None, False), ("cuda:0", 0.9, False)],
)
def test_load_of_other_programs_is_said_before_a_model_is_measured(
    device: str,
    share: float | None,
    is_said: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(measure, "LOAD_S", 0.0)
    monkeypatch.setattr(host.Others, "share", lambda self: share)
    measure.warn_of_load(device)
    assert ("warning: other programs use " in capsys.readouterr().err) is is_said
