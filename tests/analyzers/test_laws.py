"""Laws of kernel times: monotone in extents and rates, near what was measured on an H200."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import perfc
from perfc.analyzers.estimate.estimate import Estimate, Predictor
from perfc.analyzers.estimators.laws.law import FILE as GPU_LAWS
from perfc.analyzers.estimators.laws.law import KernelLaw, law_of, laws
from perfc.analyzers.estimators.laws.laws import Subjects
from perfc.analyzers.estimators.laws.processor_laws import FILE as PROCESSOR_LAWS
from perfc.analyzers.estimators.laws.processor_laws import WHOLE
from perfc.analyzers.estimators.laws.resource import KernelResources, Resource

RESNET = Path(__file__).parents[2] / "examples" / "models" / "resnet50.onnx.gz"
MEASURED = {
    ("matmul", 1968e-6): {"m": 2969, "n": 4727, "k": 8169},
    ("matmul", 304e-6): {"m": 2969, "n": 4728, "k": 8168},
    ("norm", 1119e-6): {"rows": 1_032_135, "columns": 16},
}
"""Operators in f16 on the H200, `datasets/h200`, with their times."""
AMOUNTS = st.dictionaries(st.sampled_from(list(Resource)), st.floats(1e-9, 1e-2), min_size=1)


@pytest.mark.parametrize(("kind", "time_s"), MEASURED)
def test_operators_of_the_h200_lie_in_the_interval(kind: str, time_s: float) -> None:
    extents = MEASURED[kind, time_s]
    run = perfc.op(kind, "h200", dtype="f16", runtime="cudagraph", extents=extents)
    total = run.prediction.total
    assert total.low_s <= time_s <= total.high_s
    assert total.time_s == pytest.approx(time_s, rel=0.25)


@settings(max_examples=50)
@given(st.sampled_from(sorted(laws())), AMOUNTS, st.floats(1.0, 4.0))
def test_more_of_a_resource_is_never_faster(
    key: str, amounts: dict[Resource, float], factor: float
) -> None:
    name, _, dtype = key.rpartition(", ")
    subject = KernelResources(name, dtype, amounts)
    law = law_of(subject)
    assert isinstance(law, KernelLaw)
    assert law.low[0] <= 1 <= law.high[0]
    time = law.interval(subject)
    assert time.low <= time.mid <= time.high
    for resource in amounts:
        more = replace(subject, seconds={**amounts, resource: factor * amounts[resource]})
        assert law.time_s(more) >= law.time_s(subject) * (1 - 1e-12)


LAWS = [law for file in (GPU_LAWS, PROCESSOR_LAWS, WHOLE) for law in laws(file).values()]


@settings(max_examples=100)
@given(st.sampled_from(LAWS), AMOUNTS, st.floats(0.1, 100.0), st.floats(0.5, 4.0))
def test_no_interval_is_narrower_than_the_error_of_its_law(
    law: KernelLaw, amounts: dict[Resource, float], bound: float, factor: float
) -> None:
    once = law.interval(KernelResources("any", "f32", amounts))
    assume(once.mid > 0)
    error = once.high / once.mid * (1 - 1e-9)
    found = Estimate.bounded(bound * once.mid, once, Predictor.LAW, "any")
    # a prediction that is its lower bound is not raised to it
    assert found.is_clipped == (bound * (1 - 1e-9) > 1)
    assert not Estimate.bounded(once.mid, once, Predictor.LAW, "any").is_clipped
    # neither a bound nor a change of the run's time narrows it
    raised = found.scaled(factor, found.floor_s).above(2 * found.floor_s)
    for e in (found, raised):
        assert e.floor_s <= e.low_s <= e.time_s
        assert e.high_s >= error * e.time_s


@pytest.mark.parametrize(("target", "lesser"), [("h200", "h100"), ("a100", "a30"), ("l40s", "l4")])
def test_a_lesser_machine_is_never_faster(target: str, lesser: str) -> None:
    times = [
        perfc.op("elementwise", t, elements=1 << 26, dtype="f16", runtime="cudagraph").prediction
        for t in (target, lesser)
    ]
    assert times[0].kernels[0].predictor is Predictor.LAW
    assert times[0].total.time_s <= times[1].total.time_s


def test_names_of_laws_and_resources_are_known() -> None:
    known = {r.value for r in Resource}
    for law in laws().values():
        assert set(law.coefficients) <= known
        assert min(law.coefficients.values()) >= 0


def normalized(shape: str) -> float:
    """Time of batch norm of a tensor in f16 under eager PyTorch."""
    channels = shape.split(",")[1]
    vectors = ", ".join(f"float16[{channels}] {name}" for name in "sbmv")
    text = f"""<ir_version: 8, opset_import: ["": 17]> g (float16[{shape}] x, {vectors})
        => (float16[{shape}] y) {{ y = BatchNormalization (x, s, b, m, v) }}"""
    model = onnx.parser.parse_model(text)
    return perfc.analyze(model, "h200", runtime="cudagraph").prediction.total.time_s


def test_channels_of_single_positions_are_no_planes() -> None:
    assert normalized("200704,512") < normalized("1024,512,14,14")


def test_convolutions_of_bytes_run_at_the_rate_of_their_unit() -> None:
    extents = {"batch": 64, "channels": 256, "filters": 256, "height": 28, "width": 28, "kernel": 3}
    runs = [
        perfc.op("conv", "l40s", dtype=dtype, runtime="tensorrt", extents=extents).prediction
        for dtype in ("i8", "f16")
    ]
    assert runs[0].kernels[-1].predictor is Predictor.LAW
    assert 0.4 < runs[0].total.time_s / runs[1].total.time_s < 0.7


@pytest.mark.parametrize("runtime", ["ort", "cudagraph"])
def test_kernels_have_the_resources_that_each_has_alone(runtime: str) -> None:
    run = perfc.analyze(RESNET, "a100", runtime=runtime, batch=3).execution
    subjects = Subjects(run)
    alone = [subjects.of([i])[0] for i in run.indices]
    assert subjects.of(run.indices) == alone
    products = [one for one in alone if one and one.name.endswith("convolution")]
    assert products
    assert all(one.seconds[Resource.PRODUCTS] > 0 for one in products)


def test_a_window_of_a_whole_map_is_the_product_that_it_is() -> None:
    weights, text = (
        25088 * 4096 * 2,
        """<ir_version: 8, opset_import: ["": 17]>
        g (float16[1,512,7,7] x, float16[4096,512,7,7] w) => (float16[1,4096,1,1] y)
        { y = Conv (x, w) }""",
    )
    run = perfc.analyze(onnx.parser.parse_model(text), "t4", runtime="tensorrt")
    assert run.prediction.kernels[0].time_s < 2 * weights / 300e9
