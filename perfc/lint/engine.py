"""Lints models: rules that are selected, suppressions, and what is too small to show."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.ir.record import record

from . import catalogue
from .finding import Finding, Saves, Severity
from .settings import LEAST_GAIN, FileIgnore, Settings, codes_of
from .subject import Subject

if TYPE_CHECKING:
    from perfc.api import Report

    from .rule import Rule

UNUSED = "PF990"
ORDER = {s: i for i, s in enumerate(Saves)}


@record
class Linted:
    """What was found in one file.

    Args:
        path: as the user named it.
        target: name of the machine.
        time_s: predicted time of one run, of which gains are shares.
        sustained_s: the same at measured rates.
        findings: those shown, largest gain first.
        small: findings that gain less than asked for, or that nobody can tell the gain of.
        suppressed: findings that per-file ignores hide.
        known: findings that the model had before, where only new ones are asked for.
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
        """Only what ``old`` does not have, or what gains more than there by ``least`` of the run.

        Findings are the same where rule and place are, or rule and words: names may change.
        """
        before: dict[object, list[Finding]] = {}
        for f in old.findings:
            before.setdefault(f.fingerprint, []).append(f)
        unmatched = [f for f in self.findings if not _is_in(before, f.fingerprint, f, least)]
        left: dict[object, list[Finding]] = {}
        for f in (f for fs in before.values() for f in fs):
            left.setdefault(_words(f), []).append(f)
        new = [f for f in unmatched if not _is_in(left, _words(f), f, least)]
        return replace(self, findings=tuple(new), known=len(self.findings) - len(new))


def _words(finding: Finding) -> tuple[str, str]:
    """What a finding says, without the names it says it of."""
    return finding.code, re.sub(r"'[^']*'", "''", finding.message)


def _is_in(before: dict[object, list[Finding]], key: object, f: Finding, least: float) -> bool:
    """Whether a finding was there before; takes it out."""
    same = before.get(key)
    if not same:
        return False
    then, now = (g.share if g is not None else 0.0 for g in (same[-1].gain, f.gain))
    if now >= then + max(least, LEAST_GAIN):
        return False
    same.pop()
    return True


@record
class Outcome:
    """All files, and findings about the configuration itself.

    Args:
        files: in the order they were given.
        configuration: unused suppressions, with the file that each is written in.
        errors: files that could not be analysed, one line each.
    """

    files: tuple[Linted, ...]
    configuration: tuple[tuple[str, Finding], ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Findings shown."""
        return len(self.configuration) + sum(len(f.findings) for f in self.files)


@dataclass(slots=True)
class Linter:
    """Rules and settings, and which suppressions were of use.

    Args:
        settings: of the project.
        codes: rules that run.
        least: share of the run below which findings about time are not shown; None for that of
            the settings.
    """

    settings: Settings
    codes: frozenset[str]
    least: float | None = None
    rules: tuple[Rule, ...] = field(init=False)
    matched: set[FileIgnore] = field(default_factory=set[FileIgnore])
    used: set[tuple[FileIgnore, str]] = field(default_factory=set[tuple[FileIgnore, str]])

    def __post_init__(self) -> None:
        chosen = [i for i in catalogue.infos() if i.code in self.codes and i.code != UNUSED]
        self.rules = tuple(catalogue.load(i) for i in chosen)

    def check(self, report: Report, path: str, *, has_values: bool = False) -> Linted:
        """Everything the rules find in an analysed model."""
        subject = Subject(report, has_values)
        found = [f for rule in self.rules for f in rule.check(subject)]
        # a rewrite that would cost time is none
        found = [f for f in found if f.gain is None or f.gain.time_s >= 0]
        kept, suppressed = self._unsuppressed(found, Path(path))
        shown = [f for f in kept if not self._is_small(f, report)]
        total, sustained_s = report.prediction.total.time_s, report.roofline.time_s
        small = len(kept) - len(shown)
        name, ordered = report.machine.name, tuple(sorted(shown, key=_order))
        return Linted(path, name, total, sustained_s, ordered, small, suppressed)

    @property
    def least_share(self) -> float:
        """Share of the run, or of its memory, below which findings are not shown."""
        return self.settings.min_gain if self.least is None else self.least

    def _is_small(self, finding: Finding, report: Report) -> bool:
        """Whether a finding gains too little, or nobody can say what and no edit is at hand."""
        least = self.least_share
        match finding.saves:
            case Saves.TIME if finding.gain is not None:
                return finding.gain.share < least
            case Saves.MEMORY if finding.saved_bytes is not None:
                return finding.saved_bytes < least * _memory_bytes(report)
            case Saves.CONFIGURATION:
                return False
        return least > 0 and not finding.is_fixable

    def _unsuppressed(self, found: list[Finding], path: Path) -> tuple[list[Finding], int]:
        root = self.settings.root
        ignores = [i for i in self.settings.file_ignores if i.matches_file(path, root)]
        self.matched.update(ignores)
        kept: list[Finding] = []
        for finding in found:
            hidden = False
            for ignore in ignores:
                for code in ignore.codes:
                    if _stands_for(code, finding) and ignore.matches_place(finding.place):
                        self.used.add((ignore, code))
                        hidden = True
            if not hidden:
                kept.append(finding)
        return kept, len(found) - len(kept)

    def unused(self) -> tuple[Finding, ...]:
        """Suppressions that matched a file and hid nothing; call it when all files are done."""
        if UNUSED not in self.codes:
            return ()
        found: list[Finding] = []
        for ignore in self.settings.file_ignores:
            for code in ignore.codes:
                runs = codes_of([code], "") & self.codes
                if ignore not in self.matched or (ignore, code) in self.used or not runs:
                    continue
                line = f" (line {ignore.line})" if ignore.line else ""
                found.append(
                    Finding(
                        UNUSED,
                        "unused-suppression",
                        Saves.CONFIGURATION,
                        Severity.WARNING,
                        f"{code} is ignored for {ignore.pattern!r}{line} and found nothing there",
                        "remove it",
                        tensor=ignore.pattern,
                    )
                )
        return tuple(found)

    def outcome(self, files: Iterable[Linted], errors: Iterable[str] = ()) -> Outcome:
        """The files with what is to be said of the configuration."""
        done = tuple(files)
        where = near(self.settings.path) if self.settings.path else ""
        return Outcome(done, tuple((where, f) for f in self.unused()), tuple(errors))


def joined(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcomes of several projects as one."""
    every = tuple(outcomes)
    return Outcome(
        tuple(x for o in every for x in o.files),
        tuple(c for o in every for c in o.configuration),
        tuple(e for o in every for e in o.errors),
    )


def _memory_bytes(report: Report) -> float:
    """Weights, and activations at their peak."""
    from perfc.report import memory, summary

    found = summary.collect(report, memory.collect(report))
    return (found.weight_bytes.value or 0.0) + (found.peak_activation_bytes.value or 0.0)


def near(path: Path) -> str:
    """A path from the current folder where it is inside: annotations need it that way."""
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)


def selected(
    settings: Settings,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    extend: Sequence[str] = (),
) -> frozenset[str]:
    """Codes of the rules that run: the command line before the file, ignoring after selecting.

    As in ruff, the longer of two prefixes that disagree wins, and ignoring wins a draw.

    Raises:
        SettingsError: a code that is none.
    """
    chosen = [*(select or settings.select), *settings.extend_select, *extend]
    left_out = [*settings.ignore, *ignore]
    codes_of(chosen, "--select")
    codes_of(left_out, "--ignore")
    found: set[str] = set()
    for info in catalogue.infos():
        here = max((_weight(p, info.code, info.name) for p in chosen), default=0)
        away = max((_weight(p, info.code, info.name) for p in left_out), default=0)
        if here > away:
            found.add(info.code)
    return frozenset(found)


def _weight(pattern: str, code: str, name: str) -> int:
    upper = pattern.strip().upper()
    if upper == "ALL":
        return 1
    if pattern.strip().lower() == name:
        return len(code) + 1
    return len(upper) + 1 if upper and code.startswith(upper) else 0


def _stands_for(code: str, finding: Finding) -> bool:
    return _weight(code, finding.code, finding.rule) > 0


def _order(finding: Finding) -> tuple[object, ...]:
    gain = finding.gain.time_s if finding.gain is not None else 0.0
    return -gain, ORDER[finding.saves], finding.code


def fixable(findings: Collection[Finding]) -> tuple[Finding, ...]:
    """Those with a provably safe rewrite."""
    return tuple(f for f in findings if f.is_fixable)
