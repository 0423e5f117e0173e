"""Commits that change nothing that a budget measures, and the pairing behind them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from perfc.review.check.lock.baseline import Entry
from perfc.review.check.lock.successors import successions, together
from perfc.review.diff.figures import Figure, Metric

from .moved_models import committed, git, network, put
from .projects import said

Change = Callable[[onnx.ModelProto], onnx.ModelProto]


@pytest.fixture
def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Path:
    return committed(tmp_path, monkeypatch, capsys)


def renamed_nodes(model: onnx.ModelProto) -> onnx.ModelProto:
    return network(prefix="other/")


def stripped(model: onnx.ModelProto) -> onnx.ModelProto:
    model.producer_name, model.doc_string = "", ""
    del model.metadata_props[:]
    for node in model.graph.node:
        node.name = ""
    return model


def annotated(model: onnx.ModelProto) -> onnx.ModelProto:
    model.doc_string = "trained again"
    model.metadata_props.append(onnx.StringStringEntryProto(key="epoch", value="90"))
    return onnx.shape_inference.infer_shapes(model)


def external(model: onnx.ModelProto) -> onnx.ModelProto:
    onnx.external_data_helper.convert_model_to_external_data(
        model, location="a.data", size_threshold=0
    )
    for tensor in model.graph.initializer:
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
    return model


def exporter(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model as another exporter and version write it."""
    model.producer_name, model.producer_version, model.ir_version = "other", "9.9", 10
    model.opset_import[0].version = 21
    for tensor in model.graph.initializer:
        model.graph.input.append(
            helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
        )
    return model


def shuffled(model: onnx.ModelProto) -> onnx.ModelProto:
    weights = list(model.graph.initializer)
    random.Random(1).shuffle(weights)
    del model.graph.initializer[:]
    model.graph.initializer.extend(weights)
    return model


def constants(model: onnx.ModelProto) -> onnx.ModelProto:
    nodes = [helper.make_node("Constant", [], [t.name], value=t) for t in model.graph.initializer]
    nodes += model.graph.node
    del model.graph.initializer[:]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def shuffled_nodes(model: onnx.ModelProto) -> onnx.ModelProto:
    nodes = list(model.graph.node)
    made = {n.output[0]: n for n in nodes if n.op_type == "Constant"}
    del model.graph.node[:]
    for node in nodes:
        if node.op_type != "Constant":
            model.graph.node.extend([made[name] for name in node.input if name in made])
            model.graph.node.append(node)
    return model


def identities(model: onnx.ModelProto) -> onnx.ModelProto:
    model.graph.node[0].input[0] = "same"
    model.graph.node.insert(0, helper.make_node("Identity", ["x"], ["same"]))
    return model


def floats(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with its weights in the field of floats."""
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor).ravel().tolist()
        tensor.ClearField("raw_data")
        tensor.float_data.extend(values)
    return model


NEUTRAL: dict[str, Change] = {
    "retrained weights": lambda m: network(seed=7),
    "renamed nodes and tensors": renamed_nodes,
    "stripped metadata": stripped,
    "metadata and shapes": annotated,
    "external data": external,
    "another exporter and version": exporter,
    "shuffled weights": shuffled,
    "weights as constants": constants,
    "shuffled nodes": lambda m: shuffled_nodes(constants(m)),
    "an identity": identities,
    "weights as floats": floats,
}


@pytest.mark.parametrize("place", ["models/a.onnx", "other/b.onnx"])
@pytest.mark.parametrize("change", NEUTRAL.values(), ids=NEUTRAL)
def test_a_commit_that_changes_nothing_stays_silent(
    project: Path, capsys: pytest.CaptureFixture[str], change: Change, place: str
) -> None:
    (project / "models/a.onnx").unlink()
    put(project, place, change(network()))
    git(project, "add", "-A")
    for files in ([], [place]):
        code, out, err = said(capsys, "check", "--strict", *files)
        assert (code, err, "warn" in out, "FAIL" in out) == (0, "", False, False), out
        assert "all budgets met" in out


def entry(digest: str = "", **products: int) -> Entry:
    return Entry(digest, {}, "", (), tuple(sorted(products.items())))


COUNTS = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 60), min_size=1, max_size=4)


@given(st.lists(COUNTS, max_size=5), st.lists(COUNTS, max_size=5), st.randoms())
def test_each_model_takes_one_place_whatever_the_order(
    new: list[dict[str, int]], gone: list[dict[str, int]], rng: random.Random
) -> None:
    ours = {f"n{i}": entry(f"n{i}", **c) for i, c in enumerate(new)}
    theirs = {f"o{i}": entry(f"o{i}", **c) for i, c in enumerate(gone)}
    pairs = successions(ours, theirs, {}, {})
    for names, of in ((ours, [s.new for s in pairs]), (theirs, [s.old for s in pairs])):
        used = [name for group in of for name in group]
        assert len(used) == len(set(used))
        assert set(used) <= set(names)
    assert all(s.new and s.old for s in pairs)
    # what is the same is paired
    same = successions(ours, dict(zip("pqrst", ours.values(), strict=False)), {}, {})
    assert len(same) == len(ours)


def test_contents_decide_then_git_then_structure_then_names() -> None:
    net, like, other = entry("x", conv3x3=9), entry("y", conv3x3=9), entry("z", matmul=1)
    folder = successions(
        {"b/one.onnx": net, "b/two.onnx": net}, {"a/two.onnx": like, "a/one.onnx": like}, {}, {}
    )
    assert {(s.new, s.old) for s in folder} == {
        (("b/one.onnx",), ("a/one.onnx",)),
        (("b/two.onnx",), ("a/two.onnx",)),
    }
    for gone, renamed, old in (
        ({"p": like, "q": other}, {}, "p"),
        ({"p": like, "q": other}, {"n": "q"}, "q"),
        ({"p": like, "q": entry("x", matmul=1)}, {"n": "p"}, "q"),
    ):
        (pairs,) = successions({"n": net}, gone, {}, renamed)
        assert pairs.old == (old,)
    swapped = successions({}, {}, {"p": (other, like), "q": (like, other)}, {})
    assert {(s.new, s.old) for s in swapped} == {(("p",), ("q",)), (("q",), ("p",))}
    assert successions({}, {}, {"p": (other, like)}, {}) == []
    assert successions({"n": net}, {"p": other}, {}, {}) == []


def test_thousands_of_moved_models_are_paired_at_once() -> None:
    gone = {f"a/{i}.onnx": entry(f"{i:016}", conv3x3=9) for i in range(3000)}
    new = {f"b/{i}.onnx": entry(f"{i + 1500:016}", conv3x3=9) for i in range(3000)}
    pairs = successions(new, gone, {}, {})
    contents = [s for s in pairs if new[s.new[0]].digest == gone[s.old[0]].digest]
    assert len(contents) == 1500


def test_models_together_have_the_sum_and_the_largest_peak() -> None:
    def of(n: float) -> Entry:
        time = Figure(n, low=n - 0.5, high=n + 0.5)
        return Entry(
            str(n), {Metric.FLOP: Figure(n), Metric.PEAK_MEMORY: Figure(n), Metric.TIME: time}, ""
        )

    one, two = of(1.0), of(2.0)
    both = together([one, two]).figures
    assert both[Metric.FLOP].value == 3
    assert both[Metric.PEAK_MEMORY].value == 2
    assert (both[Metric.TIME].low, both[Metric.TIME].high) == (2, 4)
