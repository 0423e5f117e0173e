"""Models whose configuration wraps that of a language model, beside a tower of images."""

from __future__ import annotations

from importlib import import_module

from ..keys import Keys
from ..model import OF_IMAGES, Stack, Tower
from ._towers import tower_of


def wrapped(keys: Keys) -> tuple[tuple[Stack, ...], Tower | None, tuple[str, ...]]:
    """Return the language model inside, and its vision tower if that is known."""
    inner = keys.inner("text_config")
    if inner is None:
        raise keys.unsupported("no 'text_config' in the configuration")
    return _with_tower(keys, inner)


def flat(keys: Keys) -> tuple[tuple[Stack, ...], Tower | None, tuple[str, ...]]:
    """Return the same for keys of the language model at the level of the tower's."""
    inner = keys.inner("text_config")
    if inner is not None:
        return _with_tower(keys, inner)
    of_text = {k: v for k, v in keys.values.items() if k not in NOT_OF_TEXT}
    return _with_tower(keys, Keys(of_text, keys.where))


def _with_tower(keys: Keys, inner: Keys) -> tuple[tuple[Stack, ...], Tower | None, tuple[str, ...]]:
    from ..reader import check_unread, file_of

    family = inner.text("model_type") or DEFAULTS.get(keys.text("model_type"), "")
    if not family:
        raise keys.unsupported("no 'model_type' says what the language model is")
    family = TEXTS.get(family, family)
    if family in READERS:
        raise keys.unsupported(f"'text_config' is of the family {family} that wraps others")
    if inner.get("tie_word_embeddings") is None and keys.get("tie_word_embeddings") is not None:
        inner.values = {**inner.values, "tie_word_embeddings": keys.get("tie_word_embeddings")}
    reader = import_module(f".{file_of(family, keys.where)}", __package__).READERS[family]
    stacks = reader(inner)
    check_unread(inner, family)
    keys.read |= inner.read
    vision = keys.inner("vision_config")
    tower = None if vision is None else tower_of(keys, vision, inner)
    return stacks, tower, (OF_IMAGES,) if vision is not None else ()


DEFAULTS = {
    "mistral3": "mistral", "gemma3": "gemma3_text", "llama4": "llama4_text",
    "qwen2_5_vl": "qwen2",
}  # fmt: skip
TEXTS = {"qwen2_5_vl_text": "qwen2", "qwen2_5_vl": "qwen2"}
"""Families of texts under another name."""
NOT_OF_TEXT = frozenset({"architectures", "model_type", "vision_config"})

READERS = {
    "mistral3": wrapped,
    "gemma3": wrapped,
    "llama4": wrapped,
    "qwen2_5_vl": flat,
}
