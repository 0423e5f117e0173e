"""Models whose configuration wraps that of a language model, beside a tower of images."""

from __future__ import annotations

from importlib import import_module

from ..keys import Keys
from ..model import Stack


def wrapped(keys: Keys) -> tuple[tuple[Stack, ...], tuple[str, ...]]:
    """The language model inside; the tower of images is left out, and said to be."""
    from ..reader import check_unread, file_of

    inner = keys.inner("text_config")
    if inner is None:
        raise keys.unsupported("no 'text_config' in the configuration")
    family = inner.text("model_type") or DEFAULTS[keys.text("model_type")]
    if family in READERS:
        raise keys.unsupported(f"'text_config' is of the family {family} that wraps others")
    if inner.get("tie_word_embeddings") is None and keys.get("tie_word_embeddings") is not None:
        inner.stated = {**inner.stated, "tie_word_embeddings": keys.get("tie_word_embeddings")}
    reader = import_module(f".{file_of(family, keys.where)}", __package__).READERS[family]
    found = reader(inner)
    check_unread(inner, family)
    return found, ("the tower of images",) if keys.get("vision_config") is not None else ()


DEFAULTS = {"mistral3": "mistral", "gemma3": "gemma3_text", "llama4": "llama4_text"}

READERS = {
    "mistral3": wrapped,
    "gemma3": wrapped,
    "llama4": wrapped,
}
