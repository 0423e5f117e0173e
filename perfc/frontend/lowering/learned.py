"""Finds the initializers that are not parameters: buffers and constants of the exporter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain

from perfc.ir import record

from ..reading import proto

KIND = "pkg.torch.export.graph_signature.InputSpec.kind"
"""Metadata of torch.onnx for each input of an exported program: PARAMETER, BUFFER, CONSTANT_TENSOR.
Source: PyTorch, torch/onnx/_internal/exporter/_core.py."""
FOLDED = "pkg.onnxscript.optimizer.folded_from"
"""Names of the initializers that the optimizer of ONNX Script folded into one."""
MADE = re.compile(
    r"(.*/)?_?[Cc]onstant(_\d+)?(_output_\d+)?|_?lifted_tensor.*"
    r"|(scalar_tensor|zeros|ones|full|arange|eye|empty|fill)(_like)?(_default)?(_\d+)?"
)
"""Names of results of operators that make constants, which exporters and runtimes store."""
VECTOR = re.compile(r"val_\d+|.*_cast(_\d+)?")
"""Names that torch.onnx gives to results of folding. Of a tensor with fewer than two axes they show
a constant, since torch.onnx folds no parameter of one axis."""
ROOT = re.compile(
    r"\w+_(token|tokens|embed|embedding|embeddings|weight|bias|query|queries)|gamma\d*"
)
"""Names of parameters of the outermost module: without a dot, only such words show that a name is
one of a parameter and not of a result."""
SCALAR = re.compile(r"onnx::\w+|/.*|\d+")
"""Names that exporters give to tensors without a name in the model, as folded parameters are. Of a
single element they show a constant."""
QUANTISED = re.compile(r"_(quantized|scales?|zero_points?|zp|DQ_Q\w+|Q\d\w*)$")
"""Ends that ONNX Runtime's quantizers add to the name of a tensor."""
BUFFERS = frozenset(
    {"inv_freq", "original_inv_freq", "attn_mask", "relative_coords_table", "position_ids"}
)
"""Last parts of names under which models register tables that are not learned."""
MOST_FOLDED = 64
"""Maximum depth of folding of folded tensors: metadata that refer to each other would not end."""


def unlearned(graph: proto.ProtoGraph, path: str = "") -> Mapping[str, str]:
    """Return the initializers of a graph that are no parameters, or copies of one.

    The exporter's metadata decides if there is any, else patterns of names.

    Args:
        graph: the graph.
        path: its file; empty for bytes.

    Returns:
        Names of initializers. Each copy of the table of an embedding has the name of that table,
        all others an empty text.
    """
    notes = ExporterNotes(
        {
            info.name: props
            for info in chain(graph.value_info, graph.input)
            if (props := info.metadata_props) and not props.keys().isdisjoint((KIND, FOLDED))
        }
    )
    names = {t.name for t in graph.initializer if not notes.is_learned(t.name, t)}
    # a tensor that several operators read transposed is folded into one copy for each of them: the
    # first copy counts as the parameter, unless the tensor itself is stored
    originals = {f"['{t.name}']" for t in graph.initializer}
    for tensor in graph.initializer:
        before = QUANTISED.sub("", tensor.name)
        source = notes.props.get(before, {}).get(FOLDED, "")
        # two copies are of one tensor if they have the same source, the same extents in any order,
        # and are the same part of a quantization (weight, scale, zero point)
        extents = f"{source} {sorted(tensor.dims)} {tensor.name.removeprefix(before)}"
        if source and (source in originals or extents in originals):
            names.add(tensor.name)
        originals.add(extents)
    tied: dict[str, str] = {}
    if any(node.op_type == "Gather" for node in graph.node):
        # imported only here: most models have no embedding
        from .copies import copies

        tied = dict(copies(graph, path))
    return dict.fromkeys(names, "") | tied


@record
class ExporterNotes:
    """Notes of the exporter about stored tensors, by name."""

    props: Mapping[str, Mapping[str, str]]

    def is_learned(
        self, name: str, tensor: proto.ProtoTensor | None = None, depth: int = 0
    ) -> bool:
        """Return True if a stored tensor is a parameter, or made of one.

        Args:
            name: name of the tensor, or of one that it was folded from.
            tensor: the stored tensor; None for one that the file no longer has.
            depth: number of foldings between the stored tensor and this one.
        """
        props = self.props.get(name, {})
        if kind := props.get(KIND):
            return kind == "PARAMETER"
        if FOLDED in props and depth < MOST_FOLDED:
            # the metadata is the text of a list in Python: ['encoder.weight', 'val_3']
            first, *others = re.findall(r"[^\s'\",\[\]]+", props[FOLDED]) or [""]
            sources = [first, *others]
            # the first name has the words of a parameter, all others are constants of the exporter
            is_shown = ROOT.fullmatch(first) is not None and all(map(VECTOR.fullmatch, others))
            # constants among names without dots: the first name alone can show a parameter
            if not any("." in s for s in sources) and any(is_made(s, None) for s in sources):
                return is_shown and not is_made(first, None)
            return any(self.is_learned(s, depth=depth + 1) for s in sources)
        # a quantized tensor is a parameter if the tensor before quantization is
        if (before := QUANTISED.sub("", name)) != name:
            return self.is_learned(before) if before in self.props else not is_made(before, tensor)
        # in a file with metadata, a stored tensor that has none, and no path of a module in its
        # name, is a constant
        return not is_made(name, tensor) and (tensor is None or "." in name or not self.props)


def is_made(name: str, tensor: proto.ProtoTensor | None) -> bool:
    """Return True if a name, with the extents of its tensor, is that of a buffer or constant.

    Args:
        name: name of the initializer.
        tensor: the initializer; None if the file does not have it.
    """
    if name.rpartition(".")[2] in BUFFERS or MADE.fullmatch(name):
        return True
    if VECTOR.fullmatch(name) and (tensor is None or len(tensor.dims) < 2):
        return True
    is_one = tensor is not None and tensor.element_count in (0, 1)
    return is_one and SCALAR.fullmatch(name) is not None
