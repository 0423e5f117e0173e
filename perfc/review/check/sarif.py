"""Check results as SARIF: a result per exceeded limit, a rule per metric."""

from __future__ import annotations

import hashlib

from perfc.common.repository import from_base
from perfc.review.diff.figures import BY_KEY
from perfc.view.report.annotation import Annotation, AnnotationLevel
from perfc.view.report.formats.sarif_log import Json, location, log

from .pipelines import annotated
from .views import CheckViews

LEVELS = {AnnotationLevel.FAILURE: "error", AnnotationLevel.WARNING: "warning"}


def sarif(views: CheckViews) -> dict[str, Json]:
    """Return the log of one check."""
    annotations = [a for a in annotated(views) if a.level in LEVELS]
    used = [m for m in BY_KEY.values() if any(a.rule == f"perfc-{m.key}" for a in annotations)]
    rules: list[Json] = [
        {
            "id": f"perfc-{m.key}",
            "name": "".join(part.capitalize() for part in m.key.split("_")),
            "shortDescription": {"text": f"A model exceeds its budget of {m.key}."},
            "help": {"text": "intended? perfc baseline update MODEL"},
            "properties": {"tags": ["performance", "budget"]},
        }
        for m in used
    ]
    index = {f"perfc-{m.key}": n for n, m in enumerate(used)}
    return log(rules, [result(a, index[a.rule]) for a in annotations], views.errors)


def result(a: Annotation, index: int) -> dict[str, Json]:
    """Return the view of one exceeded limit."""
    identity = "\0".join((a.rule, from_base(a.path), a.identity))
    digest = hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:32]
    return {
        "ruleId": a.rule,
        "ruleIndex": index,
        "level": LEVELS[a.level],
        "message": {"text": f"{a.context}: {a.message}" if a.context else a.message},
        "locations": [location(a.path, a.line)],
        "partialFingerprints": {"perfcLimit/v1": digest},
    }
