"""Findings: place, message, gain and safe fix."""

from __future__ import annotations

import hashlib
from enum import Enum
from typing import TYPE_CHECKING

from perfc.ir import record

if TYPE_CHECKING:
    from .fixes.edit import Edit


class Saves(Enum):
    """Benefit of fixing a finding."""

    TIME = "time"
    MEMORY = "memory"
    LOADING = "loading"
    KNOWLEDGE = "knowledge"
    """A more complete analysis, without a faster run."""
    CONFIGURATION = "configuration"
    """A cleaner configuration; not about a model."""


class Severity(Enum):
    """Severity of a finding; it does not change the exit code."""

    WARNING = "warning"
    NOTE = "note"


class GainBasis(Enum):
    """Method by which a gain was computed."""

    REANALYSIS = "re-analysis of the rewritten module"
    DEPLOYMENT = "analysis of the same model run otherwise"
    BOUNDS = "difference of bounds"
    COUNTED = "counted: runtimes do it while loading"
    MEMORY = "counted: memory, no time"
    MEASURED = "measured time less its lower bound: at most"


@record
class Gain:
    """Time saved by fixing a finding, per run.

    Args:
        time_s: predicted time before minus after, both as `perfc analyze` prints them.
        share: fraction of the run's predicted time.
        floor_s: part confirmed by the lower bounds, ``min(time_s, floor before - floor after)``,
            never below 0.
        basis: how the gain was computed.
        base_s: predicted time of the run before the fix.
    """

    time_s: float
    share: float
    floor_s: float
    basis: GainBasis
    base_s: float

    @staticmethod
    def of(now: tuple[float, float], then: tuple[float, float], basis: GainBasis) -> Gain:
        """Return the gain between two pairs of predicted time and lower bound; may be negative."""
        (now_s, now_floor_s), (then_s, then_floor_s) = now, then
        time_s = now_s - then_s
        # sums of the same kernels in another order differ by rounding
        if abs(time_s) < 1e-9 * now_s:
            time_s = 0.0
        floor_s = max(0.0, min(time_s, now_floor_s - then_floor_s))
        return Gain(time_s, time_s / now_s if now_s > 0 else 0.0, floor_s, basis, now_s)


@record
class Finding:
    """A place in a model where a rule applies.

    Args:
        code: code of the rule.
        rule: name of the rule.
        saves: what a fix improves.
        severity: how it is shown.
        message: what was found, in one line.
        advice: what to do about it.
        nodes: names of the ONNX nodes, beginning with the one it is shown at.
        tensor: name of the value or weight; "" for a finding about nodes.
        gain: predicted gain; None if unknown.
        saved_bytes: resident memory saved; None if not applicable.
        edits: safe rewrite; empty if there is none.
        is_whole: True for a finding about the whole model, which has at most one per rule.
        source: file and line of the code of the first node; empty if unknown.
        stored: names of the nodes in the file; of one without a name, that of its first output.
    """

    code: str
    rule: str
    saves: Saves
    severity: Severity
    message: str
    advice: str
    nodes: tuple[str, ...] = ()
    tensor: str = ""
    gain: Gain | None = None
    saved_bytes: int | None = None
    edits: tuple[Edit, ...] = ()
    is_whole: bool = False
    source: str = ""
    stored: frozenset[str] = frozenset()

    @property
    def place(self) -> str:
        """Return the name of the node or tensor; "" for the whole model."""
        if self.is_whole:
            return ""
        return self.nodes[0] if self.nodes else self.tensor

    @property
    def is_fixable(self) -> bool:
        """Return True if ``--fix`` can fix it."""
        return bool(self.edits)

    @property
    def fingerprint(self) -> str:
        """Return the stable identifier of rule and place, independent of numbers."""
        places = () if self.is_whole else self.nodes
        parts = "\0".join((self.code, *places, self.tensor))
        return hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()[:32]
