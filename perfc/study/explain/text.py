"""Write explanations as text and JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from perfc.common.version import __version__
from perfc.ir import record
from perfc.view.pages.catalogue import SECTIONS
from perfc.view.report.formats.json_form import strict
from perfc.view.report.units import Unit, plural, quantity, time_text

from .ceilings import ExplainedCeiling, KernelPart, RateCite
from .explanation import Count, Explanation, TensorOperand
from .prediction_text import prediction_lines

WIDTH = 100
"""Maximum width of text."""
SCHEMA = "perfc-explain/1"
# units of a rate and of the amount over it
_RATES = {
    "flop_per_s": (Unit.FLOP_PER_S, Unit.FLOP),
    "op_per_s": (Unit.OP_PER_S, Unit.COUNT),
    "bytes_per_s": (Unit.BYTE_PER_S, Unit.BYTE),
}
# titles of the lines of `ExplainedCeiling`, in their order
_LINES = {
    "floor": "lower bound: at peak rates",
    "sustained": "sustained: at measured rates, else the vendor's",
    "launch": "launch",
}


def render_text(e: Explanation, width: int = WIDTH) -> str:
    """Return the explanation as text, ``width`` columns wide."""
    return "\n".join(_laid_out(_lines(e), min(width, WIDTH))) + "\n"


@record
class Hanging:
    """A line whose continuation is indented by ``indent`` columns."""

    text: str
    indent: int


def _laid_out(lines: Iterable[str | Hanging], width: int) -> Iterator[str]:
    for line in lines:
        if isinstance(line, str):
            # a continued line is four columns further in than its start
            line = Hanging(line, len(line) - len(line.lstrip()) + 4)
        yield from textwrap.wrap(
            line.text,
            width,
            # in a narrow terminal a deep indent would leave no room for words
            subsequent_indent=" " * min(line.indent, width // 3),
            break_on_hyphens=False,
            break_long_words=False,
        ) or [""]


def _lines(e: Explanation) -> Iterator[str | Hanging]:
    if e.is_of_kernel and e.kernel is not None:
        k = e.kernel
        nodes = plural(len(k.nodes), "node")
        yield f"kernel {k.index} of {k.total}: {k.label}; the heaviest of its {nodes}:"
    yield f"{e.name}: {e.op_type}, node {e.index} of {e.total}"
    if e.source:
        yield f"  from {e.source}"
    yield f"  on {e.target}, with the kernels of {e.runtime}"
    if e.note:
        yield f"  {e.note}"
    for s in e.symbols.values():
        yield f"  {s.label} = {s.value} ({s.origin})"
    yield ""
    yield from _wrapped(f"{e.mnemonic} ({e.defined_in})  ", e.doc.summary)
    for name in SECTIONS:
        if name in e.doc.sections:
            yield from _wrapped(f"  {name + ':':9}", e.doc.sections[name])
    yield ""
    yield "operands and results"
    yield from _tensors(e.operands, e.results)
    if e.attributes:
        shown = ", ".join(f"{k} = {v}" for k, v in e.attributes.items())
        yield from _wrapped("  attributes: ", shown)
    if e.extents:
        yield "  letters: " + ", ".join(f"{k} = {v}" for k, v in e.extents.items())
    if e.tier is not None:
        yield ""
        yield f"counts of one execution (coverage: {e.tier.value})"
        for count in e.counts:
            yield from _count(count)
        if not e.counts:
            yield "  none: it computes and moves nothing"
        if e.repeat != 1:
            yield f"  it runs {e.repeat} times"
    if e.kernel is not None:
        yield ""
        yield from _kernel(e.kernel)
    if e.prediction is not None:
        yield ""
        yield from prediction_lines(e.prediction)


def _wrapped(head: str, text: str) -> Iterator[Hanging]:
    plain = text.replace("``", "`")
    # text is aligned behind a short head; behind a long one it would have no room
    yield Hanging((head + plain).rstrip(), len(head) if len(head) < 20 else 4)


def _tensors(
    operands: tuple[TensorOperand, ...], results: tuple[TensorOperand, ...]
) -> Iterator[str]:
    rows = [("in " + (t.role or "?"), t) for t in operands] + [("out", t) for t in results]
    head = max((len(h) for h, _ in rows), default=0)
    # longer names are not aligned, as they would move all sizes out of the page
    name = min(max((len(t.name) for _, t in rows), default=0), 40)
    for h, t in rows:
        size = "unknown size" if t.nbytes is None else f"{t.nbytes} bytes"
        stored = ", stored" if t.is_stored else ""
        yield f"  {h:{head}}  %{t.name:{name}}  {t.type}  {size}{stored}"


def _count(c: Count) -> Iterator[str]:
    steps = [c.formula, c.filled, str(c.value)]
    # formula, filled formula and number: equal ones are shown once
    parts = [s for i, s in enumerate(steps) if s and s not in steps[:i]]
    symbolic = f"  = {c.symbolic}" if c.symbolic else ""
    bound = "≥ " if c.origin.name == "BOUND" else ""
    yield f"  {c.name} = {bound}{' = '.join(parts)}  ({c.origin}){symbolic}"


def _kernel(k: KernelPart) -> Iterator[str | Hanging]:
    yield f"kernel {k.index} of {k.total}: {k.label}"
    # a kernel may have hundreds of nodes: the first ones identify it
    nodes = ", ".join(k.nodes[:8]) + (f", … {len(k.nodes) - 8} more" if len(k.nodes) > 8 else "")
    yield from _wrapped("  nodes: ", nodes)
    amounts = ", ".join(f"{name} {value:.0f}" for name, value in k.counts.items() if value)
    yield from _wrapped("  one launch: ", amounts + f"; multiply–accumulates in {k.dtype}")
    if k.launches != 1:
        yield f"  launches: {k.launches:.0f}; the times below are totals"
    # rates are numbered like footnotes, each once
    keys = list(dict.fromkeys(_reference(t.rate) for t in k.ceilings))
    for line, title in _LINES.items():
        rows = [t for t in k.ceilings if t.line == line]
        if rows:
            yield f"  {title}"
            for row in rows:
                yield _ceiling(row, keys.index(_reference(row.rate)) + 1)
    time, floor = time_text(k.time_s), time_text(k.floor_s)
    share = quantity(k.share, Unit.SHARE)
    yield f"  time {time}, {share} of the run, limited by {k.binding} ({k.origin})"
    yield f"  lower bound {floor}"
    yield ""
    yield "rates"
    for number, (key, source, note) in enumerate(keys, 1):
        yield from _wrapped(f"  [{number}] ", f"{key}: {source}{'; ' + note if note else ''}")


def _reference(rate: RateCite) -> tuple[str, str, str]:
    return rate.key, rate.source, rate.note


def _ceiling(t: ExplainedCeiling, number: int) -> str:
    mark = "*" if t.binds else " "
    time = time_text(t.time_s)
    if t.rate.unit == "s":
        launches = plural(round(t.amount), "launch", "launches")
        how = f"{launches} of {time_text(t.rate.value)}"
    else:
        unit, counted = _RATES[t.rate.unit]
        how = f"{quantity(t.amount, counted)} / {quantity(t.rate.value, unit)}"
    note = f"; {t.note}" if t.note else ""
    return f"  {mark} {t.ceiling + ':':18} {how} = {time}  [{number}] {t.origin}{note}"


def render_json(e: Explanation) -> str:
    """Return the explanation as JSON, with an origin for every number."""
    from dataclasses import asdict
    from enum import Enum

    def plain(value: object) -> object:
        match value:
            case Enum():  # by name where the value is a number
                return str(value.value) if isinstance(value.value, str) else value.name.lower()
            case dict():
                return {str(k): plain(v) for k, v in value.items()}
            case list() | tuple():
                return [plain(v) for v in value]
            case _:
                return value

    tree = {"schema": SCHEMA, "perfc": __version__, **asdict(e)}
    return strict(plain(tree), indent=2) + "\n"
