"""What is read of one shipped configuration of every family: layers, norms, embeddings, heads.

The golden file has a line for each part, and the order of the kinds of layers. A number was
checked against the configuration when its family was added; the file says when any of them changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest

from perfc.errors import PerfcError
from perfc.frontend.checkpoints.json_file import loaded
from perfc.frontend.checkpoints.sources import located
from perfc.frontend.config import LanguageModel, read_config
from perfc.frontend.config.facts import cache_bytes, parameters, state_bytes
from perfc.frontend.config.precision import precision_of
from perfc.frontend.config.reader import described as read_tree
from tests.distributed.shipped_models import shipped_models

GOLDEN = Path(__file__).with_name("whole_families.txt")
CHANGES = Path(__file__).with_name("whole_families_keys.txt")
LEFT_OUT = re.compile(r"\b\w+=(?:False|0|None|\(\))(?:, )?|, (?=\))")
"""Fields that say nothing, so that a line is short."""


def shown(part: object) -> str:
    """A part in few words: enumerations by their value, fields that are not set left out."""
    return shortened(repr(part))


@cache
def shortened(text: str) -> str:
    text = re.sub(r"<\w+\.(\w+): '[^']*'>", r"\1", text)
    while (shorter := LEFT_OUT.sub("", text)) != text:
        text = shorter
    return text


def counted(model: LanguageModel) -> str:
    """What is counted of a model: parameters, and bytes that a sequence of 1000 tokens holds."""
    precision = precision_of(model.dtype, model.quantization, "", "")
    found = parameters(model)
    cached = cache_bytes(model, 1000, precision)
    held = state_bytes(model, precision)
    return f"  parameters {found.resident} active {found.active} cache {cached} state {held}"


def described(model: LanguageModel) -> Iterator[str]:
    """Lines of a model."""
    rest = [f.name for f in fields(model) if f.name != "stacks"]
    yield " ".join(f"{name}={shown(getattr(model, name))}" for name in rest)
    for stack in model.stacks:
        yield f"  stack {stack.name} hidden={stack.hidden} is_decoder={stack.is_decoder}"
        yield f"    embedding {shown(stack.embedding)}"
        # layers alike are one object: each is printed once
        objects = {id(layer): layer for layer in stack.layers}
        said = {key: shown(layer) for key, layer in objects.items()}
        kinds = list(dict.fromkeys(said.values()))
        yield from (f"    layer {i}: {text}" for i, text in enumerate(kinds))
        order = groupby(kinds.index(said[id(layer)]) for layer in stack.layers)
        yield f"    layers {' '.join(f'{len(list(alike))}×{kind}' for kind, alike in order)}"
        yield f"    norm {shown(stack.norm)} heads {shown(stack.heads)}"


def one_of_each_family() -> list[str]:
    """The shipped configuration with the fewest layers of each family."""
    best: dict[str, tuple[int, str]] = {}
    for name, model in shipped_models().items():
        size = sum(len(s.layers) for s in model.stacks), name
        best[model.family] = min(best.get(model.family, size), size)
    return sorted(name for _, name in best.values())


def test_every_family_is_read_as_it_was(pytestconfig: pytest.Config) -> None:
    names = one_of_each_family()
    assert len(names) > 40
    models = [read_config(name) for name in names]
    parts = [(f"# {m.name}", *described(m), counted(m)) for m in models]
    actual = "".join(f"{line}\n" for lines in parts for line in lines)
    if pytestconfig.getoption("--update-goldens"):
        GOLDEN.write_text(actual, encoding="utf-8")
    expected = GOLDEN.read_text(encoding="utf-8").splitlines()
    changed = [
        pair for pair in zip(expected, actual.splitlines(), strict=False) if len({*pair}) > 1
    ]
    assert changed == [], "--update-goldens writes it"
    assert len(expected) == len(actual.splitlines())


def otherwise(value: object) -> Iterator[object]:
    """Other values of a key: turned round, half, one more, without its last item, left out."""
    match value:
        case bool():
            yield not value
        case int():
            yield from (value // 2, value + 1)
        case float():
            yield value / 2
        case list():
            yield value[:-1]
    yield None


def words(model: LanguageModel) -> set[str]:
    """What is said of a model, word by word."""
    return set(
        re.findall(r"[\w.]+=[^\s,()]+|\d+×\d+|Head|Experts|Mlp", "\n".join(described(model)))
    )


def effect(tree: Mapping[str, object], name: str, base: set[str]) -> str:
    """What another configuration has that the first has not, or why it is refused."""
    try:
        found = words(read_tree(dict(tree), name, name))
    except PerfcError as error:
        return f"error: {str(error)[:90]}"
    return " ".join([*sorted(found - base), *(f"-{w}" for w in sorted(base - found))])[:160]


def test_every_key_changes_what_it_did(pytestconfig: pytest.Config) -> None:
    """The lines say what of a model changes with each key of its configuration."""
    lines: list[str] = []
    for name in one_of_each_family():
        path, _ = located(name)
        tree = loaded(path)
        base = words(read_config(name))
        for key, value in tree.items():
            for other in otherwise(value):
                changed = {**tree, key: other}
                if other is None:
                    del changed[key]
                said = effect(changed, name, base)
                if said:
                    lines.append(f"{name} {key}={other}: {said}")
    actual = "".join(f"{line}\n" for line in lines)
    if pytestconfig.getoption("--update-goldens"):
        CHANGES.write_text(actual, encoding="utf-8")
    expected = CHANGES.read_text(encoding="utf-8").splitlines()
    assert sorted({*expected} ^ {*lines})[:10] == [], "--update-goldens writes it"
