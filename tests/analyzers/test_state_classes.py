"""Kernels of models with states, absorbed products, and kernels that pass each token once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from perfc.analyzers.artefacts.artefact import SHIPPED
from perfc.analyzers.estimators.predictor import known_classes, predict
from perfc.analyzers.estimators.selection import serves_on, weighted
from perfc.analyzers.features.classes.linear_attention import CHUNK, work
from perfc.analyzers.features.lowering import Lowered, lower
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import class_of, complete
from perfc.frontend.config import Parallel, precision_of, read_config
from perfc.ir.op import Kind
from perfc.ir.problem import LinearAttention, Product, SlidingWindow
from perfc.ir.tensors.types import DType, TensorType
from perfc.machine import load_machine
from perfc.passes.roofline.roofline import bounds
from perfc.serving.cost.program import passes_of

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Columns

H100 = Sheet(load_machine("h100"))
NET = {
    "batch": 2,
    "query_len": 1024,
    "heads": 32,
    "key_heads": 16,
    "key_dim": 128,
    "value_dim": 128,
}


def columns(name: str, shape: dict[str, int], **changes: float) -> Columns:
    """One kernel."""
    return complete(
        class_of(name), {n: np.array([float(v)]) for n, v in {**shape, **changes}.items()}
    )


def bound(problem: Any, dtype: DType = DType.BF16, **anchor: Any) -> Any:
    """A kernel as far as lowering looks at it."""
    result = SimpleNamespace(type=TensorType(dtype, (8, 8)))
    kernel = SimpleNamespace(
        kind=Kind.ATTENTION,
        problem=problem,
        writes=[result],
        nodes=(),
        anchor=SimpleNamespace(**anchor),
    )
    return SimpleNamespace(
        counts=SimpleNamespace(write_bytes=1.0, mac=anchor.get("mac", 1.0)),
        kernel=kernel,
        dtype=dtype,
        is_gradient=False,
    )


def test_a_recurrence_multiplies_a_state_twice_and_thrice_with_a_delta() -> None:
    kind = class_of("linear_attention")
    state = 32 * 128 * 128
    assert kind.amounts(columns("linear_attention", NET), "bf16").mac[0] == 3 * 2048 * state
    plain = kind.amounts(columns("linear_attention", NET, delta=0), "bf16")
    assert plain.mac[0] == 2 * 2048 * state
    # a prompt writes its states; a single token reads them too
    values = 2048 * 32 * 128 * 2
    assert plain.read_bytes[0] == values
    assert plain.write_bytes[0] == values + 2 * state * 2
    single = kind.amounts(columns("linear_attention", NET, query_len=1), "bf16")
    assert single.read_bytes[0] == 2 * state * 2 + 2 * 32 * 128 * 2


def test_prompts_are_taken_in_whole_chunks_that_wait_for_one_another() -> None:
    whole, part = (
        work(columns("linear_attention", NET, query_len=n), "bf16", H100)
        for n in (2 * CHUNK, CHUNK + 1)
    )
    assert whole.chunks[0] == part.chunks[0] == 2 * 2
    assert whole.compute_s[0] == part.compute_s[0]
    longer = work(columns("linear_attention", NET, query_len=4 * CHUNK), "bf16", H100)
    assert longer.walk_s[0] == pytest.approx(2 * whole.walk_s[0])


def test_states_are_rows_of_their_own() -> None:
    problem = LinearAttention(2, 2048, 32, 16, 128, 128, is_delta=True)
    row = lower(bound(problem), {})
    assert row is not None
    assert (row.class_name, row.dtype) == ("linear_attention", "bf16")
    assert {**NET, "delta": 1}.items() <= row.parameters.items()
    assert lower(bound(problem, DType.F32), {}) is None, "nobody measured states of f32 tokens"


def test_convolutions_that_carry_their_inputs_are_causal_ones() -> None:
    problem = SlidingWindow(
        1, 8192, 8192, (2048,), (2048,), (4,), (1,), (1,), ((3, 0),), groups=8192, carried=2
    )
    row = lower(bound(problem), {})
    assert row is not None
    assert row.class_name == "causal_convolution"
    expected = {"batch": 2, "query_len": 1024, "channels": 8192, "taps": 4}
    assert row.parameters == expected
    single = bound(problem._replace(carried=0))
    single.kernel.kind = Kind.CONV
    plain = lower(single, {})
    assert plain is not None
    assert plain.class_name == "convolution"


@pytest.mark.parametrize(
    ("extents", "has_weight", "name"),
    [
        ((512, 128), True, "batched_matmul"),
        ((128, 512), True, "batched_matmul"),
        ((512, 128), False, "matmul"),
        ((512, 256), True, "matmul"),
    ],
)
def test_products_that_are_absorbed_are_told_by_their_extents(
    extents: tuple[int, int], has_weight: bool, name: str
) -> None:
    n, k = extents
    weight = SimpleNamespace(weight=object() if has_weight else None)
    problem = Product(16, 64, n, k)
    row = lower(bound(problem, mac=16.0 * 64 * n * k, inputs=[None, weight]), {})
    assert row is not None
    assert row.class_name == name


@pytest.mark.parametrize("config", ["qwen3-next-80b-a3b", "mamba-codestral-7b", "nemotron-h-8b"])
def test_layers_with_states_are_predicted_by_their_classes(config: str) -> None:
    model = read_config(config)
    passes = passes_of(model, precision_of(model.dtype, model.quantization), Parallel(), "vllm")
    for program, env in (
        (passes.prefill, {"batch": 2, "seq": 1024, "past": 0}),
        (passes.decode, {"decodes": 32, "context": 2048}),
    ):
        table = bounds(program.table, load_machine("h100"), env)
        found = [lower(kernel, env) for kernel in table.kernels]
        named = {row.class_name: row.parameters for row in found if row is not None}
        length = env.get("seq", 1)
        assert named["linear_attention"]["query_len"] == length
        assert named["linear_attention"]["delta"] == (config == "qwen3-next-80b-a3b")
        assert named["causal_convolution"]["query_len"] == length
        assert named["causal_convolution"]["batch"] == named["linear_attention"]["batch"]


def test_more_tokens_and_more_states_take_longer() -> None:
    machine = load_machine("h100")
    for name, shape in (
        ("linear_attention", NET),
        ("causal_convolution", {"batch": 4, "query_len": 1024, "channels": 8192}),
        ("batched_matmul", {"batch": 128, "m": 1024, "n": 512, "k": 128}),
    ):
        rows = [columns(name, shape, batch=shape["batch"] * by) for by in (1, 8)]
        short, long = (
            predict(name, each, "bf16", machine, Protocol.GRAPH, "vllm") for each in rows
        )
        assert 3 < long.time_s[0] / short.time_s[0] < 12
        assert short.floor_s[0] <= short.low_s[0] <= short.time_s[0] <= short.high_s[0]


def test_kernels_of_tokens_count_where_the_framework_was_measured() -> None:
    row = Lowered("normalization", "bf16", {"tokens": 64, "read_bytes": 1e6, "write_bytes": 1e6})

    def chosen(row: Lowered, target: str = "rtx4090", framework: str = "vllm") -> Any:
        machine = load_machine(target)
        serves = serves_on(machine, framework, SHIPPED)
        return weighted(row, machine, known_classes(), tf32=False, serves=serves)

    own, other = ("tokenwise", "bf16"), ("normalization", "bf16")
    assert chosen(row) == own
    for target, framework in (("rtx4090", "sglang"), ("rtx4090", ""), ("h100", "vllm")):
        assert chosen(row, target, framework) == other
    reduction = row._replace(class_name="elementwise", parameters={"elements": 64.0})
    assert chosen(reduction) == ("elementwise", "bf16")
    assert chosen(row._replace(dtype="f8e4m3")) == own
    assert chosen(row._replace(dtype="f32")) == ("normalization", "f32")
