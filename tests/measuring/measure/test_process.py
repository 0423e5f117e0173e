"""What is left of a process that measures: quartiles, its last words, and results by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfc.errors import PassError
from perfc.ir.tensors.types import DType
from perfc.measuring.measure.process import (
    MeasurementProtocol,
    TimedBinding,
    collected,
    iqr,
    is_plain,
    last_line,
)
from perfc.measuring.measure.tables.feeds import Input


@pytest.mark.parametrize(
    ("values", "distance"),
    [
        ([], 0.0),
        ([7.0], 0.0),
        ([1.0, 3.0], 1.0),
        ([4.0, 1.0, 2.0, 3.0, 5.0], 2.0),
        ([0.0, 0.0, 0.0, 8.0], 2.0),
        ([1.0, 2.0, 3.0, 4.0], 1.5),
    ],
)
def test_quartiles_lie_between_values(values: list[float], distance: float) -> None:
    assert iqr(values) == pytest.approx(distance)
    if values:
        case = TimedBinding(tuple(values), 1, True)
        assert case.iqr_s == pytest.approx(distance)


def test_a_case_takes_the_median_of_its_runs() -> None:
    assert TimedBinding((5.0, 1.0, 2.0), 1, True).time_s == 2.0
    usual = MeasurementProtocol()
    assert (usual.repeat, usual.min_time_s, usual.max_time_s, usual.limit_s) == (10, 1.0, 20.0, 300)
    assert (usual.threads, usual.seed, usual.is_profiled, usual.device) == (1, 0, True, "cpu")


def test_the_last_line_of_a_log_is_bounded(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(f"first\nfailed in {tmp_path}/model.onnx \x1b[31m\n\n", encoding="utf-8")
    assert last_line(log) == "failed in model.onnx [31m"
    log.write_text("", encoding="utf-8")
    assert last_line(log) == "no message"
    log.write_text("x" * 300, encoding="utf-8")
    assert last_line(log) == "x" * 300
    log.write_text("a" * 100 + "b" * 201, encoding="utf-8")
    assert last_line(log) == "a" * 60 + " … " + "a" * 29 + "b" * 201
    log.write_text("early\n" + "y" * 9000, encoding="utf-8")
    assert last_line(log) == "y" * 60 + " … " + "y" * 230


def result(**more: object) -> dict[str, object]:
    case = {"times_s": [2.0, 4.0], "peak_rss_bytes": 7, "is_finite": False}
    return {"cases": [case], **more}


def test_what_the_worker_wrote_is_collected(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(json.dumps(result()), encoding="utf-8")
    found = collected(tmp_path, "late")
    assert found.cases == (TimedBinding((2.0, 4.0), 7, False),)
    assert (found.version, found.base_rss_bytes, found.error) == ("", 0, "late")
    assert (found.profile, found.profiled, found.optimized) == (None, (), None)
    more = result(
        version="ort 1", base_rss_bytes=9, profile="p.json", profiles=[{"skip": 2, "count": 3}]
    )
    (tmp_path / "result.json").write_text(json.dumps(more), encoding="utf-8")
    assert collected(tmp_path, "").profile is None, "it was never written"
    for name in ("p.json", "optimized.onnx"):
        (tmp_path / name).touch()
    found = collected(tmp_path, "")
    assert (found.version, found.base_rss_bytes) == ("ort 1", 9)
    assert (found.profile, found.profiled) == (tmp_path / "p.json", ((2, 3),))
    assert (found.optimized, found.folder) == (tmp_path / "optimized.onnx", tmp_path)


@pytest.mark.parametrize(
    ("text", "why", "said"),
    [("{}", "", "no result"), ("{", "killed", "killed"), (None, "", "no result")],
)
def test_nothing_measured_is_an_error(
    text: str | None, why: str, said: str, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / "result.json").write_text(text, encoding="utf-8")
    with pytest.raises(PassError, match=f"the runtime cannot run the model: {said}"):
        collected(tmp_path, why)


def test_types_that_numpy_has() -> None:
    def plain(dtype: DType) -> bool:
        return is_plain(Input("x", dtype, (1,), None))

    assert all(map(plain, (DType.F16, DType.F32, DType.F64, DType.I8, DType.BOOL)))
    assert not any(map(plain, (DType.BF16, DType.F8E5M2)))
