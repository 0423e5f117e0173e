"""What each output of a report computes: changes that would help are runs of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfc import cli
from perfc.view.report.memory_sections import remedies

MODEL = str(Path(__file__).parents[3] / "examples" / "models" / "resnet50.onnx.gz")


@pytest.mark.parametrize(
    ("arguments", "is_shown"),
    [
        ((), True),
        (("--full",), True),
        (("--output-format", "json"), True),
        (("-q",), False),
        (("--view", "kernels,memory"), False),
        (("--output-format", "csv"), False),
        (("--output-format", "trace"), False),
        (("-q", "--strict"), False),
    ],
)
def test_changes_are_evaluated_only_where_they_are_shown(
    arguments: tuple[str, ...], is_shown: bool,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    runs, evaluate = [], remedies.what_if_s

    def counted(*args: object, **keywords: object) -> float | None:
        runs.append(args)
        return evaluate(*args, **keywords)

    monkeypatch.setattr(remedies, "what_if_s", counted)
    with pytest.raises(SystemExit, match="0"):
        cli.main(["analyze", MODEL, "-t", "a100", *arguments])
    assert capsys.readouterr().out
    assert bool(runs) == is_shown
