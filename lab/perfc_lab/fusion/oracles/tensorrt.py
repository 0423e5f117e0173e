"""Read the fusion of TensorRT from the layers of an engine, in the file of its inspector."""

from __future__ import annotations

from perfc.api import typed
from perfc.errors import ParseError
from perfc.ir import Node
from perfc.measuring.measure.runtimes.events import whole
from perfc.measuring.measure.runtimes.tensorrt import RANGE, is_layers, members_by_layer
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.runtimes import runtime

from .. import OracleAnswer, OracleGroup, OracleRequest

TABLE = runtime("tensorrt")
"""Runtime whose fusion the oracle checks."""
HINT = "trtexec --exportLayerInfo=layers.json --profilingVerbosity=detailed"


def answer(request: OracleRequest) -> OracleAnswer:
    """Return the groups: the nodes of the model that a layer names.

    Raises:
        PerfcError: no such file, or one of another model.
    """
    if not request.engine:
        raise ParseError("TensorRT's groups are read from a file", where="--engine", hint=HINT)
    content = whole(request.engine)
    if not is_layers(content):
        raise ParseError("no layers of an engine", where=request.engine, hint=HINT)
    module = Analyses().apply(Canonicalize(), typed(request.model, request.dims))
    positions = {n.loc.stored_name: i for i, n in enumerate(module.graph.nodes)}
    groups: list[OracleGroup] = []
    for layer, members in members_by_layer(content).items():
        nodes: set[Node] = set()
        for member in members:
            # a layer names a fused chain by its first and last node, and other nodes one by one
            first, _, last = member.partition(RANGE)
            if first in positions and last in positions:
                nodes |= set(module.graph.nodes[positions[first] : positions[last] + 1])
            elif member in positions:
                nodes.add(module.graph.nodes[positions[member]])
        groups.append(OracleGroup(layer, "layer", frozenset(nodes)))
    if not any(g.nodes for g in groups):
        raise ParseError("its layers name no node of the model", where=request.engine, hint=HINT)
    return OracleAnswer(module, tuple(groups))
