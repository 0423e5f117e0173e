"""Export a part of a pipeline to a graph, on PyTorch's meta device, and cache it.

No weight is allocated: parameters have only shapes. Exported graphs are in the user's cache, as
PyTorch takes some ten seconds to export one. Graphs of the shipped pipelines come with perfc, for
their default pictures.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from perfc.common.cache_folder import cached
from perfc.common.version import version_of
from perfc.errors import MissingExtraError, ModelError
from perfc.frontend import load
from perfc.frontend.pytorch.torch_module import silenced, why
from perfc.ir import Module

from .decoders import decoder_of
from .denoisers import denoiser_of
from .pipeline import Latent, PartRole, PipelinePart, Tensor

HERE = Path(__file__).parent / "graphs"
ABSENT = "weights-are-absent.bin"
"""File to which the weights of an export point; it never exists, as sizes suffice."""
BATCH, MOST = "batch", 1 << 12
"""Symbol of the batch, and its maximum."""
EXAMPLES = 2
"""Batch of the example: PyTorch would fix an extent of 1 instead of making it a symbol."""
FORM = 1
"""Version of exported graphs, part of their digest: with a new version, all are exported again."""
PACKAGES = ("diffusers", "torch", "onnxscript")
"""Packages whose versions change an export, and are part of the key of a cached export."""


def module_of(part: PipelinePart, latent: Latent, tokens: int) -> Module:
    """Return a denoiser in the IR, with a symbolic batch, or a decoder of one picture.

    A decoder takes one picture: with many, its largest activations exceed 32-bit indices.

    Args:
        part: class and configuration of the network.
        latent: latent of one picture.
        tokens: number of tokens of a prompt.

    Raises:
        ModelError: the class cannot be built from the configuration, or PyTorch cannot export it.
        MissingExtraError: diffusers or PyTorch is not installed.
    """
    inputs = inputs_of(part, latent, tokens)
    path = HERE / f"{digest(part, inputs)}.onnx.gz"
    if path.is_file():
        return load(path)
    key = repr((digest(part, inputs), [version_of(name) for name in PACKAGES]))
    return cached("diffusion", key, load, lambda: exported(part, inputs))


def inputs_of(part: PipelinePart, latent: Latent, tokens: int) -> tuple[Tensor, ...]:
    """Return the inputs of a part, without the batch."""
    if part.role is PartRole.DECODER:
        return decoder_of(part).inputs(latent)
    return denoiser_of(part).inputs(part, latent, tokens)


def digest(part: PipelinePart, inputs: tuple[Tensor, ...]) -> str:
    """Return a digest that identifies the graph of a part."""
    # the names of shipped graphs are digests with an empty list: without it they would change
    identity = [FORM, part.class_name, dict(part.config), [asdict(i) for i in inputs], []]
    content = json.dumps(identity, sort_keys=True, default=str)
    # 96 bits are enough to distinguish graphs
    return hashlib.sha256(content.encode()).hexdigest()[:24]


def exported(part: PipelinePart, inputs: tuple[Tensor, ...]) -> bytes:
    """Return the ONNX file of a part, without its weights.

    Raises:
        ModelError: the class cannot be built from the configuration, or PyTorch cannot export it.
        MissingExtraError: diffusers or PyTorch is not installed.
    """
    try:
        import diffusers  # noqa: F401
        import onnx_ir
        import onnxscript  # noqa: F401
    except ImportError as error:
        from perfc.common.extras import install

        hint = install("diffusion")
        raise MissingExtraError(f"{part.name} needs {error.name}", hint=hint) from None
    with silenced():
        try:
            written = written_by_torch(part, inputs)
        except Exception as error:
            raise ModelError(f"PyTorch cannot export it: {why(error)}", where=part.name) from None
    without_weights(written)
    return onnx_ir.to_proto(written.model).SerializeToString()


def written_by_torch(part: PipelinePart, inputs: tuple[Tensor, ...]) -> Any:
    """Return the ONNX program that PyTorch exports of a part on its meta device."""
    import diffusers
    import torch

    batch = 1 if part.role is PartRole.DECODER else EXAMPLES
    with torch.device("meta"), torch.no_grad():
        network = getattr(diffusers, part.class_name).from_config(dict(part.config))
        called = calling(network.to(torch.bfloat16).eval(), part, inputs)
        examples = tuple(example(tensor, batch) for tensor in inputs)
        dim = {0: torch.export.Dim(BATCH, min=1, max=MOST)}
        axes = tuple(dim if tensor.has_batch else None for tensor in inputs)
        # one entry, as `Calling` takes all tensors in one parameter; a decoder has a fixed batch
        shapes = None if batch == 1 else (axes,)
        program = torch.export.export(called, examples, dynamic_shapes=shapes)
        without_idle_squeezes(program)
        return torch.onnx.export(program, dynamo=True, optimize=False, verbose=False)


def calling(module: Any, part: PipelinePart, inputs: tuple[Tensor, ...]) -> Any:
    """Return a module that takes the inputs of a part in order.

    It passes them to a denoiser by name, and to ``decode`` of a decoder in the same order.
    """
    import torch

    names = [tensor.name for tensor in inputs]
    is_decoder = part.role is PartRole.DECODER
    fixed = {} if is_decoder else denoiser_of(part).fixed()

    class Calling(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part = module

        def forward(self, *tensors: Any) -> Any:
            named = dict(zip(names, tensors, strict=True))
            if is_decoder:
                return self.part.decode(*tensors, return_dict=False)[0]
            return self.part(**named, **fixed, return_dict=False)[0]

    return Calling()


def example(tensor: Tensor, batch: int) -> Any:
    """Return a tensor on the meta device."""
    import torch

    dtype = getattr(torch, tensor.dtype or "bfloat16")
    # positions are the same for all pictures of a batch
    leading = (batch,) if tensor.has_batch else ()
    return torch.zeros((*leading, *tensor.shape), dtype=dtype, device="meta")


def without_idle_squeezes(program: Any) -> None:
    """Remove squeezes of axes whose extent is not 1: PyTorch ignores them, ONNX refuses them."""
    import torch

    for node in list(program.graph.nodes):
        if node.op == "call_function" and node.target is torch.ops.aten.squeeze.dim:
            source, axis = node.args
            if source.meta["val"].shape[axis] != 1:
                node.replace_all_uses_with(source)
                program.graph.erase_node(node)


def without_weights(program: Any) -> None:
    """Point parameters without bytes at a file that does not exist; drop notes on call stacks."""
    import onnx_ir

    for node in program.model.graph.all_nodes():
        node.metadata_props.clear()
        node.doc_string = None
    for value in program.model.graph.initializers.values():
        tensor = value.const_value
        raw = getattr(tensor, "raw", None)
        if raw is not None and raw.device.type == "meta":
            value.const_value = onnx_ir.ExternalTensor(
                ABSENT, 0, tensor.nbytes, tensor.dtype, shape=tensor.shape, name=value.name
            )
