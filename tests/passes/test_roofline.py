"""Floors are floors: below sustained times, rising with work, falling with rates."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfc.ir.graph import Graph, Loc, Module, Node, SymbolDecl, Value, Weight
from perfc.ir.op import Op
from perfc.ir.ops.contraction.matmul import MatMul
from perfc.ir.ops.convolution.conv import Conv, NhwcConv
from perfc.ir.symbolic.dim import symbol
from perfc.ir.symbolic.evaluate import Numbers, evaluate
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import UNKNOWN, DType, TensorType
from perfc.machine import Machine, MemoryLevel, Peak, Rate, list_machines, load_machine
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.inference.shapes import Shapes
from perfc.passes.manager import Analyses
from perfc.passes.memory.residency import missed, touched
from perfc.passes.roofline.efficiency import TILE
from perfc.passes.roofline.floor import excess
from perfc.passes.roofline.roofline import GRAPH_GAP, Ceiling, RooflineTable, bounds
from perfc.passes.runtimes import Tf32, runtimes
from tests.passes.random_graphs import Builder, modules, op

TARGETS = tuple(m.name for m in list_machines())
A100 = load_machine("a100")


def bound(
    module: Module, machine: Machine = A100, runtime: str = "eager", **env: int
) -> RooflineTable:
    table = Analyses().get(Fuse(runtime), module)
    return bounds(table, machine, {**module.defaults(), **env})


@settings(max_examples=150, deadline=None)
@given(modules(), st.sampled_from(TARGETS), st.sampled_from(runtimes()), st.integers(1, 4096))
def test_no_floor_is_above_the_sustained_time(
    module: Module, target: str, runtime: str, n: int
) -> None:
    table = bound(module, load_machine(target), runtime, N=n)
    for k in table.kernels:
        for ceiling, floor_s in k.floor.items():
            assert 0 <= floor_s <= k.sustained[ceiling] * (1 + 1e-12), ceiling
        assert k.floor_s <= k.sustained_s * (1 + 1e-12) <= k.time_s * (1 + 2e-12)
    assert table.floor_s <= table.sustained_s * (1 + 1e-9)


@settings(max_examples=80, deadline=None)
@given(modules(), st.sampled_from(TARGETS), st.integers(1, 1000), st.integers(1, 1000))
def test_floors_rise_with_the_batch(module: Module, target: str, n: int, more: int) -> None:
    machine = load_machine(target)
    few, many = (bound(module, machine, N=b) for b in (n, n + more))
    assert few.floor_s <= many.floor_s * (1 + 1e-12)
    if not Analyses().get(Fuse("eager"), module).alternatives:
        for a, b in zip(few.kernels, many.kernels, strict=True):
            assert a.floor_s <= b.floor_s * (1 + 1e-12)


def faster(machine: Machine, factor: float) -> Machine:
    """The same machine with every rate multiplied."""

    def rate(r: Rate | None) -> Rate | None:
        return None if r is None else replace(r, value=r.value * factor)

    def peak(p: Peak) -> Peak:
        return Peak(replace(p.peak, value=p.peak.value * factor), p.nominal, p.sustained)

    def level(m: MemoryLevel) -> MemoryLevel:
        found = rate(m.bandwidth)
        assert found is not None
        return replace(m, bandwidth=found)

    return replace(
        machine,
        compute={k: peak(p) for k, p in machine.compute.items()},
        memory=tuple(map(level, machine.memory)),
    )


@settings(max_examples=80, deadline=None)
@given(modules(), st.sampled_from(TARGETS), st.floats(1.0, 8.0), st.integers(1, 100_000))
def test_floors_fall_with_every_rate(module: Module, target: str, factor: float, n: int) -> None:
    machine = load_machine(target)
    slow, fast = bound(module, machine, N=n), bound(module, faster(machine, factor), N=n)
    for a, b in zip(slow.kernels, fast.kernels, strict=True):
        assert b.floor_s == pytest.approx(a.floor_s / factor)


def chain(*steps: str, batch: int = 1 << 16) -> Module:
    b = Builder(batch, [Value("x", Builder(batch).square)])
    for s in steps:
        b.values.append(b.add(op(s), b.values[-1]))
    return Module(Graph("g", (b.values[0],), (b.values[-1],), tuple(b.nodes), tuple(b.weights)))


def test_a_tensor_that_fits_in_l2_is_not_charged_to_device_memory() -> None:
    (k,) = bound(chain("relu", batch=1024)).kernels
    assert not k.floor.get(Ceiling.DEVICE)
    assert k.floor[Ceiling.L2] > 0


def test_a_large_tensor_is_charged_beyond_what_l2_holds_before_and_after() -> None:
    batch = 1 << 22
    (k,) = bound(chain("relu", batch=batch)).kernels
    held, device = A100.level("l2"), A100.level("device")
    assert held is not None
    assert device is not None
    expected = 2 * (batch * 64 - held.capacity_bytes) / device.bandwidth.value
    assert k.floor[Ceiling.DEVICE] == pytest.approx(expected)


def test_what_passes_a_cache_is_at_least_what_it_cannot_hold() -> None:
    assert excess(100, 60) == 40
    assert excess(10, 60) == 0


def test_operands_that_fit_only_one_by_one_still_miss() -> None:
    """Three values touched together, each below the capacity, together above it."""
    b = Builder(1024, [])
    values = tuple(Value(f"x{i}", b.square) for i in range(3))
    total = b.add(op("sum"), *values)
    again = b.add(op("sum"), *values)
    module = Module(Graph("g", values, (total, again), tuple(b.nodes)))
    kernels = Analyses().get(Fuse("eager"), module).kernels
    size = 1024 * 64.0
    sizes = dict.fromkeys((*values, total, again), size)
    moved = [(3 * size, size)] * 2
    charged = missed(touched(kernels, moved, sizes), int(2 * size))
    assert all(c >= 3 * size - 2 * size for c in charged)


def linear(features: int, batch: int) -> Module:
    x = Value("x", TensorType(DType.F16, (batch, features)))
    w = Builder(1).weight((features, features))
    stored = Value("w", TensorType(DType.F16, (features, features)), None, w.weight)
    y = Value("y", TensorType(DType.F16, (batch, features)))
    node = Node(op("matmul"), (x, stored), (y,), (), Loc("m", "MatMul"))
    return Module(Graph("g", (x,), (y,), (node,), (stored,)))


def test_weights_beyond_the_cache_are_streamed_every_run() -> None:
    table = bound(linear(16384, 1))
    held, device = A100.level("l2"), A100.level("device")
    assert held is not None
    assert device is not None
    expected = (16384 * 16384 * 2 - held.capacity_bytes) / device.bandwidth.value
    assert table.weight_floor_s == pytest.approx(expected)
    assert table.floor_s >= table.weight_floor_s


def test_rows_taken_from_a_table_are_not_the_table() -> None:
    table = Value("t", TensorType(DType.F32, (1 << 20, 1024)), None, Builder(1).weight((1,)).weight)
    indices = Value("i", TensorType(DType.I64, (8,)))
    rows = Value("y", TensorType(DType.F32, (8, 1024)))
    node = Node(op("gather"), (table, indices), (rows,), (), Loc("g", "Gather"))
    found = bound(Module(Graph("g", (indices,), (rows,), (node,), (table,))))
    assert found.weight_floor_s == 0
    assert found.kernels[0].floor[Ceiling.L2] < found.kernels[0].sustained[Ceiling.L2]


def test_waves_lengthen_only_the_sustained_time() -> None:
    rows = (A100.sm_count + 1) * TILE
    (k,) = bound(linear(128, rows)).kernels
    assert Ceiling.WAVES not in k.floor
    share = (A100.sm_count + 1) / (2 * A100.sm_count)
    assert k.sustained[Ceiling.WAVES] == pytest.approx(k.sustained[Ceiling.MATRIX] / share)


def waves(module: Module) -> float:
    (k,) = bound(module).kernels
    assert Ceiling.WAVES not in k.floor
    return k.sustained[Ceiling.MATRIX] / k.sustained.get(Ceiling.WAVES, k.sustained[Ceiling.MATRIX])


def filled(tiles: int) -> float:
    return tiles / (-(-tiles // A100.sm_count) * A100.sm_count)


def product(*shapes: tuple[int, ...], operator: Op) -> Module:
    x = Value("x", TensorType(DType.F32, shapes[0]))
    w = Value("w", TensorType(DType.F32, shapes[1]))
    (result,) = operator.infer((x, w))
    y = Value("y", result)
    node = Node(operator, (x, w), (y,), (), Loc("y", "Y"))
    return Module(Graph("g", (x, w), (y,), (node,)))


def test_waves_are_those_of_the_product_however_channels_lie() -> None:
    first = product((8, 256, 65, 65), (384, 256, 1, 1), operator=Conv())
    last = product((8, 65, 65, 256), (384, 256, 1, 1), operator=NhwcConv())
    tiles = 3 * -(-8 * 65 * 65 // TILE)
    assert waves(first) == pytest.approx(filled(tiles))
    assert waves(last) == pytest.approx(waves(first))


def test_no_tile_lies_across_groups_nor_across_products() -> None:
    grouped = product((2, 256, 64, 64), (256, 64, 1, 1), operator=Conv(group=4))
    assert waves(grouped) == pytest.approx(filled(4 * 64))
    depthwise = product((2, 256, 64, 64), (256, 1, 3, 3), operator=Conv(group=256))
    assert waves(depthwise) == 1.0
    batched = product((200, 64, 64), (200, 64, 64), operator=MatMul())
    assert waves(batched) == pytest.approx(filled(200))


def test_an_eager_launch_shows_where_the_kernel_is_shorter() -> None:
    launch = A100.launch_overhead_s
    assert launch is not None
    (short,) = bound(chain("relu", batch=1)).kernels
    assert short.launch_gap_s == pytest.approx(launch.value - short.sustained_s)
    assert short.binding is Ceiling.LAUNCH
    (long,) = bound(chain("relu", batch=1 << 22)).kernels
    assert long.launch_gap_s == 0
    (replayed,) = bound(chain("relu", batch=1), runtime="tensorrt").kernels
    assert replayed.launch_gap_s < GRAPH_GAP * launch.value


def looped(trips: int) -> Module:
    b = Builder(64, [Value("x", Builder(64).square)])
    inner = Builder(64, [b.values[0]], prefix="l")
    row = inner.add(op("matmul"), b.values[0], b.values[0])
    i = Value("i", TensorType(DType.I64, ()))
    again = Value("again", TensorType(DType.BOOL, ()))
    body = Graph("l", (i, again), (again, row), tuple(inner.nodes))
    limit = b.weight((), Known.scalar(trips))
    out = Value("out", TensorType(DType.F32, (trips, 64, 4, 4)))
    loop = Node(op("loop"), (limit, None), (out,), (body,), Loc("loop", "Loop"))
    return Module(Graph("g", (b.values[0],), (out,), (loop,), tuple(b.weights)))


def test_a_loop_launches_its_body_once_an_iteration() -> None:
    (once,), (many,) = bound(looped(1)).kernels, bound(looped(7)).kernels
    assert many.launches == 7
    assert many.floor_s == pytest.approx(7 * once.floor_s)
    assert many.launch_gap_s == pytest.approx(7 * once.launch_gap_s)


def test_an_extent_that_data_decides_counts_at_its_least() -> None:
    u = symbol("u", 0, 100)
    assert Numbers({})(u * 4) == 0
    assert evaluate(u * 4, {}, upper=True) == 400


def test_depthwise_convolutions_do_not_fill_the_matrix_unit() -> None:
    x = Value("x", TensorType(DType.F16, (8, 256, 56, 56)))
    w = Value("w", TensorType(DType.F16, (256, 1, 3, 3)), None, Builder(1).weight((1,)).weight)
    y = Value("y", x.type)
    conv = op("conv", group=256, pads=(1, 1, 1, 1), kernel_shape=(3, 3))
    node = Node(conv, (x, w), (y,), (), Loc("c", "Conv"))
    (k,) = bound(Module(Graph("g", (x,), (y,), (node,), (w,)))).kernels
    assert k.sustained[Ceiling.VECTOR] > k.sustained[Ceiling.MATRIX]
    assert k.floor[Ceiling.MATRIX] < k.sustained[Ceiling.MATRIX]


def test_minimal_filtering_lowers_only_the_floor_of_stride_one() -> None:
    def conv(stride: int) -> float:
        x = Value("x", TensorType(DType.F32, (8, 64, 56, 56)))
        w = Value("w", TensorType(DType.F32, (64, 64, 3, 3)), None, Builder(1).weight((1,)).weight)
        out = 56 // stride
        y = Value("y", TensorType(DType.F32, (8, 64, out, out)))
        made = op("conv", pads=(1, 1, 1, 1), strides=(stride, stride), kernel_shape=(3, 3))
        node = Node(made, (x, w), (y,), (), Loc("c", "Conv"))
        (k,) = bound(Module(Graph("g", (x,), (y,), (node,), (w,)))).kernels
        return k.floor[Ceiling.MATRIX] / k.counts.mac

    assert conv(2) / conv(1) == pytest.approx((4 * 3 / (3 + 3)) ** 2)


def test_a_symbolic_model_bounds_as_a_concrete_one() -> None:
    n = symbol("N")
    b = Builder(n, [Value("x", Builder(n).square)])
    b.values.append(b.add(op("softmax"), b.add(op("matmul"), b.values[0], b.values[0])))
    graph = Graph("g", (b.values[0],), (b.values[-1],), tuple(b.nodes))
    symbolic = Analyses().apply(Shapes(), Module(graph, (SymbolDecl("N", 5),)))
    concrete = chain("softmax", batch=1 << 12)
    a = bound(symbolic, N=1 << 12).kernels[-1]
    c = bound(concrete).kernels[-1]
    assert math.isclose(a.floor_s, c.floor_s)
    assert a.counts == c.counts


def stored(name: str, *shape: int, dtype: DType = DType.F16) -> Value:
    return Value(name, TensorType(dtype, shape), None, Weight())


@pytest.mark.parametrize(
    ("mnemonic", "operands", "read_bytes"),
    [
        (
            "embed_layer_norm",
            ["ids", None, (500_000, 1024), (512, 1024), None, (1024,), (1024,)],
            2 * (64 * 1024 + 64 * 1024 + 2 * 1024),
        ),
        ("rotary_embedding", ["x", (2_000_000, 32), (2_000_000, 32), "ids"], 2 * 2 * 64 * 32),
        (
            "moe",
            ["rows", "scores", (64, 4096, 256), None, (64, 256, 4096)],
            2 * 2 * 256 * 4096,
        ),
    ],
)
def test_weights_that_are_read_in_part_are_streamed_in_part(
    mnemonic: str, operands: list[str | tuple[int, ...] | None], read_bytes: int
) -> None:
    shapes = {"ids": (1, 64), "x": (1, 64, 64), "rows": (64, 256), "scores": (64, 64)}
    inputs = {
        name: Value(name, TensorType(DType.I64 if name == "ids" else DType.F16, shape))
        for name, shape in shapes.items()
    }
    given = tuple(
        o if o is None else inputs[o] if isinstance(o, str) else stored(f"w{i}", *o)
        for i, o in enumerate(operands)
    )
    out = Value("y", UNKNOWN)
    node = Node(op(mnemonic), given, (out,))
    weights = tuple(v for v in given if v is not None and v.weight is not None)
    graph = Graph("g", tuple(v for v in given if v in inputs.values()), (out,), (node,), weights)
    am = Analyses()
    module = am.apply(Shapes(), Module(graph))
    table = am.get(Fuse("ort"), module)
    parts = zip(table.kernels[0].reads, table.kernels[0].read_parts, strict=True)
    assert sum(n for v, n in parts if v.weight is not None) == read_bytes
    streamed_s = bound(module, runtime="ort").weight_floor_s
    if mnemonic != "moe":
        assert streamed_s == 0
        return
    # tokens touch other experts than one of them does
    a100 = load_machine("a100")
    device, l2 = a100.level("device"), a100.level("l2")
    assert device is not None
    assert l2 is not None
    touched = 64 * (1 - (63 / 64) ** 64)
    beyond = touched * read_bytes - float(l2.capacity_bytes)
    assert streamed_s == pytest.approx(beyond / device.bandwidth.value)


def test_what_may_use_tf32_is_decided_kernel_by_kernel() -> None:
    image = Value("x", TensorType(DType.F32, (32, 64, 56, 56)))
    filters = Value("w", TensorType(DType.F32, (64, 64, 3, 3)))
    rows = Value("a", TensorType(DType.F32, (4096, 4096)))
    columns = Value("b", TensorType(DType.F32, (4096, 4096)))
    results = (Value("y", UNKNOWN), Value("c", UNKNOWN))
    conv = Conv(kernel_shape=(3, 3), pads=(1, 1, 1, 1))
    nodes = (
        Node(conv, (image, filters), (results[0],), (), Loc("conv", "Conv")),
        Node(MatMul(), (rows, columns), (results[1],), (), Loc("product", "MatMul")),
    )
    module = Module(Graph("g", (image, filters, rows, columns), results, nodes))
    am = Analyses()
    table = am.get(Fuse("eager"), am.apply(Shapes(), module))
    found = {tf32: bounds(table, A100, {}, tf32=tf32).kernels for tf32 in Tf32}
    none, some, all_ = (
        [k.floor_s for k in found[tf32]] for tf32 in (Tf32.NONE, Tf32.CONVOLUTIONS, Tf32.ALL)
    )
    assert none[0] > 2 * some[0]
    assert some[0] == all_[0]
    assert none[1] == some[1] > 6 * all_[1]
    assert [k.is_wide for k in found[Tf32.CONVOLUTIONS]] == [False, True]
