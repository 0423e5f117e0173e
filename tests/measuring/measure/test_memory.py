"""What a run takes is told before it starts, and what does not fit is not begun."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from perfc.api import typed
from perfc.cli import run
from perfc.errors import ModelError
from perfc.kernels.backends import host
from perfc.measuring.measure.memory import RUNTIME_BYTES, AllocatorBehavior, check_room, need_of
from perfc.review.lint.fixes import proof

pytest.importorskip("onnxruntime")
MIB = 1 << 20
node = helper.make_node


def saved(
    path: Path, nodes: list[onnx.NodeProto], extents: list[int | str], **stored: object
) -> str:
    """A model from x to y."""
    info = helper.make_tensor_value_info
    weights = [numpy_helper.from_array(np.asarray(a), n) for n, a in stored.items()]
    graph = helper.make_graph(nodes, "g", [info("x", 1, extents)], [info("y", 1, None)], weights)
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return str(path)


@pytest.fixture
def wide(tmp_path: Path) -> str:
    """Two transpositions that cancel; 1 MiB for each of its batch."""
    nodes = [
        node("Transpose", ["x"], ["a"], perm=[1, 0], name="t1"),
        node("Transpose", ["a"], ["b"], perm=[1, 0], name="t2"),
        node("Relu", ["b"], ["y"], name="r"),
    ]
    return saved(tmp_path / "wide.onnx", nodes, ["batch", 1 << 18])


def free(monkeypatch: pytest.MonkeyPatch, nbytes: int) -> None:
    monkeypatch.setattr(host, "memory", lambda: (nbytes, nbytes))


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_a_run_takes_what_lives_at_once_inputs_and_weights(wide: str) -> None:
    module = typed(wide)
    result = need_of(module, {"batch": 100}, AllocatorBehavior.RETURNED)
    # x, a, b live while the second transposition runs
    assert result.value_bytes == int(1.4 * 300 * MIB) + 3 * 100 * MIB + 100 * MIB
    assert (result.weight_bytes, result.is_bound) == (0, False)
    on_device = need_of(module, {"batch": 100}, AllocatorBehavior.DEVICE)
    assert on_device.value_bytes == 400 * MIB


@pytest.mark.parametrize("door", ["lint --fix --isolated", "measure", "measure --runtime eager"])
def test_every_door_refuses_what_takes_more_than_half(
    door: str, wide: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if "eager" in door:
        pytest.importorskip("torch")
    command, *options = door.split()
    free(monkeypatch, 2048 * MIB)
    begun = list[str]()
    monkeypatch.setattr(proof, "session", lambda *_: begun.append("proof"))
    monkeypatch.setattr(
        "perfc.measuring.measure.session.execute", lambda *_: begun.append("measure")
    )
    assert run([command, wide, *options, "--dim", "batch=512"]) == 2
    (line,) = lines(capsys)
    assert "wide.onnx: running it takes about " in line
    assert "more than half of the 2.00 GiB that are free" in line
    assert line.endswith("(give smaller sizes, as in --dim batch=1)")
    assert not begun
    assert [p.name for p in Path(wide).parent.iterdir()] == ["wide.onnx"]


@pytest.mark.parametrize(
    "door", [["lint", "--fix", "--isolated", "--select", "PF101"], ["measure", "--min-time", "0"]]
)
def test_what_fits_is_run(door: list[str], wide: str, monkeypatch: pytest.MonkeyPatch) -> None:
    free(monkeypatch, 2048 * MIB)
    command, *options = door
    assert run([command, wide, *options, "--dim", "batch=1"]) == 0


def test_nothing_free_is_not_nobody_knows(wide: str, monkeypatch: pytest.MonkeyPatch) -> None:
    need = need_of(typed(wide), {"batch": 1}, AllocatorBehavior.RETURNED)
    monkeypatch.setattr(host, "memory", lambda: (1 << 34, 0))
    with pytest.raises(ModelError, match="more than half of the 0 B that are free"):
        check_room(need)
    monkeypatch.setattr(host, "memory", lambda: (0, 0))
    assert not check_room(need)


def test_other_extents_that_do_not_fit_are_not_tried(
    wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = typed(wide, {"batch": 8})
    sizes = [need_of(module, {"batch": n}, AllocatorBehavior.RETURNED).nbytes for n in (8, 9)]
    free(monkeypatch, sum(sizes))
    tried = list[int]()
    given = proof.inputs_of

    def recorded(module: object, env: dict[str, int]) -> object:
        tried.append(env["batch"])
        return given(module, env)  # type: ignore[arg-type]

    monkeypatch.setattr(proof, "inputs_of", recorded)
    model = Path(wide).read_bytes()
    assert proof.prove(model, model, module, Path(wide).parent) == proof.RUNS
    assert tried == [8]


def test_constants_that_take_much_on_the_way_are_not_computed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [
        node("Expand", ["one", "shape"], ["e"], name="expand"),
        node("ReduceSum", ["e", "axes"], ["q"], name="sum", keepdims=0),
        node("Add", ["x", "q"], ["y"], name="add"),
    ]
    stored = {"one": np.ones(1, np.float32), "shape": np.array([1 << 22] * 2), "axes": [0, 1]}
    path = saved(tmp_path / "m.onnx", nodes, [4], **stored)
    assert run(["lint", "--fix", "--isolated", "--min-gain", "0", path]) == 2
    assert any("constants: running it takes about 89.6 TiB" in line for line in lines(capsys))


def test_sizes_that_nobody_knows_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = typed(saved(tmp_path / "m.onnx", [node("Strange", ["x"], ["y"], domain="a")], [4]))
    result = need_of(module, {}, AllocatorBehavior.RETURNED)
    assert result.is_bound
    assert (
        check_room(result) == "running it takes at least 300 MiB of memory: not all sizes are "
        "known before it runs"
    )
    free(monkeypatch, 2 * RUNTIME_BYTES - 1)
    with pytest.raises(ModelError, match="takes at least 300 MiB of memory, more than half"):
        check_room(result)


def test_numbers_without_end_are_refused(tmp_path: Path) -> None:
    module = typed(saved(tmp_path / "m.onnx", [node("Relu", ["x"], ["y"])], ["n", "n", "n"]))
    with pytest.raises(ModelError, match=r"takes about \d+ PiB of memory"):
        check_room(need_of(module, {"n": 1 << 40}, AllocatorBehavior.RETURNED))


def test_a_proof_stays_within_what_was_told(tmp_path: Path) -> None:
    nodes = [node("Expand", ["x", "s"], ["a"])]
    nodes += [node("Exp", ["a"], [f"b{i}"]) for i in range(4)]
    nodes += [node("Sum", [f"b{i}" for i in range(4)], ["c"]), node("ReduceMax", ["c"], ["y"])]
    path = saved(tmp_path / "m.onnx", nodes, [1024], s=[1 << 13, 1024])
    script = (
        "import sys; from pathlib import Path; from perfc.api import typed\n"
        "from perfc.review.lint.fixes.proof import prove\n"
        "from perfc.measuring.measure.memory import AllocatorBehavior, need_of\n"
        "from perfc.measuring.measure.worker import memory\n"
        "p = Path(sys.argv[1]); m = typed(str(p)); d = p.read_bytes()\n"
        "before = memory('VmRSS'); prove(d, d, m, p.parent)\n"
        "print(memory('VmHWM') - before, need_of(m, {}, AllocatorBehavior.RETURNED).nbytes)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, path], capture_output=True, text=True, check=True
    )
    taken, told = map(int, done.stdout.split())
    assert 150 * MIB < taken < told < 600 * MIB


def test_nobody_else_makes_sessions() -> None:
    import perfc

    files = Path(perfc.__file__).parent.rglob("*.py")
    makers = {
        p.name
        for p in files
        if "InferenceSession" in (text := p.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr == "InferenceSession"
    }
    assert makers == {"proof.py", "ort_runtime.py"}
