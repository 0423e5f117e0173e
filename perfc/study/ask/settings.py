"""Settings named in a question, compared with those of the report."""

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
from perfc.view.report.sections.verdict import Item
from perfc.view.report.views import Views

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
"""Phrases for element types."""
FOREIGN = re.compile(
    r"(rtx|gtx|mi\d|tpu|gaudi|xeon|epyc|ryzen|jetson|orin|radeon|geforce|instinct|inferentia"
    r"|trainium|gh\d|gb\d|[abhlvptk]\d{2,3}[a-z]*$|m[1-5]$|iphone|raspberry)"
)
"""Names of machines, including those without a target."""
SIZES = ("batch", "image", "sample", "size", "sequence", "seq", "token", "length")
"""Words that mark a number as a size."""
TOKENS = frozenset(("sequence", "seq", "token", "length"))
"""Words that mark a number as a sequence length."""
NEAR = 4
"""Maximum number of words before a number that may name it."""


@record
class SettingDifference:
    """A setting that differs from the report.

    Args:
        what: ``the report is for NVIDIA A100 SXM4 80 GB, not h100``.
        hint: command-line option for the setting.
    """

    what: str
    hint: str


Agreement: TypeAlias = "SettingDifference | Topic | None"
"""A difference, the topic of a setting that agrees, or None."""


def differences(words: tuple[Word, ...], views: Views) -> Iterator[tuple[int, int, Agreement]]:
    """Yield settings in the words: start, end, and difference or topic."""
    yield from machines(words, views)
    yield from precisions(words, views)
    yield from runtimes(words, views)
    yield from sizes(words, views)
    for i, word in enumerate(words):
        if is_of_model(word, views):
            yield i, i + 1, None


@cache
def named_machines() -> tuple[tuple[str, str], ...]:
    """Return machines by name and alias."""
    return tuple((m.name, name) for m in list_machines() for name in (m.name, *m.aliases))


def machines(words: tuple[Word, ...], views: Views) -> Iterator[tuple[int, int, Agreement]]:
    """Yield names of machines."""
    target, title = views.verdict.target, views.verdict.machine
    for machine, name in named_machines():
        for start, stop in places(words, (name.replace("-", " "),)):
            difference = other(title, name, f"-t {name}")
            yield start, stop, topic("machine") if machine == target else difference
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
    """Yield names of element types."""
    types = {row.dtype for row in views.kernels if row.mac.value} | {views.assumptions.dtype}
    if views.assumptions.tf32 and "f32" in types:
        types.add("tf32")
    for name, phrases in PRECISIONS.items():
        for start, stop in places(words, phrases):
            reported = "/".join(sorted(filter(None, types)))
            difference = other(reported, name, f"--dtype {name}")
            yield start, stop, topic("precision") if name in types else difference


def runtimes(words: tuple[Word, ...], views: Views) -> Iterator[tuple[int, int, Agreement]]:
    """Yield names of runtimes and of their products."""
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
    """Yield numbers next to words for sizes, ``batch size of 8``, ``512 tokens``."""
    for i, word in enumerate(words):
        if not word.text.isdecimal() or len(word.text) > 9:
            continue
        start = stop = i
        while start and may_name(words[start - 1]) and i - start < NEAR:
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
            reported = ", ".join(f"{s.label} = {s.value}" for s in views.assumptions.symbols)
            yield start, stop, other(reported or "fixed sizes", word.text, f"--{axis} {word.text}")


def known_sizes(stems: AbstractSet[str], views: Views) -> set[int]:
    """Return the report's sizes of the batch, the sequence or the run, as named."""
    basis = Basis.SEQUENCE if stems & TOKENS else Basis.BATCH
    sizes = {s.value for s in views.assumptions.symbols if s.basis == basis.value}
    done = views.verdict.throughput
    is_of_run = bool({stem(done.item.value)} & stems) or (done.item is Item.IMAGE and not sizes)
    return sizes | {done.per_run} if is_of_run else sizes


def may_name(word: Word) -> bool:
    """Return True if a word may belong to the name of the following number."""
    return word.stem in SIZES or word.stem in ("of", "is", "a", "an", "at", "to", "were", "be")


def is_of_model(word: Word, views: Views) -> bool:
    """Return True if a word is part of the model's name, as ``resnet`` of ``resnet50.onnx.gz``."""
    named = [t.lower() for t in TOKEN.findall(f"{views.verdict.model} {views.assumptions.graph}")]
    low = word.text.lower()
    return len(low) > 2 and any(name.startswith(low) for name in named)


def other(reported: str, requested: str, hint: str) -> SettingDifference:
    """Return the difference between a setting of the report and the requested one."""
    return SettingDifference(f"the report is for {reported}, not {requested}", hint)
