"""Rows that a target is adapted by: their cells, classes and extents by hand, and its tables."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from perfc.analyzers.estimators.adapting import EXTENTS, AdaptationSample, check
from perfc.analyzers.estimators.subject import LaunchAmounts, of_texts
from perfc.analyzers.intervals.adapt import AdaptError
from perfc.errors import ParseError
from perfc.machine import load_machine
from perfc.measuring.adapt import (
    COPIED_BYTES,
    PRODUCT,
    lowered,
    number,
    of_kernel,
    probes,
    product,
    read,
    rendered,
    samples_of,
    without,
)
from perfc.measuring.measure.tables.rows import subject_of
from tests.measuring.measure.test_kernel_rows import kernel
from tests.measuring.trace.samples import chrome, kineto, operator, runtime, text_of
from tests.measuring.trace.samples import kernel as kernel_event

FILE = Path("rows.csv")


def test_a_trace_has_the_operators_that_ran_as_one_kernel(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text_of(kineto()))
    machine = load_machine("h100-sxm")
    samples = {s.class_name: s for s in samples_of(path, machine)}
    assert set(samples) == {"matmul", "normalization"}
    product = samples["matmul"]
    assert product.time_s == pytest.approx((230.5e-6 + 231e-6) / 2)
    assert {product.parameters[name] for name in "mnk"} == {4096}
    with pytest.raises(AdaptError, match="a trace of NVIDIA H100 80GB HBM3, not of a100-sxm4"):
        samples_of(path, load_machine("a100"))


def test_rows_of_a_trace_that_do_not_hold_are_left_out(tmp_path: Path) -> None:
    def product(at: int, extent: int, length: float) -> list[dict[str, Any]]:
        shape = [extent, extent]
        call = operator("aten::mm", 1000.0 * at, 20, shape, shape)
        launch = runtime("cudaLaunchKernel", 1000.0 * at + 5, 2, at)
        return [call, launch, kernel_event("gemm", 1000.0 * at + 50, length, at)]

    whole, twice, fast = product(1, 4096, 240), product(2, 2048, 70), product(3, 8192, 1)
    twice.append(kernel_event("gemm", 2200, 70, 2))
    path = tmp_path / "trace.json"
    path.write_text(text_of(chrome(*whole, *twice, *fast)))
    (only,) = samples_of(path, load_machine("h100-sxm"))
    assert only.parameters["m"] == 4096


def test_a_trace_without_shapes_says_how_to_record_them(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text_of(kineto([("k", "aten::mm", [], [], [], 20.0, 30.0)])))
    with pytest.raises(AdaptError, match="record_shapes=True"):
        samples_of(path, load_machine("h100-sxm"))


def test_cells_are_numbers_or_empty() -> None:
    assert math.isnan(number("", FILE))
    assert math.isnan(number(None, FILE))
    assert (number("2.5", FILE), number(3, FILE)) == (2.5, 3.0)
    with pytest.raises(AdaptError) as caught:
        number("x", FILE)
    assert str(caught.value) == "rows.csv: 'x' is no number"


def test_tables_of_classes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("class,dtype,time_s,protocol,m,n\nmatmul,f16,0.5,graph,8,\n", encoding="utf-8")
    assert read(path) == [AdaptationSample("matmul", "f16", {"m": 8.0}, 0.5)]
    path.write_text("class,m\nmatmul,8\n", encoding="utf-8")
    with pytest.raises(AdaptError, match="no column 'dtype'"):
        read(path)
    path.write_text("", encoding="utf-8")
    assert read(path) == []
    path.write_bytes(b"class,m\n\xff,8\n")
    with pytest.raises(ParseError, match="cannot be read"):
        read(path)
    with pytest.raises(AdaptError, match="no such file"):
        read(tmp_path / "nothing.csv")


@pytest.mark.parametrize("time_s", [0.0, -1.0, math.nan, math.inf])
def test_times_that_are_no_times_are_refused(time_s: float) -> None:
    with pytest.raises(AdaptError, match="a matmul that takes "):
        check(AdaptationSample("matmul", "f16", {}, time_s))


@pytest.mark.parametrize("name", EXTENTS)
def test_extents_are_one_or_more(name: str) -> None:
    check(AdaptationSample("matmul", "f16", {name: 1.0}, 1e-9))
    with pytest.raises(AdaptError, match="a matmul with an extent below 1"):
        check(AdaptationSample("matmul", "f16", {name: 0.99}, 1e-9))
    check(AdaptationSample("matmul", "f16", {"sfu": 0.0}, 1e-9))


def test_probes_are_a_product_of_each_type_and_a_copy() -> None:
    machine = load_machine("a100")
    result = list(probes(machine))
    assert [m.class_name for m in result][-1] == "elementwise"
    for one in result[:-1]:
        assert one.class_name == "matmul"
        assert one.parameters == {"m": 8192.0, "n": 8192.0, "k": 8192.0}
        rate = next(
            p.sustained
            for (u, d), p in machine.compute.items()
            if d == one.dtype and u.value == "matrix"
        )
        assert rate is not None
        assert one.time_s == pytest.approx(2 * PRODUCT**3 / rate.value)
    copy, device = result[-1], machine.level("device")
    assert device is not None
    assert device.sustained is not None
    assert copy.time_s == pytest.approx(2 * COPIED_BYTES / device.sustained.value)
    assert copy.parameters == {
        "elements": 2.0**26,
        "read_bytes": 2.0**28,
        "write_bytes": 2.0**28,
        "operands": 1.0,
        "tensor_operands": 1.0,
    }


def test_a_row_of_measure_is_a_launch_without_its_copies() -> None:
    row = replace(kernel(0, 3, 16, 32, 64), time_s=8e-6, inserted_s=2e-6, launches=2.0)
    (result,) = of_kernel(row)
    assert (result.class_name, result.dtype, result.row) == ("matmul", "f32", row)
    assert result.time_s == pytest.approx(3e-6)
    assert result.parameters == {"m": 16.0, "n": 64.0, "k": 32.0, "batch": 1.0}
    assert list(of_kernel(replace(row, kernel=-1))) == []
    assert list(of_kernel(replace(row, launches=0.0))) == []
    assert list(of_kernel(replace(row, inserted_s=8e-6))) == []
    assert len(list(of_kernel(replace(row, kernel=0)))) == 1


def subject(kind: str, operands: str, results: str, mac: float = 0.0, sfu: float = 0.0) -> Any:
    amounts = LaunchAmounts(1.0, mac, sfu, 40.0, 20.0)
    return of_texts(kind, kind, kind, 0, "f32", operands, results, amounts)


@pytest.mark.parametrize(
    ("operands", "results", "mac", "extents"),
    [
        ("f32[4,6,8] f32[8,10]w", "f32[4,6,10]", 1920.0, (24, 10, 8, 1)),
        ("f32[4,6,8] f32[4,8,10]", "f32[4,6,10]", 1920.0, (6, 10, 8, 4)),
        ("f32[2,4,6,8] f32[2,4,8,10]", "f32[2,4,6,10]", 3840.0, (6, 10, 8, 8)),
        ("f32[6,8] f32[8,10]", "f32[6,10]", 480.0, (6, 10, 8, 1)),
        ("f32[6,8]", "f32[6,10]", 480.0, (6, 10, 8, 1)),
    ],
)
def test_a_right_operand_of_two_axes_makes_one_product_of_all_rows(
    operands: str, results: str, mac: float, extents: tuple[int, ...]
) -> None:
    made = subject("matmul", operands, results, mac)
    result = product(made, made.result)
    assert tuple(result[n] for n in ("m", "n", "k", "batch")) == extents
    assert lowered(made) == ("matmul", result)


def test_classes_of_kernels_follow_from_their_operands() -> None:
    assert lowered(subject("matmul", "f32[6,8]", "f32[6,10]")) is None, "no products"
    assert lowered(subject("add", "f32[6,8]", "")) is None
    name, result = cast(
        Any, lowered(subject("elementwise", "f32[6,8] f32[8] f32[]", "f32[6,8]", sfu=3.0))
    )
    assert name == "elementwise"
    assert result == {
        "elements": 48.0,
        "read_bytes": 40.0,
        "write_bytes": 20.0,
        "sfu": 3.0,
        "operands": 3.0,
        "tensor_operands": 1.0,
    }
    assert lowered(subject("softmax", "f32[6,8]", "f32[6,8]")) == (
        "softmax",
        {"rows": 6.0, "cols": 8.0},
    )
    assert lowered(subject("normalization", "f32[]", "f32[]")) == (
        "normalization",
        {"rows": 1.0, "cols": 1.0},
    )
    assert lowered(subject("pool", "f32[6,8]", "f32[6,8]")) is None
    assert lowered(subject("conv", "f32[6,8]", "f32[6,8]")) is None
    assert subject_of(kernel(0, 0, 2, 3, 4)).kind == "matmul"


def test_tables_of_an_earlier_adaptation_are_left_out() -> None:
    text = (
        "name = 1\n[source.adapt]\ntitle = 2\n[source.adapted]\nkept = 3\n"
        '[adaptation.matmul]\nsmall_ratio = 4\n [ adaptation."a.b" ]\nx = 5\n[memory]\nkept = 6\n'
    )
    assert without(text) == "name = 1\n[source.adapted]\nkept = 3\n[memory]\nkept = 6\n"
    assert without("a = 1") == "a = 1\n"


def test_corrections_are_written_with_their_source() -> None:
    ratios = {"small_ratio": 1.5, "large_ratio": 0.75, "low_ratio": 0.5, "high_ratio": 2.0}
    result: Any = SimpleNamespace(
        curve=[SimpleNamespace(count=2, error=0.25), SimpleNamespace(count=5, error=0.125)],
        corrections={
            "matmul": SimpleNamespace(samples=7, **ratios),
            "gemm.stored": SimpleNamespace(samples=0, **ratios),
        },
    )
    assert rendered(result, 7, FILE).splitlines() == [
        "",
        "[source.adapt]",
        'origin = "measured"',
        'title = "perfc adapt to 7 measured kernels"',
        'note = "error of kernels left out by kernels measured: 2: 25.0%, 5: 12.5%"',
        "",
        "[adaptation.matmul]",
        *(f'{k} = {{ value = {v:g}, from = "adapt", n = 7 }}' for k, v in ratios.items()),
        "",
        '[adaptation."gemm.stored"]',
        *(f'{k} = {{ value = {v:g}, from = "adapt" }}' for k, v in ratios.items()),
    ]
    result.curve, result.corrections = [], {}
    assert rendered(result, 3, None).splitlines()[1:] == [
        "[source.adapt]",
        'origin = "measured"',
        'title = "perfc adapt to 3 calibrate\'s rates"',
    ]
