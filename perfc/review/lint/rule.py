"""Base class of rules; each rule is the file of its name in ``perfc/review/rules``.

What most rules need is imported from here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from perfc.ir import Node

from .finding import Finding, Gain, GainBasis, Saves, Severity
from .fixes.edit import Edit
from .subject import Subject

__all__ = ["Finding", "Gain", "GainBasis", "Rule", "Saves", "Severity", "Subject"]


class Rule(ABC):
    """Checks one analyzed model.

    The docstring of a subclass is its documentation, under the headings of ruff's rules:
    ``What it does``, ``Why is this bad``, ``Example``, ``Use instead`` and ``Source``.
    """

    code: ClassVar[str]
    saves: ClassVar[Saves] = Saves.TIME
    severity: ClassVar[Severity] = Severity.WARNING
    is_fixable: ClassVar[bool] = False
    """True if some findings have a safe fix."""

    @abstractmethod
    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield all findings in ``subject``."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the defining file, in kebab case."""
        return cls.__module__.rpartition(".")[2].replace("_", "-")

    def rewriting(
        self,
        subject: Subject,
        nodes: Sequence[Node],
        edits: Sequence[Edit],
        message: str,
        advice: str,
    ) -> Finding:
        """Create a finding whose gain is that of its edits."""
        gain = subject.rewriting(edits, (self.code, subject.shape_key(nodes)))
        return self.finding(message, advice, nodes=nodes, gain=gain, edits=edits)

    def finding(
        self,
        message: str,
        advice: str,
        *,
        nodes: Sequence[Node] = (),
        tensor: str = "",
        gain: Gain | None = None,
        saved_bytes: int | None = None,
        edits: Sequence[Edit] = (),
        saves: Saves | None = None,
        is_whole: bool = False,
    ) -> Finding:
        """Create a finding of this rule."""
        return Finding(
            self.code,
            self.name(),
            saves or self.saves,
            self.severity,
            message,
            advice,
            tuple(dict.fromkeys(n.name for n in nodes)),
            tensor,
            gain,
            saved_bytes,
            tuple(edits),
            is_whole,
        )
