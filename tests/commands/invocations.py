"""How each command is called on something small, for tests of what all commands have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

from perfc import cli

NCU = Path(__file__).parents[1] / "fixtures" / "ncu" / "a100-raw-nvtx-2024.csv"
TRACE = Path(__file__).parents[1] / "golden" / "trace" / "old.json"
BUDGETS = '[[budget]]\nmodel = "*.onnx"\ntarget = "a100"\nflop = { fail = "+5%" }\n'
ROWS = "class,dtype,time_s,m,n,k\n" + "".join(
    f"matmul,bf16,{t},{n},{n},{n}\n" for t, n in ((2e-5, 1024), (1e-4, 2048), (6e-4, 4096))
)
CALLS: Mapping[str, str] = {
    "adapt": "--target a100 --from rows.csv",
    "analyze": "model.onnx",
    "calibrate": "--device fake --quick",
    "check": "",
    "diff": "model.onnx model.onnx --to n=8",
    "diffusion": "pixart-sigma-xl-2-1024 -t h100",
    "eval fusion": "model.onnx --oracle ort",
    "eval graph": "--graphs .",
    "eval op": "--data .",
    "eval batches": "--data .",
    "eval serving": "--data .",
    "eval training": "--data .",
    "eval trees": "--data .",
    "explain": "model.onnx relu",
    "fit": "model.onnx -t a100 --batch 4",
    "dev ir": "model.onnx",
    "lint": "model.onnx",
    "llm search": "llama-3.1-8b -t l4 --dtype f8 --isl 2048 --osl 8",
    "llm serve": "llama-3.1-8b -t h100 --isl 64 --osl 8",
    "mig": "model.onnx -t a100",
    "measure": "model.onnx --target a100 --repeat 1 --min-time 0",
    "dev ops": "",
    "dev opt": "model.onnx --passes shapes",
    "plan": "gpt2 --gpus 2 -t dgx-a100 --seq 64 --global-batch 2 --micro-batch 1",
    "dev reduce": "model.onnx --node relu",
    "roofline": "a100 --model model.onnx",
    "dev schema": "",
    "sweep": "model.onnx --dim n=1:4",
    "compare": "model.onnx -t a100,t4",
    "op matmul": "--m 4 --n 4 --k 4",
    "op conv": "--channels 4 --filters 4 --height 4 --width 4",
    "op attention": "--heads 2 --seq 8",
    "op softmax": "--rows 4 --columns 4",
    "op norm": "--rows 4 --columns 4",
    "op elementwise": "--elements 64",
    "op experts": "--tokens 8 --hidden 64 --inner 64 --experts 4 --chosen 2",
    "op collective": "--bytes 64MiB --ranks 8 -t h100",
    "targets list": "",
    "trace": "trace.json",
    "targets show": "a100",
}
"""Arguments by command, in a folder that ``prepare`` has filled."""


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command that is no group, by the words that call it."""

    def inside(group: click.Group, words: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
        context = click.Context(group)
        for name in group.list_commands(context):
            result = group.get_command(context, name)
            assert result is not None
            if isinstance(result, click.Group):
                yield from inside(result, (*words, name))
            else:
                yield " ".join((*words, name)), result

    return inside(cli.cli, ())


def write_model(path: Path) -> None:
    """Write a model of four nodes."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 64])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 32])
    weight = numpy_helper.from_array(np.ones((64, 32), np.float32), "w")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="product"),
        helper.make_node("Relu", ["h"], ["r"], name="relu"),
        helper.make_node("Transpose", ["r"], ["t"], name="there", perm=[1, 0]),
        helper.make_node("Transpose", ["t"], ["y"], name="back", perm=[1, 0]),
    ]
    graph = helper.make_graph(nodes, "g", [x], [y], [weight])
    opsets = [helper.make_opsetid("", 18)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)


def prepare(folder: Path) -> None:
    """Write what the calls read into the working folder."""
    for name, content in prepared().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@cache
def prepared() -> Mapping[str, bytes]:
    """What the calls read, made once: two of the commands run for it."""
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.chdir(name)
        write(Path(name))
        files = (path for path in Path(name).rglob("*") if path.is_file())
        return {str(path.relative_to(name)): path.read_bytes() for path in files}


def write(folder: Path) -> None:
    """Write the inputs, and run the commands whose output is an input of others."""
    write_model(folder / "model.onnx")
    (folder / "perfc.toml").write_text(BUDGETS)
    (folder / "rows.csv").write_text(ROWS)
    (folder / "report.csv").write_bytes(NCU.read_bytes())
    (folder / "trace.json").write_bytes(TRACE.read_bytes())
    assert cli.run(["check", "--write-baseline", "--config", str(folder / "perfc.toml")]) == 0
    assert cli.run(["check", "--output-format", "json", "-o", "check.json"]) == 0
