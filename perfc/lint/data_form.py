"""Findings as data: what JSON says of them."""

from __future__ import annotations

from perfc.ir.record import record

from .engine import Linted, Outcome
from .finding import Finding, Gain

SCHEMA = "perfc-lint/1"


@record
class GainView:
    """What mending a finding saves of one run.

    Args:
        time_s: expected time of the run now minus that then.
        share: of the run's expected time.
        floor_s: the part of it that the lower bounds confirm.
        basis: how it was computed.
    """

    time_s: float
    share: float
    floor_s: float
    basis: str

    @classmethod
    def of(cls, gain: Gain) -> GainView:
        """What is said of a gain."""
        return cls(gain.time_s, gain.share, gain.floor_s, gain.basis.value)


@record
class FindingView:
    """One place of a model where a rule applies.

    Args:
        code: of the rule.
        rule: its name.
        severity: how it is shown.
        saves: what mending improves.
        message: what is there, in one line.
        advice: what to do about it.
        nodes: names of the ONNX nodes, the one it is shown at first.
        tensor: name of the value or weight it is about; "" where it is about nodes.
        gain: by the analysis; null where nobody can tell.
        saved_bytes: resident memory it saves; null where that is not the point.
        fixable: whether ``--fix`` can mend it.
        fingerprint: stays the same while rule and place do.
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

    @classmethod
    def of(cls, f: Finding) -> FindingView:
        """What is said of a finding."""
        return cls(
            f.code, f.rule, f.severity.value, f.saves.value, f.message, f.advice, tuple(f.nodes),
            f.tensor, None if f.gain is None else GainView.of(f.gain), f.saved_bytes,
            f.is_fixable, f.fingerprint,
        )  # fmt: skip


@record
class FileView:
    """What was found in one file.

    Args:
        path: as the user named it.
        target: name of the machine.
        time_s: expected time of one run, of which gains are shares.
        findings: those shown, largest gain first.
        below_min_gain: findings that gain less than asked for, or whose gain nobody can tell.
        suppressed: findings that per-file ignores hide.
        known_before: findings that the model had before, where only new ones are asked for.
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
        """What is said of a file."""
        findings = tuple(map(FindingView.of, x.findings))
        return cls(x.path, x.target, x.time_s, findings, x.small, x.suppressed, x.known)


@record
class LintView:
    """All files, and findings about the configuration itself.

    Args:
        files: in the order they were given.
        configuration: unused suppressions.
        errors: files that could not be analysed, one line each.
    """

    files: tuple[FileView, ...]
    configuration: tuple[FindingView, ...]
    errors: tuple[str, ...]

    @classmethod
    def of(cls, outcome: Outcome) -> LintView:
        """What is said of an outcome."""
        files = tuple(map(FileView.of, outcome.files))
        configuration = tuple(FindingView.of(f) for _, f in outcome.configuration)
        return cls(files, configuration, tuple(outcome.errors))
