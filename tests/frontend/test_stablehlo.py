"""StableHLO programs become graphs of the IR; JAX only parses them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import perfc
from perfc.cli import run
from perfc.errors import MissingExtraError, ModelError
from perfc.frontend import load
from perfc.frontend.formats import ReadOptions
from perfc.frontend.lowering import lowered
from perfc.frontend.pytorch.named import named_module
from perfc.frontend.reading.module_name import NamedModule
from perfc.frontend.stablehlo.program import translated
from perfc.ir.graph import Module, walk

DOT = "#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>"


def op(name: str, given: Sequence[int], number: int, type_: str, **attrs: Any) -> dict[str, Any]:
    regions = attrs.pop("regions", [])
    return {
        "name": name,
        "in": list(given),
        "out": [[number, type_]],
        "attrs": attrs,
        "loc": f'loc("jit(f)/net/{name.partition(".")[2]}")',
        "regions": regions,
    }


def end(*given: int) -> dict[str, Any]:
    return {
        "name": "func.return",
        "in": list(given),
        "out": [],
        "attrs": {},
        "loc": "",
        "regions": [],
    }


def block(types: Sequence[str], *ops: dict[str, Any]) -> dict[str, Any]:
    return {"args": [[i, t, f'loc("a{i}")'] for i, t in enumerate(types)], "ops": list(ops)}


def network() -> dict[str, Any]:
    """Return a convolution with channels last, a bias, a function and a product."""
    stored = ["tensor<3x3x3x16xf32>", "tensor<16xf32>", "tensor<16x10xf32>"] + ["tensor<1xf32>"] * 2
    relu = {
        "args": [[50, "tensor<?x4x4x16xf32>", "loc(unknown)"]],
        "ops": [
            op("stablehlo.constant", (), 51, "tensor<4x4x16xf32>", value=[0.0] * 256),
            op(
                "stablehlo.broadcast_in_dim",
                (51,),
                52,
                "tensor<?x4x4x16xf32>",
                broadcast_dimensions=[1, 2, 3],
            ),
            op("stablehlo.maximum", (50, 52), 53, "tensor<?x4x4x16xf32>"),
            end(53),
        ],
    }
    add = block([], op("stablehlo.add", (), 91, "tensor<f32>"))
    main = block(
        [*stored, "tensor<?x8x8x3xf32>"],
        op(
            "stablehlo.convolution",
            (5, 0),
            6,
            "tensor<?x4x4x16xf32>",
            padding=[0, 1, 0, 1],
            window_strides=[2, 2],
            feature_group_count=1,
            dimension_numbers="#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>",
        ),
        op("stablehlo.broadcast_in_dim", (1,), 7, "tensor<?x4x4x16xf32>", broadcast_dimensions=[3]),
        op("stablehlo.add", (6, 7), 8, "tensor<?x4x4x16xf32>"),
        op("func.call", (8,), 9, "tensor<?x4x4x16xf32>", callee="relu"),
        op("func.call", (9,), 10, "tensor<?x4x4x16xf32>", callee="relu"),
        op("stablehlo.constant", (), 11, "tensor<f32>", value=[0.0]),
        op("stablehlo.reduce", (10, 11), 12, "tensor<?x16xf32>", dimensions=[1, 2], regions=[add]),
        op("stablehlo.dot_general", (12, 2), 13, "tensor<?x10xf32>", dot_dimension_numbers=DOT),
        op("stablehlo.custom_call", (13,), 14, "tensor<?x10xf32>", call_target_name="shiny"),
        end(14),
    )
    return {"main": main, "relu": relu}


def module_of(functions: dict[str, Any]) -> Module:
    return lowered(translated(functions), ReadOptions())


def test_lines_are_of_the_call_and_of_what_it_runs() -> None:
    """A function that is compiled once has the lines of its first call; each call has its own."""
    functions = network()
    outer = 'at callsite("<module>"("run.py":9:1 to :7)'
    functions["relu"]["ops"][2]["loc"] = (
        'loc("jit(relu)/max"(callsite("relu"("act.py":3:5 to :9) '
        f'at callsite("f"("net.py":4:2 to :8) {outer}))))'
    )
    calls = [o for o in functions["main"]["ops"] if o["name"] == "func.call"]
    for line, call in enumerate(calls, 4):
        call["loc"] = f'loc("jit(f)/relu"(callsite("f"("net.py":{line}:2 to :8) {outer})))'
    nodes = [n for n in walk(module_of(functions).graph) if n.op.mnemonic == "max"]
    assert [n.loc.frames for n in nodes] == [
        ("run.py:9", "net.py:4", "act.py:3"),
        ("run.py:9", "net.py:5", "act.py:3"),
    ]


def test_channels_last_need_one_transposition_of_the_map() -> None:
    module = module_of(network())
    names = [n.op.mnemonic for n in module.graph.nodes]
    # of the image and of the filters; a broadcast is left to the operator that reads it
    assert names.count("transpose") == 2
    assert "expand" not in names
    assert [n for n in names if n in ("conv", "max", "reduce_sum", "matmul")] == [
        "conv",
        "max",
        "max",
        "reduce_sum",
        "matmul",
    ]
    assert module.graph.nodes[-1].loc.op_type == "shiny"
    assert str(module.graph.inputs[0].type) == "f32[batch, 8, 8, 3]"
    assert sum(v.weight is not None and v.weight.is_parameter for v in module.graph.weights) == 5


def test_operators_have_the_paths_of_the_program() -> None:
    names = {n.name for n in module_of(network()).graph.nodes}
    assert "net/convolution" in names
    assert "net/call/net/maximum" in names


def test_calls_without_end_are_an_error() -> None:
    functions = network()
    functions["relu"]["ops"].insert(0, op("func.call", (50,), 54, "tensor<1xf32>", callee="relu"))
    with pytest.raises(ModelError, match="calls nested deeper"):
        translated(functions)


def test_an_operation_that_does_not_fit_becomes_an_unknown_one() -> None:
    functions = network()
    functions["main"]["ops"][7]["attrs"]["dot_dimension_numbers"] = (
        "lhs_contracting_dimensions = [7]"
    )
    types = [n.loc.op_type for n in module_of(functions).graph.nodes]
    assert "dot_general" in types


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        ({"missing": "jax"}, MissingExtraError, "needs jax to parse it .pip install jax"),
        ({"error": "JAX does not parse it"}, ModelError, "JAX does not parse it"),
        ({"functions": {}}, ModelError, "not a program of StableHLO"),
        ({"functions": {"main": {"args": [[0, 1, 2]], "ops": []}}}, ModelError, "not a program"),
        (None, ModelError, "its process ended"),
    ],
)
def test_failures_of_the_process_are_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: dict[str, Any] | None,
    kind: type,
    message: str,
) -> None:
    def process(command: list[str], **_: Any) -> SimpleNamespace:
        if answer is not None:
            Path(command[-1]).write_text(json.dumps(answer))
        return SimpleNamespace(returncode=9, stderr="")

    monkeypatch.setattr(subprocess, "run", process)
    path = tmp_path / "net.mlir"
    path.write_text("module {}")
    with pytest.raises(kind, match=message) as raised:
        load(path)
    assert "\n" not in str(raised.value)


def test_a_program_of_jax_is_parsed(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    shape = jax.ShapeDtypeStruct((4, 8), "float32")
    exported = jax.export.export(jax.jit(lambda x, w: jax.nn.softmax(x @ w.T)))(shape, shape)
    path = tmp_path / "net.mlir"
    path.write_text(exported.mlir_module())
    assert "matmul" in [n.op.mnemonic for n in load(path).graph.nodes]


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        ({"functions": network(), "batch": 6}, None, ""),
        ({"missing": "jax"}, MissingExtraError, "^--jax needs jax .pip install jax"),
        ({"functions": {}}, ModelError, "net.py:f: not a program of StableHLO"),
    ],
)
def test_a_function_is_named_like_a_module(
    monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any], kind: type | None, message: str
) -> None:
    workers: list[str] = []

    def process(command: list[str], **_: Any) -> SimpleNamespace:
        workers.append(command[2])
        Path(command[-1]).write_text(json.dumps(answer))
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(subprocess, "run", process)
    function = NamedModule("net.py:f", ("6x8x8x3",), is_jax=True)
    if kind is None:
        module = named_module(function, {})
        assert (module.name, [s.default for s in module.symbols][:1]) == ("f", [6])
    else:
        with pytest.raises(kind, match=message):
            named_module(function, {})
    assert workers == ["perfc.frontend.stablehlo.export"]


FUNCTIONS = """
import jax
import jax.numpy as jnp

STORED = jnp.ones((16, 4), "bfloat16")

def closed(x, scale=1.0):
    return scale * (x @ STORED)

def given(params, x):
    return x @ params["w"] + params["b"]

def example_inputs():
    return {"w": jnp.ones((16, 4)), "b": jnp.ones(4)}, jax.ShapeDtypeStruct((3, 16), "float32")
"""


@pytest.mark.parametrize(
    ("name", "inputs", "kwargs", "stored"),
    [("closed", ("3x16:bf16",), '{"scale": 2.0}', {16 * 4}), ("given", (), "", {16 * 4, 4})],
)
def test_a_function_of_jax_has_a_symbolic_batch_and_its_parameters(
    tmp_path: Path, name: str, inputs: tuple[str, ...], kwargs: str, stored: set[int]
) -> None:
    pytest.importorskip("jax")
    (tmp_path / "net.py").write_text(FUNCTIONS)
    function = NamedModule(f"net.py:{name}", inputs, kwargs, str(tmp_path), is_jax=True)
    module = named_module(function, {})
    assert [str(v.type).partition("[")[2] for v in module.graph.inputs] == ["batch, 16]"]
    assert {s.name: s.default for s in module.symbols}["batch"] == 3
    assert {v.type.numel for v in module.graph.weights if v.weight.is_parameter} == stored
    assert "matmul" in [n.op.mnemonic for n in module.graph.nodes]


X, INT, BOOL = "tensor<4x16xf32>", "tensor<i32>", "tensor<i1>"
MAP = "tensor<2x8x8x4xf32>"


def several(
    name: str, given: Sequence[int], results: dict[int, str], *regions: Any
) -> dict[str, Any]:
    made = op(name, given, 0, "", regions=list(regions))
    return {**made, "out": [[number, type_] for number, type_ in results.items()]}


def region(arguments: dict[int, str], *ops: dict[str, Any]) -> dict[str, Any]:
    listed = [[number, type_, "loc(unknown)"] for number, type_ in arguments.items()]
    return {"args": listed, "ops": list(ops)}


def counted(start: int, limit: int) -> dict[str, Any]:
    """Return a loop over the rows of a tensor, as ``jax.lax.scan`` writes it."""
    rows, weight, made = "tensor<6x4x16xf32>", "tensor<16x16xf32>", "tensor<6x4x16xf32>"
    states = [rows, weight, INT, X, made]
    condition = region(
        dict(zip(range(20, 25), states, strict=True)),
        op("stablehlo.compare", (22, 3), 25, BOOL, comparison_direction="LT"),
        end(25),
    )
    body = region(
        dict(zip(range(30, 35), states, strict=True)),
        op(
            "stablehlo.dynamic_slice",
            (30, 32, 5, 5),
            35,
            "tensor<1x4x16xf32>",
            slice_sizes=[1, 4, 16],
        ),
        op("stablehlo.reshape", (35,), 36, X),
        op("stablehlo.add", (33, 36), 37, X),
        op("stablehlo.dot_general", (37, 31), 38, X, dot_dimension_numbers=DOT),
        op("stablehlo.reshape", (38,), 39, "tensor<1x4x16xf32>"),
        op("stablehlo.dynamic_update_slice", (34, 39, 32, 5, 5), 40, made),
        op("stablehlo.add", (32, 4), 41, INT),
        end(30, 31, 41, 38, 40),
    )
    results = dict(zip(range(10, 15), states, strict=True))
    return {
        "main": block(
            [rows, weight, X],
            op("stablehlo.constant", (), 3, INT, value=[limit]),
            op("stablehlo.constant", (), 4, INT, value=[1]),
            op("stablehlo.constant", (), 5, INT, value=[0]),
            op("stablehlo.constant", (), 6, INT, value=[start]),
            op("stablehlo.constant", (), 7, "tensor<f32>", value=[0.0]),
            op("stablehlo.broadcast_in_dim", (7,), 8, made, broadcast_dimensions=[]),
            several("stablehlo.while", (0, 1, 6, 2, 8), results, condition, body),
            end(13, 14),
        )
    }


def test_a_loop_of_jax_runs_as_often_as_its_counter() -> None:
    module = module_of(counted(2, 6))
    report = perfc.analyze(module, "a100")
    assert (report.cost.work.mac, report.cost.is_bound) == (4 * 4 * 16 * 16, False)
    assert [str(v.type) for v in module.graph.outputs] == ["f32[4, 16]", "f32[6, 4, 16]"]
    (loop,) = (n for n in module.graph.nodes if n.op.mnemonic == "loop")
    # rows and weights stay outside
    assert len(loop.inputs) == 2 + 3


@pytest.mark.parametrize(
    ("name", "type_", "products"), [("case", INT, (2, 1, 3)), ("if", BOOL, (2, 1))]
)
def test_branches_of_jax_count_the_dearest(
    name: str, type_: str, products: tuple[int, ...]
) -> None:
    regions = []
    for at, count in enumerate(products):
        numbers = [1, *range(20 + 10 * at, 20 + 10 * at + count)]
        dots = [
            op("stablehlo.dot_general", (a, 2), b, X, dot_dimension_numbers=DOT)
            for a, b in pairwise(numbers)
        ]
        regions.append(region({}, *dots, end(numbers[-1])))
    main = block(
        [type_, X, "tensor<16x16xf32>"],
        several(f"stablehlo.{name}", (0,), {9: X}, *regions),
        end(9),
    )
    cost = perfc.analyze(module_of({"main": main}), "a100").cost
    assert (cost.work.mac, cost.is_bound) == (max(products) * 4 * 16 * 16, False)


def test_only_names_are_functions_of_jax(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", "net.onnx", "--jax"]) == 2
    assert "--jax needs the name of a function" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("window", "edges"),
    [
        ([1, 2, 3, 1], [0, 0, 0, 1, 1, 1, 0, 0]),
        ([1, 1, 2, 3], [0, 0, 0, 0, 0, 1, 1, 1]),
    ],
    ids=["channels last", "channels first"],
)
def test_windows_are_of_the_axes_of_space(window: list[int], edges: list[int]) -> None:
    reducing = block([], op("stablehlo.maximum", (), 91, "tensor<f32>"))
    given = {"window_dimensions": window, "padding": edges, "regions": [reducing]}
    main = block(
        [MAP],
        op("stablehlo.constant", (), 1, "tensor<f32>", value=[0.0]),
        op("stablehlo.reduce_window", (0, 1), 2, MAP, **given),
        end(2),
    )
    report = perfc.analyze(module_of({"main": main}), "a100")
    (pool,) = (n for n in report.module.graph.nodes if "pool" in n.op.mnemonic)
    assert (pool.op.kernel_shape, pool.results[0].shape) == ((2, 3), pool.inputs[0].shape)
    assert report.cost.work.alu == 2 * 8 * 8 * 4 * (2 * 3 - 1)


def test_a_window_over_channels_is_an_unknown_operator() -> None:
    for window in ([1, 2, 2, 2], [1, 2, 1, 1, 1], [2, 1, 1, 2, 2]):
        type_ = f"tensor<{'x'.join(['4'] * len(window))}xf32>"
        reducing = block([], op("stablehlo.maximum", (), 91, "tensor<f32>"))
        main = block(
            [type_],
            op("stablehlo.constant", (), 1, "tensor<f32>", value=[0.0]),
            op(
                "stablehlo.reduce_window",
                (0, 1),
                2,
                type_,
                window_dimensions=window,
                regions=[reducing],
            ),
            end(2),
        )
        (node,) = module_of({"main": main}).graph.nodes
        assert node.loc.op_type == "reduce_window"
