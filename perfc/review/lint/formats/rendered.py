"""Output formats of findings."""

from __future__ import annotations

from perfc.review.pipelines import annotation
from perfc.view.report.formats.json_form import document_text, strict

from ..engine import LintOutcome
from .data_form import SCHEMA, LintView
from .junit_form import junit_xml
from .output import annotated, text
from .sarif import sarif
from .tables import csv_form, markdown_form


def rendered(outcome: LintOutcome, form: str) -> str:
    """Format the outcome."""
    match form:
        case "json":
            return document_text(SCHEMA, LintView.of(outcome))
        case "csv":
            return csv_form(outcome)
        case "markdown":
            return markdown_form(outcome)
        case "sarif":
            return strict(sarif(outcome), indent=2) + "\n"
        case "junit":
            return junit_xml(outcome)
        case "github":
            return annotation.github(annotated(outcome))
        case "gitlab":
            return annotation.code_quality(annotated(outcome))
        case _:
            return text(outcome)
