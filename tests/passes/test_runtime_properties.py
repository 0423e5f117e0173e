"""What is known of a runtime follows from what its table declares, never from its name."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import perfc
from perfc import cli
from perfc.errors import PerfcError
from perfc.passes import runtimes
from perfc.passes.runtimes import (
    Framework,
    Layout,
    Steps,
    _reader,
    of_steps,
    recorded,
    standing_for,
)
from tests.project.sources import tree_of

ROOT = Path(__file__).parents[2]
RESNET = ROOT / "examples/models/resnet50.onnx.gz"
HEAD = "base = {!r}\ntitle = 'ACME'\nsource = '...'\n"
Adding = Callable[[str, str, str], None]
READ = ("perfc", "passes", "analyzers", "kernels", "ir")
NOT_OF_RUNTIMES = {
    "lab/perfc_lab/fusion/oracles/ort.py": "whose graphs an oracle writes",
    "lab/perfc_lab/fusion/oracles/tensorrt.py": "whose layers an oracle reads",
    "perfc/common/extras.py": "an extra of the package",
    "perfc/deployment/step.py": "what a model is",
    "perfc/frontend/pytorch/trainers.py": "what a switch of trainers asks for",
    "perfc/measuring/measure/process.py": "an extra of the package",
    "perfc/measuring/measure/worker.py": "frameworks, as requests name them",
    "perfc/view/report/sections/plain_export.py": "a library of models",
    "perfc/testing.py": "the runtime of a kernel that tests share",
    "perfc/serving/engine_commands.py": "programs that start engines",
    "perfc/review/lint/fixes/proof.py": "an extra of the package",
    "perfc/frontend/pytorch/named.py": "an extra of the package",
    "perfc/frontend/reading/module_name.py": "a library of models",
    "perfc/frontend/pytorch/catalogs.py": "libraries of models",
    "perfc/frontend/pytorch/worker.py": "packages that a worker may lack",
    "perfc/frontend/conversion/convertible.py": "extras of the package",
    "perfc/frontend/conversion/worker.py": "libraries of models",
    "lab/perfc_lab/papers/gnn_llm/extra.py": "packages of an extra",
    "lab/perfc_lab/papers/gnn_llm/language_model.py": "what transformers calls a way of attending",
    "lab/perfc_lab/data/sources/neusight.py": "a column of a data set",
    "lab/perfc_lab/data/sources/aiconfigurator.py": "names of a data set",
    "lab/perfc_lab/tables/aic_attention.py": "names of a data set",
    "lab/perfc_lab/tables/aic_mla.py": "names of a data set",
    "lab/perfc_lab/tables/aic_mla_bmm.py": "names of a data set",
    "lab/perfc_lab/tables/aic_moe.py": "names of a data set",
    "lab/perfc_lab/tables/aic_state_space.py": "names of a data set",
    "lab/perfc_lab/tables/llmservingsim.py": "names of a data set",
    "lab/perfc_lab/distributed/rows.py": "names of a data set",
    "lab/perfc_lab/serving/checks.py": "who made a data set",
    "lab/perfc_lab/serving/learn.py": "names of a data set",
    "lab/perfc_lab/serving/like.py": "who publishes benchmarks",
    "lab/perfc_lab/serving/hosts.py": "names of a data set",
    "lab/perfc_lab/serving/scores.py": "names of a data set",
    "lab/perfc_lab/serving/aic.py": "names of published tables",
    "lab/perfc_lab/serving/tables.py": "names of a data set",
    "lab/perfc_lab/serving/weights.py": "names of published tables",
    "lab/perfc_lab/trees/experiment.py": "names of a data set",
    "lab/perfc_lab/trees/rows.py": "names of data sets, as numbers",
    "lab/perfc_lab/training/experiments/neusight_runs.py": "a column of a data set, and its table",
    "lab/perfc_lab/training/export.py": "an argument of transformers",
    "analyzers/features/rows.py": "a protocol of timing",
    "analyzers/features/classes/convolution.py": "a protocol of timing",
    "analyzers/steps/setting.py": "a way of running PyTorch that weights are named after",
    "kernels/backends/cpu.py": "a probe of launches",
    "kernels/probe.py": "a probe of launches",
    "passes/precision/autocast.py": "the default of a pass",
    "passes/precision/casts.py": "the default of a pass",
    "passes/inference/strides.py": "the default of a pass",
}


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Adding]:
    """Adds a file to a copy of the folder of the tables."""
    folder = tmp_path / "runtimes"
    shutil.copytree(_reader.FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    caches = (_reader.files, runtimes.runtime, runtimes.of_steps)

    def put(name: str, base: str, table: str) -> None:
        (folder / f"{name}.toml").write_text(HEAD.format(base) + table, encoding="utf-8")
        for cached in caches:
            cached.cache_clear()

    monkeypatch.setattr(_reader, "FOLDER", folder)
    yield put
    monkeypatch.undo()
    for cached in caches:
        cached.cache_clear()


def total(runtime: str, target: str = "rtx4090", **more: object) -> tuple[object, ...]:
    report = perfc.analyze(
        RESNET,
        target,
        dims={"batch": 256},
        runtime=runtime,
        dtype="amp-f16",
        **more,  # type: ignore[arg-type]
    )
    found = report.prediction
    kernels = [(k.time_s, k.low_s, k.high_s, k.wait_s) for k in found.kernels]
    return kernels, found.total.time, found.total.predictor, found.wait_s


@pytest.mark.parametrize(
    ("twin", "more"),
    [
        ("eager", ""),
        ("cudagraph", "launch = 'graph'\nmeasured_as = 'cudagraph'"),
        ("inductor", ""),
    ],
)
def test_a_runtime_is_predicted_by_what_it_declares(twin: str, more: str, add: Adding) -> None:
    add("acme", "inductor" if twin == "inductor" else "eager", more)
    assert total("acme") == total(twin)
    assert total("acme", "a100") == total(twin, "a100")


def test_a_host_keeps_waiting_what_it_dispatches(add: Adding) -> None:
    # the host is that of the runtime whose measured runs stand for a table, `other` without any
    add("acme", "eager", "steps = ''\nmeasured_as = 'acme'")
    add("borrowed", "eager", "steps = ''")
    one = {"dims": {"batch": 1}, "dtype": "f16", "predictor": "kernels"}
    waits = {
        name: perfc.analyze(RESNET, "a100", runtime=name, **one).prediction.wait_s  # type: ignore[arg-type]
        for name in ("eager", "acme", "borrowed", "cudagraph")
    }
    assert waits["borrowed"] == waits["eager"] > 2 * waits["acme"] > 0
    assert waits["eager"] > 2 * waits["cudagraph"]


def test_layouts_versions_and_sessions_are_those_declared(
    add: Adding, capsys: pytest.CaptureFixture[str]
) -> None:
    add(
        "acme",
        "tensorrt",
        "layouts = ['channels-last']\nframework = ''\nstands_for = ['cpu']\nis_versioned = false",
    )
    assert standing_for(Framework.OTHER, "cpu").name == "acme"
    assert perfc.analyze(RESNET, runtime="acme", layout="channels-last").kernels.kernels
    with pytest.raises(PerfcError, match=r"acme does not run channels-first \(cudagraph, eager"):
        perfc.analyze(RESNET, runtime="acme")
    with pytest.raises(PerfcError, match=r"ort does not run channels-last \(acme, cudagraph"):
        perfc.analyze(RESNET, runtime="ort", layout="channels-last")
    with pytest.raises(PerfcError, match="versions of acme were not measured separately"):
        perfc.analyze(RESNET, runtime="acme", layout="channels-last", runtime_version="1.0")
    assert cli.run(["analyze", "--help-all"]) == 0
    assert "acme, cudagraph" in " ".join(capsys.readouterr().out.split())
    assert cli.run(["measure", str(RESNET), "--runtime", "acme", "--layout", "channels-last"]) == 2


def test_copies_between_layouts_are_those_of_blocks(add: Adding) -> None:
    add("acme", "ort-cpu", "blocks_channels = true")
    for runtime, copies in (("acme", True), ("ort-cpu", False)):
        kernels = perfc.analyze(RESNET, "generic-x86-64", runtime=runtime).kernels.kernels
        assert any(k.helper for k in kernels) is copies


def test_one_table_stands_for_each_session() -> None:
    """Which of two would be compared with a measurement must not hang on the order of files."""
    for framework in Framework:
        for device in ("cpu", "cuda"):
            standing = [
                t.name
                for t in runtimes.tables()
                if t.framework is framework and device in t.stands_for and not t.below
            ]
            assert len(standing) <= 1, standing
    assert standing_for(Framework.ORT, "cpu").blocks_channels
    assert not standing_for(Framework.ORT, "cuda").blocks_channels


def test_old_versions_have_tables_of_their_own() -> None:
    assert of_steps(Steps.EAGER, (1, 13)).name == "eager-unfused"
    assert of_steps(Steps.EAGER, (2, 0)) is of_steps(Steps.EAGER)
    graph = recorded(of_steps(Steps.EAGER))
    assert graph is not None
    assert (graph.is_recorded, graph.is_dispatched) == (True, False)
    assert Layout.CHANNELS_LAST in graph.layouts


def test_no_file_knows_a_runtime_by_name() -> None:
    names = set(runtimes.runtimes())
    found = [
        f"{path.relative_to(ROOT).as_posix()}:{node.lineno}: {node.value!r}"
        for folder in READ
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "runtimes" not in path.parts and not path.is_relative_to(ROOT / "perfc" / "passes")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Constant)
        and node.value in names
        and path.relative_to(ROOT).as_posix() not in NOT_OF_RUNTIMES
    ]
    assert found == []


@pytest.mark.parametrize(
    ("version", "dtype", "kernels"),
    [("", "", 174), ("1.20", "", 174), ("1.17", "", 60), ("1.17", "f16", 174)],
)
def test_onnx_runtime_merged_activations_into_convolutions_once(
    version: str, dtype: str, kernels: int
) -> None:
    report = perfc.analyze(RESNET, "p100", runtime="ort", runtime_version=version, dtype=dtype)
    assert len(report.roofline.kernels) == kernels
