"""Rows of measured kernels: their classes, and as files."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from perfc.analyzers.estimators.laws.processor_classes import (
    Term,
    broadcast,
    classify,
    permutation,
    reduced,
)
from perfc.analyzers.estimators.subject import (
    of_bound,
    operands,
    parse_types,
    types,
)
from perfc.api import analyze
from perfc.errors import MissingExtraError, ParseError
from perfc.ir import Numbers
from perfc.measuring.measure.tables import dataset
from perfc.measuring.measure.tables.rows import MeasuredRow, ModelRow
from perfc.measuring.measure.tables.rows import subject_of as of_row

TABLE = "ort-cpu-blocked"
TRUTH = {Term.LAUNCH: 2e-6, Term.MAC: 8e-12, Term.BYTE: 1e-11}


def kernel(model: int, part: int, m: int, k: int, n: int) -> MeasuredRow:
    """A product whose time is exactly what ``TRUTH`` says, on a machine without noise."""
    row = MeasuredRow(
        schema=1,
        digest=f"{model:016x}",
        model=f"model{model}",
        runtime="ort",
        version="onnxruntime 1",
        device="cpu",
        threads=1,
        dims="batch=1",
        kernel=part,
        part=part,
        part_s=0.0,
        time_s=0.0,
        iqr_s=0.0,
        best_s=0.0,
        inserted_s=0.0,
        floor_s=1e-9,
        sustained_s=1e-6,
        target="generic-x86-64",
        label="MatMul",
        kind="matmul",
        dtype="f32",
        ops="MatMul",
        views=0,
        runtime_ops="MatMul",
        nodes=f"n{part}",
        launches=1.0,
        mac=float(m * k * n),
        alu=0.0,
        sfu=0.0,
        integer=0.0,
        read_bytes=4.0 * (m * k + k * n),
        write_bytes=4.0 * m * n,
        moved_bytes=0.0,
        op="matmul",
        operands=f"f32[{m},{k}] f32[{k},{n}]w",
        results=f"f32[{m},{n}]",
    )
    terms = classify(of_row(row)).terms
    time_s = sum(terms.get(t, 0.0) * s for t, s in TRUTH.items())
    return replace(row, part_s=time_s, time_s=time_s, best_s=time_s)


def whole(kernels: list[MeasuredRow]) -> ModelRow:
    total = sum(k.part_s for k in kernels)
    first = kernels[0]
    return ModelRow(
        schema=1,
        digest=first.digest,
        model=first.model,
        runtime="ort",
        version=first.version,
        device="cpu",
        threads=1,
        dims=first.dims,
        time_s=total,
        iqr_s=0.0,
        best_s=total,
        runs=9,
        kernel_s=total,
        attributed=1.0,
        peak_rss_bytes=0,
        base_rss_bytes=0,
        floor_s=1e-9,
        sustained_s=1e-6,
        target=first.target,
        nodes=len(kernels),
        kernels=len(kernels),
        runtime_kernels=len(kernels),
        mac=0.0,
        flop=0.0,
        read_bytes=0.0,
        write_bytes=0.0,
        weight_bytes=0.0,
        activation_bytes=0,
        date="2026-01-01",
    )


@pytest.fixture
def rows() -> tuple[list[MeasuredRow], list[ModelRow]]:
    rng = random.Random(0)
    models = [
        [kernel(m, p, *(16 * rng.randint(1, 40) for _ in "mkn")) for p in range(12)]
        for m in range(6)
    ]
    return [k for ks in models for k in ks], [whole(ks) for ks in models]


def test_a_kernel_is_the_same_from_the_analysis_and_from_its_row(residual: str) -> None:
    report = analyze(residual, "generic-x86-64", runtime=TABLE)
    bound = next(b for b in report.roofline.kernels if b.kernel.helper is None)
    subject = of_bound(bound, Numbers(report.env))
    assert subject.op == "conv"
    printed = types(operands(bound.kernel.anchor.inputs, Numbers(report.env)))
    assert subject.operands == parse_types(printed)
    assert classify(subject).names[0] == "conv.direct"
    assert classify(subject).terms[Term.MAC] == 20 * 20 * 9 * 16 * 32


def test_layout_changes_where_blocks_begin_and_end(residual: str) -> None:
    report = analyze(residual, "generic-x86-64", dims={"batch": 2}, runtime=TABLE)
    moved = {
        b.kernel.label: b.counts.read_bytes + b.counts.write_bytes
        for b in report.roofline.kernels
        if b.kernel.helper is not None
    }
    into, out = "layout nchw→nchwc", "layout nchwc→nchw"
    assert report.kernels.kernels[0].label == into
    assert moved == {into: 2 * 2 * 16 * 20 * 20 * 4, out: 2 * 2 * 32 * 4}
    plain = analyze(residual, "generic-x86-64", dims={"batch": 2}, runtime="ort-cpu")
    assert not any(k.helper for k in plain.kernels.kernels)


@pytest.mark.parametrize(
    ("shape", "perm", "expected"),
    [
        ((1, 8, 16, 64), (0, 2, 1, 3), ("102", 64)),
        ((2, 8, 16, 64), (0, 2, 1, 3), ("0213", 64)),
        ((2, 3, 4, 5), (0, 2, 3, 1), ("021", 1)),
        ((1, 1, 4), (2, 1, 0), ("0", 4)),
        ((1, 1), (1, 0), ("0", 1)),
    ],
)
def test_transpositions_of_one_pattern_are_alike(
    shape: tuple[int, ...], perm: tuple[int, ...], expected: tuple[str, int]
) -> None:
    assert permutation(shape, perm) == expected


@pytest.mark.parametrize(
    ("operands", "result", "expected"),
    [
        ("f32[2,8] f32[2,8]", "f32[2,8]", ("same", 1.0)),
        ("f32[2,8] f32[8]", "f32[2,8]", ("vector", 2.0)),
        ("f32[2,8,4] f32[2,8,1]", "f32[2,8,4]", ("scalar", 16.0)),
        ("f32[2,8,4] f32[1]", "f32[2,8,4]", ("same", 1.0)),
        ("f32[2,8,4] f32[2,1,4]", "f32[2,8,4]", ("vector", 16.0)),
    ],
)
def test_broadcasting_is_counted_in_spans(
    operands: str, result: str, expected: tuple[str, float]
) -> None:
    row = kernel(0, 0, 1, 1, 1)
    row = replace(row, kind="elementwise", operands=operands, results=result)
    assert broadcast(of_row(row)) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((4, 2, 128, 56), (4, 128, 56), "krk"),
        ((1, 2, 128, 56), (1, 128, 56), "rk"),
        ((2, 16, 7, 7), (2, 16, 1, 1), "kr"),
        ((2, 16, 7), (2, 1, 7), "krk"),
        ((3, 5), (), "r"),
        ((1, 1), (1, 1), "k"),
    ],
)
def test_reductions_of_one_pattern_are_alike(
    before: tuple[int, ...], after: tuple[int, ...], expected: str
) -> None:
    assert reduced(before, after) == expected


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz", "r.parquet"])
def test_rows_come_back_as_they_were(
    rows: tuple[list[MeasuredRow], list[ModelRow]], tmp_path: Path, name: str
) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    dataset.append(path, rows[0][:5])
    dataset.append(path, rows[0][5:7])
    for before, after in zip(rows[0], dataset.read(path, MeasuredRow), strict=False):
        assert after.operands == before.operands
        assert after.part_s == pytest.approx(before.part_s, rel=1e-3)
    assert len(dataset.read(path, MeasuredRow)) == 7


def test_rows_of_other_columns_or_versions_are_refused(
    rows: tuple[list[MeasuredRow], list[ModelRow]], tmp_path: Path
) -> None:
    path = tmp_path / "r.csv"
    dataset.write(path, rows[0][:3])
    with pytest.raises(ParseError, match="no column"):
        dataset.read(path, ModelRow)
    path.write_text(path.read_text().replace("\n1,", "\n7,"))
    with pytest.raises(ParseError, match="rows of schema 7"):
        dataset.read(path, MeasuredRow)
    path.write_text("schema\nnonsense\n")
    with pytest.raises(ParseError, match="no column digest"):
        dataset.read(path, MeasuredRow)
    (tmp_path / "r.csv.gz").write_bytes(b"\x1f\x8bnot gzip")
    with pytest.raises(ParseError, match="cannot be read"):
        dataset.read(tmp_path / "r.csv.gz", MeasuredRow)


def test_parquet_without_its_library_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'pyarrow>="):
        dataset.check_writable(tmp_path / "r.parquet")
