"""SARIF 2.1.0, as GitHub accepts it: a file and a line for every result, stable fingerprints."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from perfc.version import __version__

from .catalogue import RuleInfo, infos
from .engine import Outcome
from .finding import Finding, Severity
from .output import Json, finding_json, located, sentence

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {Severity.WARNING: "warning", Severity.NOTE: "note"}


def sarif(outcome: Outcome) -> dict[str, Json]:
    """The log of one run; a model has no lines, so that each result is at its first.

    Source: SARIF 2.1.0, sections 3.27 and 3.28; GitHub, SARIF support for code scanning.
    """
    found = list(located(outcome))
    used = {f.code for _, f in found}
    rules = [i for i in infos() if i.code in used]
    index = {i.code: n for n, i in enumerate(rules)}
    driver: dict[str, Json] = {
        "name": "perfc",
        "version": __version__,
        "rules": [_rule(i) for i in rules],
    }
    run: dict[str, Json] = {
        "tool": {"driver": driver},
        "invocations": [_invocation(outcome)],
        "columnKind": "unicodeCodePoints",
        "results": [_result(path, f, index[f.code]) for path, f in found],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _invocation(outcome: Outcome) -> dict[str, Json]:
    """Whether every file could be analysed, and what was wrong with the others."""
    notes: list[Json] = [{"level": "error", "message": {"text": e}} for e in outcome.errors]
    return {"executionSuccessful": not notes, "toolExecutionNotifications": notes}


def _rule(info: RuleInfo) -> dict[str, Json]:
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


def _uri(path: str) -> str:
    """A path as a URI: relative as it is, from anywhere else with its scheme."""
    found = Path(path)
    return found.as_uri() if found.is_absolute() else quote(path.replace("\\", "/"))


def _result(path: str, finding: Finding, index: int) -> dict[str, Json]:
    where: dict[str, Json] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(path)},
            "region": {"startLine": 1},
        }
    }
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
        "properties": {k: v for k, v in finding_json(finding).items() if k in ("gain", "nodes")},
    }
