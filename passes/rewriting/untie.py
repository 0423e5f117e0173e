"""Separation of stored tensors that an exporter merged, so that each module has its own again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfc.ir import Graph, Inputs, Module, Node, Value, frozen
from perfc.ir.gradients.tape import Tape, shape_of
from perfc.ir.graphs.blocks import BLOCK
from perfc.ir.ops.movement.gather import Gather
from perfc.ir.symbolic.fresh import numbering
from perfc.ir.syntax.text import all_values

from .. import Transform
from ..manager import Analyses


@frozen
class Untie(Transform):
    """Give each module with merged parameters its own tensors, as they are trained.

    torch.onnx stores tensors of equal contents once (``_jit_pass_onnx_deduplicate_initializers``).
    Contents are equal in a model that was not trained yet, or was written without its contents. A
    module that is called twice has one path, and keeps its tensors. Three kinds of tensors stay
    shared: those with contents in the file, tables of embeddings, which a head may be tied to, and
    matrices that operators of several kinds read.
    """

    def run(self, module: Module, am: Analyses) -> Module:
        """Return the module with a tensor for each module; names of nodes are paths of modules."""
        graph = module.graph
        readers: dict[Value, list[tuple[Node, str]]] = {
            w: [] for w in graph.weights if _is_merged(w)
        }
        for node in graph.nodes:
            for v in dict.fromkeys(node.inputs):
                if v in readers:
                    readers[v].append((node, node.name.rpartition("/")[0]))
        with numbering():
            replacements = _replacements(readers, Tape(v.name for v in all_values(graph)))
        if not replacements:
            return module
        changed = {node for node, _ in replacements}
        nodes = tuple(_reading(n, replacements) if n in changed else n for n in graph.nodes)
        weights = tuple(dict.fromkeys((*graph.weights, *replacements.values())))
        return replace(module, graph=Graph(graph.name, graph.inputs, graph.outputs, nodes, weights))


def _replacements(
    readers: dict[Value, list[tuple[Node, str]]], tape: Tape
) -> dict[tuple[Node, Value], Value]:
    """Return the replacement of each merged tensor, by the node that reads it."""
    replacements: dict[tuple[Node, Value], Value] = {}
    for w, read in readers.items():
        paths = dict.fromkeys(path for _, path in read)
        # names made by `perfc` for repeated blocks are no paths of modules
        is_named = all(path and not BLOCK.search(path) for path in paths)
        if len(paths) < 2 or not is_named or not _is_of_modules(w, [n for n, _ in read]):
            continue
        # the first module keeps the tensor that the file has
        copies = {p: replace(w, name=tape.fresh(name_in(p, w.name))) for p in [*paths][1:]}
        replacements.update(((node, w), copies[path]) for node, path in read if path in copies)
    return replacements


def name_in(path: str, name: str) -> str:
    """Return PyTorch's name of a tensor in the module of a path, as ``--freeze`` matches it.

    >>> name_in("/blocks/blocks.1/attn/proj", "blocks.0.norm1.bias")
    'blocks.1.attn.proj.bias'
    >>> name_in("/head", "onnx::MatMul_12")
    'head.weight'
    """
    parts = [part for part in path.split("/") if part]
    # a list of modules appears twice in a path: alone, and in the name of its element, "blocks.1"
    behind = [*parts[1:], ""]
    module = [p for p, q in zip(parts, behind, strict=True) if not q.startswith(f"{p}.")]
    leaf = name.rpartition(".")[2] if "." in name else "weight"
    return ".".join([*module, leaf])


def _is_merged(w: Value) -> bool:
    """Return True for a parameter that may be several merged ones: its contents were not read."""
    weight = w.weight
    is_outside = weight is not None and weight.is_parameter and weight.location != ""
    return is_outside and weight is not None and not weight.digest and w.is_real


def _is_of_modules(w: Value, nodes: Sequence[Node]) -> bool:
    """Return True if each reader may be a module with a tensor of its shape.

    True for vectors, and for matrices if all readers are operators of one kind.
    """
    kinds = {type(n.op) for n in nodes}
    # a table of embeddings may be tied to the head on purpose
    return Gather not in kinds and (len(shape_of(w)) < 2 or len(kinds) == 1)


def _reading(node: Node, replacements: dict[tuple[Node, Value], Value]) -> Node:
    """Return a node that reads the replacements of its operands."""
    inputs: Inputs = tuple(v if v is None else replacements.get((node, v), v) for v in node.inputs)
    return replace(node, inputs=inputs)
