"""TorchInductor: the groups of its scheduler on the CPU, for PyTorch modules by name."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from perfc.api import typed
from perfc.frontend.pytorch.named import checked
from perfc.frontend.pytorch.torch_program import module_of
from perfc.frontend.reading.process import answer_of
from perfc.ir import Node
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.runtimes import runtime
from perfc_lab.fusion import OracleAnswer, OracleGroup

TABLE = runtime("inductor")

LONGEST_S = 900
"""Seconds after which a compilation is given up."""
WORKER = "tests.oracles.inductor_worker"


def answer(model: str, inputs: tuple[str, ...]) -> OracleAnswer:
    """Return the groups: the nodes that come from the operators of a kernel.

    Args:
        model: name of the module.
        inputs: shapes of its inputs.

    Raises:
        ModelError: PyTorch does not compile it.
        MissingExtraError: PyTorch is not installed.
    """
    with tempfile.TemporaryDirectory(prefix="perfc-fusion-") as folder:
        archive = Path(folder, "model.pt2")
        content = {"name": model, "inputs": list(inputs), "dims": {}, "kwargs": {}}
        answer = answer_of(
            WORKER,
            [str(archive)],
            where=model,
            longest_s=LONGEST_S,
            late=(f"PyTorch did not compile it in {LONGEST_S} s", ""),
            request=json.dumps(content),
        )
        groups = checked(answer, model)["groups"]
        source = module_of(archive.read_bytes(), model.rpartition(":")[2])
    module = Analyses().apply(Canonicalize(), typed(source))
    origin: dict[str, set[Node]] = {}
    for node in module.graph.nodes:
        origin.setdefault(node.name.rpartition("/")[2].partition(".")[0], set()).add(node)
    made = [
        OracleGroup(
            str(g["name"]),
            str(g["kind"]),
            frozenset(n for name in g["operators"] for n in origin.get(name, ())),
        )
        for g in groups
    ]
    return OracleAnswer(module, tuple(made))
