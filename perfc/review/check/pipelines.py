"""Check results for CI: JUnit XML and annotations."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.view.report import annotation
from perfc.view.report.annotation import Annotation, AnnotationLevel
from perfc.view.report.formats import junit

from .verdict import BaselineStatus, Outcome
from .views import CheckViews, ResultRow


def junit_xml(views: CheckViews) -> str:
    """Format one case per model and setting; warnings are shown but do not fail."""
    return junit.render("perfc check", [*map(case, views.results), *unreadable(views)])


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


def unreadable(views: CheckViews) -> Iterator[junit.TestCase]:
    """Yield the models that could not be analyzed."""
    for line in views.errors:
        yield junit.TestCase(line.partition(":")[0], "not analysed", error=line)


def annotated(views: CheckViews) -> Iterator[Annotation]:
    """Yield annotations for exceeded limits and for models that could not be analyzed."""
    for r in views.results:
        for f in r.findings:
            level = (
                AnnotationLevel.FAILURE
                if f.outcome == Outcome.FAIL.value
                else AnnotationLevel.WARNING
            )
            identity = "\0".join((r.setting, f.metric, f.outcome, f"{f.limit:.6g}"))
            name, title = f"perfc-{f.metric}", f"perfc: {f.metric}"
            file, line = annotation.place_of(r.source, r.model)
            yield Annotation(level, file, name, title, r.setting, f.message, identity, line)
    yield from map(annotation.unreadable, views.errors)
