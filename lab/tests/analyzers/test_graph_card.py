"""Cards of graph predictors: what they know, what is refused, and what lies outside."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from perfc.analyzers.artefacts.artefact import WeightsError
from perfc.analyzers.graph import weights
from perfc.analyzers.graph.encode import encode_module
from perfc.analyzers.graph.predictor import predictor
from perfc.analyzers.graph.rows import GraphRow, Quantity
from perfc.analyzers.graph.weights import GraphCard, load, read_card, version_of
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.analyzers.whole_runs import shipped
from perfc.analyzers.whole_runs.estimate import batch_size
from perfc.analyzers.whole_runs.physical import launches_of
from perfc.analyzers.whole_runs.reach import FAR_BELOW, Extent, is_plain, reasons, small_batch
from perfc.errors import ModelError, PerfcError
from perfc.frontend import load as load_model
from perfc_lab.whole_runs.boosted_totals import totals

RUNS = (
    ("rtx3090", "amp f16", "eager", "torch 2.1"),
    ("rtx3090", "amp f16", "eager", "torch 2.9"),
    ("rtx4090", "f16", "compiled", "torch 2.4"),
)


def card(**other: Any) -> GraphCard:
    found = GraphCard(
        "physics_residual",
        "a title",
        "time_s",
        "timm",
        "d",
        "random",
        ("rtx3090", "rtx4090"),
        ("eager", "compiled"),
        100,
        10,
        5,
        (1.0, 0.5, 2.0),
        runs=RUNS,
        operators=("conv", "relu"),
        small_peaks=(64e6, 48e6, 32e6),
    )
    return replace(found, **other)


AMP, F16 = Setting(Precision.AMP_F16), Setting(Precision.F16)


def test_a_card_covers_runs_of_its_machines_ways_and_precisions() -> None:
    assert card().versions("rtx3090", AMP) == [(2, 1), (2, 9)]
    # of a type alone there are no rows, so that those under autocast stand for it
    assert card().versions("rtx3090", F16) == [(2, 1), (2, 9)]
    assert card().covers("rtx4090", replace(F16, compiled=True))
    assert not card().covers("rtx4090", replace(AMP, compiled=True))
    assert not card().covers("rtx4090", AMP)
    assert not card().covers("t4", AMP)
    assert not card().covers("rtx3090", Setting(Precision.AMP_BF16))
    assert version_of("torch 2.11") == (2, 11)


def test_small_runs_are_those_of_the_machine_else_of_any() -> None:
    assert card().small_peak_bytes("rtx3090", AMP) == 48e6
    assert card().small_peak_bytes("t4", AMP) == 48e6
    assert card().small_peak_bytes("t4", replace(F16, compiled=True)) == 32e6
    assert card().small_peak_bytes("t4", Setting(Precision.F32)) == 0
    assert card(small_peaks=(64e6, 48e6)).small_peak_bytes("rtx3090", AMP) == 0


def said(row: GraphRow, *ops: str, bytes_of_one: float = 1e6, by_launch: bool = False) -> list[str]:
    extent = Extent(ops, bytes_of_one * row.batch)
    return list(reasons(card(), row, extent, by_launch=by_launch))


def run(batch: int = 48, target: str = "rtx3090", setting: Setting = AMP) -> GraphRow:
    return GraphRow("g", "g", setting, target, batch, 1.0)


def test_a_run_like_those_measured_lies_inside() -> None:
    assert said(run(), "conv", "relu", "conv", "relu", "relu") == []


def test_a_batch_is_far_below_where_it_is_eight_times_smaller_than_small_ones() -> None:
    """Small runs hold 48 MB: 48 images of 1 MB; six are an eighth."""
    assert FAR_BELOW == 8.0
    assert small_batch(card(), run(6), Extent(("conv",), 6e6)) == 48
    assert said(run(6), "conv") == []
    assert said(run(5), "conv") == ["batch 5 is far below the measured batches, 48 and more"]
    assert small_batch(card(), run(6), Extent(("conv",), 0.0)) == 0


def test_what_was_not_trained_on_is_named() -> None:
    training = replace(AMP, training=True)
    assert said(run(setting=training), "conv") == ["no measured training run"]
    wide = Setting(Precision.F32)
    assert said(run(setting=wide), "conv") == ["no measured eager run in f32 on rtx3090"]
    assert said(run(target="t4", setting=wide), "conv") == [], "of its machine it is said apart"
    assert said(run(), *["conv"] * 6) == ["6 operators, the largest graph in training 5"]
    assert said(run(), "conv", "matmul", "gemm") == [
        "operators absent from the training graphs: gemm, matmul"
    ]
    six = ("a", "b", "c", "d", "e", "f")
    (_, more) = said(run(), *six)
    assert more == "operators absent from the training graphs: a, b, c, d, e, …"
    (five,) = said(run(), *six[:5])
    assert five == "operators absent from the training graphs: a, b, c, d, e"


def test_operators_that_differ_by_name_alone_are_alike_to_what_reads_launches() -> None:
    assert is_plain("tanh")
    assert not is_plain("matmul")
    assert not is_plain("nobody's")
    assert said(run(), "conv", "tanh", by_launch=True) == []
    assert said(run(), "conv", "tanh") == ["operators absent from the training graphs: tanh"]
    assert said(run(), "conv", "matmul", by_launch=True) == [
        "operators absent from the training graphs: matmul"
    ]


def test_only_the_sum_of_launches_sees_launches_and_machines() -> None:
    """The others know operators by their names, or machines by their rows alone."""
    for name in ("boosted-totals", "kernel-forest", "roofline", "physics-residual"):
        made = predictor(name, Quantity.TIME)
        flags = made.reads_launches, made.reaches_machines
        assert flags == ((name == "physics-residual",) * 2), name


# Batches


def model(folder: Path, shape: str) -> Any:
    path = folder / "m.onnxtxt"
    path.write_text(
        f'<ir_version: 10, opset_import: ["" : 21]> g (float[{shape}] x) => (float[{shape}] y)'
        " { y = Relu (x) }"
    )
    return load_model(path)


def test_the_one_free_symbol_is_the_batch(tmp_path: Path) -> None:
    free, fixed, two = (model(tmp_path, s) for s in ("n, 8", "4, 8", "n, s"))
    assert (batch_size(free, None, {}), batch_size(free, 7, {})) == (1, 7)
    assert (batch_size(fixed, None, {}), batch_size(fixed, 4, {})) == (4, 4)
    assert batch_size(two, 3, {"s": 5}) == 3
    assert batch_size(two, None, {"n": 6, "s": 5}) == 6
    with pytest.raises(ModelError, match="its batch is 4, not 5"):
        batch_size(fixed, 5, {})
    with pytest.raises(ModelError, match="2 symbols without a value: n, s"):
        batch_size(two, 3, {})
    with pytest.raises(ModelError, match="a batch of 0"):
        batch_size(free, 0, {})


def test_every_cast_of_a_weight_is_a_launch() -> None:
    from perfc.analyzers.steps.launch_kind import LaunchKind

    columns = type(
        "Columns",
        (),
        {
            "times": np.array([2.0, 3.0, 1.0]),
            "traits": {"operands": np.array([2.0, 3.0, 40.0])},
            "kind": np.array([0.0, 1.0, LaunchKind.WEIGHT_CAST.number]),
        },
    )()
    linear = type("Linear", (), {"at": lambda self, batch: columns})()
    kernels = type("Kernels", (), {"columns": linear})()
    graph = type("Graph", (), {"kernels": {AMP.launch_key: kernels}})()
    assert launches_of(cast("Any", graph), run()) == 6 + 40


def test_launches_that_repeat_count_as_often_as_they_are_launched(tmp_path: Path) -> None:
    """Every launch twice: twice the products, bytes, launches and time, and the same shares."""
    path = tmp_path / "m.onnxtxt"
    path.write_text(
        '<ir_version: 10, opset_import: ["" : 21]> g (float[n, 512] x) => (float[n, 256] y)'
        ' <float[512, 256] w = ["location": "w.bin"]> { a = MatMul (x, w) y = Relu (a) }'
    )
    graph = encode_module("g", load_model(path), [AMP])
    (key,) = graph.kernels
    kernels = graph.kernels[key]
    table = kernels.columns.table.copy()
    table[:, 1] *= 2
    twice = replace(kernels, columns=replace(kernels.columns, table=table))
    once, both = (totals(g, run(64)) for g in (graph, replace(graph, kernels={key: twice})))
    assert both["scale"] == pytest.approx(2 * once["scale"])
    assert both["mac_scale"] - 1e-4 == pytest.approx(2 * (once["mac_scale"] - 1e-4))
    assert once["log_mac"] == pytest.approx(np.log2(64 * 512 * 256))
    for name in ("log_mac", "log_bytes", "log_launches", "log_roofline", "log_count_matmul"):
        assert both[name] == pytest.approx(once[name] + 1), name
    assert both["share_matmul"] == pytest.approx(once["share_matmul"])
    assert once["log_batch"] == 6


# Files


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A copy of weights that ship."""
    source = shipped.named("physics-residual")
    for suffix in (".json", ".npz"):
        made = (tmp_path / source.name).with_suffix(suffix)
        made.write_bytes(source.with_suffix(suffix).read_bytes())
    return tmp_path / source.name


def changed(path: Path, **other: Any) -> Path:
    content = json.loads(path.read_text(encoding="utf-8")) | other
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_copy_is_read_as_what_ships(path: Path) -> None:
    assert load(path)[1] == read_card(shipped.named("physics-residual"))
    assert "physics-residual" in shipped.names()
    assert shipped.names(shipped.FOLDER) == ["physics-residual"]
    assert (
        shipped.named("physics_residual") == shipped.named("") == shipped.named("physics-residual")
    )
    assert shipped.named("some.json") == Path("some.json")
    with pytest.raises(WeightsError, match=r"no weights of 'oracle' are installed") as missing:
        shipped.named("oracle")
    assert "physics-residual" in str(missing.value.hint)
    with pytest.raises(WeightsError, match="no weights of 'roofline:scaled'") as untrained:
        shipped.named("roofline:scaled")
    assert "perfc train graph --predictor roofline:scaled" in str(untrained.value.hint)
    for name, command in (("dippm-authors", "checkpoint FILE"), ("gnn-llm", "gnn-llm")):
        with pytest.raises(WeightsError, match="no weights of") as unread:
            shipped.named(name)
        assert str(unread.value.hint).startswith(f"perfc train {command} writes them")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"format": 10**6}, "a card of format 1000000"),
        ({"runs": [["t4", "f16", "eager"]]}, "no card of a graph predictor"),
        ({"runs": [["t4", "f16", "eager", "torch"]]}, "no card of a graph predictor"),
        ({"small_peaks": ["many"]}, "no card of a graph predictor"),
        ({"color": 1}, "no card of a graph predictor: got an unexpected"),
        ({"targets": 3}, "no card of a graph predictor"),
        ({"arrays_sha256": "0"}, "not the arrays that the card speaks of"),
        ({"predictor": "nobody"}, "nobody"),
        ({"factor": [1.0, 2.0]}, "weights of another schema"),
        ({"quantity": "color"}, "weights of another schema"),
        ({"meta": {}}, "weights of another schema"),
    ],
)
def test_a_card_that_says_what_none_says_is_refused(
    path: Path, other: dict[str, Any], message: str
) -> None:
    with pytest.raises(PerfcError, match=message) as caught:
        load(changed(path, **other))
    assert "\n" not in str(caught.value)


def test_files_may_be_so_long_and_not_one_byte_longer(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, file in (("MAX_CARD_BYTES", path), ("MAX_ARRAYS_BYTES", path.with_suffix(".npz"))):
        size = file.stat().st_size
        with monkeypatch.context() as patch:
            patch.setattr(weights, name, size)
            load(path)
            patch.setattr(weights, name, size - 1)
            with pytest.raises(WeightsError, match=f"such files end at {size - 1} bytes"):
                load(path)


def test_arrays_that_are_missing_or_damaged_are_one_line(path: Path) -> None:
    path.with_suffix(".npz").unlink()
    with pytest.raises(WeightsError, match="cannot read: No such file"):
        load(path)
