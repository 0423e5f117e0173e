"""Export models of transformers as ONNX, cut to a few layers, from a published configuration.

No weights are loaded: parameters have no content, and the file that the exporter writes for them is
emptied at once, as the IR only reads types.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perfc.analyzers.features.rows import DataError
from perfc.common.extras import install
from perfc.errors import MissingExtraError

LAYERS = ("num_layers", "num_decoder_layers", "n_layer", "num_hidden_layers")
"""Keys of the number of layers; which of them a configuration has depends on its architecture."""
SPARSE_LAYERS = ("num_sparse_encoder_layers", "num_sparse_decoder_layers")
"""Keys of the number of layers with experts, among all, in Switch Transformers."""
RUN_ONLY = ("transformers_version", "torch_dtype", "dtype", "_name_or_path")
"""Keys that do not change the graph."""


def layer_units(configuration: str) -> int:
    """Return the number of equal parts of a model: layers, or pairs of a dense and a sparse one."""
    content = parsed(configuration)
    count = next((content[name] for name in LAYERS if name in content), None)
    if not isinstance(count, int) or count < 1:
        raise DataError("a configuration without a number of layers")
    return count // every(content)


def every(content: dict[str, Any]) -> int:
    """Return the period of layers with experts: 2 if every second layer has them, 1 without any."""
    sparse = content.get(SPARSE_LAYERS[0], 0)
    return content["num_layers"] // sparse if sparse else 1


def exported(
    name: str,
    configuration: str,
    seq_len: int,
    units: int,
    *,
    training: bool,
    folder: Path,
    architecture: str = "",
) -> Path:
    """Return the ONNX file of a model cut to ``units`` equal parts, written if it is not there yet.

    Args:
        name: name of the model, for the file.
        configuration: JSON of the transformers configuration.
        seq_len: tokens; the batch stays a symbol.
        units: number of equal parts, see `layer_units`.
        training: whether dropout drops.
        folder: folder of the files.
        architecture: class of the model, the configuration's first by default.

    Raises:
        MissingExtraError: torch, transformers or onnxscript is not installed.
    """
    content = cut(parsed(configuration), units)
    architecture = architecture or content["architectures"][0]
    mode = "train" if training else "inf"
    path = folder / f"{name}-{architecture}-{mode}-s{seq_len}-l{units}.onnx"
    if path.is_file():
        return path
    try:
        import onnxscript  # noqa: F401
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtraError(
            f"building models needs {error.name}", hint=install("runs")
        ) from None
    kind = content.pop("model_type")
    settings: Any = transformers.AutoConfig.for_model(kind, **content)
    # a cache of keys and values would be further outputs
    settings.use_cache = False
    # parameters without memory, then without content, as only their shapes are exported
    with torch.device("meta"):
        model = getattr(transformers, architecture)._from_config(
            settings, attn_implementation="eager"
        )
    model = model.to_empty(device="cpu")
    # a buffer may hold indices, such as position ids: zeros are in range, empty memory need not be
    for buffer in model.buffers():
        buffer.zero_()
    if content.get(SPARSE_LAYERS[0]):
        make_static(model)
    write(logits_of(model, encodes=hasattr(model, "encoder")), seq_len, training, path)
    return path


def parsed(configuration: str) -> dict[str, Any]:
    """Return the content of a configuration without `RUN_ONLY`."""
    content: dict[str, Any] = json.loads(configuration)
    return {key: value for key, value in content.items() if key not in RUN_ONLY}


def cut(content: dict[str, Any], units: int) -> dict[str, Any]:
    """Return a configuration with the layers of ``units`` equal parts."""
    step = every(content)
    result = {**content, **{name: units * step for name in LAYERS if name in content}}
    return {**result, **{name: units for name in SPARSE_LAYERS if name in content}}


def logits_of(model: Any, *, encodes: bool) -> Any:
    """Return a module with token ids as its only input and logits as its only results.

    With ``encodes``, encoder and decoder get the same ids.
    """
    import torch

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: Any) -> Any:
            everything = torch.ones_like(ids)
            more = {"decoder_input_ids": ids, "attention_mask": everything} if encodes else {}
            output = self.model(input_ids=ids, use_cache=False, return_dict=True, **more)
            heads = [value for name, value in output.items() if name.endswith("logits")]
            return [value for value in heads if isinstance(value, torch.Tensor)]

    return Logits()


def make_static(model: Any) -> None:
    """Give every expert as many tokens as it has capacity for; all other tokens skip the experts.

    Time depends on the number of tokens of an expert, not on which tokens they are, and an
    untrained router fills every expert. The router's small index kernels are left out.
    """
    import torch

    def dispatch(layer: Any) -> Callable[[Any], Any]:
        def forward(states: Any) -> Any:
            shares = layer.router.classifier(states).softmax(-1).max(-1).values.unsqueeze(-1)
            count = layer.router.num_experts
            filled = min(layer.router.expert_capacity, states.shape[1] // count)
            parts = [
                layer.experts[f"expert_{i}"](states[:, i * filled : (i + 1) * filled, :])
                for i in range(count)
            ]
            return shares * torch.cat([*parts, states[:, count * filled :, :]], dim=1)

        return forward

    for layer in model.modules():
        if hasattr(layer, "router") and hasattr(layer, "experts"):
            layer.forward = dispatch(layer)


def write(module: Any, seq_len: int, training: bool, path: Path) -> None:
    """Export into a temporary folder, then move the file, so that an existing file is complete."""
    import torch

    module.train(training)
    # the exporter takes an axis of extent 1 for a constant that broadcasts, so the batch is 2
    ids = torch.zeros((2, seq_len), dtype=torch.long)
    batch = torch.export.Dim("batch", min=1, max=1024)
    program = torch.onnx.export(
        module, (ids,), dynamo=True, optimize=False, verbose=False, dynamic_shapes=({0: batch},)
    )
    if program is None:
        raise DataError("torch exported nothing", where=str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        exported_file = Path(scratch) / path.name
        program.save(str(exported_file), external_data=True)
        # the model refers to the file of weights, which must exist; its content is never read
        for data in Path(scratch).glob(f"{path.name}.data"):
            os.truncate(data, 0)
            os.replace(data, path.with_name(data.name))
        os.replace(exported_file, path)
