"""Former names of deployment fields in `predict`; supported for one release, with a note."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from perfc.analyzers.steps.setting import Precision, precision_of
from perfc.deployment.fields import READERS, Mode
from perfc.errors import ParseError
from perfc.ir import record
from perfc.passes.runtimes import Layout, Steps, of_steps


@record
class Former:
    """Fields by their current names, and the former names that were used.

    Args:
        values: values by field name.
        renamed: former names that were used, each with its current name and value.
    """

    values: Mapping[str, object]
    renamed: Mapping[str, tuple[tuple[str, object], ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, typed: Mapping[str, Any], spelled: Callable[[str], str] = str) -> Former:
        """Convert former names to current ones; None and False under a former name mean not given.

        Args:
            typed: values by current or former name.
            spelled: formats a name as the caller typed it, for messages.

        Raises:
            ParseError: one field under both names, or an invalid value.
        """
        values = {k: v for k, v in typed.items() if k not in FORMER}
        used = {k: v for k, v in typed.items() if k in FORMER and v is not None and v is not False}
        renamed: dict[str, tuple[tuple[str, object], ...]] = {}
        for name, value in used.items():
            now = FORMER[name](value, spelled(name))
            twice = next((field for field, _ in now if field in values and field != "dims"), None)
            if twice is not None:
                message = f"{spelled(name)} is what {spelled(twice)} was called"
                raise ParseError(message, hint="give one of them")
            renamed[name] = now
        for now in renamed.values():
            values |= dict(now)
        return cls(values, renamed)

    def note(
        self,
        spelled: Callable[[str, object], str],
        former: Callable[[str], str],
    ) -> str:
        """Return a one-line note with the current names; "" if no former name was used.

        Args:
            spelled: formats a field with a value as it is typed.
            former: formats a former name as it was typed.
        """
        if not self.renamed:
            return ""
        old = ", ".join(map(former, self.renamed))
        now = [item for now in self.renamed.values() for item in now]
        new = " ".join(spelled(*item) for item in now) or "nothing in their place"
        return f"former names, gone with the next release: {old}; now {new}"


def _precision(value: object, where: str) -> tuple[tuple[str, object], ...]:
    match precision_of(str(value), where):
        case Precision.F32:
            return ("dtype", "f32"), ("tf32", False)
        case known:
            return (("dtype", known.value.replace(" ", "-")),)


def _version(value: object, where: str) -> tuple[tuple[str, object], ...]:
    numbers = value if isinstance(value, str) else ".".join(map(str, value))  # type: ignore[call-overload]
    return (("runtime_version", READERS["runtime_version"](numbers, where)),)


FORMER: Mapping[str, Callable[[Any, str], tuple[tuple[str, object], ...]]] = {
    "device": lambda value, where: (("target", value),),
    "precision": _precision,
    "compiled": lambda value, where: (("runtime", of_steps(Steps.COMPILED).name),),
    "channels_last": lambda value, where: (("layout", Layout.CHANNELS_LAST.value),),
    "training": lambda value, where: (("mode", Mode.TRAINING.value),),
    "version": _version,
}
"""Former names, and their current equivalents."""
