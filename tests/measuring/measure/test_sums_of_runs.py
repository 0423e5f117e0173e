"""Arithmetic of measured runs by hand: what is taken off, shared out, limited and given values."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from perfc.errors import ModelError, ParseError
from perfc.ir.graphs.groups import root
from perfc.measuring.measure import session
from perfc.measuring.measure.matching.attribute import Attribution, join, part
from perfc.measuring.measure.memory import AllocatorBehavior
from perfc.measuring.measure.profile import Profile, ProfilerKind, RuntimeKernel, Sampled
from perfc.measuring.measure.profilers import recognize
from perfc.measuring.measure.tables import weights
from perfc.measuring.measure.tables.rows import MOST_NODES, model_name, names, runtime_operators
from perfc.measuring.measure.tables.weights import (
    BLOCK,
    SCALE,
    SHIFT,
    VARIANCE,
    WeightRole,
    find_roles,
    pieces,
    role_of,
)
from perfc.measuring.measure.trace import How, SourceNodes
from perfc.passes.runtimes import Framework


def test_names_of_a_cell_are_bounded() -> None:
    assert names(["a b", "c"]) == "a_b c"
    assert names(map(str, range(MOST_NODES))) == " ".join(map(str, range(24)))
    assert names(map(str, range(MOST_NODES + 2))).endswith(" 23 +2")
    assert [model_name(p) for p in ("a/b.onnx", "b.onnx.gz", "b.tflite", "b")] == ["b"] * 4
    timed = [RuntimeKernel(n, op, 1.0) for n, op in (("x", "A"), ("y", "A"), ("z", ""))]
    one = cast(Any, SimpleNamespace(part=SimpleNamespace(runtime=timed)))
    assert runtime_operators(one) == "A*2+z"


def test_times_of_a_name_are_medians_over_all_runs() -> None:
    sampled = Sampled("k", "Conv")
    for run, time_s in ((0, 1.0), (0, 2.0), (2, 4.0), (3, 5.0)):
        sampled.add(run, time_s)
    result = sampled.kernel([0, 1, 2, 3])
    assert (result.time_s, result.best_s) == (3.5, 0.0)
    assert result.calls == pytest.approx(4 / 3)
    assert Sampled("k", "").kernel([0]).calls == 0.0


@pytest.mark.parametrize(
    ("content", "source"),
    [
        ('{"traceEvents": []}', ProfilerKind.KINETO),
        (' {"deviceProperties": 1}', ProfilerKind.KINETO),
        ('{"schemaVersion": 1}', ProfilerKind.KINETO),
        ('[{"averageMs": 1}]', ProfilerKind.TENSORRT),
        ('[{"timeMs": 1}]', ProfilerKind.TENSORRT),
        ('[{"medianMs": 1}]', ProfilerKind.TENSORRT),
        ('{"Layers": []}', ProfilerKind.TENSORRT),
        ('[{"name": "model_loading_uri"}]', ProfilerKind.ORT),
        ('[{"name": "a_kernel_time"}]', ProfilerKind.ORT),
        ('["session_initialization"]', ProfilerKind.ORT),
        ('[{"cat": "cpu_op"}]', ProfilerKind.KINETO),
        ('[{"ph": "X"}]', ProfilerKind.KINETO),
    ],
)
def test_who_wrote_a_profile_is_known_by_its_words(
    content: str, source: ProfilerKind, tmp_path: Path
) -> None:
    path = tmp_path / "profile.json"
    path.write_text(content, encoding="utf-8")
    assert recognize(path) is source


@pytest.mark.parametrize("content", ["", "  ", "name,time", "\x1f"])
def test_what_is_no_json_is_no_profile(content: str, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ParseError, match="not a profile: neither a JSON list nor a JSON object"):
        recognize(path)
    path.write_text('{"a": 1}', encoding="utf-8")
    with pytest.raises(ParseError, match="of no profiler known here"):
        recognize(path)


def profile(*times_s: float) -> Profile:
    return Profile(
        ProfilerKind.ORT, tuple(RuntimeKernel(f"k{i}", "", t) for i, t in enumerate(times_s)), 1
    )


def test_a_part_adds_times_and_variances() -> None:
    class Hashable(SimpleNamespace):
        __hash__ = object.__hash__

    one, two = (Hashable(name=n) for n in "ab")
    timed = [
        (RuntimeKernel("x", "A", 3.0, 0.3, 2.0), SourceNodes(frozenset({two}), How.NAMED)),
        (RuntimeKernel("y", "B", 4.0, 0.4, 3.0), SourceNodes(frozenset({one}), How.INSERTED)),
    ]
    result = part((5, 6), cast(Any, timed), cast(Any, {one: 0, two: 1}))
    assert result.nodes == ("a", "b")
    assert (result.time_s, result.iqr_s, result.best_s) == (7.0, pytest.approx(0.5), 5.0)
    assert result.inserted_s == 4.0


def test_the_share_that_was_found_is_of_all_time() -> None:
    lost = (RuntimeKernel("x", "", 1.0),)
    assert Attribution((), lost, 4.0).share == 0.75
    assert Attribution((), (), 0.0).share == 0.0


def test_a_union_is_named_after_its_smallest() -> None:
    union = list(range(5))
    join(union, 4, 2)
    join(union, 3, 4)
    assert [root(union, i) for i in range(5)] == [0, 1, 2, 2, 2]


def origins(**result: How) -> dict[str, SourceNodes]:
    return {name: SourceNodes(frozenset(), how) for name, how in result.items()}


def test_the_certain_share_counts_what_is_named_or_traced() -> None:
    run = profile(1.0, 2.0, 5.0)
    known = origins(k0=How.NAMED, k1=How.INSERTED)
    assert session.certain_share(run, known) == 1 / 8
    assert session.certain_share(run, origins(k0=How.TRACED, k2=How.NAMED)) == 6 / 8


def test_what_stands_for_nothing_goes_with_the_one_before_else_the_next() -> None:
    result = session.neighbours(profile(1.0, 1.0, 1.0), origins(k1=How.NAMED))
    assert {n: o.how for n, o in result.items()} == {
        "k0": How.INSERTED,
        "k1": How.NAMED,
        "k2": How.INSERTED,
    }
    assert session.neighbours(profile(1.0), {}) == {}


@pytest.mark.parametrize("device", ["cpu", "cuda", "cuda:0", "cuda:999"])
def test_devices_that_are_devices(device: str) -> None:
    session.check_device(device)


@pytest.mark.parametrize("device", ["cpu:0", "cpu:", "cuda:", "cuda:x", "cuda:1000", "gpu", ""])
def test_devices_that_are_none(device: str) -> None:
    with pytest.raises(ParseError) as caught:
        session.check_device(device)
    assert str(caught.value) == f"--device: no device {device!r} (cpu, cuda:0, cuda:1, …)"


def test_threads_are_a_number_or_all() -> None:
    assert [session.threads_of(t) for t in ("1", "4096")] == [1, 4096]
    assert session.threads_of("all") >= 1
    for text in ("0", "4097", "-1", "x", "", "1.5"):
        with pytest.raises(ParseError, match="is neither a number of threads nor 'all'"):
            session.threads_of(text)


def test_memory_that_a_run_no_longer_needs() -> None:
    def of(device: str, framework: Framework) -> AllocatorBehavior:
        return session.allocator_of(cast(Any, SimpleNamespace(device=device, framework=framework)))

    assert of("cuda:0", Framework.ORT) is of("cuda:0", Framework.TORCH) is AllocatorBehavior.DEVICE
    assert of("cpu", Framework.TORCH) is AllocatorBehavior.RETURNED
    assert of("cpu", Framework.ORT) is AllocatorBehavior.ARENA
    assert session.default_target("cpu:1") == "generic-x86-64"
    with pytest.raises(ParseError, match="which machine is cuda:1"):
        session.default_target("cuda:1")


def test_notes_say_what_was_not_as_usual() -> None:
    def said(*, is_random: bool, finite: bool, error: str) -> tuple[str, ...]:
        outcome: Any = SimpleNamespace(cases=[SimpleNamespace(is_finite=finite)], error=error)
        return session.notes_of(cast(Any, SimpleNamespace(is_random=is_random)), outcome)

    assert said(is_random=False, finite=True, error="") == ()
    assert said(is_random=True, finite=False, error="late") == (
        "weights that the file does not hold are random",
        "with these weights results are not finite",
        "not all was measured: late",
    )


def test_profiles_are_those_of_all_cases_or_of_none() -> None:
    outcome: Any = SimpleNamespace(cases=(1, 2), profile=None, profiled=())
    assert session.profiles_of(outcome) == (None, None)
    outcome = SimpleNamespace(cases=(1, 2), profile="x", profiled=(1,))
    assert session.profiles_of(outcome) == (None, None)


def test_calls_that_are_expanded_late_have_their_parts_in_order() -> None:
    run = profile(1.0, 1.0, 1.0, 1.0)
    calls: Any = [SimpleNamespace(name="f"), SimpleNamespace(name="g")]
    known = {
        "f": SourceNodes(frozenset({cast(Any, 1)}), How.TRACED),
        "g": SourceNodes(frozenset({cast(Any, 2)}), How.TRACED),
    }
    result = session.inlined(run, calls, known)
    assert [result[f"k{i}"].nodes for i in range(4)] == [{1}, {1}, {2}, {2}]
    assert {result[f"k{i}"].how for i in range(4)} == {How.NAMED}
    assert session.inlined(profile(1.0, 1.0, 1.0), calls, known) == known
    assert session.inlined(profile(), calls, known) == known


def tensor(name: str, dims: tuple[int, ...], kind: int = TensorProto.FLOAT) -> onnx.TensorProto:
    return TensorProto(name=name, dims=dims, data_type=kind)


@pytest.mark.parametrize(
    ("op", "index", "shape", "fan_in"),
    [
        ("Conv", 1, (8, 4, 3, 3), 36),
        ("ConvTranspose", 1, (8, 4, 3, 3), 8),
        ("Gemm", 1, (16, 4), 16),
        ("MatMul", 1, (2, 16, 4), 16),
        ("MatMul", 0, (2, 16, 4), 4),
        ("Attention", 1, (9, 27), 9),
        ("LSTM", 1, (1, 16, 25), 25),
        ("Conv", 1, (8, 0), 1),
    ],
)
def test_products_keep_their_variance(
    op: str, index: int, shape: tuple[int, ...], fan_in: int
) -> None:
    role = role_of(helper.make_node(op, ["a", "b"], ["c"]), index, shape)
    assert role == WeightRole(0.0, 1 / math.sqrt(fan_in))


def test_roles_of_what_is_no_product() -> None:
    def role(op: str, index: int, shape: tuple[int, ...], **attributes: int) -> WeightRole:
        return role_of(helper.make_node(op, ["a", "b"], ["c"], **attributes), index, shape)

    assert role("Gemm", 1, (16, 4), transB=1).deviation == 0.5
    assert role("BatchNormalization", 4, (8,)) == VARIANCE == WeightRole(1.0, 0.1, True)
    assert role("BatchNormalization", 1, (8,)) == SCALE == WeightRole(1.0, 0.02, True)
    assert role("LayerNormalization", 3, (8,)) == SHIFT == WeightRole(0.0, 0.02, False)
    assert role("SkipLayerNormalization", 2, (8,)) == SCALE
    assert role("Div", 1, (8, 8)) == role("Sqrt", 0, (8,)) == role("Mul", 0, ()) == SCALE
    assert role("Mul", 0, (8, 8)) == role("Add", 1, (8,)) == role("Gather", 0, (8, 8)) == SHIFT


def graph(nodes: list[onnx.NodeProto], *stored: onnx.TensorProto) -> onnx.GraphProto:
    return helper.make_graph(nodes, "g", [], [], list(stored))


def test_a_tensor_that_one_reader_needs_positive_is_positive() -> None:
    nodes = [
        helper.make_node("Transpose", ["w"], ["t"]),
        helper.make_node("MatMul", ["x", "t"], ["y"]),
        helper.make_node("Add", ["y", "b"], ["z"]),
        helper.make_node("Div", ["z", "b"], ["q"]),
        helper.make_node("Sub", ["q", "b"], ["p"]),
    ]
    roles = find_roles(graph(nodes, tensor("w", (16, 4)), tensor("b", (4,)), tensor("n", (4,))))
    assert roles == {"w": WeightRole(0.0, 0.25), "b": SCALE}


def test_short_weights_of_layers_are_given_values_and_others_kept() -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["y"]),
        helper.make_node("Conv", ["y", "w", "s"], ["z"]),
        helper.make_node("Add", ["z", "a"], ["q"]),
    ]
    kept = np.full(4, 7.0, np.float32)
    stored = [numpy_helper.from_array(v, n) for n, v in (("b", kept), ("s", kept[:3]), ("a", kept))]
    g = graph(nodes, tensor("w", (4, 4, 1, 1)), *stored)
    weights.refill(g, find_roles(g), seed=3)
    values = {t.name: numpy_helper.to_array(t) for t in g.initializer if t.name != "w"}
    assert abs(values["b"]).max() < 0.2
    assert (values["s"] == 7).all()
    assert (values["a"] == 7).all()


def content(dims: tuple[int, ...], kind: int, role: WeightRole = SHIFT, name: str = "w") -> bytes:
    return b"".join(pieces(tensor(name, dims, kind), role, seed=1))


def test_values_are_of_the_size_and_the_spread_of_their_role() -> None:
    floats = np.frombuffer(
        content((BLOCK // 2, 3), TensorProto.FLOAT, WeightRole(2.0, 0.5)), np.float32
    )
    assert len(floats) == BLOCK // 2 * 3
    assert floats.mean() == pytest.approx(2.0, abs=0.01)
    assert floats.std() == pytest.approx(0.5, abs=0.01)
    positive = np.frombuffer(
        content((5000,), TensorProto.FLOAT, WeightRole(0.0, 1.0, True)), np.float32
    )
    assert positive.min() >= 0.01
    assert content((3,), TensorProto.INT32) == bytes(12)
    assert content((BLOCK + 3,), TensorProto.INT8) == bytes(BLOCK + 3)
    assert content((BLOCK + 3,), TensorProto.BOOL) == b"\x01" * (BLOCK + 3)
    assert content((5,), TensorProto.INT4) == bytes(3)
    assert content((), TensorProto.DOUBLE, WeightRole(1.0, 0.0)) == np.float64(1.0).tobytes()
    assert content((4,), TensorProto.FLOAT, name="a") != content((4,), TensorProto.FLOAT, name="b")


def test_a_disk_that_is_too_small_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = SimpleNamespace(free=10 << 30)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    weights._check_disk(tmp_path, 9 << 30)
    with pytest.raises(ModelError) as caught:
        weights._check_disk(tmp_path, (9 << 30) + 1)
    said = "its weights take 9.0 GiB, the temporary folder has 10.0 GiB free"
    assert str(caught.value).startswith(said)


def test_nodes_get_names_of_their_own() -> None:
    nodes = [
        helper.make_node("Relu", [i], [o], name=n)
        for i, o, n in (("x", "a", ""), ("a", "b", "a"), ("b", "", "a"), ("b", "c", "own"))
    ]
    g = graph(nodes)
    assert weights.name_nodes(g, set()) == 3
    assert [n.name for n in g.node] == ["a", "b", "Relu", "own"]
    again = graph([helper.make_node("Relu", ["x"], ["a"]) for _ in range(3)])
    assert weights.name_nodes(again, {"a"}) == 3
    assert [n.name for n in again.node] == ["a.0", "a.1", "a.2"]


@pytest.mark.parametrize(
    ("dims", "kind", "nbytes"),
    [((3, 5), TensorProto.FLOAT, 60), ((3,), TensorProto.INT4, 2), ((), TensorProto.FLOAT16, 2)],
)
def test_bytes_of_a_tensor_are_rounded_up(dims: tuple[int, ...], kind: int, nbytes: int) -> None:
    assert weights._nbytes(tensor("w", dims, kind)) == nbytes
