"""PyTorch modules by name, ``package.module:Name``: exported in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfc.errors import MissingExtraError, ModelError
from perfc.ir.record import record

from ..reading.module_name import is_named

if TYPE_CHECKING:
    from perfc.ir.graph import Module

LONGEST_S = 600
"""Maximum seconds of an export."""
HINT = "as in timm:resnet50 or model.py:Net"


@record
class NamedModule:
    """PyTorch module by its name, with its inputs as text.

    Args:
        name: ``package.module:Name`` or ``path.py:Name``.
        inputs: shapes with the batch, as in ``8x3x224x224`` and ``input_ids=8x128:i64``.
        kwargs: JSON object of arguments of the class or function.
    """

    name: str
    inputs: tuple[str, ...] = ()
    kwargs: str = ""


def named_module(model: NamedModule, dims: Mapping[str, int]) -> Module:
    """Return the module of a name.

    Args:
        model: name and inputs.
        dims: sizes by name: ``batch`` and ``seq`` where no input is given.

    Raises:
        ModelError: it cannot be imported, created or exported, or that takes too long.
        MissingExtraError: PyTorch is not installed.
    """
    from .torch_program import module_of

    if not is_named(model.name):
        raise ModelError(f"{model.name} names no PyTorch module", hint=HINT)
    try:
        arguments = json.loads(model.kwargs or "{}")
    except ValueError as error:
        raise ModelError(f"--kwargs is no JSON: {error}", hint='{"width": 64}') from None
    if not isinstance(arguments, dict):
        raise ModelError("--kwargs is no JSON object", hint='{"width": 64}')
    request = {"name": model.name, "inputs": model.inputs, "kwargs": arguments, "dims": {**dims}}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.pt2")
        answer = answered(request, path)
        if "missing" in answer:
            from perfc.common.extras import install_package

            missing = answer["missing"]
            raise MissingExtraError(f"a module needs {missing}", hint=install_package(missing))
        if "error" in answer:
            raise ModelError(answer["error"], hint=answer.get("hint", ""), where=model.name)
        return module_of(path.read_bytes(), model.name.rpartition(":")[2], answer.get("batch"))


def answered(request: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the answer of the process that imports and exports a module.

    Args:
        request: name, inputs, arguments and sizes.
        path: file of the archive to write.

    Raises:
        ModelError: it takes too long, or ends without an answer.
    """
    where, reply = str(request["name"]), path.with_suffix(".json")
    root = str(Path(__file__).resolve().parents[3])
    paths = [p for p in (root, os.environ.get("PYTHONPATH", "")) if p]
    command = [sys.executable, "-m", "perfc.frontend.pytorch.worker", str(path), str(reply)]
    try:
        made = subprocess.run(
            command, input=json.dumps(request), capture_output=True, text=True, timeout=LONGEST_S,
            check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        what = f"PyTorch did not export it in {LONGEST_S} s"
        raise ModelError(what, hint="save it yourself: torch.export.save", where=where) from None
    try:
        answer: dict[str, Any] = json.loads(reply.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        last = (made.stderr.strip() or f"exit code {made.returncode}").splitlines()[-1]
        raise ModelError(f"its process ended: {last[:300]}", where=where) from None
    return answer
