"""Inputs of measured runs: sizes, tables that ids index, values by type; files of rows."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perfc.errors import ModelError, ParseError
from perfc.ir.syntax.parse import parse
from perfc.ir.tensors.types import DType
from perfc.measuring.measure.tables import dataset, feeds
from perfc.measuring.measure.tables.feeds import Input, contents, id_limit, inputs_of, numpy_type
from perfc.measuring.measure.tables.rows import MeasuredRow
from tests.measuring.measure.test_kernel_rows import kernel


def module(inputs: str, *lines: str) -> Any:
    body = "".join(f"  {line}\n" for line in lines)
    last = lines[-1].partition(" ")[0] if lines else "%x"
    head = "perfir 1\nmodule @m\n\nsymbol n = 4\n" if "n" in inputs else "perfir 1\nmodule @m\n\n"
    return parse(f"{head}graph @main({inputs}) {{\n{body}  return {last}\n}}\n", "m.pir").module


@pytest.mark.parametrize(
    ("dtype", "shape", "nbytes"),
    [(DType.F32, (2, 3), 24), (DType.F16, (), 2), (DType.I4, (3,), 1), (DType.I64, (5, 0), 0)],
)
def test_bytes_of_an_input(dtype: DType, shape: tuple[int, ...], nbytes: int) -> None:
    assert Input("x", dtype, shape, None).nbytes == nbytes


def test_ids_lie_below_the_smallest_table_that_they_index() -> None:
    graph = module(
        "%x: i64[4], %a: f32[50, 8], %b: f32[8, 30]",
        '%v = cast(%x) {to = "i32"} : i32[4]',
        "%p = gather(%a, %x) : f32[4, 8]",
        "%q = gather(%b, %v) {axis = 1} : f32[8, 4]",
    ).graph
    assert id_limit(graph, graph.inputs[0], {}) == 30
    assert id_limit(graph, graph.inputs[1], {}) is None
    alone = module("%x: i64[4], %a: f32[50, 8]", "%p = gather(%a, %x) : f32[4, 8]").graph
    assert id_limit(alone, alone.inputs[0], {}) == 50
    added = module("%x: i64[4], %y: i64[4]", "%p = add(%x, %y) : i64[4]").graph
    assert id_limit(added, added.inputs[0], {}) is None


def test_inputs_are_what_a_run_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    result = module("%x: f32[8, 8], %m: b1[8]", "%y = relu(%x) : f32[8, 8]")
    assert inputs_of(result, {}) == (
        Input("x", DType.F32, (8, 8), None),
        Input("m", DType.BOOL, (8,), None),
    )
    monkeypatch.setattr(feeds, "LARGEST_BYTES", 264)
    assert len(inputs_of(result, {})) == 2
    monkeypatch.setattr(feeds, "LARGEST_BYTES", 263)
    with pytest.raises(ModelError, match=r"the inputs take 0\.0 GiB"):
        inputs_of(result, {})
    with pytest.raises(ModelError, match="cannot make up an input of type"):
        inputs_of(module("%x: str[8]", "%y = identity(%x) : str[8]"), {})
    with pytest.raises(ModelError, match="its rank is not declared"):
        inputs_of(module("%x: f32[*]", "%y = relu(%x) : f32[*]"), {})


def test_values_are_of_their_type_and_within_their_limit() -> None:
    kinds = [DType.F32, DType.F16, DType.F64, DType.BF16, DType.F8E4M3FN, DType.I64, DType.I8]
    kinds.append(DType.BOOL)
    inputs = tuple(Input(d.code, d, (500,), None) for d in kinds)
    ids = (
        Input("ids", DType.I32, (500,), 7),
        Input("none", DType.I64, (9,), 0),
        Input("narrow", DType.U8, (9,), 7),
    )
    made = contents((*inputs, *ids), seed=3)
    for name in ("f32", "f16", "f64"):
        assert made[name].std() == pytest.approx(1.0, abs=0.15)
        assert str(made[name].dtype) == f"float{name[1:]}"
    bits = made["bf16"].astype(np.uint32) << 16
    assert bits.view(np.float32).std() == pytest.approx(1.0, abs=0.15)
    assert set(made["f8e4m3"]) == set(range(0x28, 0x38))
    assert set(made["i64"]) == set(made["i8"]) == {1}
    assert made["b1"].all()
    assert set(made["ids"]) == set(range(7))
    assert set(made["none"]) == {0}
    assert set(made["narrow"]) == {1}
    again = contents((*inputs, *ids), seed=3)
    assert all((made[n] == again[n]).all() for n in made)


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        (DType.BOOL, np.bool_),
        (DType.BF16, np.uint16),
        (DType.F16, np.float16),
        (DType.F32, np.float32),
        (DType.F64, np.float64),
        (DType.C64, np.complex64),
        (DType.I8, np.int8),
        (DType.U8, np.uint8),
        (DType.I16, np.int16),
        (DType.U16, np.uint16),
        (DType.I32, np.int32),
        (DType.U32, np.uint32),
        (DType.I64, np.int64),
        (DType.U64, np.uint64),
        (DType.F8E4M3FN, np.uint8),
    ],
)
def test_every_type_is_stored_as_one_of_numpy(dtype: DType, kind: type) -> None:
    assert numpy_type(dtype) is kind


@pytest.mark.parametrize("dtype", [DType.I4, DType.STR, DType.C128])
def test_types_without_elements_that_can_be_made_up(dtype: DType) -> None:
    with pytest.raises(ModelError, match="cannot make up elements of type"):
        numpy_type(dtype)


@pytest.mark.parametrize(
    ("name", "models"),
    [
        ("rows.csv.gz", "rows-models.csv.gz"),
        ("rows.csv", "rows-models.csv"),
        ("rows", "rows-models"),
    ],
)
def test_rows_of_runs_lie_beside(name: str, models: str) -> None:
    assert dataset.models_file(Path("a.b") / name) == Path("a.b") / models


def test_only_formats_that_can_be_written_are_taken(tmp_path: Path) -> None:
    dataset.check_writable(tmp_path / "rows.csv")
    dataset.check_writable(tmp_path / "rows.csv.gz")
    for name, said in (("rows.txt", "rows are written as .csv"), ("no/rows.csv", "no such folder")):
        with pytest.raises(ParseError, match=said):
            dataset.check_writable(tmp_path / name)
    with pytest.raises(ParseError, match="rows are written as"):
        dataset.write(tmp_path / "rows.txt", [kernel(0, 0, 1, 1, 1)])


def test_rows_are_added_to_those_that_are_there(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    dataset.append(path, [])
    assert not path.exists()
    dataset.append(path, [kernel(0, 0, 16, 16, 16)])
    dataset.append(path, [kernel(0, 1, 16, 16, 16)])
    assert [r.part for r in dataset.read(path, MeasuredRow)] == [0, 1]
    assert gzip.decompress(path.read_bytes()).count(b"\n") == 3


def test_rows_are_bounded_and_their_numbers_finite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.csv"
    dataset.write(path, [kernel(0, p, 16, 16, 16) for p in range(3)])
    monkeypatch.setattr(dataset, "LARGEST_ROWS", 3)
    assert len(dataset.read(path, MeasuredRow)) == 3
    monkeypatch.setattr(dataset, "LARGEST_ROWS", 2)
    with pytest.raises(ParseError, match="more than 20 million rows"):
        dataset.read(path, MeasuredRow)
    monkeypatch.undo()
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    columns = lines[0].split(",")
    for column, value in (("time_s", "nan"), ("floor_s", "inf"), ("mac", "many")):
        cells = lines[2].split(",")
        cells[columns.index(column)] = value
        path.write_text("\n".join([*lines[:2], ",".join(cells)]) + "\n", encoding="utf-8")
        with pytest.raises(ParseError) as caught:
            dataset.read(path, MeasuredRow)
        assert str(caught.value).startswith(f"{path}:3: ")
    other = SimpleNamespace(schema=2)
    path.write_text(text.replace("\n1,", f"\n{other.schema},"), encoding="utf-8")
    with pytest.raises(ParseError, match="rows of schema 2, this perfc reads 1"):
        dataset.read(path, MeasuredRow)
