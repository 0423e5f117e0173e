"""TVM: the kernels that Relax fuses of an ONNX file."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from perfc.api import typed
from perfc.errors import MissingExtraError, ModelError
from perfc.frontend.reading.process import answer_of
from perfc.ir import Module, TensorType
from perfc.ir.symbolic.sizes import bound_type
from perfc.measuring.measure.tables.weights import runnable
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.runtimes import runtime
from perfc_lab.fusion import OracleAnswer, OracleGroup, OracleRequest

TABLE = runtime("tvm")

LONGEST_S = 900
WORKER = "tests.oracles.tvm_worker"


def answer(request: OracleRequest) -> OracleAnswer:
    """Return the groups: the nodes of the model whose results a kernel computes.

    Symbols of the model have numbers, as TVM imports models for given shapes.

    Raises:
        MissingExtraError: TVM is not installed.
        ModelError: TVM does not import or fuse the model.
    """
    module = Analyses().apply(Canonicalize(), typed(request.model, request.dims))
    with tempfile.TemporaryDirectory(prefix="perfc-fusion-") as folder:
        source = runnable(request.model, Path(folder)).path
        answer = answer_of(
            WORKER,
            [str(source)],
            where=request.model,
            longest_s=LONGEST_S,
            late=(f"TVM did not fuse it in {LONGEST_S} s", ""),
            request=json.dumps(shapes(module)),
        )
    if "missing" in answer:
        from perfc.common.extras import install

        raise MissingExtraError(f"this oracle needs {answer['missing']}", hint=install("tvm"))
    if "error" in answer:
        raise ModelError(f"TVM does not fuse it: {answer['error']}", where=request.model)
    by_name = {n.name: n for n in module.graph.nodes}
    groups = [
        OracleGroup(
            g["name"],
            "fused" if len(g["nodes"]) > 1 else "kernel",
            frozenset(by_name[n] for n in g["nodes"] if n in by_name),
        )
        for g in answer["groups"]
    ]
    return OracleAnswer(module, tuple(groups))


def shapes(module: Module) -> dict[str, list[int]]:
    """Return the shapes of inputs by name; those without a number for an extent are left out."""
    env = module.defaults()
    known: dict[str, list[int]] = {}
    for v in module.graph.inputs:
        type_ = bound_type(v.type, env)
        if isinstance(type_, TensorType) and type_.shape is not None:
            extents = [d for d in type_.shape if isinstance(d, int)]
            if len(extents) == len(type_.shape):
                known[v.name] = extents
    return known
