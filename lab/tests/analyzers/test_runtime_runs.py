"""Whole runs under runtimes, learned from a small table of measured ones."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import perfc
from perfc.analyzers.artefacts.artefact import WeightsError, load
from perfc.analyzers.estimators import Execution
from perfc.analyzers.features.process import Process
from perfc.analyzers.features.rows import DataError
from perfc.analyzers.runs import runtime_runs
from perfc.analyzers.runs.prediction import predicted
from perfc.analyzers.runs.run_process import MACHINE_COLUMNS, positions
from perfc.analyzers.runs.run_table import (
    COLUMNS,
    COUNTS,
    ORDER,
    PARTS,
    SHARES,
    leading_extent,
    longer,
    precision,
    stored_element,
)
from perfc.analyzers.runs.runtime_runs import ANOTHER_RUN
from perfc.analyzers.whole_runs.whole_run import with_whole
from perfc.deployment import Deployment
from perfc.errors import ModelError, ParseError
from perfc.machine import load_machine
from perfc.passes.roofline.roofline import RooflineTable
from perfc.passes.runtimes import Tf32, runtime
from perfc.view.report import Verdict
from perfc_lab.data.weights import save
from perfc_lab.tables.whole_models import WholeModel, version_of, whole_models
from perfc_lab.training.experiments.runtimes import RuntimeExperiment, every_run, figures
from perfc_lab.training.process_fit import ProcessRecipe
from perfc_lab.training.runs.measured_runs import MeasuredRun, measured_runs, of_graph
from perfc_lab.training.runs.run_fit import RunRecipe, train_runs

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

SLOWER = {"tensorrt": 1.5, "paddle-trt": 4.0}
"""What the runs of this table take, over the sum of their kernels."""
WIDTHS = range(1, 15)
RECIPE = RunRecipe(folds=4, process=ProcessRecipe(rows=60, steps=5))


def network(width: int) -> onnx.ModelProto:
    """Three products with activations, as wide as 64 times the number."""
    size, nodes, weights = 64 * width, [], []
    for i in range(3):
        weights.append(numpy_helper.from_array(np.zeros((size, size), np.float32), f"w{i}"))
        nodes += [
            helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"y{i}"]),
            helper.make_node("Relu", [f"y{i}"], [f"x{i + 1}"]),
        ]
    x = helper.make_tensor_value_info("x0", TensorProto.FLOAT, ["batch", size])
    y = helper.make_tensor_value_info("x3", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of runs and their graphs; times are those of kernels, slower by runtime."""
    found = tmp_path_factory.mktemp("runs")
    (found / "models").mkdir()
    lines = []
    for width in WIDTHS:
        name = f"tv__net{width}.onnx.gz"
        path = found / "models" / name
        path.write_bytes(gzip.compress(network(width).SerializeToString()))
        for gpu, target in (("T4", "t4"), ("A100", "a100-sxm4-40gb"), ("V100", "v100-sxm2-16gb")):
            for engine, slower in SLOWER.items():
                for batch in (256, 4096):
                    sum_s = perfc.analyze(
                        path,
                        target,
                        runtime=engine,
                        dtype="f16",
                        batch=batch,
                        predictor="kernels",
                    ).prediction.total.time_s
                    lines.append(
                        {
                            "grade": "A",
                            "mode": "inference",
                            "graph": name,
                            "graph_size_match": "same",
                            "device": gpu,
                            "gpu": gpu,
                            "runtime": engine,
                            "runtime_version": "TensorRT 8.5.1",
                            "precision": "fp16",
                            "seq_len": None,
                            "batch": batch,
                            "latency_ms": 1e3 * slower * sum_s,
                            "source": "rows",
                        }
                    )
    frame = pd.DataFrame(lines)
    frame.loc[len(frame)] = {**lines[0], "grade": "C"}
    frame.loc[len(frame)] = {**lines[0], "runtime": "abacus"}
    frame.loc[len(frame)] = {**lines[0], "gpu": "Etch A Sketch"}
    frame.loc[len(frame)] = {**lines[0], "graph": "tv__nothing.onnx.gz"}
    frame.loc[len(frame)] = {**lines[0], "graph": "timm__dpn68__224.onnx.gz"}
    frame.to_parquet(found / "whole_models.parquet")
    return found


@pytest.fixture(scope="module")
def runs(folder: Path) -> list[MeasuredRun]:
    return measured_runs(folder, lambda _: None)


@pytest.fixture(scope="module")
def weights(runs: list[MeasuredRun], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Learned from all machines but the V100."""
    found = tmp_path_factory.mktemp("weights")
    seen = [run for run in runs if not run.row.deployment.target.startswith("v100")]
    save(train_runs(runtime_runs.NAME, seen, RECIPE, lambda _: None), found)
    return found


def test_table_has_the_rows_that_can_be_used(folder: Path, runs: list[MeasuredRun]) -> None:
    assert len(list(whole_models(folder))) == len(WIDTHS) * 3 * 2 * 2 + 1
    assert len(runs) == len(WIDTHS) * 3 * 2 * 2
    one = next(run for run in runs if run.row.deployment.runtime == "tensorrt")
    assert one.row.deployment.runtime_version == "8.5"
    assert one.table.stored == "f16"
    assert one.row.deployment.dims == {"batch": 256}


def test_versions_are_read_where_the_table_states_them() -> None:
    assert version_of(runtime("tensorrt"), "TensorRT 7.2.3.4") == "7.2"
    assert version_of(runtime("tensorrt"), "10.11") == "10.11"
    assert version_of(runtime("tensorrt"), "triton") == ""
    assert version_of(runtime("eager"), "1.13") == ""


def test_version_of_tensorrt_is_an_input(folder: Path) -> None:
    path = folder / "models" / "tv__net3.onnx.gz"
    old = perfc.analyze(path, "t4", runtime="tensorrt", runtime_version="7.2", batch=256)
    assert old.deployment.version == (7, 2)
    with pytest.raises(ParseError, match="versions of paddle-trt were not measured separately"):
        perfc.analyze(path, "t4", runtime="paddle-trt", runtime_version="7.2", batch=256)


def test_runs_of_another_graph_are_as_slow_as_their_runtime(
    runs: list[MeasuredRun], weights: Path
) -> None:
    found = load(weights / "runs.json")
    for run in runs:
        how = run.row.deployment
        made = runtime_runs.estimated(found, run.table)
        assert made.time.low <= made.time.mid <= made.time.high
        assert made.time.low >= made.floor_s > 0
        assert made.is_own is (not how.target.startswith("v100"))
        # all machines of the table take as much beyond their kernels; of a new one a part is known
        if made.is_own:
            assert made.time.mid == pytest.approx(run.row.time_s, rel=0.3)
        else:
            assert 1.2 * run.table.kernels_s < made.time.mid < 1.3 * run.row.time_s


def test_training_reads_what_analyze_reads(folder: Path) -> None:
    """A run has the same kernels in both."""
    path = Path("examples/models/bert-base.onnx.gz")
    how = Deployment("t4", runtime="tensorrt", dtype="f16", dims={"batch": 8, "seq": 128})
    row = WholeModel(path.name, how, 1e-3)
    (run,) = of_graph(path, [row], lambda _: None)
    report = perfc.analyze(path, deployment=how, predictor="kernels")
    assert run.table.kernels_s == pytest.approx(report.prediction.total.time_s, rel=1e-12)


def test_ada_is_an_architecture_of_its_own() -> None:
    path = Path("examples/models/bert-base.onnx.gz")
    deployments = (
        Deployment(target, runtime="tensorrt", dtype="f16", dims={"batch": 8, "seq": 128})
        for target in ("a100-sxm4-40gb", "a10", "l4")
    )
    rows = [WholeModel(path.name, how, 1e-3) for how in deployments]
    ampere, smaller, ada = (run.table.architecture for run in of_graph(path, rows, lambda _: None))
    assert ampere == smaller != ada


def test_facts_of_a_run_are_those_of_its_kernels(runs: list[MeasuredRun]) -> None:
    table, how = runs[0].table, runs[0].row.deployment
    facts = dict(zip(COLUMNS, table.places, strict=True))
    assert (table.runtime, table.stored) == (how.runtime, "f16")
    # two launches of each of three layers, or one where the activation is fused
    assert np.exp(facts["log_launches"]) in (pytest.approx(3.0), pytest.approx(6.0))
    assert table.ways_s.sum(axis=1).max() + table.fixed_s == pytest.approx(table.kernels_s)
    assert sum(facts[name] for name in PARTS) == pytest.approx(1.0, abs=0.1)
    assert facts["log_batch"] == pytest.approx(np.log(256))
    assert facts["log2_k"] == pytest.approx(facts["log2_n"])
    for names in (SHARES, COUNTS):
        assert sum(facts[name] ** 2 for name in names) == pytest.approx(1.0)


def test_a_run_of_more_work_takes_no_less_time_whatever_its_parts_take(
    runs: list[MeasuredRun],
) -> None:
    small, large = (
        next(r.table for r in runs if r.row.deployment.dims["batch"] == batch)
        for batch in (256, 4096)
    )
    parts = np.array([-0.3, 0.3, 0.1])
    small_s, large_s = (
        r.kernels_s * np.exp(longer(r.ways_s, r.fixed_s, parts)) for r in (small, large)
    )
    assert small_s <= large_s
    assert longer(small.ways_s, small.fixed_s, np.zeros(3)) == 0.0
    assert longer(small.ways_s, small.fixed_s, np.full(3, 0.2)) == pytest.approx(0.2, rel=1e-3)


def test_a_run_without_similar_ones_is_its_timeline(runs: list[MeasuredRun], weights: Path) -> None:
    found, table = load(weights / "runs.json"), runs[0].table
    far = table.places.copy()
    far[MACHINE_COLUMNS] += 1e3
    other = replace(table, places=far, architecture=3.0)
    near, made = (runtime_runs.estimated(found, one) for one in (table, other))
    assert (near.is_own, near.is_like) == (True, True)
    assert (made.is_own, made.is_like) == (False, False)
    assert made.time.mid == pytest.approx(max(table.kernels_s, table.floor_s), rel=1e-6)


def test_intervals_are_as_wide_as_similar_runs_deviate(
    runs: list[MeasuredRun], weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = load(weights / "runs.json")
    row = next(run for run in runs if run.row.deployment.target == "t4")

    def widths(deviation: float) -> tuple[float, float]:
        monkeypatch.setattr(Process, "deviation", lambda *_: np.array([deviation]))
        time = runtime_runs.estimated(found, replace(row.table, floor_s=0.0)).time
        return np.log(time.mid / time.low), np.log(time.high / time.mid)

    for more, less in ((0.04, 0.02), (0.8, 0.4)):
        ratio = np.hypot(more, ANOTHER_RUN) / np.hypot(less, ANOTHER_RUN)
        assert widths(more) == pytest.approx([ratio * one for one in widths(less)])


def test_a_run_without_a_version_has_the_newest_of_its_runtime(
    runs: list[MeasuredRun], weights: Path
) -> None:
    found = load(weights / "runs.json")
    known = runtime_runs.process(found).known
    newest = replace(runs[0].table, version=0.0)
    row = runtime_runs.with_version(positions([newest], found.card.frameworks), known)
    assert row.kinds[0, 2] == known.kinds[known.kinds[:, 0] == row.kinds[0, 0], 2].max()


@pytest.mark.parametrize("name", ["process_noise", "process_weights"])
def test_weights_without_a_process_are_damaged(
    runs: list[MeasuredRun], weights: Path, name: str
) -> None:
    found = load(weights / f"{runtime_runs.NAME}.json")
    rest = {n: array for n, array in found.more.items() if n != name}
    assert len(rest) == len(found.more) - 1
    with pytest.raises(WeightsError, match="damaged weights of runs: "):
        runtime_runs.estimated(replace(found, more=rest), runs[0].table)


def test_measured_runs_of_a_network_are_named_with_their_publication() -> None:
    how = {"runtime": "tensorrt", "dtype": "f16", "batch": 1, "seq": 128}
    path = Path("examples/models/bert-base.onnx.gz")
    measured, other = (perfc.analyze(path, name, **how) for name in ("t4", "rtx4090"))
    assert measured.prediction.publications == ("BERT demo of TensorRT",)
    sure = Verdict.of(measured).confidence
    assert sure is not None
    assert sure.reason == "this network was measured on NVIDIA T4 16 GB (BERT demo of TensorRT)"
    assert other.prediction.publications == ()


def execution_of(report: perfc.Report, folder: Path) -> Execution:
    return replace(report.execution, folder=folder)


def test_default_total_is_of_the_run_where_its_runtime_was_measured(
    folder: Path, weights: Path
) -> None:
    path = folder / "models" / "tv__net9.onnx.gz"
    report = perfc.analyze(path, "t4", runtime="paddle-trt", dtype="f16", batch=4096)
    table = predicted(report.execution)
    execution = execution_of(report, weights)
    made = with_whole(table, report.source, execution, report.deployment)
    assert made.total.predictor == "runs"
    assert made.run_factor == pytest.approx(4, rel=0.3)
    assert made.total.floor_s <= made.total.low_s
    assert "with paddle-trt" in made.whole
    assert made.notes == ()
    strange = perfc.analyze(path, "h100", runtime="paddle-trt", dtype="f16", batch=4096)
    summed = predicted(strange.execution)
    how = execution_of(strange, weights), strange.deployment
    far = with_whole(summed, strange.source, *how, predictor="runs")
    assert far.total.predictor == "runs"
    assert any("no paddle-trt measurement on" in note for note in far.notes)
    ratios = [t.total.high_s / t.total.low_s for t in (made, far)]
    assert ratios[0] < ratios[1]


def test_runtime_that_nobody_measured_is_left_to_its_kernels(folder: Path, weights: Path) -> None:
    path = folder / "models" / "tv__net3.onnx.gz"
    report = perfc.analyze(path, "t4", runtime="cudagraph", dtype="f16", batch=256)
    table = predicted(report.execution)
    execution = execution_of(report, weights)
    assert with_whole(table, report.source, execution, report.deployment).total == table.total
    with pytest.raises(ModelError, match="no whole runs under cudagraph were measured"):
        with_whole(table, report.source, execution, report.deployment, predictor="runs")


@pytest.mark.parametrize(
    ("target", "dtype", "tf32", "expected"),
    [
        ("t4", "", True, "f32"),
        ("a100", "", True, "tf32"),
        ("a100", "f32", False, "f32"),
        ("t4", "bf16", True, "f16"),
        ("t4", "amp-f16", True, "amp"),
        ("t4", "i8", True, "int8"),
        ("h100", "f8e4m3", True, "int8"),
        ("a100", "tf32", False, "tf32"),
        ("a100", "i4", True, ""),
    ],
)
def test_precisions_are_told_by_width(target: str, dtype: str, tf32: bool, expected: str) -> None:
    how = Deployment(target, dtype=dtype, tf32=Tf32(tf32))
    found = precision(how, "f32", RooflineTable(load_machine(target), (), 0.0))
    assert found == expected
    assert found in (*ORDER, "")


@pytest.mark.parametrize(("model", "expected"), [("resnet50", "tf32"), ("bert-base", "f32")])
def test_a_run_whose_convolutions_alone_are_rounded_is_what_most_products_are(
    model: str, expected: str
) -> None:
    report = perfc.analyze(f"examples/models/{model}.onnx.gz", "a100", runtime="eager")
    assert precision(report.deployment, "f32", report.roofline) == expected
    for tf32, name in ((True, "tf32"), (False, "f32")):
        deployment = report.deployment.with_values({"tf32": tf32})
        assert precision(deployment, "f32", report.roofline) == name


def test_batch_is_the_leading_extent(folder: Path) -> None:
    report = perfc.analyze(folder / "models" / "tv__net3.onnx.gz", "t4", batch=24)
    assert leading_extent(report.source, report.env) == 24
    assert stored_element(report.source) == "f32"


def test_few_graphs_teach_nothing(runs: list[MeasuredRun]) -> None:
    few = [run for run in runs if run.row.graph == runs[0].row.graph]
    with pytest.raises(DataError, match="runs of 1 graphs"):
        train_runs("runs", few, RECIPE, lambda _: None)


def test_scoreboard_leaves_graphs_out(folder: Path) -> None:
    experiment, say = RuntimeExperiment("runs", "runs", RECIPE), lambda _: None
    pairs = experiment.graphs(every_run(folder, say), say)
    every = {f.slice: f for f in figures("graphs left out, each once", pairs)}
    assert every["all"].rows == len(WIDTHS) * 12
    assert every["all"].mape < 0.5
    assert every["all"].floor_holds == 1.0
    assert {"tensorrt", "paddle-trt", "batch 1"} & set(every) == {"tensorrt", "paddle-trt"}
