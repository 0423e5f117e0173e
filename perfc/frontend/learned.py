"""Says which initializers are not learned: buffers and constants that an exporter stored."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain

from perfc.ir.record import record

from . import proto

KIND = "pkg.torch.export.graph_signature.InputSpec.kind"
"""What torch.onnx notes of each input of an exported program: PARAMETER, BUFFER, CONSTANT_TENSOR.
Source: PyTorch, torch/onnx/_internal/exporter/_core.py."""
FOLDED = "pkg.onnxscript.optimizer.folded_from"
"""Names of the initializers that the optimizer of ONNX Script folded into one."""
MADE = re.compile(
    r"(.*/)?_?[Cc]onstant(_\d+)?(_output_\d+)?|_?lifted_tensor.*"
    r"|(scalar_tensor|zeros|ones|full|arange|eye|empty|fill)(_like)?(_default)?(_\d+)?"
)
"""Names of results of operators that make constants, which exporters and runtimes store."""
VECTOR = re.compile(r"val_\d+|.*_cast(_\d+)?")
"""Names that torch.onnx gives to constants it makes; it folds parameters of one axis nowhere."""
SCALAR = re.compile(r"onnx::\w+|/.*|\d+")
"""Names that exporters give to what has none in the model, folded parameters among it."""
QUANTISED = re.compile(r"_(quantized|scales?|zero_points?|zp|DQ_Q\w+|Q\d\w*)$")
"""What ONNX Runtime's quantizers append to the name of the tensor that they replace."""
BUFFERS = frozenset(
    {"inv_freq", "original_inv_freq", "attn_mask", "relative_coords_table", "position_ids"}
)
"""Last parts of names under which models register tables that are not learned."""
MOST_FOLDED = 64
"""How often a tensor was folded from folded ones; more is no file of an exporter."""


def unlearned(graph: proto.Graph) -> frozenset[str]:
    """Names of the initializers of a graph that are not parameters.

    Where the exporter marked parameters, its marks say so; else names do.
    """
    marks = Marks(
        {
            info.name: props
            for info in chain(graph.value_info, graph.input)
            if (props := info.metadata_props) and not props.keys().isdisjoint((KIND, FOLDED))
        }
    )
    return frozenset(t.name for t in graph.initializer if not marks.is_learned(t.name, t))


@record
class Marks:
    """What the exporter noted of stored tensors, by name."""

    props: Mapping[str, Mapping[str, str]]

    def is_learned(self, name: str, tensor: proto.Tensor | None = None, depth: int = 0) -> bool:
        """Whether a stored tensor is a parameter, or made of one.

        Args:
            name: of the tensor, or of one that it was folded from.
            tensor: its extents; None for one that the file no longer has.
            depth: of tensors that were folded from folded ones.
        """
        if (before := QUANTISED.sub("", name)) != name:
            is_marked = before in self.props
            return self.is_learned(before) if is_marked else last(before) not in BUFFERS
        props = self.props.get(name, {})
        if kind := props.get(KIND):
            return kind == "PARAMETER"
        if FOLDED in props and depth < MOST_FOLDED:
            sources = re.findall(r"[^\s'\",\[\]]+", props[FOLDED])
            return any(self.is_learned(s, None, depth + 1) for s in sources)
        if last(name) in BUFFERS or MADE.fullmatch(name):
            return False
        if VECTOR.fullmatch(name) and (tensor is None or len(tensor.dims) < 2):
            return False
        if tensor is not None and tensor.element_count in (0, 1) and SCALAR.fullmatch(name):
            return False
        return tensor is None or "." in name or not self.props


def last(name: str) -> str:
    """The part of a dotted name behind the modules."""
    return name.rpartition(".")[2]
