"""A check as pipelines show it: JUnit XML, and GitLab's code quality report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from perfc.report import junit

from .verdict import Outcome, Standing
from .views import CheckViews, FindingRow, ResultRow


def junit_xml(views: CheckViews) -> str:
    """One case per model and setting; limits that only warn are shown and fail nothing."""
    return junit.render("perfc check", [*map(case, views.results), *unreadable(views)])


def case(r: ResultRow) -> junit.Case:
    """One model."""
    failed = tuple(f.message for f in r.findings if f.outcome == Outcome.FAIL.value)
    warned = tuple(f"warning: {f.message}" for f in r.findings if f.message not in failed)
    notes = (*warned, *r.notes, *([r.why] if r.why else []))
    is_left_out = r.standing in (Standing.SKIPPED.value, Standing.REMOVED.value)
    reason = "; ".join(r.notes) or r.standing
    return junit.Case(
        f"{r.model} on {r.setting}" if r.setting else r.model,
        r.model,
        failed,
        skipped=reason if is_left_out and not failed else "",
        notes=notes,
    )


def unreadable(views: CheckViews) -> Iterator[junit.Case]:
    """Models that could not be analysed."""
    for line in views.errors:
        yield junit.Case(line.partition(":")[0], "not analysed", error=line)


def code_quality(views: CheckViews) -> str:
    """GitLab's code quality report, a subset of Code Climate's, at the first line of each model.

    A fingerprint is the same as long as the same limit of the same model is exceeded.
    """
    found = [entry(r, f) for r in views.results for f in r.findings]
    found += map(unread, views.errors)
    return json.dumps(found, indent=2) + "\n"


def unread(line: str) -> dict[str, object]:
    """One model that could not be analysed."""
    path = line.partition(":")[0]
    return {
        "description": line,
        "check_name": "perfc-not-analysed",
        "fingerprint": hashlib.sha256(path.encode("utf-8", "replace")).hexdigest(),
        "severity": "blocker",
        "location": {"path": path, "lines": {"begin": 1}},
    }


def entry(r: ResultRow, f: FindingRow) -> dict[str, object]:
    """One limit exceeded."""
    key = "\0".join((r.model, r.setting, f.metric, f.outcome, f"{f.limit:.6g}"))
    return {
        "description": f"{r.setting}: {f.message}" if r.setting else f.message,
        "check_name": f"perfc-{f.metric}",
        "fingerprint": hashlib.sha256(key.encode("utf-8", "replace")).hexdigest(),
        "severity": "major" if f.outcome == Outcome.FAIL.value else "minor",
        "location": {"path": r.model, "lines": {"begin": 1}},
    }
