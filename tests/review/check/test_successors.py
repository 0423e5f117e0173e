"""A model that takes the place of another keeps its budgets, whatever its name is; commits that
change nothing stay silent."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from perfc.review.check.lock.baseline import Entry
from perfc.review.check.lock.successors import successions, together
from perfc.review.diff.figures import Figure, Metric

from .projects import said

BUDGET = """\
[[budget]]
model = ["models/*.onnx", "models/*.onnx.gz", "nets/**/*.onnx"]
target = "a100"
flop = { warn = "+0%", fail = "+5%" }
parameters = { warn = "+0%", fail = "+5%" }
peak_memory = { warn = "+0%", fail = "+5%" }
time = { warn = "+0%", fail = "+5%" }
"""


def network(width: int = 32, depth: int = 3, seed: int = 0, prefix: str = "") -> onnx.ModelProto:
    """Return convolutions of a width and a classifier, with weights."""
    rng = np.random.default_rng(seed)
    p, nodes, weights, last, channels = prefix, [], [], "x", 3
    for i in range(depth):
        shape = (width, channels, 3, 3)
        weights.append(numpy_helper.from_array(rng.random(shape, np.float32), f"{p}w{i}"))
        nodes.append(
            helper.make_node("Conv", [last, f"{p}w{i}"], [f"{p}c{i}"], f"{p}conv{i}", pads=[1] * 4)
        )
        nodes.append(helper.make_node("Relu", [f"{p}c{i}"], [f"{p}r{i}"], f"{p}relu{i}"))
        last, channels = f"{p}r{i}", width
    weights.append(numpy_helper.from_array(rng.random((width, 10), np.float32), f"{p}fc"))
    nodes += [
        helper.make_node("GlobalAveragePool", [last], [f"{p}g"], f"{p}pool"),
        helper.make_node("Flatten", [f"{p}g"], [f"{p}f"], f"{p}flatten"),
        helper.make_node("MatMul", [f"{p}f", f"{p}fc"], ["y"], f"{p}head"),
    ]
    return whole(nodes, weights, [8, 3, 64, 64], [8, 10])


def whole(
    nodes: list[onnx.NodeProto], weights: list[TensorProto], x: list[int], y: list[int]
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, x)],
        [helper.make_tensor_value_info("y", 1, y)],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def dense(width: int) -> onnx.ModelProto:
    """Return three products and nothing else."""
    weights = [
        numpy_helper.from_array(np.ones((width, width), np.float32), f"w{i}") for i in range(3)
    ]
    nodes = [
        helper.make_node("MatMul", [f"a{i}" if i else "x", f"w{i}"], [f"a{i + 1}"])
        for i in range(2)
    ]
    nodes.append(helper.make_node("MatMul", ["a2", "w2"], ["y"]))
    return whole(nodes, weights, [8, width], [8, width])


def put(root: Path, name: str, model: onnx.ModelProto) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    content = model.SerializeToString()
    path.write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Path:
    """Return a committed project with a network and another that stays."""
    (tmp_path / "perfc.toml").write_text(BUDGET)
    (tmp_path / ".gitignore").write_text(".perfc_cache\n")
    put(tmp_path, "models/a.onnx", network())
    put(tmp_path, "models/stays.onnx", dense(64))
    monkeypatch.chdir(tmp_path)
    assert said(capsys, "baseline", "write")[0] == 0
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "one")
    return tmp_path


PLACES = {
    "renamed": "models/b.onnx",
    "case": "models/A.onnx",
    "moved": "nets/deep/a.onnx",
    "extension": "models/a.onnx.gz",
    "out of the budgets": "other/a.onnx",
}


@pytest.mark.parametrize("is_hook", [False, True], ids=["all", "hook"])
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_budgets_hold_for_a_model_in_another_place(
    project: Path, capsys: pytest.CaptureFixture[str], place: str, is_hook: bool
) -> None:
    git(project, "rm", "-q", "models/a.onnx")
    put(project, place, network(48, seed=1))
    git(project, "add", "-A")
    # pre-commit leaves out what a commit deletes
    code, out, err = said(capsys, "check", *([place] if is_hook else []))
    assert (code, err) == (1, ""), out
    step = f"perfc baseline update {place}"
    if place.startswith("other"):
        step = "no budget is about it: add it to perfc.toml"
    assert f"{place}: in place of models/a.onnx ({step})" in " ".join(out.split())
    assert "new" not in out.replace("new one", "")
    assert "removed" not in out
    assert "FAIL" in out


def test_no_cache_is_none_for_models_out_of_the_budgets_too(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(project, "rm", "-q", "models/a.onnx")
    put(project, "other/a.onnx", network(48, seed=1))
    git(project, "add", "-A")
    cached = sorted((project / ".perfc_cache").iterdir())
    assert said(capsys, "check", "--no-cache")[0] == 1
    assert sorted((project / ".perfc_cache").iterdir()) == cached


@pytest.mark.parametrize("is_hook", [False, True], ids=["all", "hook"])
def test_a_model_that_moves_to_another_project_keeps_its_budget(
    project: Path, capsys: pytest.CaptureFixture[str], is_hook: bool
) -> None:
    for name in ("one", "two"):
        (project / name).mkdir()
        (project / name / "perfc.toml").write_text(BUDGET)
        put(project, f"{name}/models/stays.onnx", dense(64))
    put(project, "one/models/a.onnx", network())
    (project / "perfc.toml").unlink()
    (project / "perfc.lock").unlink()
    assert said(capsys, "baseline", "write")[0] == 0
    git(project, "add", "-A")
    git(project, "commit", "-qm", "two")
    git(project, "mv", "one/models/a.onnx", "two/models/b.onnx")
    files = ["two/models/b.onnx"] if is_hook else []
    code, out, _ = said(capsys, "check", "--strict", *files)
    assert (code, "in place of one/models/a.onnx" in " ".join(out.split())) == (0, True), out
    put(project, "two/models/b.onnx", network(36))
    code, out, _ = said(capsys, "check", *files)
    assert (code, "FAIL" in out) == (1, True), out


def test_a_rename_is_compared_kernel_by_kernel_and_can_be_accepted(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(project, "mv", "models/a.onnx", "models/b.onnx")
    put(project, "models/b.onnx", network(48))
    git(project, "add", "-A")
    code, out, _ = said(capsys, "check", "--output-format", "json")
    row = next(r for r in json.loads(out)["results"] if r["model"] == "models/b.onnx")
    assert (code, row["standing"], row["outcome"]) == (1, "changed", "fail")
    assert "conv" in row["why"]
    assert said(capsys, "baseline", "update", "models/b.onnx")[0] == 0
    assert said(capsys, "check")[:2] == (0, said(capsys, "check")[1])
    text = (project / "perfc.lock").read_text()
    assert ("models/a.onnx" in text, "models/b.onnx" in text) == (False, True)
    assert "removed" not in said(capsys, "check")[1]


def test_a_rename_is_found_in_ci_where_the_parent_is_missing(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    git(project, "rm", "-q", "models/a.onnx")
    put(project, "models/b.onnx", network(48))
    git(project, "add", "-A")
    git(project, "commit", "-qm", "two")
    assert said(capsys, "check")[0] == 1
    assert said(capsys, "check", "--against", "HEAD~1")[0] == 1
    shallow = tmp_path_factory.mktemp("ci")
    git(shallow, "clone", "-q", "--depth=1", f"file://{project}", "copy")
    monkeypatch.chdir(shallow / "copy")
    code, out, _ = said(capsys, "check")
    assert (code, "FAIL" in out) == (1, True)


def test_a_model_under_the_name_of_a_larger_one_keeps_its_own_budget(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(project, "models/stays.onnx", network(40, depth=16))
    assert said(capsys, "baseline", "write")[0] == 0
    git(project, "commit", "-qam", "two")
    (project / "models/a.onnx").rename(project / "models/stays.onnx")
    code, out, _ = said(capsys, "check")
    assert (code, "in place of models/a.onnx" in " ".join(out.split())) == (0, True)
    put(project, "models/stays.onnx", network(36))
    for files in ([], ["models/stays.onnx"]):
        code, out, _ = said(capsys, "check", *files)
        assert (code, "FAIL" in out) == (1, True), out


def test_another_model_and_a_removed_one_are_not_compared(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(project, "rm", "-q", "models/a.onnx")
    put(project, "models/b.onnx", dense(512))
    git(project, "add", "-A")
    code, out, _ = said(capsys, "check")
    assert (code, "1 same, 1 new, 1 removed" in out) == (0, True)
    line = "models/b.onnx: new, limits with + are not checked (perfc baseline update models/b.onnx)"
    assert " ".join(out.split()).count(line) == 1


def test_a_file_split_in_two_is_checked_as_their_sum(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def halves(width: int) -> None:
        net, between = network(width), [8, width, 64, 64]
        nodes, weights = list(net.graph.node), list(net.graph.initializer)
        nodes[3].output[0] = "y"
        put(project, "models/trunk.onnx", whole(nodes[:4], weights[:2], [8, 3, 64, 64], between))
        nodes[4].input[0] = "x"
        put(project, "models/head.onnx", whole(nodes[4:], weights[2:], between, [8, 10]))

    (project / "models/a.onnx").unlink()
    halves(32)
    code, out, _ = said(capsys, "check")
    assert (code, "FAIL" in out, "removed" in out) == (0, False, False), out
    assert "in place of models/a.onnx" in " ".join(out.split())
    halves(40)
    code, out, _ = said(capsys, "check")
    assert (code, "FAIL" in out) == (1, True)
    assert "flop" in out
    git(project, "checkout", "-q", "models/a.onnx")
    (project / "models/head.onnx").rename(project / "models/a.onnx")
    code, out, _ = said(capsys, "check")
    assert (code, "FAIL" in out) == (1, True), "one part has the old name"


@pytest.mark.parametrize(
    "path",
    [
        "./models/a.onnx",
        "models//a.onnx",
        "models/../models/a.onnx",
        "models\\\\a.onnx",
        "Models/A.onnx",
        "zzz.onnx",
    ],
)
@pytest.mark.parametrize("is_hook", [False, True])
def test_a_hand_edited_path_of_the_baseline_frees_no_model(
    project: Path, capsys: pytest.CaptureFixture[str], path: str, is_hook: bool
) -> None:
    text = (project / "perfc.lock").read_text()
    (project / "perfc.lock").write_text(text.replace("models/a.onnx", path))
    files = ["models/a.onnx"] if is_hook else []
    assert said(capsys, "check", *files)[0] == 0
    put(project, "models/a.onnx", network(48))
    code, out, _ = said(capsys, "check", *files)
    assert (code, "FAIL" in out) == (1, True)


@pytest.mark.parametrize("path", ["/etc/a.onnx", "../a.onnx", "models/../../a.onnx"])
def test_a_path_out_of_the_project_is_refused(
    project: Path, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    text = (project / "perfc.lock").read_text()
    (project / "perfc.lock").write_text(text.replace("models/a.onnx", path))
    code, _, err = said(capsys, "check")
    assert (code, "leads out of the project" in err, err.count("\n")) == (2, True, 1)


@pytest.mark.parametrize(
    "line",
    ['target = "h100"', 'target = "a100"\nruntime = "tensorrt"', 'target = "a100"\ndtype = "f16"'],
)
def test_a_changed_setting_is_compared_on_the_new_one(
    project: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    text = BUDGET.replace('target = "a100"', line)
    (project / "perfc.toml").write_text(text)
    assert said(capsys, "check")[0] == 0
    put(project, "models/a.onnx", network(48))
    git(project, "commit", "-qam", "two")
    code, out, _ = said(capsys, "check")
    assert (code, "FAIL" in out) == (1, True)
    assert "another setting than in the baseline" in " ".join(out.split())


def test_a_baseline_of_an_older_perfc_is_paired_by_git(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (project / "perfc.lock").read_text().split("[model.products]\n")
    text = lines[0] + "".join(part.partition("\n\n")[2] for part in lines[1:])
    (project / "perfc.lock").write_text(text)
    assert "products" not in text
    git(project, "commit", "-qam", "two")
    git(project, "rm", "-q", "models/a.onnx")
    put(project, "models/b.onnx", network(48, seed=1))
    code, out, _ = said(capsys, "check")
    assert (code, "FAIL" in out) == (1, True)


Change = Callable[[onnx.ModelProto], onnx.ModelProto]


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
