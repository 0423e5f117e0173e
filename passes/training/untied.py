"""Stored tensors that an exporter merged, each module's own again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfc.ir.gradients.tape import Tape, shape_of
from perfc.ir.graph import Inputs, Node, Value
from perfc.ir.ops.gather import Gather


def untied(
    nodes: Sequence[Node], weights: Sequence[Value], tape: Tape
) -> tuple[list[Node], list[Value]]:
    """The same nodes, where modules of equal parameters each read their own.

    torch.onnx stores tensors of equal contents once (``_jit_pass_onnx_deduplicate_initializers``),
    as those of a model that was not trained yet, or was written without its contents. A module
    that is called twice has one path, and keeps its tensors. A tensor inside the file, an
    embedding, and a matrix that operators of another kind read are as they are said to be.

    Args:
        nodes: of the forward pass; names are paths of modules, as torch.onnx writes them.
        weights: stored tensors.
        tape: names what is written anew.

    Returns:
        Nodes and stored tensors.
    """
    readers: dict[Value, list[tuple[Node, str]]] = {w: [] for w in weights if _is_merged(w)}
    for node in nodes:
        for v in dict.fromkeys(node.inputs):
            if v in readers:
                readers[v].append((node, node.name.rpartition("/")[0]))
    own: dict[tuple[Node, Value], Value] = {}
    further: list[Value] = []
    for w, read in readers.items():
        paths = dict.fromkeys(path for _, path in read)
        if len(paths) < 2 or not all(paths) or not _is_of_modules(w, [n for n, _ in read]):
            continue
        copies = {p: replace(w, name=tape.fresh(name_in(p, w.name))) for p in [*paths][1:]}
        further += copies.values()
        own.update(((node, w), copies[path]) for node, path in read if path in copies)
    changed = {node for node, _ in own}
    return [_reading(n, own) if n in changed else n for n in nodes], [*weights, *further]


def name_in(path: str, name: str) -> str:
    """What PyTorch calls the tensor in the module of a path, so that ``--freeze`` means it.

    >>> name_in("/blocks/blocks.1/attn/proj", "blocks.0.norm1.bias")
    'blocks.1.attn.proj.bias'
    >>> name_in("/head", "onnx::MatMul_12")
    'head.weight'
    """
    parts = [part for part in path.split("/") if part]
    behind = [*parts[1:], ""]
    module = [p for p, q in zip(parts, behind, strict=True) if not q.startswith(f"{p}.")]
    leaf = name.rpartition(".")[2] if "." in name else "weight"
    return ".".join([*module, leaf])


def _is_merged(w: Value) -> bool:
    """Whether a tensor may stand for several: a parameter whose contents the file leaves out."""
    weight = w.weight
    is_outside = weight is not None and weight.is_parameter and weight.location != ""
    return is_outside and weight is not None and not weight.digest and w.is_real


def _is_of_modules(w: Value, nodes: Sequence[Node]) -> bool:
    """Whether the readers are modules of one kind: a vector's always, a matrix' by operator."""
    kinds = {type(n.op) for n in nodes}
    return Gather not in kinds and (len(shape_of(w)) < 2 or len(kinds) == 1)


def _reading(node: Node, own: dict[tuple[Node, Value], Value]) -> Node:
    inputs: Inputs = tuple(v if v is None else own.get((node, v), v) for v in node.inputs)
    return replace(node, inputs=inputs)
