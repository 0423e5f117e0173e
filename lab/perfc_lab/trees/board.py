"""The comparison as a page, text or JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable

from perfc.view.report.formats.document import Column, Document, Note, Section, Table

from ..training.fitted_rows import sentence
from . import thesis
from .experiment import GNN, PLAIN, TreeComparison
from .folds import HeldOutKind
from .predictors import MOST_CHOICE_ROWS
from .rows import Target
from .scores import ALL, LEAST_FOLDS, TreeScore

UNITS = {Target.THROUGHPUT: "tokens/s", Target.MEMORY: "GB", Target.ENERGY: "J a token"}


def written(found: TreeComparison, form: str, by: str) -> str:
    """The comparison as ``text``, ``json`` or ``markdown``; ``by`` says what wrote it."""
    from perfc.view.presentation import WIDTH
    from perfc.view.report.formats import markdown, text
    from perfc.view.report.formats.json_form import enveloped, strict

    if form == "json":
        return strict(enveloped(found.document, found), indent=2) + "\n"
    page = document(found)
    if form == "markdown":
        # what wrote it is Markdown already
        return f"{markdown.render(page)}\n{by}\n"
    return text.render(page, WIDTH)


def document(found: TreeComparison) -> Document:
    """The page."""
    sections = (
        Section("folds", "errors by what is left out", (_folds(found.scores), *_read())),
        Section("ablation", "features of Table 6.6", (_ablation(found.ablation),)),
        Section("checks", "rows that nothing was learned from", (_folds(found.checks),)),
        Section("quantised", "formats of weights, Figure 6.6", (_quantised(found),)),
        Section("carbon", "carbon, Eq. 6.1", (_carbon(found),)),
        Section("speed", "rows a second, Figure 6.7", (_speed(found),)),
    )
    return Document("Accuracy: trees for language models", sections)


def _read() -> Iterable[Note]:
    yield Note(
        "The thesis's figures are of its own rows: encoders on one V100, A100 or H100, random "
        "folds; MB of memory and samples a second. "
        "They stand beside ours and were not measured on the same rows."
    )
    yield Note(
        "A random fifth has rows of every model and machine in its training. An unseen model has "
        "none of its configuration in any table, an unseen machine none of its target."
    )
    yield Note(
        "In range: the share of rows between the ends that hold nine in ten of what the other "
        "folds left, so that no row tells of its own interval. Where a table has fewer than "
        f"{LEAST_FOLDS} other models or machines, the ends are at least as far as all tables' are."
    )
    yield Note(
        "Settings of the plain trees are chosen once for each kind of folds, on what the "
        f"first fold leaves, of which {MOST_CHOICE_ROWS:,} rows are drawn where there are more. "
        "The thesis chose its own on all folds."
    )
    yield Note(
        "Trees on the kernel sum choose inside each training, by rows that it leaves out in turn. "
        "They choose which sums, depths and losses answer together, how much each counts in their "
        "mean, and whether half or all of a correction is believed. Where random fifths are left "
        "out, trees without a sum are among them, and Gaussian processes on the sum, which tell a "
        "row from those of its setting with more and with fewer users. "
        "What they choose among, and their features, were thought of while looking at these rows."
    )
    yield Note(
        "One kernel sum lets workers of prompts apart keep up with answers where nobody says how "
        "many there are: one alone would keep answers waiting."
    )
    yield Note(
        "Prompts apart: by the rows, or by the publisher's lists of runs, which say how many "
        "workers there are and whether they draft tokens. Of rows not all stated no list has the "
        "run, or several that differ do."
    )
    yield Note(
        "The graph network of a random fold stops after the seconds of `--gnn-s`; folds of any "
        "other kind share as much. That is far from convergence on thousands of rows, so that "
        "its errors are upper ends, most of all on unseen models."
    )
    yield Note(
        "Throughput of aic_serving follows from its two latencies and its users. Memory "
        "is that of one user of Qwen2.5 under transformers. Carbon and formats of weights "
        "are of random folds."
    )
    yield Note(sentence("trees", is_markdown=False))


def _folds(scores: Iterable[TreeScore]) -> Table:
    columns = (
        Column("target", "target"), Column("left_out", "left out"), Column("source", "rows of"),
        Column("method", "predictor"), Column("count", "n"), Column("mape", "MAPE"),
        Column("median", "median"), Column("rmse", "RMSE"), Column("tau", "tau"),
        Column("held", "in range"), Column("width", "range, high over low"),
        Column("thesis", "thesis: MAPE, RMSE, tau"),
    )  # fmt: skip
    return Table(columns, tuple(_cells(s) for s in scores))


def _cells(s: TreeScore) -> tuple[str, ...]:
    rmse = s.rmse / 1e9 if s.target is Target.MEMORY else s.rmse
    return (
        s.target.value, s.left_out.value, s.source, s.method, str(s.count), _share(s.mape),
        _share(s.median), f"{rmse:.3g} {UNITS[s.target]}", f"{s.tau:.2f}", _share(s.held),
        f"{s.width:.2f}" if math.isfinite(s.width) else "–", _stated(s),
    )  # fmt: skip


def _stated(s: TreeScore) -> str:
    """The thesis's figure of the same predictor, where it is of random folds."""
    known = {PLAIN: thesis.TREES, GNN: thesis.GNN}.get(s.method)
    if known is None or s.left_out is not HeldOutKind.RANDOM or "," in s.source:
        return "–"
    cell = known[s.target]
    return f"{cell.mape:.2%}, {cell.rmse:g}, {cell.tau:g}"


def _ablation(scores: Iterable[TreeScore]) -> Table:
    columns = (
        Column("target", "target"),
        Column("features", "features"),
        *(Column(kind.name.lower(), kind.value) for kind in HeldOutKind),
        Column("thesis", "thesis"),
    )
    lines: dict[tuple[Target, str], dict[HeldOutKind, float]] = {}
    for s in scores:
        lines.setdefault((s.target, s.method), {})[s.left_out] = s.mape
    rows = tuple(
        (
            target.value, name, *(_share(by.get(kind, math.nan)) for kind in HeldOutKind),
            _share(thesis.ABLATION[target].get(name, math.nan)),
        )
        for (target, name), by in lines.items()
    )  # fmt: skip
    return Table(columns, rows)


def _speed(found: TreeComparison) -> Table:
    columns = (
        Column("method", "predictor"),
        Column("rate", "rows a second"),
        Column("ratio", "ratio"),
    )
    least = min((s.rows_per_s for s in found.speeds), default=math.nan)
    rows = tuple(
        (s.method, f"{s.rows_per_s:,.0f}", f"{s.rows_per_s / least:.1f}") for s in found.speeds
    )
    return Table(columns, (*rows, ("thesis: trees over graph network", "–", f"{thesis.FASTER:g}")))


def _quantised(found: TreeComparison) -> Table:
    columns = (
        Column("target", "target"), Column("weights", "weights"), Column("count", "n"),
        Column("measured", "measured over BF16"), Column("predicted", "predicted over BF16"),
    )  # fmt: skip
    rows = tuple(
        (q.target.value, q.weights, str(q.count), f"{q.measured:.3f}", f"{q.predicted:.3f}")
        for q in found.quantised
    )
    stated = (Target.MEMORY.value, "thesis: LLaMA 7B, 4 bits, A100", "1", "4,848.55 MB", "–")
    return Table(columns, (*rows, stated))


def _carbon(found: TreeComparison) -> Table:
    columns = (
        Column("model", "model"), Column("count", "n"),
        Column("measured", "g CO2 a million tokens, of measured energy"),
        Column("predicted", "of predicted energy"), Column("error", "error"),
    )  # fmt: skip
    rows = tuple(
        (
            c.model, str(c.count), f"{c.measured_g:.3g}", f"{c.predicted_g:.3g}",
            f"{c.predicted_g / c.measured_g - 1:+.1%}",
        )
        for c in found.carbon
    )  # fmt: skip
    return Table(columns, rows)


def _share(number: float) -> str:
    return f"{number:.1%}" if math.isfinite(number) else "–"


__all__ = ["ALL", "document", "written"]
