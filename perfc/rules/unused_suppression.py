"""PF990: a suppression that suppresses nothing."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.lint.finding import Finding, Saves, Severity
from perfc.lint.rule import Rule
from perfc.lint.subject import Subject


class UnusedSuppression(Rule):
    """A per-file ignore without a finding to ignore.

    What it does:
        Finds entries of `per-file-ignores` whose pattern matched a file that was linted and
        whose code would have found nothing there. Patterns that matched no file are left alone:
        perhaps only some files were linted.

    Why is this bad:
        It will hide the next finding, which nobody has looked at yet.

    Example:
        per-file-ignores = { "models/detector.onnx" = ["PF402"] }    # since fixed

    Use instead:
        the configuration without that entry

    Source:
        ruff RUF100, unused-noqa.
    """

    code = "PF990"
    saves = Saves.CONFIGURATION
    severity = Severity.WARNING

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Nothing of one model: the linter itself knows when all files are done."""
        return iter(())
