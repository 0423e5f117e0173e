"""The scoreboard of training runs as a page, text or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from perfc.distributed.law import LEARNED, RunLaw
from perfc.ir.record import record
from perfc.view.presentation import WIDTH
from perfc.view.report.formats.document import Column, Document, Note, Section, Table

from .links import LinkScore, link_scores
from .scores import DistributedEvidence, DistributedScore, Scaling, scalings, scored


@record
class DistributedScoreboard:
    """Everything that was compared.

    Args:
        scores: of held-out runs.
        scaling: tokens a second of each GPU over those of eight.
        links: exchanges between nodes.
        laws: fitted to every row.
    """

    document: ClassVar[str] = "perfc-eval-training/1"
    scores: tuple[DistributedScore, ...]
    scaling: tuple[Scaling, ...]
    links: tuple[LinkScore, ...]
    laws: dict[str, RunLaw]


def written(evidence: DistributedEvidence, data: Path, form: str, by: str) -> str:
    """The scoreboard in a format."""
    from perfc.view.report.formats import markdown, text
    from perfc.view.report.formats.json_form import enveloped, strict

    found = DistributedScoreboard(
        tuple(scored(evidence)), tuple(scalings(evidence)), tuple(link_scores(data)), evidence.laws
    )
    if form == "json":
        return strict(enveloped(found.document, found), indent=2) + "\n"
    page = document(found)
    shown = markdown.render(page) if form == "markdown" else text.render(page, WIDTH)
    return f"{shown.rstrip()}\n\n{by}\n"


def document(found: DistributedScoreboard) -> Document:
    """Held-out runs, scaling, links and the laws."""
    names = ("source", "rows", "n", "mean error", "median", "bias")
    columns = tuple([Column(n.replace(" ", "_"), n) for n in names])
    rows = tuple(
        (s.source, s.rows, str(s.count), f"{s.mean:.1%}", f"{s.median:.1%}", f"{s.bias:+.1%}")
        for s in found.scores
    )
    runs = Section("runs", "time of a step", (Table(columns, rows), Note(RULE)))
    return Document("Training runs", (runs, _scaling(found), _links(found), _laws(found)))


RULE = (
    "Each model by a law of the other models of its framework and generation of GPUs; "
    "NeuSight's runs on four GPUs by a law of its runs on one."
)


def _scaling(found: DistributedScoreboard) -> Section:
    columns = tuple(
        [Column(n, n) for n in ("model", "cluster", "gpus", "measured", "predicted", "points")]
    )
    rows = tuple(
        (
            s.model, s.cluster, str(s.gpus), f"{s.measured:.1%}", f"{s.predicted:.1%}",
            f"{100 * (s.predicted - s.measured):+.1f}",
        )
        for s in found.scaling
    )  # fmt: skip
    points = [abs(s.predicted - s.measured) * 100 for s in found.scaling]
    # as the table rounds them
    near = sum(round(p, 1) <= 4 for p in points)
    words = f"{near} of {len(points)} within 4 points" if points else "no rows"
    average = f", {sum(points) / len(points):.1f} on average" if points else ""
    note = Note(f"Tokens a second of each GPU over those of eight: {words}{average}.")
    return Section("scaling", "scaling", (Table(columns, rows), note))


def _links(found: DistributedScoreboard) -> Section:
    names = ("system", "exchange", "ranks", "nodes", "messages", "measured over law", "from 4 MiB")
    columns = tuple([Column(n.replace(" ", "_"), n) for n in names])
    rows = tuple(
        (
            s.system, s.exchange, str(s.ranks), str(s.nodes), str(s.rows), f"{s.ratio:.2f}",
            f"{s.large:.2f}",
        )
        for s in found.links
    )  # fmt: skip
    note = Note("The source states no network: rates are those of p4d, DGX H100 and NC A100 v4.")
    return Section("links", "exchanges between nodes", (Table(columns, rows), note))


def _laws(found: DistributedScoreboard) -> Section:
    columns = tuple([Column(n, n.replace("_", " ")) for n in ("law", "rows", *LEARNED)])
    rows = tuple(
        (name, str(law.rows), *[f"{getattr(law, n):.4g}" for n in LEARNED])
        for name, law in found.laws.items()
    )
    return Section("laws", "laws of every row", (Table(columns, rows),))
