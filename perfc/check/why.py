"""Which operators explain what became of a model since a revision of git."""

from __future__ import annotations

from perfc.errors import PerfcError

from .run import Check
from .verdict import Standing


def explained(found: Check, revision: str) -> dict[str, str]:
    """A line for each changed model that git has at ``revision``."""
    from perfc.diff import Setting, both, compare, views_of
    from perfc.diff.views import in_words

    lines: dict[str, str] = {}
    for r in found.results:
        if r.standing is not Standing.CHANGED or r.case.model in lines or not found.root:
            continue
        path = str(found.root / r.case.model)
        case = r.case
        setting = Setting(path, case.target, dict(case.dims), case.runtime, case.dtype)
        old = Setting(f"{revision}:{path}", case.target, dict(case.dims), case.runtime, case.dtype)
        try:
            views = views_of(compare(*both(old, setting)))
        except PerfcError:
            # a model that the revision does not have has nothing to be compared with
            continue
        if views.blame:
            lines[case.model] = f"{views.blame_metric} from {in_words(views.blame, 3)}"
    return lines
