"""Projects with budgets, as the tests of `perfc check` need them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from perfc.cli import run as perfc

_SPEC = importlib.util.spec_from_file_location(
    "diff_models", Path(__file__).parents[1] / "diff" / "models.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
models = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(models)

BUDGETS = """\
[[budget]]
model = "models/*.onnx"
target = "a100"
dims = { n = 4 }
flop = { warn = "+0%", fail = "+20%" }
peak_memory = { max = "400 MiB" }
"""


def put(root: Path, name: str, channels: int, batch: str = "n") -> None:
    model = models.convolutional(channels)
    for v in (*model.graph.input, *model.graph.output):
        v.type.tensor_type.shape.dim[0].dim_param = batch
    (root / "models" / f"{name}.onnx").write_bytes(model.SerializeToString())


def said(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = perfc(list(args))
    out = capsys.readouterr()
    return code, out.out, out.err
