"""Elements of the papers and the thesis, and where each stands in perfc: one seed, one file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import Enum
from functools import cache

from perfc.common.declared import modules
from perfc.ir.record import record


class ElementStatus(Enum):
    """How an element stands."""

    FAITHFUL = "as in the source"
    OURS = "ours differs"
    MISSING = "missing"


@record
class Element:
    """An equation, a table, a figure, a recipe or a claim.

    Args:
        where: ``Eq. 4.1, page 45``.
        what: it says.
        standing: how it stands.
        files: that have it, from the root of the repository; none of what is missing.
        why: it differs or is missing; empty for what is as in the source.
    """

    where: str
    what: str
    standing: ElementStatus
    files: tuple[str, ...] = ()
    why: str = ""


@record
class Seed:
    """A paper, or a chapter of the thesis, with its elements."""

    title: str
    elements: tuple[Element, ...]


def faithful(where: str, what: str, *files: str) -> Element:
    """An element as in its source."""
    return Element(where, what, ElementStatus.FAITHFUL, files)


def ours(where: str, what: str, why: str, *files: str) -> Element:
    """An element of which ours differs."""
    return Element(where, what, ElementStatus.OURS, files, why)


def missing(where: str, what: str, why: str) -> Element:
    """An element that is not there."""
    return Element(where, what, ElementStatus.MISSING, (), why)


@cache
def seeds() -> tuple[Seed, ...]:
    """Every seed, in the order of the files' names."""
    return tuple(module.SEED for module in modules(__name__) if hasattr(module, "SEED"))


def page() -> str:
    """All elements as a page of Markdown."""
    counted = [
        "| seed | as in the source | ours differs | missing |",
        "| --- | ---: | ---: | ---: |",
    ]
    parts = [
        "# Elements of the papers",
        "Each equation, table, figure and recipe of the sources, and how it stands in perfc. "
        "`perfc eval papers --checklist -o lab/docs` writes this page from what the code declares.",
        "\n".join([*counted, *summary()]),
    ]
    for seed in seeds():
        rows = [row(element) for element in seed.elements]
        head = ["| where | what | standing | files | why |", "| --- | --- | --- | --- | --- |"]
        parts += [f"## {seed.title}", "\n".join([*head, *rows])]
    return "\n\n".join(parts) + "\n"


def summary() -> Iterator[str]:
    """Counts of each seed."""
    for seed in seeds():
        counts = Counter(e.standing for e in seed.elements)
        cells = " | ".join(str(counts[s]) for s in ElementStatus)
        yield f"| {seed.title} | {cells} |"


def row(element: Element) -> str:
    """One line of a table."""
    files = ", ".join(f"`{name}`" for name in element.files) or "–"
    cells = (element.where, element.what, element.standing.value, files, element.why or "–")
    return f"| {' | '.join(cells)} |"
