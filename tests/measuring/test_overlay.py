"""Measured kernels of a chart, from every file that holds some, with their numbers by hand."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perfc.errors import ParseError
from perfc.machine import Unit, load_machine
from perfc.measuring.ncu import overlay
from perfc.measuring.ncu.overlay import Overlay, read
from perfc.view.chart.marks import TimeBasis
from perfc.view.chart.roofs import RoofLevel

A100 = load_machine("a100")
MEASURED = {
    "label": "MatMul",
    "mac": 100,
    "alu": 40,
    "sfu": 10,
    "launches": 2,
    "time_s": 0.5,
    "read_bytes": 30,
    "write_bytes": 20,
    "dtype": "f16",
    "nodes": "a b",
}
COUNTED = {
    "kernel": "gemm",
    "time_s": 0.5,
    "phase": "forward",
    "is_bound": True,
    "flop": [
        {"unit": "matrix", "dtype": "f16", "flop": 70},
        {"unit": "vector", "dtype": "f32", "flop": 30},
    ],
    "levels": {"l1": {"bytes": 8}, "device": {"bytes": 4}},
}


def of(tmp_path: Path, tree: object, **options: Any) -> Overlay:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(tree), encoding="utf-8")
    return read(path, A100, **options)


def test_rows_of_a_measurement_have_compulsory_bytes(tmp_path: Path) -> None:
    (mark,) = of(tmp_path, {"rows": [MEASURED]}).marks
    assert (mark.label, mark.basis, mark.nodes) == ("MatMul", TimeBasis.MEASURED, ("a", "b"))
    assert mark.flop == 2 * (2 * 100 + 50)
    assert mark.time_s == 0.5
    assert mark.nbytes == {RoofLevel.L1: 100.0, RoofLevel.L2: 100.0}
    assert (mark.unit, mark.dtype) == (Unit.MATRIX, "f16")
    told = {**MEASURED, "device_bytes": 7, "measured_s": 0.25, "nodes": ["c d"]}
    (mark,) = of(tmp_path, {"kernels": [told]}).marks
    assert (mark.nbytes[RoofLevel.DEVICE], mark.time_s, mark.nodes) == (7.0, 0.25, ("c d",))
    (mark,) = of(tmp_path, {"rows": [{**MEASURED, "mac": 25, "dtype": "f32"}]}).marks
    assert mark.unit is not Unit.VECTOR, "as many operations on either: the matrix unit"
    (mark,) = of(tmp_path, {"rows": [{**MEASURED, "mac": 24, "dtype": "f32"}]}).marks
    assert mark.unit is Unit.VECTOR


def test_rows_of_counters_have_the_unit_that_does_most(tmp_path: Path) -> None:
    (mark,) = of(tmp_path, {"schema": "perfc-ncu/1", "kernels": [COUNTED]}).marks
    assert (mark.flop, mark.unit, mark.dtype) == (100.0, Unit.MATRIX, "f16")
    assert mark.nbytes == {RoofLevel.L1: 8.0, RoofLevel.DEVICE: 4.0}
    assert (mark.phase, mark.is_bound) == ("forward", True)
    bare = {k: v for k, v in COUNTED.items() if k not in ("phase", "is_bound")}
    (mark,) = of(tmp_path, {"schema": "perfc-ncu/1", "kernels": [bare]}).marks
    assert (mark.phase, mark.is_bound) == ("", False)


@pytest.mark.parametrize(
    "changes", [{"mac": 0, "alu": 0, "sfu": 0}, {"time_s": 0}, {"launches": 0}]
)
def test_rows_without_arithmetic_or_time_are_counted(
    changes: dict[str, int], tmp_path: Path
) -> None:
    found = of(tmp_path, {"rows": [{**MEASURED, **changes}, MEASURED, {**MEASURED, **changes}]})
    assert len(found.marks) == 1
    said = "rows.json: not drawn, 2 rows without arithmetic or time"
    assert found.notes == (said,)
    assert of(tmp_path, {"rows": [MEASURED]}).notes == ()
    nothing = {**COUNTED, "flop": []}
    assert of(tmp_path, {"schema": "perfc-ncu/1", "kernels": [nothing]}).marks == ()


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ([], "no table of ncu's: no line has a column"),
        ({"rows": 1}, "neither a CSV of ncu nor JSON of"),
        ({"rows": [1]}, "neither a CSV of ncu nor JSON of"),
        ({"rows": [{**MEASURED, "mac": -1}]}, "a kernel without a sensible number, -1 instead"),
        ({"rows": [{**MEASURED, "mac": True}]}, "a kernel without a number, True instead"),
        ({"rows": [{**MEASURED, "time_s": None}]}, "a kernel without a number, None instead"),
        ({"rows": [{"mac": 1}]}, "a kernel without 'time_s'"),
        ({"schema": "perfc-ncu/1", "rows": [{**COUNTED, "flop": 1}]}, "without flop and levels"),
        (
            {"rows": [{"nodes": ["a"], "time_s": 1, "label": "x"}]},
            "these times have no operation counts",
        ),
    ],
)
def test_what_holds_no_kernels_is_one_line(tree: object, said: str, tmp_path: Path) -> None:
    with pytest.raises(ParseError, match=said):
        of(tmp_path, tree)


def test_a_document_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(json.dumps({"rows": [MEASURED]}))
    monkeypatch.setattr(overlay, "MAX_BYTES", size)
    assert of(tmp_path, {"rows": [MEASURED]}).marks
    monkeypatch.setattr(overlay, "MAX_BYTES", size - 1)
    with pytest.raises(ParseError, match="0 MiB is too large to read"):
        of(tmp_path, {"rows": [MEASURED]})


def test_rows_of_a_data_set_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    names = ["schema", "digest", "model", *MEASURED]
    values = [1, "d", "m", *MEASURED.values()]
    path.write_text(f"{','.join(names)}\n{','.join(map(str, values))}\n", encoding="utf-8")
    (mark,) = read(path, A100).marks
    assert (mark.flop, mark.nbytes[RoofLevel.L2], mark.nodes) == (500.0, 100.0, ("a", "b"))
    path.write_text(f"{','.join(names)}\n{','.join(map(str, values[:-4]))}\n", encoding="utf-8")
    with pytest.raises(ParseError, match="a kernel without "):
        read(path, A100)


def bounds(*nodes: str, mac: float = 0.0, alu: float = 0.0, flop: float = 0.0) -> Any:
    counts = SimpleNamespace(mac=mac, alu=alu, sfu=0.0, flop=flop, nbytes=10.0)
    return SimpleNamespace(
        kernel=SimpleNamespace(nodes=[SimpleNamespace(name=n) for n in nodes]),
        counts=counts,
        launches=2,
        device_bytes=3.0,
        dtype=SimpleNamespace(code="f16"),
    )


def test_times_alone_have_the_operations_of_the_kernels_with_their_nodes(tmp_path: Path) -> None:
    kernels = [bounds("a", "b", mac=50, flop=100), bounds("c", alu=7, flop=7), bounds("d", flop=9)]
    table: Any = SimpleNamespace(kernels=kernels)
    rows = [
        {"label": "x", "nodes": ["a", "b", "c", "unknown"], "time_s": 2.0},
        {"label": "y", "nodes": ["c"], "time_s": 1.0},
        {"label": "z", "nodes": ["unknown"], "time_s": 1.0},
        {"label": "w", "nodes": ["d"], "time_s": 0.0},
    ]
    found = of(tmp_path, {"rows": rows}, table=table)
    first, second = found.marks
    assert (first.flop, first.time_s) == (214.0, 2.0)
    assert first.nbytes == {RoofLevel.L1: 40.0, RoofLevel.L2: 40.0, RoofLevel.DEVICE: 6.0}
    assert first.unit is Unit.MATRIX
    assert (second.flop, second.unit) == (14.0, Unit.VECTOR)
    assert found.notes[0].endswith("not drawn, 2 rows without arithmetic or time")
