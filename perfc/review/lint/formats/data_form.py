"""JSON form of findings."""

from __future__ import annotations

from perfc.ir import record
from perfc.ir.record import project

from ..engine import Linted, LintOutcome
from ..finding import Finding

SCHEMA = "perfc-lint/1"
"""Schema of the JSON document."""


@record
class GainView:
    """Time saved by fixing a finding, per run.

    Args:
        time_s: predicted time before minus after.
        share: fraction of the run's predicted time.
        floor_s: part confirmed by the lower bounds.
        basis: how the gain was computed.
    """

    time_s: float
    share: float
    floor_s: float
    basis: str


@record
class FindingView:
    """A place in a model where a rule applies.

    Args:
        code: code of the rule.
        rule: name of the rule.
        severity: how it is shown.
        saves: what a fix improves.
        message: what was found, in one line.
        advice: what to do about it.
        nodes: names of the ONNX nodes, beginning with the one it is shown at.
        tensor: name of the value or weight; "" for a finding about nodes.
        gain: predicted gain; null if unknown.
        saved_bytes: resident memory saved; null if not applicable.
        fixable: True if ``--fix`` can fix it.
        fingerprint: stable identifier of rule and place.
        source: file and line of the code of the first node; empty if unknown.
    """

    code: str
    rule: str
    severity: str
    saves: str
    message: str
    advice: str
    nodes: tuple[str, ...]
    tensor: str
    gain: GainView | None
    saved_bytes: int | None
    fixable: bool
    fingerprint: str
    source: str

    @classmethod
    def of(cls, f: Finding) -> FindingView:
        """Build the JSON view of a finding."""
        return project(
            cls,
            f,
            nodes=tuple(f.nodes),
            gain=project(GainView, f.gain) if f.gain else None,
            fixable=f.is_fixable,
        )


@record
class FileView:
    """Findings of one file.

    Args:
        path: path as given by the user.
        target: name of the target.
        time_s: predicted time of one run, to which gains relate.
        findings: reported findings, largest gain first.
        below_min_gain: number of findings below the minimum gain or with unknown gain.
        suppressed: number of findings hidden by per-file ignores.
        known_before: number of earlier findings, if only new ones are requested.
    """

    path: str
    target: str
    time_s: float | None
    findings: tuple[FindingView, ...]
    below_min_gain: int
    suppressed: int
    known_before: int

    @classmethod
    def of(cls, x: Linted) -> FileView:
        """Build the JSON view of a file."""
        findings = tuple(map(FindingView.of, x.findings))
        return cls(x.path, x.target, x.time_s, findings, x.small, x.suppressed, x.known)


@record
class LintView:
    """All files, and findings about the configuration.

    Args:
        files: files in the given order.
        configuration: unused suppressions.
        errors: files that could not be analyzed, one line each.
    """

    files: tuple[FileView, ...]
    configuration: tuple[FindingView, ...]
    errors: tuple[str, ...]

    @classmethod
    def of(cls, outcome: LintOutcome) -> LintView:
        """Build the JSON view of a lint run."""
        files = tuple(map(FileView.of, outcome.files))
        configuration = tuple(FindingView.of(f) for _, f in outcome.configuration)
        return cls(files, configuration, tuple(outcome.errors))
