"""Every door that gives a floor gives the roofline's, or a lower one where it knows less."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import perfc
from perfc.analyzers.estimators.forest import Forests
from perfc.analyzers.features import physics
from perfc.analyzers.features.classes import Amounts, KernelClass, classes
from perfc.analyzers.features.classes.convolution import touched
from perfc.analyzers.features.lowering import lower
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import complete
from perfc.analyzers.steps.columns import columns
from perfc.analyzers.steps.features import floors_s
from perfc.analyzers.steps.launches import launches
from perfc.analyzers.steps.setting import Precision, Setting
from perfc.errors import PerfcError
from perfc.ir.graph import Graph, Module, Node, Value, Weight
from perfc.ir.op import Op
from perfc.ir.ops.convolution.window import touched as touched_in_ir
from perfc.ir.tensors.types import DType, TensorType
from perfc.machine import Machine, list_machines, load_machine
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.manager import Analyses
from perfc.passes.precision.what_if import what_if
from perfc.passes.roofline.roofline import KernelBound, RooflineTable, bounds
from tests.passes.random_graphs import op

MODELS = Path(__file__).parents[2] / "examples" / "models"
GPUS = tuple(m.name for m in list_machines() if m.kind == "cuda")
DTYPES = ("f32", "f16", "bf16", "i8", "fp8")
SLACK = 1 + 1e-9


def one_node(made: Op, shapes: Sequence[tuple[int, ...]], *, stored: int = 1) -> Module:
    """A module of one operator on f32 tensors, those behind the first ``stored`` ones weights."""
    ins = tuple(
        Value(f"x{i}", TensorType(DType.F32, s), None, Weight() if i >= stored else None)
        for i, s in enumerate(shapes)
    )
    try:
        types = made.infer(ins)
    except PerfcError:
        assume(False)
        raise
    outs = (Value("y", types[0]),)
    graph = Graph("g", ins[:stored], outs, (Node(made, ins, outs),), ins[stored:])
    return Module(graph)


@st.composite
def convolutions(draw: st.DrawFn) -> Module:
    """Plain, strided, dilated, padded, grouped, transposed, over one axis to three."""
    rank = draw(st.integers(1, 3))
    each = st.integers
    group = draw(st.sampled_from((1, 1, 2, 8)))
    depth, made = draw(st.sampled_from((1, 3, 16))), draw(st.sampled_from((1, 2, 16)))
    window = tuple(draw(each(1, 5)) for _ in range(rank))
    attributes: dict[str, object] = {
        "group": group,
        "strides": tuple(draw(each(1, 4)) for _ in range(rank)),
        "dilations": tuple(draw(st.sampled_from((1, 1, 2, 3))) for _ in range(rank)),
    }
    auto_pad = draw(st.sampled_from(("NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")))
    if auto_pad == "NOTSET":
        attributes["pads"] = tuple(draw(each(0, 3)) for _ in range(2 * rank))
    else:
        attributes["auto_pad"] = auto_pad
    extents = tuple(draw(st.sampled_from((1, 7, 14, 56))) for _ in range(rank))
    x = (draw(each(1, 64)), group * depth, *extents)
    if draw(st.booleans()):
        return one_node(op("conv", **attributes), [x, (group * made, depth, *window)])
    filters = (group * depth, made, *window)
    return one_node(op("conv_transpose", **attributes), [x, filters])


@st.composite
def products(draw: st.DrawFn) -> Module:
    """Stored or made operands, batched, and broadcast over batches."""
    m, n, k = (draw(st.sampled_from((1, 16, 100, 1024))) for _ in range(3))
    b, c = (draw(st.sampled_from((1, 4, 12))) for _ in range(2))
    operands: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
        ((b, m, k), (k, n)),
        ((b, m, k), (b, k, n)),
        ((b, c, m, k), (1, c, k, n)),
        ((m, k), (b, k, n)),
    )
    left, right = draw(st.sampled_from(operands))
    return one_node(op("matmul"), [left, right], stored=draw(st.integers(1, 2)))


@st.composite
def streams(draw: st.DrawFn) -> Module:
    """Kernels whose tensors pass once: pointwise, rowwise, pooled, reduced, moved, looked up."""
    rows, cols = draw(st.sampled_from((1, 7, 4096))), draw(st.sampled_from((1, 64, 5000)))
    x, image = (rows, cols), (draw(st.integers(1, 8)), 16, 28, 28)
    stride = draw(st.integers(1, 4))
    every = {
        "add": lambda: one_node(op("add"), [x, draw(st.sampled_from((x, (cols,))))]),
        "exp": lambda: one_node(op("exp"), [x]),
        "softmax": lambda: one_node(op("softmax"), [x]),
        "layer_norm": lambda: one_node(op("layer_norm"), [x, (cols,)]),
        "rms_norm": lambda: one_node(op("rms_norm"), [x, (cols,)]),
        "lp_norm": lambda: one_node(op("lp_norm"), [x]),
        "max_pool": lambda: one_node(
            op("max_pool", kernel_shape=(1, 2), strides=(stride, stride)), [image]
        ),
        "reduce_mean": lambda: one_node(op("reduce_mean"), [x]),
        "transpose": lambda: one_node(op("transpose", perm=(1, 0)), [x]),
    }
    return every[draw(st.sampled_from(sorted(every)))]()


KERNELS = st.one_of(convolutions(), products(), streams())


def floors(module: Module, machine: Machine, dtype: str, runtime: str) -> RooflineTable:
    am = Analyses()
    if dtype != "f32":
        module = am.apply(what_if(dtype), module)
    return bounds(am.get(Fuse(runtime), module), machine, {})


def class_floor_s(kind: KernelClass, row: Mapping[str, float], dtype: str, m: Machine) -> float:
    rows = complete(kind, {name: np.array([value]) for name, value in row.items()})
    return float(kind.floor_s(rows, dtype, Sheet(m))[0])


def is_more_than_its_row(bound: KernelBound) -> bool:
    """Whether a row lacks something that lowers the floor.

    An operand that several products of a batch share, narrow results of narrow products, windows
    over a third axis. The analysis puts its own floor in place of the class's (below).
    """
    row = lower(bound, {})
    types = [v.type for v in bound.kernel.anchor.inputs if v and isinstance(v.type, TensorType)]
    if row is None or row.class_name not in ("matmul", "convolution"):
        return False
    if row.class_name == "convolution":
        return len(types[0].shape or ()) > 4
    p = row.parameters
    wanted = [p["batch"] * p["m"] * p["k"], p["batch"] * p["k"] * p["n"]]
    return bound.dtype.bits < 16 or [t.numel for t in types] != wanted


@settings(max_examples=400, deadline=None)
@given(KERNELS, st.sampled_from(GPUS), st.sampled_from(DTYPES), st.sampled_from(("eager", "ort")))
def test_every_door_gives_one_floor(module: Module, target: str, dtype: str, runtime: str) -> None:
    """The roofline's, that of columns, that of the class; its row may have less vector work."""
    machine = load_machine(target)
    for bound in floors(module, machine, dtype, runtime).kernels:
        c = bound.counts
        one = (c.mac, c.floor_mac, c.alu, c.sfu, c.read_bytes, c.write_bytes)
        many = Amounts(*(np.full(3, amount) for amount in one), integer=c.integer)
        code = "tf32" if bound.tf32 and bound.dtype.code == "f32" else bound.dtype.code
        found = physics.floor_s(many, code, Sheet(machine))
        assert found == pytest.approx(np.full(3, bound.floor_s), rel=1e-12)
        row = lower(bound, {})
        if row is None or is_more_than_its_row(bound):
            continue
        name, code, parameters = row
        name = {"movement": "elementwise", "embedding": "elementwise"}.get(name, name)
        code = "tf32" if bound.tf32 and code == "f32" else code
        found = class_floor_s(classes()[name], parameters, code, machine)
        assert found <= bound.floor_s * SLACK, (name, dict(parameters), bound.floor)
        # of what windows with holes read a row says the least
        is_dense = all(parameters.get(f"dilation_{axis}", 1) == 1 for axis in "hw")
        if name in ("matmul", "convolution", "elementwise") and is_dense and not c.alu:
            assert found == pytest.approx(bound.floor_s), (name, dict(parameters), bound.floor)


@settings(max_examples=300, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 7),
    st.integers(1, 5),
    st.sampled_from((1, 1, 2, 3)),
    st.integers(0, 4),
    st.integers(0, 4),
)
@example(56, 1, 2, 1, 0, 0)
def test_a_convolution_reads_the_positions_that_the_ir_counts(
    extent: int, kernel: int, stride: int, dilation: int, before: int, after: int
) -> None:
    room = extent + before + after - (kernel - 1) * dilation - 1
    assume(room >= 0)
    out = room // stride + 1
    row = {
        "in_h": extent,
        "out_h": out,
        "kernel_h": kernel,
        "stride_h": stride,
        "pad_h": before,
        "dilation_h": dilation,
    }
    found = touched({n: np.array([float(v)]) for n, v in row.items()}, "h")[0]
    truth = touched_in_ir(extent, out, kernel, stride, dilation, (before, after))
    assert isinstance(truth, int)
    assert found == truth if dilation == 1 else found <= truth


def test_a_strided_pointwise_convolution_reads_a_quarter_of_its_input() -> None:
    made = op("conv", strides=(2, 2))
    module = one_node(made, [(16, 256, 56, 56), (128, 256, 1, 1)])
    machine = load_machine("t4")
    (bound,) = floors(module, machine, "f16", "ort").kernels
    row = lower(bound, {})
    assert row is not None
    kind = classes()["convolution"]
    rows = complete(kind, {name: np.array([value]) for name, value in row.parameters.items()})
    found = kind.amounts(rows, "f16").read_bytes[0]
    assert found == bound.counts.read_bytes == 2 * (16 * 256 * 28 * 28 + 128 * 256)
    floor_s = class_floor_s(kind, row.parameters, "f16", machine)
    assert floor_s == pytest.approx(bound.floor_s)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("mnemonic", ["conv", "max_pool"])
def test_windows_that_leave_gaps_read_as_much_where_pads_are_automatic(
    mnemonic: str, auto_pad: str
) -> None:
    def read_bytes(**attributes: object) -> object:
        stated = {"kernel_shape": (1, 1)} if mnemonic == "max_pool" else {}
        made = op(mnemonic, strides=(2, 2), **stated, **attributes)
        shapes: tuple[tuple[int, ...], ...] = ((8, 64, 56, 56), (64, 64, 1, 1))
        module = one_node(made, shapes[:1] if mnemonic == "max_pool" else shapes)
        (node,) = module.graph.nodes
        return made.traffic(node.inputs, tuple(v.type for v in node.results)).read_bytes

    assert read_bytes(auto_pad=auto_pad) == read_bytes()


def image_layer() -> Module:
    """A 3×3 layer that minimal filtering makes four times cheaper."""
    return one_node(op("conv", pads=(1, 1, 1, 1)), [(64, 256, 56, 56), (256, 256, 3, 3)])


@settings(max_examples=150, deadline=None)
@given(
    module=st.one_of(convolutions(), products()),
    target=st.sampled_from(GPUS),
    is_compiled=st.booleans(),
)
@example(module=image_layer(), target="rtx4090", is_compiled=False)
def test_steps_give_the_floor_of_products(module: Module, target: str, is_compiled: bool) -> None:
    machine = load_machine(target)
    setting = Setting(Precision.F16, compiled=is_compiled, version=(2, 9))
    _, found = launches(module, Analyses(), setting, [{}])
    least = floors_s(columns(found), setting, Sheet(machine))
    table = floors(module, machine, "f16", setting.runtime)
    for launch, floor_s in zip(found, least, strict=True):
        if launch.kernel >= 0:
            bound = table.kernels[launch.kernel]
            assert floor_s <= bound.floor_s * SLACK
            if not bound.counts.alu:
                assert floor_s == pytest.approx(bound.floor_s)


@pytest.mark.parametrize("name", ["resnet50", "bert-base", "vit-b16"])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "amp-f16"])
def test_a_whole_run_has_no_higher_floor_than_its_kernels(name: str, dtype: str) -> None:
    path = MODELS / f"{name}.onnx.gz"
    analyzed = perfc.analyze(path, "rtx4090", dims={"batch": 32}, dtype=dtype, runtime="eager")
    dims = {n: v for n, v in analyzed.env.items() if n != "batch"}
    run = perfc.predict(path, "rtx4090", runtime="eager", dtype=dtype, dims={**dims, "batch": 32})
    assert run.floor_s <= analyzed.roofline.floor_s * SLACK


@pytest.mark.parametrize("target", ["t4", "rtx3090", "a100"])
def test_an_analysis_takes_its_own_floor_for_that_of_a_class(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class knows extents alone: not what is read in part, nor the type that products run in."""

    def impossible(self: KernelClass, rows: Mapping[str, object], *_: object) -> object:
        return np.full(len(next(iter(rows.values()))), math.inf)  # type: ignore[arg-type]

    report = perfc.analyze(
        MODELS / "bert-base.onnx.gz", target, dims={"batch": 4}, dtype="f16", runtime="tensorrt"
    )
    every = range(len(report.roofline.kernels))
    before = Forests().estimate(report.execution, every)
    for kind in {type(kind) for kind in classes().values()}:
        monkeypatch.setattr(kind, "floor_s", impossible)
    after = Forests().estimate(report.execution, every)
    assert after
    assert after == before
    for i, found in after.items():
        assert found.low_s >= report.roofline.kernels[i].floor_s


def test_one_rank_alone_sends_nothing() -> None:
    row = {"operation": 1.0, "ranks": 1.0, "nbytes": 1e6}
    assert class_floor_s(classes()["collective"], row, "f16", load_machine("a100")) == 0
    assert (
        class_floor_s(classes()["collective"], {**row, "ranks": 2.0}, "f16", load_machine("a100"))
        > 0
    )


@pytest.mark.parametrize("dtype", ["i8", "fp8", "f16", "f32"])
def test_what_is_beside_products_has_one_rate_in_the_roofline_and_in_classes(dtype: str) -> None:
    """Special functions bind an activation of three of them."""
    module = one_node(op("mish"), [(64, 64)])
    machine = load_machine("h100")
    (bound,) = floors(module, machine, dtype, "eager").kernels
    row = lower(bound, {})
    assert row is not None
    found = class_floor_s(classes()["elementwise"], row.parameters, row.dtype, machine)
    assert found <= bound.floor_s * SLACK
