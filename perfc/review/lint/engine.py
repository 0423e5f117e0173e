"""Linting of models: selected rules, suppressions, and the minimum gain."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.ir import record

from . import catalogue
from .finding import Finding, Saves, Severity
from .settings import LEAST_GAIN, FileIgnore, Settings, codes_of
from .subject import Subject

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.measuring.trace.summary import TraceSummary

    from .catalogue import RuleInfo
    from .rule import Rule

UNUSED = "PF990"
"""Rule of suppressions that hide nothing, which needs all files: the engine reports it."""
ORDER = {s: i for i, s in enumerate(Saves)}
"""Order of findings with equal gains."""


@record
class Linted:
    """Findings of one file.

    Args:
        path: path as given by the user.
        target: name of the target.
        time_s: predicted time of one run, to which gains relate.
        sustained_s: time of one run at the rates that units sustain, without predictors.
        findings: reported findings, largest gain first.
        small: number of findings below the minimum gain or with unknown gain.
        suppressed: number of findings hidden by per-file ignores.
        known: number of earlier findings, if only new ones are requested.
    """

    path: str
    target: str
    time_s: float
    sustained_s: float
    findings: tuple[Finding, ...]
    small: int = 0
    suppressed: int = 0
    known: int = 0

    def beyond(self, old: Linted, least: float) -> Linted:
        """Return findings that ``old`` lacks, or whose gain grew by ``least`` of the run.

        Findings match by rule and place, or by rule and message, as names may change; those with
        equal bounds of their gains first.
        """
        new, unmatched = list(self.findings), list(old.findings)
        # from the surest match to the loosest
        for key in (attrgetter("fingerprint"), _amount, _words):
            before: dict[object, list[Finding]] = {}
            for f in unmatched:
                before.setdefault(key(f), []).append(f)
            new = [f for f in new if not _is_in(before, key(f), f, least)]
            unmatched = [f for fs in before.values() for f in fs]
        return replace(self, findings=tuple(new), known=len(self.findings) - len(new))


def _amount(finding: Finding) -> tuple[object, ...]:
    """Return the rule and message of a finding with the lower bound of its gain."""
    return *_words(finding), finding.gain and f"{finding.gain.floor_s:.4g}"


def _words(finding: Finding) -> tuple[str, str]:
    """Return the rule and message of a finding without names."""
    return finding.code, re.sub(r"'[^']*'", "''", finding.message)


def _is_in(before: dict[object, list[Finding]], key: object, f: Finding, least: float) -> bool:
    """Return True if a finding existed before, and remove it from ``before``."""
    same = before.get(key)
    if not same:
        return False
    then, now = (g.share if g is not None else 0.0 for g in (same[-1].gain, f.gain))
    if now >= then + max(least, LEAST_GAIN):
        return False
    # each earlier finding explains one of now
    same.pop()
    return True


@record
class LintOutcome:
    """All files, and findings about the configuration.

    Args:
        files: files in the given order.
        configuration: unused suppressions, each with its configuration file.
        errors: files that could not be analyzed, one line each.
    """

    files: tuple[Linted, ...]
    configuration: tuple[tuple[str, Finding], ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Return the number of reported findings."""
        return len(self.configuration) + sum(len(f.findings) for f in self.files)


@dataclass(slots=True)
class Linter:
    """Rules and settings, which also tracks used suppressions.

    Args:
        settings: settings of the project.
        codes: codes of the rules to run.
        least: minimum gain as a fraction of the run; None for that of the settings.
        rules: the rules of ``codes``.
        matched: suppressions whose pattern matched a file so far.
        used: suppressions that hid a finding so far, with the code that did.
    """

    settings: Settings
    codes: frozenset[str]
    least: float | None = None
    rules: tuple[Rule, ...] = field(init=False)
    matched: set[FileIgnore] = field(default_factory=set)
    used: set[tuple[FileIgnore, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        chosen = [i for i in catalogue.infos() if i.code in self.codes and i.code != UNUSED]
        self.rules = tuple(catalogue.load(i) for i in chosen)

    def check(self, report: Report, path: str, *, has_values: bool = False) -> Linted:
        """Return all findings in an analyzed model."""
        subject = Subject(report, has_values)
        findings = (f for rule in self.rules for f in rule.check(subject))
        times = report.prediction.total.time_s, report.roofline.time_s
        result = self._reported(findings, path, report.machine.name, times, report)
        return replace(result, findings=tuple(with_sources(result.findings, report)))

    def check_trace(self, summary: TraceSummary, path: str) -> Linted:
        """Return all findings in a trace; gains relate to its time."""
        from .traced import TracedSubject, TraceRule

        subject = TracedSubject(summary)
        rules = (rule for rule in self.rules if isinstance(rule, TraceRule))
        findings = (f for rule in rules for f in rule.check_trace(subject))
        target = summary.target.name if summary.target else ""
        return self._reported(findings, path, target, (subject.time_s, subject.time_s))

    def _reported(
        self,
        candidates: Iterable[Finding],
        path: str,
        target: str,
        times_s: tuple[float, float],
        report: Report | None = None,
    ) -> Linted:
        """Return the findings that are neither suppressed nor small, largest gain first."""
        # a rewrite that would cost time is no finding
        findings = [f for f in candidates if f.gain is None or f.gain.time_s >= 0]
        reported, suppressed = self._unsuppressed(findings, Path(path))
        shown = [f for f in reported if not self._is_small(f, report)]
        small = len(reported) - len(shown)
        return Linted(path, target, *times_s, tuple(sorted(shown, key=_order)), small, suppressed)

    @property
    def least_share(self) -> float:
        """Return the minimum gain as a fraction of the run or its memory."""
        return self.settings.min_gain if self.least is None else self.least

    def _is_small(self, finding: Finding, report: Report | None) -> bool:
        """Return True if a gain is below the minimum, or unknown without a fix."""
        least = self.least_share
        match finding.saves:
            case Saves.TIME if finding.gain is not None:
                return finding.gain.share < least
            case Saves.MEMORY if finding.saved_bytes is not None and report is not None:
                return finding.saved_bytes < least * _memory_bytes(report)
            case Saves.CONFIGURATION:
                return False
        # unknown gains are hidden unless there is no minimum
        return least > 0 and not finding.is_fixable

    def _unsuppressed(self, findings: list[Finding], path: Path) -> tuple[list[Finding], int]:
        """Return the findings that no suppression of the file hides, and how many are hidden."""
        root = self.settings.root
        ignores = [i for i in self.settings.file_ignores if i.matches_file(path, root)]
        self.matched.update(ignores)
        reported: list[Finding] = []
        for finding in findings:
            hiding = {
                (ignore, code)
                for ignore in ignores
                for code in ignore.codes
                if _weight(code, finding.code, finding.rule) and ignore.matches_place(finding.place)
            }
            self.used |= hiding
            if not hiding:
                reported.append(finding)
        return reported, len(findings) - len(reported)

    def unused(self) -> tuple[Finding, ...]:
        """Return suppressions that matched a file but hid nothing; call after all files."""
        if UNUSED not in self.codes:
            return ()
        findings: list[Finding] = []
        for ignore in self.settings.file_ignores:
            for code in ignore.codes:
                runs = codes_of([code], "") & self.codes
                if ignore not in self.matched or (ignore, code) in self.used or not runs:
                    continue
                line = f" (line {ignore.line})" if ignore.line else ""
                findings.append(
                    Finding(
                        UNUSED,
                        "unused-suppression",
                        Saves.CONFIGURATION,
                        Severity.WARNING,
                        f"{code} is ignored for {ignore.pattern!r}{line} but has no findings there",
                        "remove it",
                        tensor=ignore.pattern,
                    )
                )
        return tuple(findings)

    def outcome(self, files: Iterable[Linted], errors: Iterable[str] = ()) -> LintOutcome:
        """Build the outcome from the files, with findings about the configuration."""
        linted = tuple(files)
        where = near(self.settings.path) if self.settings.path else ""
        return LintOutcome(linted, tuple((where, f) for f in self.unused()), tuple(errors))


def with_sources(findings: Iterable[Finding], report: Report) -> list[Finding]:
    """Return the findings with the line of their first node, and the names of nodes in the file."""
    from perfc.ir import NOWHERE, walk

    locs = {n.name: n.loc for n in walk(report.source.graph)}
    return [
        replace(
            f,
            source=locs.get(f.nodes[0] if f.nodes else "", NOWHERE).source,
            # a node without a name has that of its first output here
            stored=frozenset(locs[n].stored_name or n for n in f.nodes if n in locs),
        )
        for f in findings
    ]


def joined(outcomes: Iterable[LintOutcome]) -> LintOutcome:
    """Merge the outcomes of several projects."""
    every = tuple(outcomes)
    return LintOutcome(
        tuple(x for o in every for x in o.files),
        tuple(c for o in every for c in o.configuration),
        tuple(e for o in every for e in o.errors),
    )


def _memory_bytes(report: Report) -> float:
    """Return the bytes of weights and peak activations."""
    from perfc.view.report.memory_sections import memory
    from perfc.view.report.sections import summary

    view = summary.collect(report, memory.collect(report))
    return (view.weight_bytes.value or 0.0) + (view.peak_activation_bytes.value or 0.0)


def near(path: Path) -> str:
    """Make a path relative to the current folder if inside, as annotations require."""
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)


def selected(
    settings: Settings,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    extend: Sequence[str] = (),
) -> frozenset[str]:
    """Return the codes of the rules to run; the command line overrides the file.

    As in ruff, the longer of two conflicting prefixes wins, and ignoring wins ties.

    Raises:
        SettingsError: an unknown code.
    """
    chosen = [*(select or settings.select), *settings.extend_select, *extend]
    left_out = [*settings.ignore, *ignore]
    # unknown codes raise here
    codes_of(chosen, "--select")
    codes_of(left_out, "--ignore")

    def most(patterns: Sequence[str], info: RuleInfo) -> int:
        """Return how specific the most specific pattern is for a rule."""
        return max((_weight(p, info.code, info.name) for p in patterns), default=0)

    return frozenset(i.code for i in catalogue.infos() if most(chosen, i) > most(left_out, i))


def _weight(pattern: str, code: str, name: str) -> int:
    """Return how specific a pattern is for a rule: 0 if it does not match, most for a name."""
    upper = pattern.strip().upper()
    if upper == "ALL":
        return 1
    if pattern.strip().lower() == name:
        return len(code) + 1
    return len(upper) + 1 if upper and code.startswith(upper) else 0


def _order(finding: Finding) -> tuple[object, ...]:
    """Return a sort key: the largest gain first, then by benefit and code."""
    gain = finding.gain.time_s if finding.gain is not None else 0.0
    return -gain, ORDER[finding.saves], finding.code


def fixable(findings: Collection[Finding]) -> tuple[Finding, ...]:
    """Return the findings with a safe fix."""
    return tuple(f for f in findings if f.is_fixable)
