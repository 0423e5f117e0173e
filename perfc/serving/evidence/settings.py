"""How published runs were set up, where their table leaves it out."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from perfc.ir.record import record

FILE = Path(__file__).with_name("inferencex.toml")
ACCEPTANCE = 0.7
"""Probability that a drafted token is kept in the runs that draft; assumed, nobody states it."""
DRAFTING = "1.2.0rc6.post3"
"""Version of TensorRT-LLM whose runs in one place draft tokens: the same runs under
``1.2.0rc6.post2`` take 1.3 to 2.3 times as long a token, and most where users are few."""


@record
class Apart:
    """A run whose prompts are computed by workers of their own.

    Args:
        prompt_workers: that compute prompts.
        token_workers: that write tokens.
        ranks: of each of those.
        has_own_sequences: whether each of these ranks has sequences of its own.
        expert: ranks that share experts.
        drafted: tokens of each sequence in a step, beside the next one.
    """

    prompt_workers: int
    token_workers: int
    ranks: int
    has_own_sequences: bool
    expert: int
    drafted: int


@cache
def _known() -> dict[tuple[object, ...], tuple[Apart, ...]]:
    found: dict[tuple[object, ...], tuple[Apart, ...]] = {}
    for file in tomllib.loads(FILE.read_text(encoding="utf-8"))["file"]:
        for version in file["versions"]:
            for isl, osl, users, *rest in file["settings"]:
                for count in users:
                    key = file["system"], file["precision"], version, isl, osl, count
                    found[key] = (*found.get(key, ()), Apart(*rest))
    return found


def apart(
    system: str, precision: str, version: str, sizes: tuple[int, int], users: int, ranks: int
) -> Apart | None:
    """The setting of a run; None where none is known, or several are that do not agree."""
    every = _known().get((system, precision, version, *sizes, users), ())
    return _agreed([a for a in every if a.ranks == ranks])


def _agreed(found: Sequence[Apart]) -> Apart | None:
    return found[0] if len(set(found)) == 1 else None
