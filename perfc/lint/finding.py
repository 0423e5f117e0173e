"""What a rule found: where, why, what mending it would gain, and how that can be done safely."""

from __future__ import annotations

import hashlib
from enum import Enum
from typing import TYPE_CHECKING

from perfc.ir.record import record

if TYPE_CHECKING:
    from .edit import Edit


class Saves(Enum):
    """What mending a finding improves."""

    TIME = "time"
    MEMORY = "memory"
    LOADING = "loading"
    KNOWLEDGE = "knowledge"
    """Nothing runs faster; the analysis knows more."""
    CONFIGURATION = "configuration"
    """It is not about a model."""


class Severity(Enum):
    """How a finding is shown; none of them changes the exit code."""

    WARNING = "warning"
    NOTE = "note"


class Basis(Enum):
    """Where a gain comes from."""

    REANALYSIS = "re-analysis of the rewritten module"
    DEPLOYMENT = "analysis of the same model run otherwise"
    BOUNDS = "difference of bounds"
    COUNTED = "counted: runtimes do it while loading"
    MEMORY = "counted: memory, no time"


@record
class Gain:
    """What mending a finding saves of one run.

    Args:
        time_s: predicted time of the run now minus that then, as `perfc analyze` prints both.
        share: of the run's predicted time.
        floor_s: the part of it that the lower bounds confirm, ``min(time_s, floor now - floor
            then)``, never below 0.
        basis: how it was computed.
        base_s: the run's predicted time now, of which ``share`` is.
    """

    time_s: float
    share: float
    floor_s: float
    basis: Basis
    base_s: float

    @staticmethod
    def of(now: tuple[float, float], then: tuple[float, float], basis: Basis) -> Gain:
        """The gain between two pairs of predicted time and floor; negative where it is a loss."""
        time_s = now[0] - then[0]
        if abs(time_s) < 1e-9 * now[0]:
            time_s = 0.0
        floor_s = max(0.0, min(time_s, now[1] - then[1]))
        return Gain(time_s, time_s / now[0] if now[0] > 0 else 0.0, floor_s, basis, now[0])


@record
class Finding:
    """One place of a model where a rule applies.

    Args:
        code: of the rule.
        rule: its name.
        saves: what mending improves.
        severity: how it is shown.
        message: what is there, in one line.
        advice: what to do about it.
        nodes: names of the ONNX nodes, the one it is shown at first.
        tensor: name of the value or weight it is about; "" where it is about nodes.
        gain: by the analysis; None where nobody can tell.
        saved_bytes: resident memory it saves; None where that is not the point.
        edits: a provably safe rewrite; empty where there is none.
        is_whole: whether it is about the model as a whole, which has one such finding at most.
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

    @property
    def place(self) -> str:
        """The node, else the tensor it is about; "" for the whole model."""
        if self.is_whole:
            return ""
        return self.nodes[0] if self.nodes else self.tensor

    @property
    def is_fixable(self) -> bool:
        """Whether ``--fix`` can mend it."""
        return bool(self.edits)

    @property
    def fingerprint(self) -> str:
        """Stays the same while rule and place do, whatever the numbers."""
        places = () if self.is_whole else self.nodes
        parts = "\0".join((self.code, *places, self.tensor))
        return hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()[:32]
