"""Findings as JUnit XML: one case per file."""

from __future__ import annotations

from perfc.review.pipelines import junit

from ..engine import LintOutcome
from ..finding import Finding
from .output import sentence


def junit_xml(outcome: LintOutcome) -> str:
    """Format every file, and the configuration if it has findings."""
    cases = [junit.TestCase(x.path, x.target, tuple(map(line, x.findings))) for x in outcome.files]
    for path in dict.fromkeys(path for path, _ in outcome.configuration):
        wrong = tuple(line(f) for file, f in outcome.configuration if file == path)
        cases.append(junit.TestCase(path, "configuration", wrong))
    return junit.render("perfc lint", cases, outcome.errors)


def line(finding: Finding) -> str:
    """Format a finding in one line."""
    return f"{finding.code} {sentence(finding)}"
