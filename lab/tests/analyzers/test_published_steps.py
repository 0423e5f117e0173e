"""Published training steps: how each row ran, what is left out, and the law that they teach."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc.analyzers.intervals.conformal import Band
from perfc.analyzers.runs import step_law
from perfc.analyzers.runs.step_law import KernelTrait, StepLaw, is_convolutional, law, read
from perfc.deployment import Deployment
from perfc.errors import ModelError
from perfc.passes.runtimes import Layout, Tf32
from perfc_lab.fits.published_steps import as_toml
from perfc_lab.tables.published_steps import GRAPHS, PublishedStep, SkipReason, published_steps
from perfc_lab.training.runs.published_steps import (
    SummedStep,
    band_of,
    held,
    learnable,
    learned,
    left_out,
    with_band,
)

RESNET = Path(__file__).parents[3] / "examples/models/resnet50.onnx.gz"
ROW = {
    "mode": "training",
    "n_gpus": 1,
    "runtime": "eager",
    "canonical_model": "resnet50",
    "graph": "timm__resnet50__224.onnx.gz",
    "graph_size_match": "same",
    "device": "V100-SXM2-16GB",
    "gpu": "V100",
    "precision": "fp32",
    "seq_len": None,
    "batch": None,
    "throughput_per_s": 224.0,
}


def rows(folder: Path, *changed: dict[str, Any]) -> list[PublishedStep]:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([{**ROW, **row} for row in changed])
    for column in ("seq_len", "batch"):
        frame[column] = frame[column].astype("Int32")
    frame.to_parquet(folder / "whole_models.parquet")
    return list(published_steps(folder))


def test_a_row_runs_as_its_script_ran_it(tmp_path: Path) -> None:
    plain, amp, volume, bert = rows(
        tmp_path,
        {},
        {"precision": "amp_fp16", "device": "A100-SXM4-80GB", "gpu": "A100"},
        {
            "canonical_model": "nnunet-3d",
            "precision": "amp_fp16",
            "batch": 2,
            "graph": "dle__nnunet-3d__128.onnx.gz",
            "device": "V100-SXM2-32GB",
        },
        {
            "canonical_model": "bert-large-uncased",
            "graph": "hf__bert-large.onnx.gz",
            "batch": 8,
            "graph_size_match": "any seq",
            "seq_len": 384,
        },
    )
    assert plain.time_s == 112 / 224.0
    assert plain.deployment.dims == {"batch": 112}
    assert (plain.deployment.target, plain.deployment.dtype) == ("v100-sxm2-16gb", "")
    assert (plain.deployment.tf32, plain.deployment.train) == (Tf32.NONE, "momentum")
    assert plain.deployment.layout is Layout.CHANNELS_FIRST
    assert amp.deployment.dims == {"batch": 256}
    assert (amp.deployment.target, amp.deployment.dtype) == ("a100-sxm4-80gb", "amp-f16")
    assert amp.deployment.layout is volume.deployment.layout is Layout.CHANNELS_LAST
    assert (volume.deployment.dims, volume.deployment.train) == ({"batch": 2}, "adam")
    assert bert.deployment.dims == {"batch": 8, "seq": 384}
    assert (bert.deployment.train, bert.left_out) == ("adam", None)


def test_what_contradicts_itself_is_left_out_and_what_nobody_knows_is_no_row(
    tmp_path: Path,
) -> None:
    eight = {"n_gpus": 8, "throughput_per_s": 8 * 224 * 1.2}
    other = {"device": "V100-SXM2-32GB"}
    binned = {"canonical_model": "bert-large-uncased", "batch": 4, "seq_len": 512}
    scaled = {"batch": 64}
    several = {**eight, "batch": 32}
    found = rows(
        tmp_path,
        {},
        eight,
        other,
        binned,
        {"canonical_model": "vgg16"},
        {"mode": "inference"},
        {"runtime": "tf1"},
        {"graph": ""},
        {"graph_size_match": "other size"},
        {"canonical_model": "efficientnet_b4", "graph_size_match": "other size"},
        {**scaled, **other},
        {**several, **other},
    )
    names = [(s.architecture, s.left_out) for s in found]
    assert names == [
        ("resnet50", SkipReason.CONTRADICTED),
        ("resnet50", SkipReason.CONTRADICTED),
        ("bert-large-uncased", SkipReason.BINNED),
        ("efficientnet_b4", None),
        ("resnet50", None),
    ]
    assert found[3].graph == GRAPHS["efficientnet_b4"]


def made(name: str, factor: float, shares: dict[tuple[KernelTrait, ...], float]) -> SummedStep:
    """A step that takes ``factor`` times its convolutions, and its rest once."""
    time_s = sum(t * (factor if parts else 1.0) for parts, t in shares.items())
    step = PublishedStep(name, "g", Deployment(), time_s)
    return SummedStep(step, "f32", shares, 1.0, 0.9, 1.1, 0.1)


def test_factors_are_learned_through_sums() -> None:
    pytest.importorskip("scipy")
    shares = (0.2, 0.5, 0.9)
    steps = [
        made(f"n{i}", 2.0, {(KernelTrait.VECTOR,): s, (): 1 - s}) for i, s in enumerate(shares * 20)
    ]
    found = learned(steps)
    assert found.factors[KernelTrait.VECTOR] == pytest.approx(2.0, rel=0.02)
    assert (found.steps, found.architectures) == (60, 60)
    assert found.measured == (("a100", "f32"),)
    assert steps[0].predicted_s(found) == pytest.approx(steps[0].step.time_s, rel=0.02)


def test_a_network_is_scored_by_a_law_that_has_not_seen_it() -> None:
    pytest.importorskip("scipy")
    sums = {(KernelTrait.VECTOR,): 1.0}
    steps = [made("one", 2.0, sums), made("one", 2.0, sums), made("other", 4.0, sums)]
    errors = {s.step.time_s: e for s, e in left_out(steps)}
    # each is told by the other, drawn towards no factor
    assert errors[2.0] < -0.5
    assert errors[4.0] > 0.5
    assert [s.step.architecture for s, _ in left_out(steps)] == ["one", "one", "other"]
    assert list(held(left_out(steps))) == [False, False, False]


def test_a_band_holds_nine_in_ten_with_the_correction_for_few() -> None:
    logs = [i / 100 for i in range(100)]
    assert band_of(logs) == Band(0.04, 0.95)
    assert band_of([0.3, -0.1]) == Band(-0.1, 0.3)
    errors = [(made("a", 1.0, {}), e) for e in logs]
    assert with_band(law(), errors).band == Band(0.04, 0.95)


def test_products_and_rows_with_faults_teach_nothing() -> None:
    conv = made(
        "a",
        1.0,
        {(KernelTrait.FIRST, KernelTrait.BACKWARD): 0.3, (): 0.2, (KernelTrait.OTHER_MATRIX,): 0.5},
    )
    product = made("b", 1.0, {(KernelTrait.FIRST,): 0.2, (): 0.3})
    faulty = replace(conv, step=replace(conv.step, left_out=SkipReason.BINNED))
    assert learnable([conv, product, faulty]) == [conv]
    assert not is_convolutional({})


def test_a_law_is_read_as_it_is_written() -> None:
    found = law()
    assert read(as_toml(found)) == found
    assert found.factor((KernelTrait.LAST, KernelTrait.BACKWARD)) == pytest.approx(
        found.factors[KernelTrait.LAST] * found.factors[KernelTrait.BACKWARD]
    )
    assert found.factor(()) == 1.0
    assert StepLaw({}, Band(0, 0), (), 0, 0).factor((KernelTrait.FIRST,)) == 1.0


def step(**how: Any) -> perfc.Report:
    return perfc.analyze(str(RESNET), how.pop("target", "a100"), batch=how.pop("batch", 8), **how)


def test_the_total_is_the_law_of_the_kernels() -> None:
    report = step(train="momentum")
    table, known = report.prediction, law()
    assert table.total.predictor == "step-law"
    sums = step_law.sums_s(report.execution, table, "tf32", Layout.CHANNELS_FIRST)
    assert math.fsum(sums.values()) == pytest.approx(math.fsum(k.time_s for k in table.launched))
    each = step_law.factors(report.execution, table, report.deployment, report.source)
    assert each is not None
    assert {*each} == {known.factor(parts) for parts in sums}
    kernels = zip(each, table.launched, strict=True)
    alone_s = table.total_with(
        {i: max(f * k.time_s, k.floor_s) for i, (f, k) in enumerate(kernels)}
    )
    assert table.total.time_s == pytest.approx(alone_s / table.run_factor, rel=1e-6)
    assert table.total.time_s >= table.total.floor_s
    assert table.total.low_s < table.total.time_s < table.total.high_s
    assert {
        (KernelTrait.FIRST,),
        (KernelTrait.FIRST, KernelTrait.BACKWARD),
        (KernelTrait.OTHER_MATRIX,),
        (),
    } == set(sums)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"train": "sgd", "target": "mi100"},
        {"train": "sgd", "runtime": "cudagraph"},
        {"train": "sgd", "streams": 2},
        {"train": "sgd", "dtype": "f16"},
    ],
)
def test_other_runs_have_no_such_law(how: dict[str, Any]) -> None:
    assert step(**how).prediction.total.predictor != "step-law"


def test_a_law_that_is_asked_for_and_knows_no_such_step_is_an_error() -> None:
    with pytest.raises(ModelError, match="no such training step was published"):
        _ = step(train="sgd", target="mi100", predictor="step-law").prediction
    assert step(train="sgd", predictor="step-law").prediction.total.predictor == "step-law"


@pytest.mark.parametrize(
    ("how", "items_per_s"),
    [({"target": "h100"}, 1893.0), ({"target": "rtx4090"}, 721.0), ({"tf32": False}, None)],
)
def test_other_cards_have_the_law_with_a_wider_range(
    how: dict[str, Any], items_per_s: float | None
) -> None:
    """ResNet-50 in TF32 as `lambda_train` has it, which taught nothing."""
    batch = 224
    told = step(train="sgd", batch=batch, **how).prediction
    own = step(train="sgd", batch=batch).prediction
    assert told.total.predictor == "step-law"
    assert any("no published training step on" in note for note in told.notes)
    assert told.total.high_s / told.total.low_s > own.total.high_s / own.total.low_s
    assert (own.is_own, told.is_own) == (True, False)
    if items_per_s is not None:
        assert told.total.low_s < batch / items_per_s < told.total.high_s
        assert abs(batch / items_per_s / told.total.time_s - 1) < 0.2


def test_kernels_measured_on_the_machine_itself_are_not_corrected() -> None:
    table = step(train="sgd", predictor="kernels").prediction
    assert not step_law.is_measured_here(table)
    first, *others = table.launched
    fitted = replace(table, launched=(replace(first, correction=1.5), *others))
    assert step_law.is_measured_here(fitted)
