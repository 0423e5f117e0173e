"""Output formats of findings."""

from __future__ import annotations

from enum import Enum

from perfc.review.pipelines import annotation
from perfc.view.report.formats.json_form import document_text, strict

from ..engine import LintOutcome
from .data_form import SCHEMA, LintView
from .junit_form import junit_xml
from .output import annotated, text
from .sarif import sarif
from .tables import csv_form, markdown_form


class LintFormat(Enum):
    """Output formats of ``perfc lint``."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"
    SARIF = "sarif"
    GITHUB = "github"
    GITLAB = "gitlab"
    JUNIT = "junit"


def rendered(outcome: LintOutcome, form: LintFormat) -> str:
    """Format the outcome."""
    match form:
        case LintFormat.TEXT:
            return text(outcome)
        case LintFormat.JSON:
            return document_text(SCHEMA, LintView.of(outcome))
        case LintFormat.CSV:
            return csv_form(outcome)
        case LintFormat.MARKDOWN:
            return markdown_form(outcome)
        case LintFormat.SARIF:
            return strict(sarif(outcome), indent=2) + "\n"
        case LintFormat.JUNIT:
            return junit_xml(outcome)
        case LintFormat.GITHUB:
            return annotation.github(annotated(outcome))
        case LintFormat.GITLAB:
            return annotation.code_quality(annotated(outcome))
