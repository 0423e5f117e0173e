"""Which operators explain what became of a model since a revision of git, and how surely."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.errors import PerfcError
from perfc.ir.names import symbol_key

from .verdict import HOLDS_ZERO, Outcome, Result, Standing

if TYPE_CHECKING:
    from perfc.diff import Difference

    from .run import Check


def since(root: Path, result: Result, revision: str) -> Difference | None:
    """The model now against the model at ``revision``; None where git does not have that."""
    from perfc.diff import Setting, both, compare

    case = result.case
    path = str((root / case.model).resolve())
    known = {name for entry in (result.entry, result.baseline) if entry for name, _ in entry.sizes}
    dims = {name: value for name, value in case.dims if symbol_key(name) in known}
    try:
        how = replace(case.deployment, dims=dims)
        return compare(*both(Setting(f"{revision}:{path}", how), Setting(path, how)))
    except PerfcError:
        # what the revision does not have, or cannot be read there, has nothing to be compared with
        return None


def explained(found: Check, revision: str) -> dict[str, str]:
    """A line for each changed model that git has at ``revision``."""
    from perfc.diff import views_of
    from perfc.diff.figures import BY_KEY
    from perfc.diff.views import in_words

    lines: dict[str, str] = {}
    for r in found.results:
        if r.standing is not Standing.CHANGED or r.case.model in lines:
            continue
        difference = since(found.root, r, revision)
        views = views_of(difference) if difference is not None else None
        if views is not None and views.blame:
            lines[r.case.model] = (
                f"{BY_KEY[views.blame_metric].title} from {in_words(views.blame, 3)}"
            )
    return lines


def surer(result: Result, root: Path, revision: str) -> Result:
    """The result with the interval of the difference taken kernel by kernel, where git can tell.

    Two intervals of whole runs say little about a small change: most kernels are the same, and
    wrong by the same amount on both sides. Where ``revision`` has the model that the baseline is
    of, only the kernels that changed count.
    """
    doubtful = [f for f in result.findings if f.reason == HOLDS_ZERO]
    if not doubtful or result.baseline is None:
        return result
    difference = since(root, result, revision)
    if difference is None:
        return result
    if not difference.old.source.origin.digest.startswith(result.baseline.digest):
        return result
    above = {m for m, (low, _) in difference.intervals.items() if low > 0}
    findings = tuple(
        replace(f, outcome=Outcome.FAIL, reason="") if f in doubtful and f.metric in above else f
        for f in result.findings
    )
    return replace(result, findings=findings)
