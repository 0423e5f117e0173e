"""What a question says of how the model is run: it agrees with the report, or differs from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import cache
from typing import TypeAlias

from perfc.ir.graph import Basis
from perfc.ir.record import record
from perfc.machine import list_machines
from perfc.passes.runtimes import tables
from perfc.report.verdict import Item
from perfc.report.views import Views

from .fact import Topic
from .topics import topic
from .words import TOKEN, Word, places, stem

PRECISIONS = {
    "f16": ("f16", "fp16", "float16", "half", "half precision", "half float"),
    "bf16": ("bf16", "bfloat16", "brain float"),
    "f32": ("f32", "fp32", "float32", "single precision", "full precision"),
    "tf32": ("tf32", "tensor float 32", "tensorfloat"),
    "i8": ("int8", "i8", "8 bit"),
    "f8e4m3": ("fp8", "f8", "f8e4m3", "float8"),
    "i4": ("int4", "i4", "4 bit", "fp4"),
    "f64": ("f64", "fp64", "float64", "double precision"),
}
"""What element types are called."""
FOREIGN = re.compile(
    r"(rtx|gtx|mi\d|tpu|gaudi|xeon|epyc|ryzen|jetson|orin|radeon|geforce|instinct|inferentia"
    r"|trainium|gh\d|gb\d|[abhlvptk]\d{2,3}[a-z]*$|m[1-5]$|iphone|raspberry)"
)
"""Machines by name, those that perfc has no target of included."""
SIZES = ("batch", "image", "sample", "size", "sequence", "seq", "token", "length")
"""Beside a number of a symbol."""
TOKENS = frozenset(("sequence", "seq", "token", "length"))
"""Those of the sequence."""
NEAR = 4
"""Words before a number that may name it."""


@record
class Difference:
    """A setting that is not the report's.

    Args:
        what: ``the report is of NVIDIA A100 SXM4 80 GB, not of h100``.
        hint: the option that asks for it.
    """

    what: str
    hint: str


Agreement: TypeAlias = "Difference | Topic | None"
"""What words on the setting say: what differs, else the topic that they are of, if any."""


def differences(words: tuple[Word, ...], views: Views) -> Iterator[tuple[int, int, Agreement]]:
    """Words on how the model is run: start, end, and what differs; None where they agree."""
    yield from machines(words, views)
    yield from precisions(words, views)
    yield from runtimes(words, views)
    yield from sizes(words, views)
    for i, word in enumerate(words):
        if is_of_model(word, views):
            yield i, i + 1, None


@cache
def named_machines() -> tuple[tuple[str, str], ...]:
    """Machines by every name that they have."""
    return tuple((m.name, name) for m in list_machines() for name in (m.name, *m.aliases))


def machines(words: tuple[Word, ...], views: Views) -> Iterator[tuple[int, int, Agreement]]:
    """Names of machines."""
    target, title = views.verdict.target, views.verdict.machine
    for machine, name in named_machines():
        for start, stop in places(words, (name.replace("-", " "),)):
            asked = other(title, name, f"-t {name}")
            yield start, stop, topic("machine") if machine == target else asked
    # the name of a machine is not that of a slice of it
    mine = {stem(t) for t in TOKEN.findall(target.partition("/")[2] or f"{title} {target}")}
    for i, word in enumerate(words):
        if word.stem in mine and not word.is_noise:
            yield i, i + 1, topic("machine")
        elif FOREIGN.match(word.stem) and word.stem not in ("l1", "l2"):
            follows = i + 1 < len(words) and words[i + 1].text.isdigit()
            stop = i + 1 + follows
            name = " ".join(w.text for w in words[i:stop])
            yield i, stop, other(title, name, "perfc targets")


def precisions(words: tuple[Word, ...], views: Views) -> Iterator[tuple[int, int, Agreement]]:
    """Names of element types."""
    types = {row.dtype for row in views.kernels if row.mac.value} | {views.assumptions.dtype}
    if views.assumptions.tf32 and "f32" in types:
        types.add("tf32")
    for name, phrases in PRECISIONS.items():
        for start, stop in places(words, phrases):
            stated = "/".join(sorted(filter(None, types)))
            asked = other(stated, name, f"--dtype {name}")
            yield start, stop, topic("precision") if name in types else asked


def runtimes(words: tuple[Word, ...], views: Views) -> Iterator[tuple[int, int, Agreement]]:
    """Names of runtimes and of their products."""
    runtime = views.assumptions.runtime
    title = views.verdict.runtime
    mine = {stem(t) for t in TOKEN.findall(f"{runtime} {title}")}
    for table in tables():
        product = table.title.partition(",")[0].partition(" (")[0]
        is_same = table.name == runtime
        for name in dict.fromkeys((table.name, *table.aliases, product)):
            for start, stop in places(words, (name.replace("_", " "),)):
                if {w.stem for w in words[start:stop]} <= mine or is_same:
                    yield start, stop, topic("runtime")
                else:
                    yield start, stop, other(title, name, f"--runtime {table.name}")


def sizes(words: tuple[Word, ...], views: Views) -> Iterator[tuple[int, int, Agreement]]:
    """Numbers with the words for sizes beside them, ``batch size of 8``, ``512 tokens``."""
    for i, word in enumerate(words):
        if not word.text.isdecimal() or len(word.text) > 9:
            continue
        start = stop = i
        while start and is_beside(words[start - 1]) and i - start < NEAR:
            start -= 1
        if i + 1 < len(words) and words[i + 1].stem in SIZES:
            stop = i + 1
        named = [j for j in range(start, stop + 1) if words[j].stem in SIZES]
        if not named:
            continue
        start, stop = min(i, *named), stop + 1
        stems = {words[j].stem for j in named}
        axis = "seq" if stems & TOKENS else "batch"
        if int(word.text) in known_sizes(stems, views):
            yield start, stop, None
        else:
            stated = ", ".join(f"{s.label} = {s.value}" for s in views.assumptions.symbols)
            yield start, stop, other(stated or "fixed sizes", word.text, f"--{axis} {word.text}")


def known_sizes(stems: AbstractSet[str], views: Views) -> set[int]:
    """The report's numbers of what is named: of the batch, of the sequence, of a run."""
    basis = Basis.SEQUENCE if stems & TOKENS else Basis.BATCH
    sizes = {s.value for s in views.assumptions.symbols if s.basis == basis.value}
    done = views.verdict.throughput
    is_of_run = bool({stem(done.item.value)} & stems) or (done.item is Item.IMAGE and not sizes)
    return sizes | {done.per_run} if is_of_run else sizes


def is_beside(word: Word) -> bool:
    """Whether a word may stand between a number and what it is the size of."""
    return word.stem in SIZES or word.stem in ("of", "is", "a", "an", "at", "to", "were", "be")


def is_of_model(word: Word, views: Views) -> bool:
    """Whether a word is of the model's name: ``resnet`` of ``resnet50.onnx.gz``."""
    named = [t.lower() for t in TOKEN.findall(f"{views.verdict.model} {views.assumptions.graph}")]
    low = word.text.lower()
    return len(low) > 2 and any(name.startswith(low) for name in named)


def other(stated: str, asked: str, hint: str) -> Difference:
    """The report is of one thing, the question of another."""
    return Difference(f"the report is for {stated}, not {asked}", hint)
