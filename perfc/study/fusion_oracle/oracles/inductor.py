"""TorchInductor: the groups of its scheduler on the CPU, for PyTorch modules by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from perfc.api import typed
from perfc.errors import ModelError
from perfc.frontend.pytorch.torch_program import module_of
from perfc.frontend.reading.module_name import is_named
from perfc.ir.graph import Node
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.runtimes.inductor import TABLE as TABLE

from .. import OracleAnswer, OracleGroup, OracleRequest

LONGEST_S = 900
WORKER = "perfc.study.fusion_oracle.inductor_worker"


def answer(request: OracleRequest) -> OracleAnswer:
    """Return the groups: the nodes that come from the operators of a kernel.

    Raises:
        ModelError: no PyTorch module by name, or PyTorch does not compile it.
    """
    if not is_named(request.model):
        hint = "as in timm:resnet50 or model.py:Net"
        raise ModelError("its oracle compiles PyTorch modules by name", hint=hint)
    with tempfile.TemporaryDirectory(prefix="perfc-fusion-") as folder:
        archive, reply = Path(folder, "model.pt2"), Path(folder, "groups.json")
        run(request, archive, reply)
        groups = json.loads(reply.read_text(encoding="utf-8"))
        source = module_of(archive.read_bytes(), request.model.rpartition(":")[2])
    module = Analyses().apply(Canonicalize(), typed(source))
    origin: dict[str, set[Node]] = {}
    for node in module.graph.nodes:
        origin.setdefault(operator_of(node), set()).add(node)
    made = [
        OracleGroup(
            str(g["name"]), str(g["kind"]),
            frozenset(n for name in g["operators"] for n in origin.get(name, ())),
        )
        for g in groups
    ]  # fmt: skip
    return OracleAnswer(module, tuple(made))


def operator_of(node: Node) -> str:
    """Return the operator of the exported program that a node was lowered from."""
    return node.name.rpartition("/")[2].partition(".")[0]


def run(request: OracleRequest, archive: Path, reply: Path) -> None:
    """Compile a module in a separate process.

    Raises:
        ModelError: it fails, or takes too long.
    """
    content = {"name": request.model, "inputs": list(request.inputs), "dims": dict(request.dims),
             "kwargs": json.loads(request.kwargs or "{}")}  # fmt: skip
    root = str(Path(__file__).resolve().parents[4])
    paths = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH", "")) if p)
    try:
        made = subprocess.run(
            [sys.executable, "-m", WORKER, str(archive), str(reply)], input=json.dumps(content),
            capture_output=True, text=True, timeout=LONGEST_S, check=False,
            env={**os.environ, "PYTHONPATH": paths},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        what = f"PyTorch did not compile it in {LONGEST_S} s"
        raise ModelError(what, where=request.model) from None
    if not reply.exists():
        last = (made.stderr.strip() or f"exit code {made.returncode}").splitlines()[-1]
        raise ModelError(f"PyTorch does not compile it: {last[:300]}", where=request.model)
