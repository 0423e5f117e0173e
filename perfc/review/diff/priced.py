"""Price the proposed edits of a module's code: the time that each saves, as a patch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from perfc.errors import PerfcError
from perfc.view.report.units import Unit, time_text

from ..code.model import in_code
from ..code.proposals import Proposal, changed_by, proposals
from .difference import Difference, compare
from .figures import Metric, percent, signed
from .sides import SideSetting, both


def priced(side: SideSetting) -> str:
    """Return the edits of a module's code that save time as patches, the largest saving first.

    Before each patch stands a comment line with its saving, which ``git apply`` skips.

    Args:
        side: setting of a `CodeModel`.
    """
    saving = ((*saved(d), p) for p, d in differences(side))
    patches = sorted((s, f"# {p.name}: {text}\n{p.patch}") for s, text, p in saving if s > 0)
    texts = [text for _, text in patches[::-1]]
    if len(texts) > 1:
        texts.insert(0, "# each is for the code as it is: git apply takes one of them\n")
    return "\n".join(texts) or "# no known edit saves time here"


def differences(side: SideSetting) -> Iterator[tuple[Proposal, Difference]]:
    """Yield the difference that each edit makes, where it can be analyzed."""
    for p in proposals(in_code(side.model).module):
        try:
            yield p, compare(*both(side, patched(side, p.patch)))
        except PerfcError:
            continue


def patched(side: SideSetting, patch: str) -> SideSetting:
    """Return a side with a patch of its code.

    A patch that sets values of the deployment, as the precision, changes that as well.
    """
    code = in_code(side.model).patched(patch)
    deployment = side.deployment.for_model(code.module).with_values(changed_by(patch))
    return replace(side, model=code, deployment=deployment)


def saved(difference: Difference) -> tuple[float, str]:
    """Return the seconds that a difference saves, and the time before and after in words."""
    old, new = difference.totals[Metric.TIME]
    assert old is not None
    assert new is not None
    change = [signed(end, Unit.SECOND) for end in difference.intervals.get(Metric.TIME, ())]
    text = f"{time_text(old.value)} to {time_text(new.value)}, {percent(new.value / old.value - 1)}"
    return old.value - new.value, f"{text}, 90 % interval {' to '.join(change) or 'unknown'}"
