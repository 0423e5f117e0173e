"""Says which initializers are not learned: buffers and constants that an exporter stored."""

from __future__ import annotations

import re
from itertools import chain

from . import proto

KIND = "pkg.torch.export.graph_signature.InputSpec.kind"
"""What torch.onnx notes of each input of an exported program: PARAMETER, BUFFER, CONSTANT_TENSOR.
Source: PyTorch 2.9 and later, torch/onnx/_internal/exporter/_core.py."""
FOLDED = "pkg.onnxscript.optimizer.folded_from"
"""Names of the initializers that the optimizer of ONNX Script folded into one."""
CONSTANT = re.compile(r"(.*/)?_?[Cc]onstant(_\d+)?(_output_\d+)?|_?lifted_tensor.*|scalar_tensor.*")
"""Names of outputs of Constant nodes, which runtimes store as initializers."""
VECTOR = re.compile(r"val_\d+|.*_cast(_\d+)?")
"""Names that torch.onnx gives to constants it makes; it folds parameters of one axis nowhere."""
SCALAR = re.compile(r"onnx::\w+|/.*|\d+")
"""Names that exporters give to what has none in the model, folded parameters among it."""
BUFFERS = frozenset(
    {"inv_freq", "original_inv_freq", "attn_mask", "relative_coords_table", "position_ids"}
)
"""Last parts of names under which models register tables that are not learned."""


def unlearned(graph: proto.Graph) -> frozenset[str]:
    """Names of the initializers of a graph that are not parameters.

    Where the exporter marked parameters, its marks say so; else names do.
    """
    props = {
        info.name: info.metadata_props
        for info in chain(graph.value_info, graph.input)
        if info.metadata_props and (KIND in info.metadata_props or FOLDED in info.metadata_props)
    }
    kinds = {name: kind for name, p in props.items() if (kind := p.get(KIND))}
    found = set[str]()
    for tensor in graph.initializer:
        name = tensor.name
        kind = kinds.get(name)
        if kind is not None:
            is_learned = kind == "PARAMETER"
        elif name in props:
            sources = re.findall(r"[^\s'\",\[\]]+", props[name][FOLDED])
            is_learned = any(kinds.get(s, "PARAMETER") == "PARAMETER" for s in sources) and not all(
                s.rpartition(".")[2] in BUFFERS for s in sources
            )
        elif kinds and "." not in name:
            is_learned = name.rpartition("_")[0] in props
        else:
            is_learned = not is_made(tensor) and name.rpartition(".")[2] not in BUFFERS
        if not is_learned:
            found.add(name)
    return frozenset(found)


def is_made(tensor: proto.Tensor) -> bool:
    """Whether the exporter made a constant, by its name and its extents."""
    if CONSTANT.fullmatch(tensor.name):
        return True
    if VECTOR.fullmatch(tensor.name) and len(tensor.dims) < 2:
        return True
    return tensor.element_count in (0, 1) and SCALAR.fullmatch(tensor.name) is not None
