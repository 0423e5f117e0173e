"""Graphs that are built like those trained on are similar; intervals of the others are wider."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from perfc.analyzers.estimate.interval import Interval
from perfc.analyzers.graph.model_graph import OP_FIXED, OpGraph
from perfc.analyzers.graph.predictor import TrainingBudget
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.analyzers.graph.weights import load, save
from perfc.analyzers.intervals.conformal import Band, Unseen
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.analyzers.whole_runs import shipped
from perfc.analyzers.whole_runs.estimate import UNFAMILIAR, estimate
from perfc.analyzers.whole_runs.machine_bands import RunBands
from perfc.analyzers.whole_runs.similarity import SIMILAR, OperatorSimilarity, operators
from perfc.errors import PerfcError
from perfc.frontend import load as load_model
from perfc.ir.graph import Module
from perfc.machine import load_machine
from perfc_lab.datasets.spaces.nas_bench_201 import network
from perfc_lab.training.graphs.cards import card_of
from perfc_lab.training.graphs.protocols import GraphProtocol
from perfc_lab.whole_runs import as_shipped, physics_residual, residual_fit
from perfc_lab.whole_runs.as_shipped import figures_as_shipped
from perfc_lab.whole_runs.physics_residual import PhysicsResidual
from perfc_lab.whole_runs.residual_fit import similarity_of

from .graph_rows import SETTING, arches, measurements

MODELS = Path(__file__).parents[3] / "examples" / "models"
SMALL = replace(residual_fit.RECIPE, trees=15)


def graph(names: Sequence[str], windows: Sequence[float] = (), groups: float = 1.0) -> OpGraph:
    """Operators; the first ones have windows."""
    fixed = np.zeros((len(names), len(OP_FIXED.columns)))
    column = {name: i for i, name in enumerate(OP_FIXED.columns)}
    fixed[: len(windows), column["kernel_h"]] = windows
    fixed[: len(windows), column["stride_h"]] = 1.0
    fixed[: len(windows), column["groups"]] = groups
    fixed[: len(windows), column["weight_0"]] = 64.0
    nothing = np.zeros((2, len(names), 0))
    return OpGraph(tuple(names), fixed, nothing, np.zeros((2, 0), np.int64), nothing, nothing[0])


def of(*graphs: OpGraph) -> Measurements:
    """A row of each."""
    template = next(iter(measurements().graphs.values()))
    named = {str(i): replace(template, name=str(i), ops=one) for i, one in enumerate(graphs)}
    rows = (GraphRow(name, name, SETTING, "titan-xp", 1, 1.0) for name in named)
    return Measurements("made", named, tuple(rows))


BLOCK = ("conv", "batch_norm", "relu", "add")


def test_a_deeper_network_of_the_same_operators_is_kin() -> None:
    known = similarity_of([graph(BLOCK * 4)])
    deeper, other = known.distance(of(graph((*BLOCK * 40, "relu")), graph(("gemm", "softmax") * 8)))
    assert deeper < SIMILAR < other
    assert other == pytest.approx(2**0.5, abs=0.01)


@pytest.mark.parametrize("groups", [1.0, 4.0, 64.0])
def test_windows_and_groups_distinguish_convolutions(groups: float) -> None:
    convolutions = ("conv",) * 8
    known = similarity_of([graph(convolutions, (3.0,) * 8, groups)])
    for windows, others in (((3.0,) * 8, (1.0, 4.0, 64.0)), ((5.0,) * 8, (groups,))):
        for one in others:
            (distance,) = known.distance(of(graph(convolutions, windows, one)))
            assert (distance == 0) == (windows[0] == 3.0 and one == groups)


def test_operators_that_nobody_saw_are_far() -> None:
    known = similarity_of([graph(BLOCK)])
    (distance,) = known.distance(of(graph((*BLOCK, *["fold"] * 4))))
    assert distance == pytest.approx((0.5 + 4 * (0.5 - 0.125**0.5) ** 2) ** 0.5, abs=0.01)


def test_what_is_written_is_read_back() -> None:
    known = similarity_of([one.ops for one in measurements().graphs.values()])
    again = OperatorSimilarity.restored(known.words, known.arrays())
    assert (again.roots == known.roots).all()
    assert (known.distance(measurements()) == 0).all()
    assert len(known.roots) <= len(measurements().graphs)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("word", np.array([200, 0], np.uint8)),
        ("word", np.array([-1, 0], np.int8)),
        ("root", np.array([1], np.uint8)),
        ("sizes", np.array([3], np.uint16)),
        ("sizes", np.zeros(0, np.uint16)),
    ],
)
def test_arrays_that_are_no_shares_are_refused(name: str, values: np.ndarray) -> None:
    sound = {
        "word": np.array([0, 1], np.uint8),
        "root": np.array([1, 2], np.uint8),
        "sizes": np.array([2], np.uint16),
    }
    assert OperatorSimilarity.restored(("a", "b"), sound).roots.tolist() == [[1, 2]]
    with pytest.raises(ValueError, match="shares"):
        OperatorSimilarity.restored(("a", "b"), {**sound, name: values})


def test_an_operator_is_named_with_its_window() -> None:
    found = operators(graph(("conv", "relu"), (3.0,), 64.0))
    assert dict(found) == {"conv3/1 depthwise": 1, "relu": 1}


FAMILIES = "abcdefghij"


@cache
def of_families() -> Measurements:
    """The made-up rows as if they were of ten families."""
    data = measurements()
    names = {name: f"{FAMILIES[i % 10]}net_{i}" for i, name in enumerate(data.graphs)}
    rows = [replace(r, architecture=names[r.graph]) for r in data.rows]
    return data.of(rows)


@pytest.fixture(scope="module")
def ready() -> PhysicsResidual:
    data = of_families()
    held = {f"{FAMILIES[i % 10]}net_{i}" for i in range(4)}
    with pytest.MonkeyPatch.context() as patch:
        small(patch)
        made = PhysicsResidual()
        rest = data.where(lambda r: r.architecture not in held)
        made.fit(
            rest, data.where(lambda r: r.architecture in held), TrainingBudget(), lambda _: None
        )
        made.calibrate(data.where(lambda r: r.architecture in held))
        made.finish(data, TrainingBudget(), lambda _: None)
    return made


def small(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(physics_residual, "RECIPE", SMALL)
    patch.setattr(physics_residual, "LEFT_OUT", SMALL)
    patch.setattr(physics_residual, "LEAST_HELD_OUT", 10)
    patch.setattr(residual_fit, "ROUNDS", 20)


def strange(data: Measurements) -> Measurements:
    """The same rows on graphs with as many operators again that nobody trained on."""
    graphs = {}
    for name, one in data.graphs.items():
        names = tuple("fold" if i % 2 else op for i, op in enumerate(one.ops.ops))
        graphs[name] = replace(one, ops=replace(one.ops, ops=names))
    return replace(data, graphs=graphs)


def test_graphs_without_similar_ones_have_wider_intervals(ready: PhysicsResidual) -> None:
    forgetful = PhysicsResidual("without-memory")
    forgetful.restore(ready.arrays(), json.loads(json.dumps(ready.meta())))
    known, other = (forgetful.estimates(d) for d in (of_families(), strange(of_families())))
    assert known.unfamiliar is not None
    assert other.unfamiliar is not None
    assert not known.unfamiliar.any()
    assert other.unfamiliar.all()
    assert forgetful.bands.unfamiliar == ready.bands.unfamiliar


def test_an_interval_without_similar_graphs_is_that_of_families_and_never_narrower() -> None:
    width, yes, no = np.array([0.1]), np.array([True]), np.array([False])
    wide, narrow = Band(-6.0, 8.0), Band(-1.0, 1.0)
    for trained in (yes, no):
        for unfamiliar in (wide, narrow):
            bands = RunBands(Band(-2.0, 3.0), Unseen(0.3, Band(-1.0, 1.0)), unfamiliar=unfamiliar)
            similar, none = (bands.ends(width, trained, no, each) for each in (no, yes))
            assert none[0] <= similar[0] < 0 < similar[1] <= none[1]
            if unfamiliar is wide:
                assert none == (pytest.approx(-0.6), pytest.approx(0.8))


def test_no_band_is_made_of_one_family() -> None:
    with pytest.MonkeyPatch.context() as patch:
        small(patch)
        made = PhysicsResidual()
        rows = measurements()
        made.fit(rows, rows.of(rows.rows[:30]), TrainingBudget(), lambda _: None)
        made.calibrate(rows.of(rows.rows[:30]))
        seen = made.bands.seen
        made.finish(rows, TrainingBudget(), lambda _: None)
    assert (made.bands.unfamiliar, made.bands.seen) == (None, seen)
    assert made.estimates(strange(rows)).unfamiliar is None


def test_a_run_says_that_nothing_is_built_like_it(ready: PhysicsResidual, tmp_path: Path) -> None:
    card = save(ready, card_of(ready, of_families(), "none", {}), tmp_path)
    assert load(card)[0].meta()["bands"]["kinless"] == ready.meta()["bands"]["kinless"]
    module = load_model(MODELS / "resnet50.onnx.gz")
    assert UNFAMILIAR in estimate(module, card, "titan-xp", SETTING, 8).outside


def test_the_card_that_ships_has_both_calibrations() -> None:
    (_, card), *_ = shipped.cards()
    bands = card.meta["bands"]
    for end in ("low", "high"):
        assert abs(bands["kinless"][end]) > 1.2 * abs(bands["seen"][end])
    module = load_model(MODELS / "resnet50.onnx.gz")
    setting = shipped.newest(None, "rtx4090", Setting())
    assert UNFAMILIAR not in estimate(module, None, "rtx4090", setting, 64).outside


def test_weights_are_scored_as_they_ship(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    small(monkeypatch)
    # the rows are of no real host: theirs would be slower than these runs
    place = "perfc.analyzers.whole_runs.physical.host_gap"
    monkeypatch.setattr(place, lambda machine, setting: Interval.exactly(0.0))
    modules: dict[str, Module] = {}
    for name in list(of_families().graphs)[:-1]:
        (tmp_path / f"{name}.onnx.gz").touch()
    said: list[str] = []

    def module_of(path: Path) -> Module:
        name = path.name.removesuffix(".onnx.gz")
        return modules.setdefault(name, network(arches()[name]))

    monkeypatch.setattr(as_shipped, "load", module_of)
    found = figures_as_shipped(
        ["physics-residual"],
        of_families(),
        [GraphProtocol.FAMILY],
        tmp_path,
        quantity=Quantity.TIME,
        seeds=(0,),
        say=said.append,
    )
    (every,) = (one for one in found if one.slice == "all rows")
    assert every.split == "family"
    assert every.rows > 0
    assert every.coverage > 0.5
    assert any("rows inside" in line for line in said)


def test_a_predictor_that_does_not_learn_from_every_row_cannot_ship(tmp_path: Path) -> None:
    with pytest.raises(PerfcError, match="every row"):
        figures_as_shipped(
            ["roofline"], of_families(), [GraphProtocol.RANDOM], tmp_path, seeds=(0,)
        )


@pytest.mark.parametrize(
    ("target", "setting", "measured"),
    [
        # autocast to f16 was measured there, to bf16 it was not
        ("rtx3090", Setting(Precision.AMP_BF16), Precision.AMP_F16),
        ("rtx3090", Setting(Precision.BF16), Precision.F16),
        ("rtx3090", Setting(Precision.AMP_F16), Precision.AMP_F16),
        # both were measured there
        ("rtx-pro-6000-max-q", Setting(Precision.AMP_BF16, compiled=True), Precision.AMP_BF16),
        # nobody measured the machine; one of the two was measured elsewhere
        ("a100", Setting(Precision.AMP_BF16), Precision.AMP_F16),
        # that machine multiplies bf16 by its vector units
        ("t4", Setting(Precision.AMP_BF16), Precision.AMP_BF16),
        ("rtx3090", Setting(Precision.F32), Precision.F32),
    ],
)
def test_runs_in_one_half_stand_for_those_in_the_other(
    target: str, setting: Setting, measured: Precision
) -> None:
    found = shipped.in_measured_half(load_machine(target), setting)
    assert found == replace(setting, precision=measured)
