"""Pair models with those of the baseline whose place they take: renamed, moved, split, merged.

Pairs are formed in order of certainty: equal contents, renames that git sees, a similar structure,
then groups of models that only together resemble one. `lineage` compares their figures.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from perfc.ir import Node, record
from perfc.review.diff.figures import Figure, Metric

from .baseline import DIGEST_CHARACTERS, Entry

if TYPE_CHECKING:
    from perfc.api import Report

SIMILAR = 0.85
"""Lowest cosine of the counts of products of two models of one architecture; ResNet-50 and
MobileNetV2 have 0.82, ResNet-50 and ResNet-101 0.99."""
SHARED = 0.3
"""Lowest share of common products: three times as many layers are another model."""
MOST_PAIRS = 20_000
"""Maximum pairs of models that are compared each with each."""
MOST_NAMESAKES = 8
"""Maximum models of one file name that are compared where there are more."""
LARGEST = frozenset({Metric.PEAK_MEMORY, Metric.UNKNOWN})
"""Metrics of which several models in sequence have the largest, not the sum."""

Parts = tuple[str, ...]
"""Names of models that are compared as one."""


@record
class Succession:
    """Models and the models of the baseline whose place they take, at least one of each."""

    new: Parts
    old: Parts


def products_of(report: Report) -> tuple[tuple[str, int], ...]:
    """Return the structure of a model: how many products of each class and window, by name.

    Widths, names, element types and all that exporters write differently are not in it. A model
    without products has its other classes of kernels.
    """
    from perfc.review.diff.labels import DiffSide, Labels

    labels = Labels(DiffSide(report.env, report.cost.nodes))
    nodes = list(report.cost.nodes)
    products = [n for n in nodes if labels.mac(n) > 0]
    return tuple(sorted(Counter(map(class_of, products or nodes)).items()))


def class_of(node: Node) -> str:
    """Return the class of a node with the window of its filters: ``conv3x3``, in groups ``g``."""
    from perfc.ir import Kind, TensorType

    window = ""
    if node.op.kind is Kind.CONV and len(node.inputs) > 1 and node.inputs[1] is not None:
        filters = node.inputs[1].type
        if isinstance(filters, TensorType) and filters.shape is not None:
            window = "x".join(str(d) if isinstance(d, int) else "n" for d in filters.shape[2:])
        window += "g" if getattr(node.op, "group", 1) != 1 else ""
    return f"{node.op.kind.value}{window}"


def successions(
    new: Mapping[str, Entry],
    gone: Mapping[str, Entry],
    changed: Mapping[str, tuple[Entry, Entry]],
    renamed: Mapping[str, str],
) -> list[Succession]:
    """Return the models that take the place of others, with the models that they replace.

    Args:
        new: models that the baseline lacks.
        gone: models of the baseline that are no longer checked.
        changed: entry and baseline of models that are in both.
        renamed: old name by new name, of files that git takes for renamed.
    """
    before = {**gone, **{name: old for name, (_, old) in changed.items()}}
    now = {**new, **{name: entry for name, (entry, _) in changed.items()}}
    # under the name of one model there may be another one now
    others = [
        name
        for name, (entry, old) in changed.items()
        if not is_similar(Counter(dict(entry.products)), Counter(dict(old.products)))
    ]
    pairing = _Pairing(now, before, [*new, *others], [*gone, *others])
    groups = [([name], [name]) for name in changed if name not in others]
    groups += pairing.certain(renamed)
    groups += pairing.likely()
    same_name = [n for n in others if n in pairing.new and n in pairing.gone]
    groups += [pairing.take(name, name) for name in same_name]
    # a pair may be part of a split or a merge: `grow` adds models to its lists if they make both
    # sides more similar
    for group in groups if len(groups) * max(len(new), len(gone)) <= MOST_PAIRS else ():
        pairing.grow(*group)
    groups += pairing.several()
    return [Succession(tuple(n), tuple(o)) for n, o in groups if n != o]


class _Pairing:
    """Models that are left to pair, in order."""

    def __init__(
        self,
        now: Mapping[str, Entry],
        before: Mapping[str, Entry],
        new: Iterable[str],
        gone: Iterable[str],
    ) -> None:
        self.now, self.before = now, before
        self.new, self.gone = dict.fromkeys(new), dict.fromkeys(gone)

    @property
    def is_small(self) -> bool:
        """Return True if each model can be compared with each."""
        return len(self.new) * len(self.gone) <= MOST_PAIRS

    def certain(self, renamed: Mapping[str, str]) -> Iterator[tuple[list[str], list[str]]]:
        """Yield pairs of the same content, then those that git takes for one file."""
        same: dict[str, list[str]] = {}
        for old in self.gone:
            same.setdefault(self.before[old].digest[:DIGEST_CHARACTERS], []).append(old)
        for name in list(self.new):
            olds = same.get(self.now[name].digest[:DIGEST_CHARACTERS])
            if olds:
                yield self.take(name, olds.pop(0))
        for name in list(self.new):
            old = renamed.get(name, "")
            if old in self.gone:
                yield self.take(name, old)

    def likely(self) -> Iterator[tuple[list[str], list[str]]]:
        """Yield pairs of one structure, the most similar first.

        If there are too many models, only those with one file name are compared.
        """
        by_stem: dict[str, list[str]] = {}
        for old in self.gone:
            by_stem.setdefault(stem(old), []).append(old)
        is_small = self.is_small
        pairs = [
            (self.likeness(name, old), name, old)
            for name in self.new
            for old in (self.gone if is_small else by_stem.get(stem(name), ())[:MOST_NAMESAKES])
            if is_similar(self.structure((name,), ()), self.structure((), (old,)))
        ]
        for _, name, old in sorted(pairs, reverse=True):
            if name in self.new and old in self.gone:
                yield self.take(name, old)

    def several(self) -> Iterator[tuple[list[str], list[str]]]:
        """Yield models that only together have the structure of others."""
        for name, old in product(list(self.new), list(self.gone)) if self.is_small else ():
            if name in self.new and old in self.gone:
                # on trial: both stay unpaired if no group with them becomes similar
                group = self.take(name, old)
                if self.grow(*group):
                    yield group
                else:
                    self.new[name] = self.gone[old] = None

    def take(self, name: str, old: str) -> tuple[list[str], list[str]]:
        """Return a pair, and remove its models from those that are left."""
        del self.new[name], self.gone[old]
        return [name], [old]

    def grow(self, names: list[str], olds: list[str]) -> bool:
        """Add models that are left and bring the structures of both sides closer.

        Return True if the structures are similar; otherwise nothing is added.
        """
        share = common(self.structure(names, ()), self.structure((), olds))
        if share == 0:
            return False
        added: list[tuple[list[str], dict[str, None]]] = []
        for side, unpaired in ((names, self.new), (olds, self.gone)):
            while unpaired and share < 1:
                # greedily the model that raises the common share most
                best, candidate = max(
                    (self.with_one(side, candidate, names, olds), candidate)
                    for candidate in unpaired
                )
                if best <= share:
                    break
                share = best
                side.append(candidate)
                del unpaired[candidate]
                added.append((side, unpaired))
        if is_similar(self.structure(names, ()), self.structure((), olds)):
            return True
        for side, unpaired in reversed(added):
            unpaired[side.pop()] = None
        return False

    def with_one(
        self, side: list[str], one: str, names: Sequence[str], olds: Sequence[str]
    ) -> float:
        """Return the common share of structure with one model more on a side."""
        more_new, more_old = ([*names, one], olds) if side is names else (names, [*olds, one])
        return common(self.structure(more_new, ()), self.structure((), more_old))

    def structure(self, names: Iterable[str], olds: Iterable[str]) -> Counter[str]:
        """Return the products of new and of old models, added up."""
        entries = (*(self.now[n] for n in names), *(self.before[o] for o in olds))
        return sum((Counter(dict(e.products)) for e in entries), Counter[str]())

    def likeness(self, name: str, old: str) -> tuple[float, bool, float]:
        """Return an order of pairs: structure, then file name, then size."""
        new_counts, old_counts = self.structure((name,), ()), self.structure((), (old,))
        sizes = [e.figures.get(Metric.PARAMETERS) for e in (self.now[name], self.before[old])]
        new_log, old_log = (math.log1p(f.value) if f else 0.0 for f in sizes)
        return (
            # rounded, so that the name decides between nearly equal structures
            round(cosine(new_counts, old_counts), 2),
            stem(name) == stem(old),
            -abs(new_log - old_log),
        )


def stem(name: str) -> str:
    """Return the name of a file without folders, suffixes and case."""
    return PurePosixPath(name).name.lower().partition(".")[0]


def is_similar(one: Counter[str], other: Counter[str]) -> bool:
    """Return True if two structures are of one architecture, perhaps of other width and depth."""
    return cosine(one, other) >= SIMILAR and common(one, other) >= SHARED


def cosine(one: Counter[str], other: Counter[str]) -> float:
    """Return the cosine of two counts; 0 if one is empty."""
    lengths = [math.hypot(*c.values()) for c in (one, other)]
    scalar_product = sum(count * other[name] for name, count in one.items())
    return scalar_product / math.prod(lengths) if all(lengths) else 0.0


def common(one: Counter[str], other: Counter[str]) -> float:
    """Return the share of common elements of two counts (Jaccard index)."""
    return (one & other).total() / max((one | other).total(), 1)


def together(entries: Sequence[Entry]) -> Entry:
    """Return the entry of models that run one after the other."""
    first = entries[0]
    if len(entries) == 1:
        return first
    figures = {}
    for metric in first.figures:
        parts = [e.figures.get(metric) for e in entries]
        given = [f for f in parts if f is not None]
        if len(given) == len(entries):
            # ends of intervals are combined as their values are: the widest possible interval
            add = max if metric in LARGEST else sum
            ends = [
                [end for f in given if (end := getattr(f, side)) is not None]
                for side in ("low", "high")
            ]
            low, high = (add(e) if len(e) == len(given) else None for e in ends)
            # origins are numbered from strong to weak: the sum has the weakest
            figures[metric] = Figure(
                add(f.value for f in given),
                max(f.origin for f in given),
                any(f.is_bound for f in given),
                low,
                high,
            )
    digest = "+".join(e.digest for e in entries)
    return Entry(digest, figures, first.target_digest, first.sizes, line=first.line)
