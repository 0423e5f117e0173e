"""Parsing of questions: topics, kernels, changes, and settings that differ from the report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import TypeAlias

from perfc.ir.record import record
from perfc.view.report.memory_sections.remedies import Remedy
from perfc.view.report.sections.kernels import KernelRow
from perfc.view.report.views import Views

from .elsewhere import ELSEWHERE, Elsewhere
from .fact import Selection, Topic
from .settings import PRECISIONS, SettingDifference, differences
from .topics import topics
from .topics.kernels import of_kind
from .words import NOISE_PHRASES, Word, places, words_of

KINDS: dict[str, tuple[str, ...]] = {
    "conv": ("convolution", "conv", "convolutional"),
    "matmul": ("matmul", "gemm", "matrix product", "matrix multiplication", "linear",
               "linear layer", "dense", "dense layer", "fully connected", "fc", "fc layer",
        "fully connected layer", "matrix multiply"),
    "attention": ("attention", "self attention", "sdpa", "flash attention", "attention layer"),
    "normalization": ("normalization", "normalisation", "layernorm", "layer norm", "norm",
                      "layer normalization", "layer normalisation"),
    "elementwise": ("elementwise", "element wise", "pointwise", "point wise"),
    "movement": ("movement", "copy", "copie", "copying"),
    "pool": ("pooling", "pool"),
    "softmax": ("softmax",),
    "gather": ("gather", "embedding", "lookup", "look up"),
    "recurrence": ("lstm", "gru", "rnn", "recurrence"),
}  # fmt: skip
"""Phrases for kinds of kernels."""
LARGER_BATCH = (
    "larger batch", "bigger batch", "increase the batch", "double the batch", "raise the batch",
    "larger batch size", "bigger batch size", "increase the batch size", "double the batch size",
    "raise the batch size", "higher batch size", "twice the batch", "batch too small",
    "batch is too small",
)  # fmt: skip
RECORDED_LAUNCHES = ("cuda graph", "cudagraph", "record the launches", "graph capture")
_MORE = re.compile(r"… \d+ more")
_SIZED = re.compile(r"([A-Za-z]+) (\d+x\d+)\b")
_NODE = re.compile(r"\S*[/_.]\S*")


class ClaimRank(IntEnum):
    """Precedence of claims on the same words, highest first."""

    NODE = 0
    REMEDY = 1
    ELSEWHERE = 2
    DIFFERENCE = 3
    AGREED = 4
    KERNELS = 5
    TOPIC = 6
    WEAK = 7


@record
class Absent:
    """Kernels that the question names and the report does not have."""

    name: str


@record
class RemedyChange:
    """An analyzed change, by its index among the remedies."""

    index: int


Meaning: TypeAlias = (
    "Topic | Selection | Absent | RemedyChange | Elsewhere | SettingDifference | None"
)


@record
class Claim:
    """Words of a question with a meaning.

    Args:
        start: index of the first word.
        stop: index after the last word.
        rank: precedence of the claim.
        meaning: meaning of the words; None if they agree with the report.
    """

    start: int
    stop: int
    rank: ClaimRank
    meaning: Meaning


@record
class Reading:
    """A parsed question.

    Args:
        claims: claims in the order of their words.
        unknown: words without a meaning.
        numbers: numbers that no claim uses.
    """

    claims: tuple[Claim, ...]
    unknown: tuple[str, ...]
    numbers: tuple[str, ...]

    def of(self, kind: type[Meaning]) -> list[Meaning]:
        """Return the meanings of a type, without duplicates."""
        meanings: list[Meaning] = []
        for claim in self.claims:
            # kernels hold tables, which have no hash
            if isinstance(claim.meaning, kind) and claim.meaning not in meanings:
                meanings.append(claim.meaning)
        return meanings

    @property
    def topics(self) -> list[Topic]:
        """Requested topics; weak phrases count only without others."""
        named = [c for c in self.claims if isinstance(c.meaning, Topic)]
        strong = [c for c in named if c.rank is ClaimRank.TOPIC]
        weak = [c for c in named if c.rank is ClaimRank.WEAK]
        is_other = any(isinstance(c.meaning, RemedyChange | Selection) for c in self.claims)
        chosen = strong or weak or ([] if is_other else named)
        requested = list(dict.fromkeys(c.meaning for c in chosen if isinstance(c.meaning, Topic)))
        general = {name for topic in requested for name in topic.under}
        return [topic for topic in requested if topic.name not in general]


def reading(question: str, views: Views) -> Reading:
    """Parse a question: the longest phrases first, each word used once."""
    words = words_of(question)
    taken = [False] * len(words)
    claims: list[Claim] = []
    ordered = sorted(
        every(question, words, views), key=lambda c: (c.start - c.stop, c.rank, c.start)
    )
    for claim in ordered:
        if not any(taken[claim.start : claim.stop]):
            taken[claim.start : claim.stop] = [True] * (claim.stop - claim.start)
            claims.append(claim)
    left = [w for w, is_taken in zip(words, taken, strict=True) if not is_taken and not w.is_noise]
    numbers = tuple(
        w.text for w in left if w.text[0].isdigit() and w.text.replace(".", "").isdigit()
    )
    unknown = tuple(w.text for w in left if w.text not in numbers)
    return Reading(tuple(sorted(claims, key=lambda c: c.start)), unknown, numbers)


def every(question: str, words: tuple[Word, ...], views: Views) -> Iterator[Claim]:
    """Yield every claim on the words, including overlapping ones."""
    yield from of_nodes(question, words, views)
    for start, stop, agreement in differences(words, views):
        # a setting that agrees with the report is a request only without others
        rank = ClaimRank.AGREED if isinstance(agreement, Topic) else ClaimRank.DIFFERENCE
        yield Claim(start, stop, rank, agreement)
    yield from claims_of(words, NOISE_PHRASES, ClaimRank.WEAK, None)
    for phrases, meaning in kernels(views):
        yield from claims_of(words, phrases, ClaimRank.KERNELS, meaning)
    for i, change in enumerate(views.bottlenecks.remedies):
        yield from claims_of(words, changes(change), ClaimRank.REMEDY, RemedyChange(i))
    for elsewhere in ELSEWHERE:
        yield from claims_of(words, elsewhere.phrases, ClaimRank.ELSEWHERE, elsewhere)
    for topic in topics():
        yield from claims_of(words, topic.phrases, ClaimRank.TOPIC, topic)
        yield from claims_of(words, topic.weak, ClaimRank.WEAK, topic)


def claims_of(
    words: tuple[Word, ...], phrases: Iterable[str], rank: ClaimRank, meaning: Meaning
) -> Iterator[Claim]:
    """Yield a claim for each occurrence of some phrases."""
    for start, stop in places(words, phrases):
        yield Claim(start, stop, rank, meaning)


def changes(change: Remedy) -> tuple[str, ...]:
    """Return the phrases by which a question may name a remedy."""
    name, _, value = change.option.rpartition(" ")
    axis, _, number = (f"batch={value}" if name == "--batch" else value).rpartition("=")
    if axis:
        sizes = (f"batch {number}", f"batch size {number}", f"batch of {number}",
                 f"batch size of {number}", f"{axis} {number}",
                 f"{number} image|sample|sequence")  # fmt: skip
        return (change.name, *LARGER_BATCH, *sizes)
    if "CUDA graph" in change.name:
        return (change.name, value, *RECORDED_LAUNCHES)
    product = change.name.partition(" (")[0]
    return (change.name, product, value, *PRECISIONS.get(value, ()))


def kernels(views: Views) -> Iterator[tuple[tuple[str, ...], Meaning]]:
    """Yield phrases and the kernels they select, by kind, by operator and by window."""
    present = {row.kind for row in views.kernels}
    named: set[str] = set()
    for kind, phrases in KINDS.items():
        is_there = kind in present
        yield phrases, of_kind(views, kind) if is_there else Absent(phrases[0])
        named |= set(phrases) if is_there else set()
    for kind in present - KINDS.keys():
        yield (kind.replace("_", " "),), of_kind(views, kind)
    having: dict[str, list[KernelRow]] = {}
    for row in views.kernels:
        for operator in dict.fromkeys(_MORE.sub("", row.label).split(" + ")):
            having.setdefault(operator, []).append(row)
    sized: dict[tuple[str, str], list[KernelRow]] = {}
    for row in views.kernels:
        title_parts = _SIZED.match(row.title)
        if title_parts:
            sized.setdefault((title_parts[1], title_parts[2]), []).append(row)
    for (operator, extents), of_size in sized.items():
        title = f"{operator} {extents}"
        others = (f"{extents} convolution",) if operator == "Conv" else ()
        chosen = Selection(f"{title} kernels", f"starts_with(title, '{title}')", tuple(of_size))
        yield (title, f"{extents} {operator}", *others), chosen
    for operator, rows in having.items():
        if operator.isalnum() and operator.lower() not in named:
            where = f"contains(split(label, ' + '), '{operator}')"
            yield (operator,), Selection(f"kernels with {operator}", where, tuple(rows))


def of_nodes(question: str, words: tuple[Word, ...], views: Views) -> Iterator[Claim]:
    """Yield one claim for each node name or kernel number in a question.

    A node name claims the kernels that compute such nodes, as in ``layer3.2/conv1``. A number after
    "kernel" claims that kernel, as in ``kernel 12``; a number out of range claims `Absent`.
    """
    chunks = [m[0].strip("?,.;:!\"'()") for m in _NODE.finditer(question)]
    for chunk in dict.fromkeys(filter(None, chunks)):
        rows = tuple(r for r in views.kernels if any(chunk in name for name in r.nodes))
        if rows and len(rows) < len(views.kernels):
            where = " || ".join(f"index==`{r.index}`" for r in rows)
            chosen = Selection(f"kernels of {chunk}", where, rows)
            yield from claims_of(words, (chunk,), ClaimRank.NODE, chosen)
    for i, word in enumerate(words[1:], 1):
        if words[i - 1].stem == "kernel" and word.text.isdecimal() and len(word.text) < 7:
            number = int(word.text)
            if number < len(views.kernels):
                chosen = Selection(
                    f"kernel {number}", f"index==`{number}`", (views.kernels[number],)
                )
                yield Claim(i - 1, i + 1, ClaimRank.NODE, chosen)
            else:
                yield Claim(i - 1, i + 1, ClaimRank.NODE, Absent(f"kernel {number}"))
