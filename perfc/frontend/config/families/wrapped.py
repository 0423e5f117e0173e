"""Read models that wrap the configuration of a language model, with towers of other inputs."""

from __future__ import annotations

from ..keys import Keys
from ..model import OF_IMAGES, OF_SOUNDS, Stack, Tower
from ._rows import inside, wrappers
from ._towers import tower_of

TEXTS = {"qwen2_5_vl_text": "qwen2", "qwen2_5_vl": "qwen2"}
"""Families of language models, by other names that wrappers have for the families."""
NOT_OF_TEXT = frozenset(
    {
        "architectures",
        "model_type",
        "vision_config",
        "audio_config",
        "projector_hidden_act",
    }
)
"""Keys of a wrapper that do not describe its text model."""
INHERITED = ("tie_word_embeddings",)
"""Keys of the wrapper that apply to the language model where its configuration lacks them."""
Parts = tuple[tuple[Stack, ...], Tower | None, tuple[str, ...]]
"""Stacks of the language model, its tower, and the inputs that are left out."""


def unwrapped(keys: Keys) -> Parts:
    """Return the language model inside, its vision tower if the family is known, and other inputs.

    Raises:
        ModelError: no key says which language model is inside, or it wraps another one itself.
    """
    # the reader imports this module
    from ..reader import check_unread, reader_of

    outer = keys.text("model_type")
    inner = inside(keys)
    if inner is None:
        # the language model's keys lie among the keys of the wrapper
        inner = Keys({k: v for k, v in keys.values.items() if k not in NOT_OF_TEXT}, keys.where)
    family = inner.text("model_type") or wrappers().get(outer, "")
    # wrappers can be nested: Qwen-Omni wraps its thinker, whose configuration wraps a text model's
    if inside(inner) is not None:
        result = unwrapped(inner)
        keys.read |= inner.read
        return result
    if not family:
        raise keys.unsupported("no 'model_type' says what the language model is")
    family = TEXTS.get(family, family)
    if family in wrappers():
        raise keys.unsupported(f"'text_config' is of the family {family} that wraps others")
    for name in INHERITED:
        if inner.get(name) is None and keys.get(name) is not None:
            inner.values = {**inner.values, name: keys.get(name)}
    stacks = reader_of(family, keys.where)(inner)
    check_unread(inner, family)
    keys.read |= inner.read
    vision, left_out = keys.inner("vision_config"), []
    if vision is not None:
        left_out.append(OF_IMAGES)
    if keys.inner("audio_config") is not None:
        left_out.append(OF_SOUNDS)
    tower = None if vision is None else tower_of(keys, vision, inner)
    return stacks, tower, tuple(left_out)
