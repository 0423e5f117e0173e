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
from perfc.analyzers.artefacts.artefact import WeightsError, load, save
from perfc.analyzers.estimators import Execution
from perfc.analyzers.features.process import Process
from perfc.analyzers.features.rows import DataError
from perfc.analyzers.intervals.conformal import of_category
from perfc.analyzers.intervals.unseen import LeftOut
from perfc.analyzers.runs import runtime_runs
from perfc.analyzers.runs.prediction import predicted
from perfc.analyzers.runs.run_table import (
    ORDER,
    RUN,
    Network,
    leading_extent,
    precision,
    stored_element,
)
from perfc.analyzers.runs.runtime_runs import ANOTHER_RUN, banded, share_of_forests
from perfc.analyzers.whole_runs.whole_run import with_whole
from perfc.deployment import Deployment
from perfc.errors import ModelError, ParseError
from perfc.machine import load_machine
from perfc.passes.roofline.roofline import RooflineTable
from perfc.passes.runtimes import Tf32, runtime
from perfc.view.report import Verdict
from perfc_lab.tables.whole_models import WholeModel, version_of, whole_models
from perfc_lab.training.experiments.runtimes import RuntimeExperiment, every_run, figures
from perfc_lab.training.process_fit import ProcessRecipe
from perfc_lab.training.runs.chips_left_out import HeldOutChip, by_precision, left_out
from perfc_lab.training.runs.measured_runs import MeasuredRun, measured_runs, of_graph
from perfc_lab.training.runs.run_forests import RuntimeRecipe, mean, of_all, varying
from perfc_lab.training.runs.run_stack import stacked
from perfc_lab.training.runs.runtime_fit import (
    DEVIATIONS,
    calibrated,
    deviations_of_forests,
    spread_of,
    train_runs,
    usual_errors,
)
from perfc_lab.training.runs.sums import SumRecipe

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("xgboost")

SLOWER = {"tensorrt": 1.5, "paddle-trt": 4.0}
"""What the runs of this table take, over the sum of their kernels."""
WIDTHS = range(1, 15)
RECIPE = RuntimeRecipe(
    factors=SumRecipe(trees=30, depth=3, learning_rate=0.3),
    rounds=20,
    folds=4,
    process=ProcessRecipe(rows=60, steps=5),
)


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
                        path, target, runtime=engine, dtype="f16", batch=batch,
                        predictor="kernels",
                    ).prediction.total.time_s  # fmt: skip
                    lines.append({
                        "grade": "A", "mode": "inference", "graph": name,
                        "graph_size_match": "same", "device": gpu, "gpu": gpu, "runtime": engine,
                        "runtime_version": "TensorRT 8.5.1", "precision": "fp16",
                        "seq_len": None, "batch": batch, "latency_ms": 1e3 * slower * sum_s,
                        "source": "rows",
                    })  # fmt: skip
    frame = pd.DataFrame(lines)
    frame.loc[len(frame)] = {**lines[0], "grade": "C"}
    frame.loc[len(frame)] = {**lines[0], "runtime": "abacus"}
    frame.loc[len(frame)] = {**lines[0], "gpu": "Etch A Sketch"}
    frame.loc[len(frame)] = {**lines[0], "graph": "tv__nothing.onnx.gz"}
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
    recipe = replace(RECIPE)
    save(train_runs(runtime_runs.NAME, seen, recipe, lambda _: None), found)
    return found


def test_table_has_the_rows_that_can_be_used(folder: Path, runs: list[MeasuredRun]) -> None:
    assert len(list(whole_models(folder))) == len(WIDTHS) * 3 * 2 * 2 + 1
    assert len(runs) == len(WIDTHS) * 3 * 2 * 2
    one = next(run for run in runs if run.row.deployment.runtime == "tensorrt")
    assert one.row.deployment.runtime_version == "8.5"
    assert one.stored == "f16"
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


def test_row_of_the_run_stands_beside_its_kernels(runs: list[MeasuredRun]) -> None:
    table = runs[0].table
    assert table.launches["kind"][-1] == RUN
    assert (table.launches["kind"][:-1] < RUN).all()
    assert table.scale_s[-1] == pytest.approx(20e-6 + 3 * 3e-6)
    values = table.launch_values(("kind", "log_batch", "is_tensorrt", "is_paddle-trt"))
    runtime = runs[0].row.deployment.runtime
    assert (values[:, 1] == np.float32(np.log(256))).all()
    assert values[0, 2:].tolist() == [runtime == "tensorrt", runtime == "paddle-trt"]
    shares = [v for n, v in table.run.items() if n.startswith("time_") and "us" not in n]
    assert sum(shares) == pytest.approx(1.0)


def test_runs_of_another_graph_are_as_slow_as_their_runtime(
    runs: list[MeasuredRun], weights: Path
) -> None:
    found = load(weights / "runs.json")
    for run in runs:
        how = run.row.deployment
        made = runtime_runs.estimated(
            found, run.table, load_machine(how.target), how.runtime, run.stored
        )
        assert made.time.low <= made.time.mid <= made.time.high
        assert made.time.low >= made.floor_s > 0
        assert made.is_own is (not how.target.startswith("v100"))
        if made.is_own:
            assert made.time.mid == pytest.approx(run.row.time_s, rel=0.3)
        else:
            assert made.time.high / made.time.low > 1.02


def test_training_reads_what_analyze_reads(folder: Path) -> None:
    """The framework that a runtime implies counts in both: attention of TensorRT is its own."""
    path = Path("examples/models/bert-base.onnx.gz")
    how = Deployment("t4", runtime="tensorrt", dtype="f16", dims={"batch": 8, "seq": 128})
    row = WholeModel(path.name, how, 1e-3)
    (run,) = of_graph(path, [row], lambda _: None)
    report = perfc.analyze(path, deployment=how, predictor="kernels")
    assert run.table.kernels_s == pytest.approx(report.prediction.total.time_s, rel=1e-12)
    bare = replace(report.execution, framework="")
    assert predicted(bare, report.source).total.time_s != pytest.approx(
        run.table.kernels_s, rel=0.01
    )


def test_networks_are_told_by_what_most_time_goes_to() -> None:
    networks = {}
    for name in ("resnet50", "bert-base", "vit-b16", "swin-t"):
        path = Path(f"examples/models/{name}.onnx.gz")
        how = Deployment("a100", runtime="tensorrt", dtype="f16", dims={"batch": 1})
        row = WholeModel(path.name, how, 1e-3)
        (run,) = of_graph(path, [row], pytest.fail)
        networks[name] = run.table.network
    assert networks.pop("resnet50") is Network.CONVOLUTIONS
    assert set(networks.values()) == {Network.PRODUCTS}


def test_networks_of_a_kind_nobody_ran_are_pooled_with_their_kernels(
    runs: list[MeasuredRun], weights: Path
) -> None:
    found, run = load(weights / "runs.json"), runs[0]
    how, machine = run.row.deployment, load_machine(run.row.deployment.target)
    asked = machine, how.runtime, run.stored
    convolved = {**run.table.run, "convolution_macs": 0.6}
    strange = replace(run.table, run=convolved)
    assert strange.network is Network.CONVOLUTIONS
    made, like = (runtime_runs.estimated(found, t, *asked) for t in (strange, run.table))
    assert (like.is_like, like.is_own) == (True, True)
    assert (made.is_like, made.is_own) == (False, False)
    names = found.card.features
    sums_s = runtime_runs.run_sum(found.factor, strange, names)
    pooled_s = sums_s ** (2 / 3) * strange.kernels_s ** (1 / 3)
    assert made.time.mid == pytest.approx(max(pooled_s, strange.floor_s))
    assert made.time.high >= made.time.mid * np.exp(1.0) * 0.999
    assert made.time.low <= max(made.time.mid * np.exp(-0.5) * 1.001, made.floor_s)


def test_a_host_that_nobody_timed_counts_less_for_long_kernels(runs: list[MeasuredRun]) -> None:
    table = runs[0].table

    def limits(name: str, each_s: float) -> tuple[float, float, float]:
        count = float(np.exp(table.run["log_launches"]))
        longer, band = runtime_runs.unlike(replace(table, kernels_s=each_s * count), name)
        return longer, band.low, band.high

    unlike, long = runtime_runs.UNLIKE, runtime_runs.UNLIKE_LONG
    short_s, long_s = runtime_runs.LONG_S
    for each_s in (0.1 * short_s, short_s):
        assert limits("ort", each_s) == pytest.approx((0.0, unlike.low, unlike.high))
    for each_s in (long_s, 10 * long_s):
        assert limits("ort", each_s) == pytest.approx((runtime_runs.LONGER, long.low, long.high))
    half = limits("ort", float(np.sqrt(short_s * long_s)))
    assert half == pytest.approx((0.075, -0.45, 0.785))
    # an engine waits for no host
    assert limits("tensorrt", long_s) == (0.0, unlike.low, unlike.high)


def test_products_that_nobody_timed_are_told_by_runs_under_other_runtimes() -> None:
    path = Path("examples/models/bert-base.onnx.gz")
    base = perfc.analyze(path, "a100", dtype="f32", tf32=True, batch=64, runtime="inductor")
    near, far = (base.with_(target).prediction for target in ("a100", "l40s"))
    for made in (near, far):
        assert made.total.predictor == "runs"
        assert made.run_factor > 1.02
        assert not made.is_own
        assert any("no measured inductor run" in note for note in made.notes)
    ratio = [one.total.high_s / one.total.low_s for one in (near, far)]
    unknown = runtime_runs.UNKNOWN
    assert ratio[0] == pytest.approx(np.exp(unknown.high - unknown.low))
    # an L40S is further from the measured boards
    assert ratio[0] < ratio[1] < 3
    # TensorRT takes hardly longer, and products in half precision, which were timed, are summed
    assert base.with_(runtime="tensorrt").prediction.total.time_s < 1.1 * near.total.time_s
    assert base.with_(dtype="f16").prediction.total.predictor == "physics-residual"
    for other in (
        base.with_("t4"),  # has no TF32
        base.with_(tf32=False),
        base.with_(batch=1),  # short kernels wait for the host
        perfc.analyze(
            "examples/models/resnet50.onnx.gz", "a100", dtype="f32", batch=64, runtime="inductor"
        ),
    ):
        assert other.prediction.total.predictor == ""


def test_on_machines_left_out_all_predictions_count_the_same() -> None:
    wrong = np.array([[0.4, 0.1, 0.1], [0.5, 0.1, 0.0], [-0.2, 0.4, -0.5]])
    one = HeldOutChip(1.0, wrong, np.array([0, 0, 1]), np.array([False, True, False]))
    assert one.pooled() == pytest.approx([0.2, 0.2, -0.1])
    held = left_out(one, np.array([0.2, 0.3]))
    assert held.spread.tolist() == [0.2, 0.2, 0.3]
    apart = by_precision(one, [held], ("a", "b"))
    assert apart.category.tolist() == [0, 2, 1]
    assert apart.residual is held.residual


def test_forests_have_the_share_that_graphs_left_out_choose(runs: list[MeasuredRun]) -> None:
    stack = stacked(runs)
    category = np.arange(len(stack)) % 2
    deviation = np.linspace(0.1, 0.4, len(stack))
    least, most = min(DEVIATIONS), max(DEVIATIONS)
    # the process is right of the first runtime, forests of the second
    wrong = np.stack([np.where(category, 0.5, 0.0), np.where(category, 0.0, 0.5)], axis=1)
    assert deviations_of_forests(stack, wrong, deviation, category).tolist() == [most, least]
    # few graphs do not outvote all of them
    few = stack.graph == 0
    category[few] = 2
    for right, best in ((0, most), (1, least)):
        wrong = np.full((len(stack), 2), 0.5)
        wrong[~few, right], wrong[few, 1 - right] = 0.0, 0.2
        alike = np.full(len(stack), 0.2)
        assert deviations_of_forests(stack, wrong, alike, category).tolist() == [best] * 3
    # these errors cancel where forests deviate by 0.15
    wrong = np.stack([deviation**2, np.full(len(stack), -(0.15**2))], axis=1)
    assert deviations_of_forests(stack, wrong, deviation, category).tolist() == [0.15] * 3


def test_forests_have_the_more_say_the_less_like_runs_tell() -> None:
    share = share_of_forests(np.array([0.0, 0.1, 0.2, 1e3]), 0.1)
    assert share == pytest.approx([0.0, 0.5, 0.8, 1.0])
    assert share_of_forests(np.array([0.3]), max(DEVIATIONS))[0] < 0.001


def test_whole_numbers_have_bands_of_their_own_where_no_machine_was_measured() -> None:
    """Floats are off by a tenth on each of twelve chips, whole numbers by a half."""
    score = np.linspace(-2.0, 2.0, 401)
    category = np.zeros(401, np.int64)
    names = ("a",)
    chips = [
        LeftOut(1.0, np.repeat([sign * 0.1, sign * 0.5], 20), np.full(40, 0.1),
                np.repeat([0, 1], 20))
        for sign in (1, -1) * 6
    ]  # fmt: skip
    found = calibrated(score, category, names, [[one] for one in chips])
    assert sorted(found.categories) == ["a", "a, int8"]
    plain, rounded = found.of("a"), found.of("a, int8")
    assert plain.seen == rounded.seen
    ends = [one.ends(np.array([0.1]), 1.0, measured=False) for one in (plain, rounded)]
    (low, high), (lower, higher) = ends
    assert lower[0] < 2 * low[0] < 0 < 2 * high[0] < higher[0]
    assert banded("a", "int8") == "a, int8"
    assert banded("a", "f16") == "a"


def test_a_runtime_of_few_chips_is_as_far_off_as_all_are() -> None:
    """Two chips told by luck within a hundredth, where other runtimes are off by 0.4."""
    chips = [
        [LeftOut(1.0, np.repeat([0.01 * sign, 0.4 * sign], (few, 20)), np.full(few + 20, 0.02),
                 np.repeat([0, 1], (few, 20)))]
        for sign, few in ((1, 20), (-1, 20), (1, 0), (-1, 0))
    ]  # fmt: skip
    score, category = np.linspace(-2.0, 2.0, 401), np.repeat([0, 1], (200, 201))
    found = calibrated(score, category, ("few", "many"), chips)
    (low,), (high,) = found.of("few").ends(np.array([0.02]), 1.0, measured=False)
    assert low < -0.3
    assert high > 0.3


def test_ranges_are_as_wide_as_like_runs_deviate(
    runs: list[MeasuredRun], weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = load(weights / f"{runtime_runs.NAME}.json")

    def widths(target: str, expected: float) -> tuple[float, float]:
        row = next(run for run in runs if run.row.deployment.target == target)
        runtime = row.row.deployment.runtime
        each = found.more["by_deviation"][found.card.frameworks.index(runtime)]
        told = np.zeros(1), np.array([expected / each])
        monkeypatch.setattr(Process, "expected_and_deviation", lambda *_: told)
        machine = load_machine(target)
        time = runtime_runs.estimated(found, row.table, machine, runtime, row.stored).time
        return np.log(time.mid / time.low), np.log(time.high / time.mid)

    for more, less in ((0.04, 0.02), (0.8, 0.4)):
        ratio = np.hypot(more, ANOTHER_RUN) / np.hypot(less, ANOTHER_RUN)
        assert widths("t4", more) == pytest.approx([ratio * one for one in widths("t4", less)])
    # nobody measured the other: what chips that were left out were off by tells its range
    assert widths("v100-sxm2-16gb", 0.04) == widths("v100-sxm2-16gb", 0.02)


def test_rows_beside_a_runtimes_own_count_in_its_correction() -> None:
    every = np.linspace(-1.0, 1.0, 2001)
    alone, more = of_category(every[::100], every), of_category(every[::100], every, extra_rows=20)
    assert alone.low < more.low < -0.9
    assert 0.9 < more.high < alone.high


def test_usual_errors_are_those_of_runtimes_drawn_to_all() -> None:
    wrong = np.array([0.1] * 20 + [-0.4] * 60)
    category = np.array([0] * 20 + [1] * 60)
    usual = usual_errors(wrong, category)
    assert usual.tolist() == pytest.approx([0.2, 0.4])
    forest = spread_of(("x", "is_a", "is_b"), usual, ("a", "b"))
    rows = np.array([[7, 1, 0], [7, 0, 1]], np.float32)
    assert np.exp(forest(rows)).tolist() == pytest.approx([0.2, 0.4], rel=1e-6)


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
    table = predicted(report.execution, report.source)
    execution = execution_of(report, weights)
    made = with_whole(table, report.source, execution, report.deployment)
    assert made.total.predictor == "runs"
    assert made.run_factor == pytest.approx(4, rel=0.3)
    assert made.total.floor_s <= made.total.low_s
    assert "with paddle-trt" in made.whole
    assert made.notes == ()
    strange = perfc.analyze(path, "h100", runtime="paddle-trt", dtype="f16", batch=4096)
    summed = predicted(strange.execution, strange.source)
    how = execution_of(strange, weights), strange.deployment
    far = with_whole(summed, strange.source, *how, predictor="runs")
    assert far.total.predictor == "runs"
    assert any("no measured paddle-trt run on" in note for note in far.notes)
    ratios = [t.total.high_s / t.total.low_s for t in (made, far)]
    assert ratios[0] < ratios[1]


def test_runtime_that_nobody_measured_is_left_to_its_kernels(folder: Path, weights: Path) -> None:
    path = folder / "models" / "tv__net3.onnx.gz"
    report = perfc.analyze(path, "t4", runtime="cudagraph", dtype="f16", batch=256)
    table = predicted(report.execution, report.source)
    execution = execution_of(report, weights)
    assert with_whole(table, report.source, execution, report.deployment).total == table.total
    with pytest.raises(ModelError, match="no whole runs under cudagraph were measured"):
        with_whole(table, report.source, execution, report.deployment, predictor="runs")


@pytest.mark.parametrize(
    ("target", "dtype", "tf32", "expected"),
    [
        ("t4", "", True, "f32"), ("a100", "", True, "tf32"), ("a100", "f32", False, "f32"),
        ("t4", "bf16", True, "f16"), ("t4", "amp-f16", True, "amp"), ("t4", "i8", True, "int8"),
        ("h100", "f8e4m3", True, "int8"), ("a100", "tf32", False, "tf32"), ("a100", "i4", True, ""),
    ],
)  # fmt: skip
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


def test_damaged_forest_of_runs_is_an_error(weights: Path) -> None:
    found = load(weights / "runs.json")
    wrong = {**found.more, "residual_sizes": found.more["residual_sizes"] + 1}
    with pytest.raises(WeightsError, match="damaged weights of runs"):
        runtime_runs.residual(replace(found, more=wrong))


def test_scoreboard_leaves_graphs_out(folder: Path) -> None:
    experiment, say = RuntimeExperiment("runs", "runs", RECIPE), lambda _: None
    pairs = experiment.graphs(every_run(folder, say), say)
    every = {f.slice: f for f in figures("graphs left out, each once", pairs)}
    assert every["all"].rows == len(WIDTHS) * 12
    assert every["all"].mape < 0.5
    assert every["all"].floor_holds == 1.0
    assert {"tensorrt", "paddle-trt", "batch 1"} & set(every) == {"tensorrt", "paddle-trt"}


def test_mean_of_forests_is_the_mean_of_their_sums() -> None:
    from perfc.analyzers.artefacts.forest import Forest

    leaf = np.array([-1], np.int16)
    one, other = (
        Forest(("a",), leaf, np.array([value], np.float32), np.array([0], np.int32),
               np.array([0], np.int32), base)
        for value, base in ((1.0, 0.5), (3.0, -0.25))
    )  # fmt: skip
    rows = np.zeros((2, 1), np.float32)
    assert mean([one, other])(rows).tolist() == pytest.approx([2.125, 2.125])


def test_forest_of_some_columns_reads_them_among_all() -> None:
    from perfc.analyzers.artefacts.forest import Forest

    forest = Forest(
        ("b",), np.array([0, -1, -1], np.int16), np.array([1.5, 10.0, 20.0], np.float32),
        np.array([1, 0, 0], np.int32), np.array([0], np.int32), 0.0,
    )  # fmt: skip
    values = np.array([[9, 1, 9], [0, 2, 0]], np.float32)
    assert of_all(forest, ("a", "b", "c"))(values).tolist() == [10.0, 20.0]
    assert varying(values).tolist() == [True, True, True]
    assert varying(values[:1]).tolist() == [False, False, False]


@pytest.mark.parametrize(
    "name", [runtime_runs.OF_FORESTS, "by_deviation", "counts", "process_noise"]
)
def test_weights_without_a_number_of_each_runtime_are_damaged(
    runs: list[MeasuredRun], weights: Path, name: str
) -> None:
    """As those that an older version wrote are."""
    found = load(weights / f"{runtime_runs.NAME}.json")
    assert name in found.more
    older = replace(found, more={n: array for n, array in found.more.items() if n != name})
    row = next(run for run in runs if run.row.deployment.target == "t4")
    with pytest.raises(WeightsError, match="damaged weights of runs: no "):
        runtime_runs.estimated(
            older, row.table, load_machine("t4"), row.row.deployment.runtime, row.stored
        )
