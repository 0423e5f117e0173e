"""Match patterns of a checkpoint's quantisation with the products of a lowered model.

Regular expressions are matched here, not by `re`: a pattern of a downloaded file must not take time
that is exponential in its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import product

from perfc.common.fitted import data_next_to
from perfc.errors import ModelError

MOST_CHARACTERS = 256
"""Maximum length of one pattern."""
MOST_CHOICES = 256
"""Maximum number of expansions of one pattern's alternatives."""

_TABLE: Mapping[str, Mapping[str, list[str]]] = data_next_to(__file__)
_SCOPES, _LEAVES = _TABLE["scopes"], _TABLE["leaves"]
_PRODUCT = re.compile(r"^\w+\.(\d+)\.(?:\d+\.)+(attention|mlp|moe\.\w+|mamba|delta)(?:\.(\w+))?$")
"""Names of products in a lowered model: stack, layers, module and leaf."""
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks?)\.(\d+)(?:\.(.+))?$")
"""Layers in names of checkpoints: ``model.layers.3.mlp``, ``transformer.h.3``, ``blocks.3``."""
_ATOM = re.compile(r"(\\.|\[\^?[^\]\\]*\]|[^\\\[\](){}|*+?^$])([*+?]?)")
"""One character, class or escape of a regular expression, with its repetition."""
_GROUP = re.compile(r"\((?:\?:)?([^()]*)\)(?![*+?{])")
"""A group without repetition, whose alternatives can be written out."""
_ALPHABET = [chr(c) for c in range(32, 127)]
"""Names of modules are ASCII; a class matches some of these characters."""


@lru_cache(maxsize=1 << 14)
def names_of(name: str) -> tuple[int, tuple[str, ...]]:
    """Return layer and checkpoint names of a lowered model's product; no names if it has none.

    >>> names_of("decoder.3.1.mlp.down")[1][0]
    'mlp.down_proj'
    """
    match = _PRODUCT.match(name)
    if match is None:
        return 0, ()
    # fused experts are one product, without a leaf: it stands for the first of their two
    leaves = _LEAVES.get(match[3] or "gate_up", ())
    return int(match[1]), tuple(
        f"{scope}.{leaf}" for scope in _SCOPES.get(match[2], ()) for leaf in leaves
    )


def matches(pattern: str, layer: int, names: tuple[str, ...]) -> bool:
    """Return True if a pattern names one of these modules of a layer.

    A pattern is a module or a parent of it, as in transformers (``modules_to_not_convert``), a
    glob, as in ModelOpt (``*self_attn*``), or a regular expression after ``re:``, as in
    compressed-tensors.
    """
    if pattern.startswith("re:"):
        choices = _choices(pattern.removeprefix("re:"))
        return any(
            _accepts(choice, f"model.layers.{layer}.{name}") for name in names for choice in choices
        )
    if "*" in pattern or "?" in pattern:
        globs = pattern, f"{pattern}.*"
        whole = [f"model.layers.{layer}.{name}" for name in names]
        return any(fnmatchcase(name, glob) for name in whole for glob in globs)
    plain = pattern.removesuffix(".weight").rstrip(".")
    if match := _LAYER.search(plain):
        number, parent = match.groups("")
        start = f"{parent}." if parent else ""
        return int(number) == layer and any(f"{name}.".startswith(start) for name in names)
    # a module of every layer
    return any(f".{plain}." in f".{name}." for name in names)


def checked(pattern: str, where: str) -> str:
    """Return the pattern as it is.

    Raises:
        ModelError: it is too long, or a regular expression beyond those that are matched here.
    """
    if len(pattern) > MOST_CHARACTERS:
        raise ModelError(f"a pattern of {len(pattern)} characters", where=where)
    if pattern.startswith("re:") and _choices(pattern.removeprefix("re:")) == ():
        raise ModelError(
            f"cannot match the modules of {pattern[:64]!a}",
            where=where,
            hint="patterns may have characters, classes, alternatives, and * + ? of a character",
        )
    return pattern


Atoms = tuple[tuple[frozenset[str], str], ...]
"""Sets of characters with their repetition: "", "*", "+" or "?"."""


@lru_cache(maxsize=1 << 12)
def _choices(expression: str) -> tuple[Atoms, ...]:
    """Return a regular expression once for each of its alternatives; none if not readable."""
    try:
        # "^" needs no atom: matches begin at the first character of a name
        return tuple(_atoms(text) for text in _alternatives(expression.strip("^")))
    except (ValueError, re.error):
        return ()


def _alternatives(expression: str) -> Iterator[str]:
    """Yield the expression with one choice of each group in its place.

    Raises:
        ValueError: groups lie in one another, are repeated, or have too many alternatives.
    """
    # texts and groups in turn; the first and the last one are texts
    parts = _GROUP.split(expression)
    choices = [part.split("|") for part in parts[1::2]]
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > MOST_CHOICES:
        raise ValueError(expression)
    for chosen in product(*choices):
        texts = zip(parts[::2], (*chosen, ""), strict=True)
        # bars outside of groups separate alternatives of the whole expression
        yield from "".join(text + choice for text, choice in texts).split("|")


def _atoms(expression: str) -> Atoms:
    """Return sets of characters with their repetition; a pattern without ``$`` matches any rest.

    Raises:
        ValueError: the expression has something else.
    """
    is_whole, place, atoms = expression.endswith("$"), 0, []
    text = expression.removesuffix("$")
    while place < len(text):
        atom = _ATOM.match(text, place)
        if atom is None:
            raise ValueError(expression)
        single = re.compile(atom[1])
        atoms.append((frozenset(c for c in _ALPHABET if single.fullmatch(c)), atom[2]))
        place = atom.end()
    return tuple(atoms if is_whole else [*atoms, (frozenset(_ALPHABET), "*")])


def _accepts(atoms: Atoms, text: str) -> bool:
    """Return True if the atoms match the whole text; time is their number times its length."""

    def closed(states: set[int]) -> set[int]:
        """Add the states that are reached without a character: behind what may be absent."""
        for state in sorted(states):
            while state < len(atoms) and atoms[state][1] in ("*", "?"):
                state += 1
                states.add(state)
        return states

    # a non-deterministic automaton: a state is the number of atoms that the text so far has passed
    states = closed({0})
    for character in text:
        passed = [s for s in states if s < len(atoms) and character in atoms[s][0]]
        states = closed({s + 1 for s in passed} | {s for s in passed if atoms[s][1] in ("*", "+")})
    return len(atoms) in states
