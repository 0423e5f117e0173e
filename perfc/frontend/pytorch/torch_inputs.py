"""Example inputs of PyTorch modules: shapes, tensors and scalars that a program gives."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, TypeAlias

from perfc.errors import ModelError
from perfc.ir import record

Inputs: TypeAlias = Any
"""A shape, tensor or scalar, or a tuple, list or dict of those."""
HINT = "inputs=((3, 224, 224), (128, 'i64')), or a dict by name of the parameter"
"""Example of inputs, for errors."""
MOST_TYPES = 16
"""Maximum assignments of element types to shapes that are tried: each is an export."""
KNOWN_INPUTS = ("input_ids", "decoder_input_ids", "pixel_values", "input_features", "input_values")
"""Inputs of models of transformers whose shapes follow from their configurations."""
KNOWN_ENDS = ("input_ids", "_mask", *KNOWN_INPUTS)
"""Ends of the names of required parameters that are such inputs."""
MERGED = re.compile(r"image_\w*(id|index)")
"""Keys of configurations of models that put images in place of some tokens: images are optional."""
FEATURES = ("num_mel_bins", "input_feat_per_channel", "feature_projection_input_dim")
"""Keys of the number of features of a frame of audio."""
MOST_POSITIONS = 1 << 20
"""Maximum sequence length of a model whose configuration names no number of positions."""
SAMPLES = 16_000
"""Samples of a second of audio, at the 16 kHz of speech models."""
CHOICES = 2
"""Texts of one example for a model that chooses between texts: the fewest."""
PREFIXES = {"f": "float", "bf": "bfloat", "i": "int", "u": "uint", "c": "complex"}
"""PyTorch's names of element types by those of the IR; the number of bits follows."""


@record
class Extents:
    """Shape of one example of an input, without its batch.

    Args:
        shape: extents.
        dtype: PyTorch's element type; None where it is inferred.
    """

    shape: tuple[int, ...]
    dtype: Any = None


@record
class Call:
    """Arguments of one call of a module: trees of `Extents`, tensors and scalars."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    @property
    def leaves(self) -> list[Any]:
        """Return every extents, tensor and scalar, in order."""
        return [*leaves_of((*self.args, *self.kwargs.values()))]

    @property
    def batch(self) -> int | None:
        """Return the batch of the first tensor; None where every input is a shape or a scalar."""
        return next((int(t.shape[0]) for t in self.leaves if is_tensor(t) and t.ndim), None)

    def mapped(self, change: Callable[[Any], Any]) -> Call:
        """Return the call with every leaf changed."""
        kwargs = {name: mapped(change, value) for name, value in self.kwargs.items()}
        return Call(tuple(mapped(change, value) for value in self.args), kwargs)

    def bound(self, model: Any) -> dict[str, Any]:
        """Return the arguments by name of the parameter.

        Raises:
            ModelError: the module's ``forward`` does not take them.
        """
        signature = inspect.signature(model.forward)
        try:
            return dict(signature.bind(*self.args, **self.kwargs).arguments)
        except TypeError as error:
            takes = f"{type(model).__name__}.forward{signature}"
            raise ModelError(f"inputs do not fit {takes}: {error}", hint=HINT) from None

    def typed(self, floats: Any, *, has_embedding: bool) -> Iterator[Call]:
        """Yield the call with an element type for every shape, the likeliest types first.

        Args:
            floats: type of the module's parameters.
            has_embedding: whether the module looks up rows by whole numbers: shapes are then tried
                as indices too, a shape of one extent first as indices, any other first as floats.
        """
        import torch

        shapes = [leaf for leaf in self.leaves if isinstance(leaf, Extents) and leaf.dtype is None]
        # one axis per example is likelier a sequence of indices
        kinds = [
            (torch.int64, floats) if len(s.shape) == 1 else (floats, torch.int64) for s in shapes
        ]
        choices = product(*kinds) if has_embedding else iter([(floats,) * len(shapes)])
        for chosen in islice(choices, MOST_TYPES):
            rest = iter(chosen)

            # a default binds the types of this choice
            def typed(leaf: Any, rest: Iterator[Any] = rest) -> Any:
                is_open = isinstance(leaf, Extents) and leaf.dtype is None
                return Extents(leaf.shape, next(rest)) if is_open else leaf

            yield self.mapped(typed)

    def tensors(self, batch: int, device: Any, *, doubled: bool) -> Call:
        """Return the call with tensors of zeros for shapes.

        Args:
            batch: batch size of these tensors.
            device: device of these tensors.
            doubled: whether a batch of 1 is repeated to 2: exporters treat 1 as an extent that
                broadcasts.
        """
        import torch

        def made(leaf: Any) -> Any:
            if isinstance(leaf, Extents):
                size = 2 * batch if doubled else batch
                return torch.zeros((size, *leaf.shape), device=device, dtype=leaf.dtype)
            if doubled and is_tensor(leaf) and leaf.shape[:1] == (1,):
                return torch.cat([leaf, leaf])
            return leaf

        return self.mapped(made)


def call_of(input: Any, inputs: Any) -> Call | None:
    """Return the call that a program describes; None where it describes none.

    Args:
        input: shape of one example or a tensor, of a module with one input.
        inputs: a tuple or dict of shapes, tensors, scalars, and tuples, lists and dicts of them.

    Raises:
        ModelError: both are given, or a part of them is of another type.
    """
    if input is not None:
        if inputs is not None:
            raise ModelError("input and inputs exclude each other", hint=HINT)
        if not is_tensor(input):
            require_extents(input)
        return Call((parsed(input),), {})
    match inputs:
        case None:
            return None
        case Mapping():
            return Call((), {str(name): parsed(value) for name, value in inputs.items()})
        case tuple() | list() if not inputs or not is_shape(inputs):
            return Call(tuple(parsed(value) for value in inputs), {})
        case _:
            return Call((parsed(inputs),), {})


def parsed(value: Any) -> Any:
    """Return one input with its shapes as `Extents`.

    Raises:
        ModelError: it is no shape, tensor, scalar, or tuple, list or dict of those.
    """
    if is_tensor(value):
        return value
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {name: parsed(part) for name, part in value.items()}
        case tuple() | list() if is_shape(value):
            # an element type may follow the extents
            typed = value and not isinstance(value[-1], int)
            extents = value[:-1] if typed else value
            require_extents(extents)
            return Extents(tuple(extents), dtype_of(value[-1]) if typed else None)
        case tuple():
            return tuple(parsed(part) for part in value)
        case list():
            return [parsed(part) for part in value]
        case _ if hasattr(value, "__array__"):
            import torch

            return torch.as_tensor(value)
    raise ModelError(f"{type(value).__name__} is no shape, tensor or scalar", hint=HINT)


def is_tensor(value: object) -> bool:
    """Return True for a tensor of PyTorch, without importing PyTorch."""
    return hasattr(value, "untyped_storage")


def is_shape(value: Sequence[Any]) -> bool:
    """Return True for extents, with or without an element type after the last one."""
    extents = value[:-1] if value and is_dtype(value[-1]) else value
    return all(isinstance(extent, int) and not isinstance(extent, bool) for extent in extents)


def is_dtype(value: object) -> bool:
    """Return True for the name of an element type, or an element type of PyTorch."""
    # tensors have the attribute too
    return isinstance(value, str) or (hasattr(value, "is_floating_point") and not is_tensor(value))


def dtype_of(value: Any) -> Any:
    """Return PyTorch's element type of a name, as ``i64``, ``int64`` or ``bool``.

    Raises:
        ModelError: no such type.
    """
    import torch

    if isinstance(value, torch.dtype):
        return value
    dtype = getattr(torch, dtype_name(value), None)
    if not isinstance(dtype, torch.dtype):
        raise ModelError(f"no element type {value!r}", hint="f32, f16, bf16, i64, i32, bool")
    return dtype


def dtype_name(value: str) -> str:
    """Return the long name of an element type, as ``int64`` for ``i64``."""
    short = re.fullmatch(r"(bf|[fiuc])(\d+)", value)
    return PREFIXES[short[1]] + short[2] if short else value


def require_extents(example: object) -> None:
    """Raise an error if an example is no sequence of extents.

    Raises:
        ModelError: it is no sequence of positive whole numbers.
    """
    extents = example if isinstance(example, Sequence) else [None]
    numbers = extents[:-1] if extents and is_dtype(extents[-1]) else extents
    if isinstance(example, str) or not all(isinstance(n, int) and n > 0 for n in numbers):
        raise ModelError(f"{example!r} are no extents of an input", hint="input=(3, 224, 224)")


def inferred(model: Any, dims: Mapping[str, int]) -> Call:
    """Return the call of a model of transformers by its configuration.

    Args:
        model: the model, with ``main_input_name`` and ``config``.
        dims: sizes by name; ``seq`` is the number of tokens.

    Raises:
        ModelError: the model says nothing of its input, or no ``seq`` is given.
    """
    config, main = getattr(model, "config", None), getattr(model, "main_input_name", None)
    if config is None or main not in KNOWN_INPUTS:
        raise ModelError(
            "a module does not record its input shape",
            hint="input=(3, 224, 224), or inputs= for several",
        )
    takes = inspect.signature(model.forward).parameters
    needed = [n for n, p in takes.items() if p.default is p.empty and n.endswith(KNOWN_ENDS)]
    names = dict.fromkeys([main, *needed])
    if getattr(config, "is_encoder_decoder", False) and main != "pixel_values":
        names["decoder_input_ids"] = None
    parts = vars(config)
    # a model with encoders of texts and of images compares both and needs both; a model that merges
    # images into the text runs on text alone
    if {"text_config", "vision_config"} <= parts.keys() and not any(map(MERGED.fullmatch, parts)):
        names["pixel_values"] = None
    if "seq" not in dims and any(name.endswith("input_ids") for name in names):
        raise ModelError("no length of its token inputs", hint="seq=128 or input=(128,)")
    is_choice = type(model).__name__.endswith("MultipleChoice")
    choices = (CHOICES,) if is_choice else ()
    shapes = {n: parsed((*choices, *example_of(config, n, dims.get("seq", 0)))) for n in names}
    return Call((), {name: shape for name, shape in shapes.items() if name in takes})


def example_of(config: Any, name: str, seq: int) -> tuple[Any, ...]:
    """Return the shape of one example of an input of a model of transformers, with its type."""
    if name.endswith("_mask"):
        return (example_of(config, name.removesuffix("_mask"), seq)[0], "i64")

    def look(default: Any, *keys: str) -> Any:
        return next(values_of(config, keys), default)

    # sizes of a configuration without these keys: 80 mel bins, 1000 frames, 224 pixels
    mels = look(80, *FEATURES) * look(1, "num_stacked_frames")
    match name:
        case "pixel_values":
            size, frames = look(224, "image_size"), look(0, "num_frames")
            # height and width by name
            size = tuple(size.values()) if isinstance(size, Mapping) else size
            sides = (size, size) if isinstance(size, int) else tuple(size)
            return (*((frames,) if frames else ()), look(3, "num_channels"), *sides, "f32")
        case "input_features" if look(0, "num_mel_bins") and look(0, "max_source_positions"):
            # log-mel spectra of Whisper: its second convolution halves the number of frames
            return (mels, 2 * look(0, "max_source_positions"), "f32")
        case "input_features":
            return (look(1000, "max_length"), mels, "f32")
        case "input_values" if look(0, *FEATURES):
            return (look(1000, "max_length"), mels, "f32")
        case "input_values":
            return (SAMPLES, "f32")
    return (seq, "i64")


def values_of(config: Any, keys: Sequence[str]) -> Iterator[Any]:
    """Yield the values of keys of a configuration of transformers and of its parts."""
    # parts are configurations within the configuration, as that of a text model
    parts = [config, *(v for v in vars(config).values() if hasattr(v, "to_diff_dict"))]
    yield from filter(None, (getattr(part, key, None) for key in keys for part in parts))


def positions_of(model: Any) -> int:
    """Return the fewest positions that a part of a model has; many where it has no such limit."""
    config = getattr(model, "config", None)
    limits = values_of(config, ("max_position_embeddings",)) if config is not None else ()
    return min(limits, default=MOST_POSITIONS)


def leaves_of(tree: Any) -> Iterator[Any]:
    """Yield the leaves of tuples, lists and dicts."""
    match tree:
        case Mapping():
            for part in tree.values():
                yield from leaves_of(part)
        case tuple() | list():
            for part in tree:
                yield from leaves_of(part)
        case _:
            yield tree


def mapped(change: Callable[[Any], Any], tree: Any) -> Any:
    """Return a tree of tuples, lists and dicts with every leaf changed."""
    match tree:
        case Mapping():
            return {name: mapped(change, part) for name, part in tree.items()}
        case tuple() | list():
            return type(tree)(mapped(change, part) for part in tree)
        case _:
            return change(tree)
