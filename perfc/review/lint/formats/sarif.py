"""Findings as SARIF 2.1.0, with stable fingerprints."""

from __future__ import annotations

from typing import cast

from perfc.review.pipelines.annotation import place_of
from perfc.review.pipelines.sarif_log import Json, location, log
from perfc.view.report.formats.json_form import plain

from ..catalogue import RuleInfo, infos
from ..engine import LintOutcome
from ..finding import Finding, Severity
from .data_form import FindingView
from .output import located, sentence

LEVELS = {Severity.WARNING: "warning", Severity.NOTE: "note"}
"""Levels of SARIF by severity."""


def sarif(outcome: LintOutcome) -> dict[str, Json]:
    """Return the SARIF log of one run."""
    findings = list(located(outcome))
    used = {f.code for _, f in findings}
    rules = [i for i in infos() if i.code in used]
    index = {i.code: n for n, i in enumerate(rules)}
    results = [_result(path, f, index[f.code]) for path, f in findings]
    return log([_rule(i) for i in rules], results, outcome.errors)


def _rule(info: RuleInfo) -> Json:
    """Return the descriptor of a rule, whose name SARIF wants in Pascal case."""
    help_text = "\n\n".join(f"{k}\n{v}" for k, v in info.sections.items())
    markdown = "\n\n".join(f"## {k}\n\n{v}" for k, v in info.sections.items())
    return {
        "id": info.code,
        "name": "".join(p.capitalize() for p in info.name.split("-")),
        "shortDescription": {"text": info.summary},
        "fullDescription": {"text": " ".join(info.sections.get("What it does", "").split())},
        "help": {"text": help_text, "markdown": markdown},
        "properties": {"tags": ["performance", info.saves]},
    }


def _result(path: str, finding: Finding, index: int) -> dict[str, Json]:
    """Return the result of a finding; ``index`` is the place of its rule in the log."""
    where, shown = location(*place_of(finding.source, path)), FindingView.of(finding)
    if finding.place:
        kind = "function" if finding.nodes else "object"
        where["logicalLocations"] = [{"fullyQualifiedName": finding.place, "kind": kind}]
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": LEVELS[finding.severity],
        "message": {"text": sentence(finding)},
        "locations": [where],
        "partialFingerprints": {"perfcPlace/v1": finding.fingerprint},
        "properties": {"nodes": list(shown.nodes), "gain": cast("Json", plain(shown.gain))},
    }
