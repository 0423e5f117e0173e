"""Check results for CI: JUnit XML, SARIF and annotations."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from perfc.common.repository import from_base
from perfc.review.diff.figures import BY_KEY
from perfc.review.pipelines import annotation, junit
from perfc.review.pipelines.annotation import Annotation, AnnotationLevel
from perfc.review.pipelines.sarif_log import Json, location, log

from .verdict import BaselineStatus, Outcome
from .views import CheckViews, ResultRow

LEVELS = {
    AnnotationLevel.FAILURE: "error",
    AnnotationLevel.WARNING: "warning",
    AnnotationLevel.NOTE: "note",
}
"""SARIF levels; a result for each exceeded limit and changed line, a rule for each metric."""
CHANGE = "change"
"""Rule of changed lines of code; rules of limits have the name of their metric."""


def junit_xml(views: CheckViews) -> str:
    """Format one case per model and setting; warnings are shown but do not fail."""
    return junit.render("perfc check", [*map(case, views.results)], views.errors)


def case(r: ResultRow) -> junit.TestCase:
    """Return the case of one model."""
    failed = tuple(f.message for f in r.findings if f.outcome == Outcome.FAIL.value)
    warned = tuple(f"warning: {f.message}" for f in r.findings if f.message not in failed)
    notes = (*warned, *r.notes, *([r.why] if r.why else []))
    is_left_out = r.standing in (BaselineStatus.SKIPPED.value, BaselineStatus.REMOVED.value)
    reason = "; ".join(r.notes) or r.standing
    return junit.TestCase(
        f"{r.model} on {r.setting}" if r.setting else r.model,
        r.model,
        failed,
        skipped=reason if is_left_out and not failed else "",
        notes=notes,
    )


def annotated(views: CheckViews) -> Iterator[Annotation]:
    """Yield annotations for exceeded limits, changed lines, and models that are not analyzed."""
    for r in views.results:
        for f in r.findings:
            level = (
                AnnotationLevel.FAILURE
                if f.outcome == Outcome.FAIL.value
                else AnnotationLevel.WARNING
            )
            identity = "\0".join((r.setting, f.metric, f.outcome, f"{f.limit:.6g}"))
            file, line = annotation.place_of(r.source, r.model)
            yield Annotation(
                level,
                file,
                rule=f"perfc-{f.metric}",
                title=f"perfc: {f.metric}",
                context=r.setting,
                message=f.message,
                identity=identity,
                line=line,
            )
        for changed_line in r.lines:
            file, line = annotation.place_of(changed_line.source, r.model)
            yield Annotation(
                AnnotationLevel.NOTE,
                file,
                rule=f"perfc-{CHANGE}",
                title=f"perfc: {r.model}",
                context=r.setting,
                message=changed_line.cost,
                identity="\0".join((r.model, r.setting, changed_line.code)),
                line=line,
                related=changed_line.sites,
            )
    yield from map(annotation.unreadable, views.errors)


def sarif(views: CheckViews) -> dict[str, Json]:
    """Return the log of one check."""
    annotations = [a for a in annotated(views) if a.level in LEVELS]
    texts = {key: f"A model exceeds its budget of {key}." for key in BY_KEY}
    texts[CHANGE] = "A line of code changes what a model costs."
    used = [key for key in texts if any(a.rule == f"perfc-{key}" for a in annotations)]
    rules: list[Json] = [
        {
            "id": f"perfc-{key}",
            "name": "".join(part.capitalize() for part in key.split("_")),
            "shortDescription": {"text": texts[key]},
            "help": {"text": "intended? perfc check --write-baseline MODEL"},
            "properties": {"tags": ["performance", "budget"]},
        }
        for key in used
    ]
    index = {f"perfc-{key}": n for n, key in enumerate(used)}
    return log(rules, [result(a, index[a.rule]) for a in annotations], views.errors)


def result(a: Annotation, index: int) -> dict[str, Json]:
    """Return the SARIF result of an exceeded limit or a changed line."""
    # the fingerprint has no line number: it stays as code above the line changes
    identity = "\0".join((a.rule, from_base(a.path), a.identity))
    digest = hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:32]
    return {
        "ruleId": a.rule,
        "ruleIndex": index,
        "level": LEVELS[a.level],
        "message": {"text": f"{a.context}: {a.message}" if a.context else a.message},
        "locations": [location(a.path, a.line)],
        "relatedLocations": [
            location(*place) for s in a.related if (place := annotation.place_of(s, ""))[0]
        ],
        "partialFingerprints": {"perfcLimit/v1": digest},
    }
