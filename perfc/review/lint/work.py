"""Files to lint and their analyses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.deployment import Deployment
from perfc.errors import ModelError, PerfcError, message_line
from perfc.ir import record
from perfc.machine import load_machine

from .engine import Linted, Linter, LintOutcome

if TYPE_CHECKING:
    from perfc.api import Model
    from perfc.measuring.trace.summary import TraceSummary

HEAD = "HEAD"
"""Default revision, which a new repository does not have."""
TRACE_SUFFIXES = (".json", ".sqlite", ".pb", ".pftrace")
"""Suffixes of files that may be traces, without ``.gz``."""


@record
class LintWork:
    """A linter with a deployment.

    Args:
        linter: linter with the selected rules.
        deployment: how models are run.
        values: contents of inputs.
        revision: git revision whose findings are not reported; "" reports everything.
        given: returns the model of a path or name, with the inputs of a PyTorch module.
        target: target of lower bounds of traces; "" for the device that they name.
    """

    linter: Linter
    deployment: Deployment
    values: Mapping[str, object]
    revision: str = ""
    given: Callable[[str], Model] = str
    target: str = ""

    def lint(self, path: str, model: Model | None = None) -> Linted:
        """Lint the model or the step of a trace at ``path``, or ``model`` in its place.

        Raises:
            PerfcError: as ``perfc.analyze``.
        """
        from perfc.api import analyze

        if model is None and (summary := self.traced(path)) is not None:
            return self.linter.check_trace(summary, path)
        report = analyze(
            self.given(path) if model is None else model,
            deployment=self.deployment,
            values=self.values,
        )
        return self.linter.check(report, path, has_values=bool(self.values))

    def traced(self, path: str) -> TraceSummary | None:
        """Return the median step of the trace at ``path``; None for another file.

        Raises:
            ParseError: a trace that cannot be read.
        """
        is_named = path.removesuffix(".gz").endswith(TRACE_SUFFIXES)
        if not is_named or not Path(path).is_file():
            return None
        from perfc.measuring.trace.formats import format_of, read_trace
        from perfc.measuring.trace.steps import selected
        from perfc.measuring.trace.summary import summarized

        if format_of(path) is None:
            return None
        machine = load_machine(self.target) if self.target else None
        return summarized(selected(read_trace(path)), machine)

    def lint_all(self, paths: Iterable[str]) -> LintOutcome:
        """Lint every file; files that cannot be analyzed become errors of the outcome."""
        linted: list[Linted] = []
        errors: list[str] = []
        for path in paths:
            try:
                now = self.lint(path)
                old = self.before(path) if self.revision and now.findings else None
                linted.append(now.beyond(old, self.linter.least_share) if old else now)
            except PerfcError as error:
                errors.append(named(error, path))
        return self.linter.outcome(linted, errors)

    def before(self, path: str) -> Linted | None:
        """Lint the model at the revision; None if git does not have it there.

        Raises:
            PerfcError: an unknown revision.
        """
        from perfc.common.repository import is_revision
        from perfc.review.diff.revision import opened

        place = Path(path).resolve()
        if not is_revision(self.revision, str(place.parent)):
            if self.revision == HEAD:
                # nothing is committed yet, or this is no repository: everything is new
                return None
            raise ModelError(f"git has no revision {self.revision!r} here", where=path)
        # a second linter, as the first one records which suppressions the current model needs; it
        # has no least gain, as a finding of the revision that it left out would count as new
        linter = Linter(self.linter.settings, self.linter.codes, least=0.0)
        unfiltered = replace(self, linter=linter)
        try:
            with opened(f"{self.revision}:{place}") as old:
                return replace(unfiltered.lint(path, Path(old).read_bytes()), path=path)
        except PerfcError:
            return None


def named(error: PerfcError, path: str) -> str:
    """Format an error in one line with the file."""
    text = message_line(error)
    return text if path in text else f"{path}: {text}"
