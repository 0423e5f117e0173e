"""PF990: an unused suppression."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.review.lint.rule import Finding, Rule, Saves, Severity, Subject


class UnusedSuppression(Rule):
    """A per-file ignore that matches no finding.

    What it does:
        Finds entries of `per-file-ignores` whose pattern matches a linted file and whose code has
        no finding there. Patterns that match no linted file are not reported: only some files
        may have been linted.

    Why is this bad:
        It would hide the next finding, which has not been reviewed.

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
        """Yield nothing for one model: the linter reports these after all files."""
        return iter(())
