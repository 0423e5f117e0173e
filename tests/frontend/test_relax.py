"""Relax modules of TVM become graphs of the IR; TVM is not needed."""

from __future__ import annotations

import copy
import json
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import perfc
from perfc.errors import MissingExtraError, ModelError
from perfc.frontend import is_configuration, load
from perfc.frontend.formats import format_of
from perfc.frontend.pytorch.named import named_module
from perfc.frontend.reading.module_name import NamedModule
from perfc.ir import Module

from .damaged import check_damaged

FIXTURES = Path(__file__).parents[1] / "fixtures"
VERSIONS = [FIXTURES / f"relax-0.{version}.json" for version in (25, 27)]
"""One network saved by two versions, which write numbers and types differently."""
Tree = dict[str, Any]


def nodes(tree: Tree, kind: str) -> list[Tree]:
    return [n["data"] for n in tree["nodes"] if n["type"].endswith(f".{kind}")]


@pytest.fixture
def tree() -> Tree:
    made: Tree = json.loads(VERSIONS[1].read_text(encoding="utf-8"))
    return made


@pytest.mark.parametrize("path", VERSIONS, ids=lambda p: p.stem)
def test_a_network_has_its_operators_and_symbols(path: Path) -> None:
    module = load(path)
    assert [n.op.mnemonic for n in module.graph.nodes] == [
        "conv",
        "relu",
        "reduce_mean",
        "matmul",
        "add",
        "reshape",
        "split",
        "concat",
        "softmax",
        "opaque",
    ]
    assert [str(v.type) for v in module.graph.inputs] == ["f32[n, 3, 8, 8]"]
    # num_input divides the parameters of the function
    stored = [v.name for v in module.graph.weights if v.weight and v.weight.is_parameter]
    assert stored == ["weight", "head"]
    assert module.graph.nodes[-1].loc.op_type == "my_kernel"
    assert module.graph.nodes[0].name == "conv2d_lv"
    report = perfc.analyze(path, "a100", batch=2)
    assert str(report.cost.work.mac) == f"{16 * 4 * 4 * 27 + 160}*n"
    assert str(module.graph.nodes[-1].results[0].type) == "f32[2*n, 5]"


def test_json_of_other_programs_is_not_a_module(tmp_path: Path, tree: Tree) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "llama", "root_index": 3}')
    assert is_configuration(path)
    assert format_of(path).__name__.endswith(".config")
    path.write_text(json.dumps(tree, indent=1))
    assert not is_configuration(path)
    assert format_of(path).__name__.endswith(".relax")


def digest_of_bias(module: Module) -> str:
    """Return the digest of the elements of the bias of the network, "" if they are not read."""
    (bias,) = [v for v in module.graph.weights if "constant" in v.name and str(v.type)[0] == "f"]
    assert bias.weight is not None
    return bias.weight.digest


def test_weights_are_not_read(tmp_path: Path, tree: Tree) -> None:
    written = next(n for n in tree["nodes"] if n["type"] == "ffi.Tensor")
    assert digest_of_bias(load(json.dumps(tree).encode()))
    written["data"] = "AbC/" * 20_000_000
    path = tmp_path / "net.json"
    path.write_text(json.dumps(tree).replace("/", "\\/"))
    assert not digest_of_bias(load(path))


def functions_of(tree: Tree) -> None:
    """Let the network be a second function that ``main`` calls."""
    every = tree["nodes"]
    module = every[tree["root_index"]]["data"]
    variable, function = every[module["functions"]]["data"]
    inner = copy.deepcopy(every[function]["data"])

    def add(kind: str, data: Any) -> int:
        every.append({"type": kind, "data": data})
        return len(every) - 1

    called = add("ir.GlobalVar", {**every[variable]["data"], "name_hint": add("ffi.String", "f")})
    inner_at = add("relax.expr.Function", inner)
    given = add("ffi.Array", every[inner["params"]]["data"])
    call = add(
        "ir.Call",
        {"span": 0, "ty": inner["ret_ty"], "op": called, "args": given, "attrs": 0, "ty_args": 0},
    )
    every[function]["data"] = {**inner, "body": call}
    every[module["functions"]]["data"] = [variable, function, called, inner_at]


def test_a_function_is_put_in_place_of_its_call(tree: Tree) -> None:
    functions_of(tree)
    assert len(load(json.dumps(tree).encode()).graph.nodes) == 10


def endless(tree: Tree) -> None:
    body = nodes(tree, "Function")[0]["body"]
    tree["nodes"][body]["data"]["body"] = body


def recursive(tree: Tree) -> None:
    every, function = tree["nodes"], nodes(tree, "Function")[0]
    variable = every[nodes(tree, "IRModule")[0]["functions"]]["data"][0]
    every.append({"type": "ir.Call", "data": {"op": variable, "args": function["params"]}})
    every[function["body"]]["data"]["body"] = len(every) - 1


def many_types(tree: Tree) -> None:
    at = len(tree["nodes"])
    for step in range(40):
        pair = [at + 2 * step + 1 - 2] * 2 if step else [nodes(tree, "Function")[0]["ret_ty"]] * 2
        tree["nodes"] += [
            {"type": "ffi.Array", "data": pair},
            {"type": "ir.TupleType", "data": {"fields": at + 2 * step}},
        ]
    nodes(tree, "Function")[0]["ret_ty"] = len(tree["nodes"]) - 1


def many_axes(tree: Tree) -> None:
    for type_ in nodes(tree, "TensorType"):
        type_.update(ndim=10**9, shape=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.update(nodes={}), "without nodes"),
        (lambda t: t.update(root_index=10**9), "without nodes"),
        (
            lambda t: t.update(nodes=[[[[]]] * 3], root_index=0),
            "not a Relax module that perfc reads",
        ),
        (lambda t: t["nodes"][t["root_index"]]["data"].update(functions=0), "no function of Relax"),
        (endless, "nested too deep|not a Relax module"),
        (many_types, "refer to others more than"),
        (many_axes, "a tensor of 1000000000 axes"),
        (recursive, "calls nested deeper"),
    ],
)
def test_hostile_modules_are_one_line(
    tree: Tree, change: Callable[[Tree], None], message: str
) -> None:
    change(tree)
    with pytest.raises(ModelError, match=message) as raised:
        load(json.dumps(tree).encode())
    assert "\n" not in str(raised.value)


def test_a_module_of_an_old_version_names_what_to_do() -> None:
    document = b'{\n  "root": 1,\n  "nodes": [{"type_key": ""}, {"type_key": "IRModule"}]}'
    with pytest.raises(ModelError, match=r"save it with tvm.ir.save_json of TVM 0.22 or newer"):
        load(document)


def test_an_operator_that_does_not_fit_becomes_an_unknown_one(tree: Tree) -> None:
    nodes(tree, "SoftmaxAttrs")[0]["axis"] = "last"
    node = load(json.dumps(tree).encode()).graph.nodes[8]
    assert (node.op.mnemonic, node.loc.op_type) == ("opaque", "softmax")


def test_a_fault_of_the_library_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def process(_command: list[str], **_: Any) -> SimpleNamespace:
        return SimpleNamespace(returncode=-11, stderr="a stack\n0xffff")

    monkeypatch.setattr(subprocess, "run", process)
    with pytest.raises(ModelError, match=r"net.py:module: its process ended: Segmentation fault"):
        named_module(NamedModule("net.py:module"), {})


def test_a_module_without_tvm_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def process(command: list[str], **_: Any) -> SimpleNamespace:
        Path(command[-1]).write_text('{"missing": "tvm"}')
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(subprocess, "run", process)
    # without TVM-FFI of a later version, with which TVM 0.27 saves nothing
    message = r"a module needs tvm \(pip install 'apache-tvm>=.*' 'apache-tvm-ffi>=.*<0.1.15'\)"
    with pytest.raises(MissingExtraError, match=message):
        named_module(NamedModule("net.py:module"), {})


def changed() -> Iterator[bytes]:
    draw = random.Random(7)
    text = VERSIONS[1].read_bytes()
    yield text
    for _ in range(60):
        data = bytearray(text)
        for _ in range(draw.choice((1, 1, 4))):
            at = draw.randrange(30, len(data))
            data[at] = draw.choice(b'0123456789,"x') if draw.random() < 0.8 else 0
        yield bytes(data)


def test_damaged_documents_end_in_one_line() -> None:
    check_damaged(changed(), lambda data: data)


def test_a_module_of_tvm_is_named_like_one_of_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    def process(command: list[str], **_: Any) -> SimpleNamespace:
        Path(command[-2]).write_bytes(VERSIONS[1].read_bytes())
        Path(command[-1]).write_text('{"is_relax": true}')
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(subprocess, "run", process)
    module = named_module(NamedModule("net.py:module"), {})
    assert (module.name, len(module.graph.nodes)) == ("module", 10)
