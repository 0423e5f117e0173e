"""Seeded cases for the sweep: one file a family, each registering generators by operator.

A generator is `f(b: Build, op: str) -> None`; it adds nodes to `b`, or raises NoCaseError. It is
called for every schema version of its operator from opset 7 on, `repeats` times at each.
"""

from __future__ import annotations

import importlib
import pkgutil
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import onnx

from .build import NEWEST, OLDEST, Build, Case, NoCaseError

Generator = Callable[[Build, str], None]


@dataclass(frozen=True)
class Family:
    """One generator and the operators it is for."""

    name: str
    ops: tuple[str, ...]
    make: Generator
    repeats: int
    opsets: tuple[int, ...]


FAMILIES: list[Family] = []


def sweep(*ops: str, repeats: int = 6, opsets: tuple[int, ...] = ()) -> Callable[..., Generator]:
    """Register a generator for operators; `opsets` where it is not the schema that decides."""

    def register(make: Generator) -> Generator:
        name = f"{make.__module__.rsplit('.', 1)[-1]}.{make.__name__}"
        FAMILIES.append(Family(name, ops, make, repeats, opsets))
        return make

    return register


def load_families() -> None:
    """Import every family file beside this one."""
    for info in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{info.name}")


def versions(op: str) -> list[int]:
    """Opsets at which a schema version of the operator comes into force, from 7 on."""
    since = sorted(
        {
            s.since_version
            for s in onnx.defs.get_all_schemas_with_history()
            if s.domain == "" and s.name == op
        }
    )
    if not since:
        raise KeyError(op)
    older = [v for v in since if v < OLDEST]
    return sorted({*(v for v in since if v >= OLDEST), *([OLDEST] if older else [])})


def opsets_of(family: Family, op: str, rng: random.Random) -> list[int]:
    """Each schema version's first opset, and one more before the next version."""
    if family.opsets:
        return list(family.opsets)
    firsts = versions(op)
    picked = set(firsts)
    for first, following in zip(firsts, [*firsts[1:], NEWEST + 1], strict=True):
        if following - first > 1:
            picked.add(rng.randrange(first + 1, following))
    return sorted(picked)


def cases(seed: int = 0, only: str = "", scale: float = 1.0) -> Iterator[Case]:
    """Every case of the sweep, in a fixed order; `only` is the beginning of an id."""
    load_families()
    for family in sorted(FAMILIES, key=lambda f: f.name):
        for op in family.ops:
            stem = f"{family.name}/{op}"
            if only and not (stem.startswith(only) or only.startswith(stem)):
                continue
            for opset in opsets_of(family, op, random.Random(f"{seed}/{stem}")):
                for k in range(max(1, round(family.repeats * scale))):
                    case_id = f"{stem}/{opset}/{k}"
                    if only and not (case_id.startswith(only) or only.startswith(case_id)):
                        continue
                    build = Build(random.Random(f"{seed}/{case_id}"), opset)
                    try:
                        family.make(build, op)
                    except NoCaseError:
                        continue
                    yield build.case(case_id, family.name, op)
