"""What is read of one shipped configuration of every family, whole: layers, norms, embeddings, heads.

The golden file has a line for each part, and the order of the kinds of layers. A number was
checked against the configuration when its family was added; the file says when any of them changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from itertools import groupby
from pathlib import Path

import pytest

from perfc.frontend.config import LanguageModel, read_config, shipped
from perfc.frontend.config.facts import cache_bytes, parameters, state_bytes
from perfc.frontend.config.precision import precision_of

GOLDEN = Path(__file__).with_name("whole_families.txt")
LEFT_OUT = re.compile(r"\b\w+=(?:False|0|None|\(\))(?:, )?|, (?=\))")
"""Fields that say nothing, so that a line is short."""


def shown(part: object) -> str:
    """A part in few words: enumerations by their value, fields that are not set left out."""
    text = re.sub(r"<\w+\.(\w+): '[^']*'>", r"\1", repr(part))
    while (shorter := LEFT_OUT.sub("", text)) != text:
        text = shorter
    return text


def described(model: LanguageModel) -> Iterator[str]:
    """Lines of a model."""
    rest = [f.name for f in fields(model) if f.name != "stacks"]
    yield " ".join(f"{name}={shown(getattr(model, name))}" for name in rest)
    precision = precision_of(model.dtype, model.quantization, "", "")
    found = parameters(model)
    cached = cache_bytes(model, 1000, precision) if model.decoder is not None else 0
    held = state_bytes(model, precision) if model.decoder is not None else 0
    yield f"  parameters {found.resident} active {found.active} cache {cached} state {held}"
    for stack in model.stacks:
        yield f"  stack {stack.name} hidden={stack.hidden} is_decoder={stack.is_decoder}"
        yield f"    embedding {shown(stack.embedding)}"
        kinds = list(dict.fromkeys(map(shown, stack.layers)))
        yield from (f"    layer {i}: {text}" for i, text in enumerate(kinds))
        order = groupby(kinds.index(shown(layer)) for layer in stack.layers)
        yield f"    layers {' '.join(f'{len(list(alike))}×{kind}' for kind, alike in order)}"
        yield f"    norm {shown(stack.norm)} heads {shown(stack.heads)}"


def one_of_each_family() -> list[str]:
    """The shipped configuration with the fewest layers of each family."""
    best: dict[str, tuple[int, str]] = {}
    for name in shipped():
        model = read_config(name)
        size = sum(len(s.layers) for s in model.stacks), name
        best[model.family] = min(best.get(model.family, size), size)
    return sorted(name for _, name in best.values())


def test_every_family_is_read_as_it_was(pytestconfig: pytest.Config) -> None:
    names = one_of_each_family()
    assert len(names) > 40
    actual = "".join(f"{line}\n" for n in names for line in (f"# {n}", *described(read_config(n))))
    if pytestconfig.getoption("--update-goldens"):
        GOLDEN.write_text(actual, encoding="utf-8")
    expected = GOLDEN.read_text(encoding="utf-8").splitlines()
    changed = [pair for pair in zip(expected, actual.splitlines(), strict=False) if len({*pair}) > 1]
    assert changed == [], "--update-goldens writes it"
    assert len(expected) == len(actual.splitlines())
