"""How a model is divided among machines of one kind; a module of the IR is one machine's share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from perfc.errors import ModelError, ParseError
from perfc.ir.record import record

T = TypeVar("T")
MOST_RANKS = 1 << 16
SCHEDULE = "1f1b"
"""Of a pipeline where nobody says: one forward, one backward pass in turn."""


@record
class Parallel:
    """Degrees of parallelism.

    Args:
        tensor: ranks that share every product: heads, inner widths, vocabulary.
        pipeline: stages that layers are divided into.
        expert: ranks that experts are divided among; 1 divides each expert by ``tensor``.
        attention_data: groups of ``tensor`` ranks that each serve sequences of their own up to
            the experts, which they share: attention data parallelism.
        nodes: over how many nodes the ranks of one stage spread.
        data: copies of the model side by side, each with samples of its own.
        context: ranks that share the tokens of one sequence: context parallelism.
        sequence: 1 where ranks of ``tensor`` also share the tokens between products: sequence
            parallelism; else 0.
        zero: what copies of ``data`` divide among them instead of each holding it: 1 optimiser
            state, 2 gradients too, 3 parameters too, as FSDP does.
        micro_batches: that the samples of a copy are divided into; 0 for one of each sample.
        schedule: order of the micro-batches in a pipeline.
        virtual_stages: parts of the layers that each stage of an interleaved pipeline has.
    """

    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    attention_data: int = 1
    nodes: int = 1
    data: int = 1
    context: int = 1
    sequence: int = 0
    zero: int = 0
    micro_batches: int = 0
    schedule: str = SCHEDULE
    virtual_stages: int = 1

    @property
    def sequence_groups(self) -> int:
        """Of ranks with sequences of their own: those of attention, in each stage of a pipeline."""
        return self.attention_data * self.pipeline

    @property
    def ranks(self) -> int:
        """Machines of one copy of the model that serves."""
        return self.tensor * self.sequence_groups

    @property
    def devices(self) -> int:
        """Machines of all copies of a model that is trained; experts are divided among copies."""
        return self.tensor * self.context * self.pipeline * self.data

    def with_values(
        self, values: Mapping[str, object], where: Callable[[str], str] = str
    ) -> Parallel:
        """The same with what ``values`` say of some degrees, by the names of options.

        Args:
            values: by ``KEYS``, as numbers or as they were typed.
            where: the place of a key, for messages.

        Raises:
            ParseError: no such key, or no degree.
        """
        fields: dict[str, int | str] = {}
        for key, value in values.items():
            name = key.replace("-", "_")
            if name not in KEYS:
                raise ParseError(f"no {key[:32]!r}", where=where(key), hint=_THERE)
            fields[KEYS[name]] = _degree(name, value, where(name))
        return replace(self, **fields)  # type: ignore[arg-type]

    def given(self) -> dict[str, int | str]:
        """The fields that are not as in one GPU, by name."""
        usual = ALONE.as_json()
        return {KEYS[key]: n for key, n in self.as_json().items() if n != usual[key]}

    def as_json(self) -> dict[str, int | str]:
        """Degrees by the names of options."""
        return {key: getattr(self, field) for key, field in KEYS.items()}

    def described(self) -> str:
        """Degrees that are not usual, ``tp 4, pp 2, zero 1``; ``one GPU`` where all are."""
        usual = ALONE.as_json()
        parts = [
            f"{key.replace('_', ' ')} {value}"
            for key, value in self.as_json().items()
            if value != usual[key]
        ]
        return ", ".join(parts) or "one GPU"

    def require_serving(self) -> Parallel:
        """Itself, where it divides a model that serves.

        Raises:
            ParseError: degrees of a training step.
        """
        for key in OF_TRAINING:
            if getattr(self, KEYS[key]) != getattr(ALONE, KEYS[key]):
                hint = "`perfc plan` and `perfc scale` divide training steps so"
                raise ParseError(
                    "engines that serve are not divided so", where=flag(key), hint=hint
                )
        return self

    def share(self, total: int, what: str, where: str) -> int:
        """One rank's part of heads, columns or rows.

        Raises:
            ModelError: they do not divide evenly.
        """
        if total % self.tensor:
            message = f"{total} {what} do not divide among {self.tensor} ranks"
            raise ModelError(message, where=where)
        return total // self.tensor

    def share_at_least(self, total: int, what: str, where: str) -> int:
        """One rank's part of what every rank has a copy of where there are fewer than ranks.

        Raises:
            ModelError: neither they nor their copies divide evenly.
        """
        if total >= self.tensor:
            return self.share(total, what, where)
        if self.tensor % total:
            message = f"{total} {what} cannot be copied evenly to {self.tensor} ranks"
            raise ModelError(message, where=where)
        return 1

    def of_stage(self, layers: tuple[T, ...], stage: int) -> tuple[T, ...]:
        """The layers of one stage; the first stages have one more where they divide unevenly."""
        each, more = divmod(len(layers), self.pipeline)
        first = stage * each + min(stage, more)
        return layers[first : first + each + (stage < more)]

    def checked(self) -> Parallel:
        """Itself.

        Raises:
            ParseError: degrees that do not go together.
        """
        named = (
            ("tensor", self.tensor), ("pipeline", self.pipeline), ("expert", self.expert),
            ("attention_data", self.attention_data), ("nodes", self.nodes),
        )  # fmt: skip
        for name, degree in named:
            if not 1 <= degree <= MOST_RANKS:
                raise ParseError(f"{name} = {degree} is no degree of parallelism", hint="1 or more")
        stage = self.tensor * self.attention_data
        if self.expert not in (1, stage):
            alone = f"a stage has one rank; {flag('tp')} and {flag('attention_dp')} give it more"
            hint = f"1, or {stage}: all ranks of a stage" if stage > 1 else alone
            raise ParseError(f"experts cannot be divided among {self.expert} ranks", hint=hint)
        if stage % self.nodes:
            raise ParseError(f"{stage} ranks do not spread over {self.nodes} nodes")
        return self


ALONE = Parallel()
KEYS: Mapping[str, str] = {
    "tp": "tensor",
    "pp": "pipeline",
    "dp": "data",
    "cp": "context",
    "sp": "sequence",
    "ep": "expert",
    "zero": "zero",
    "micro_batches": "micro_batches",
    "schedule": "schedule",
    "virtual_stages": "virtual_stages",
    "attention_dp": "attention_data",
    "nodes": "nodes",
}
"""Fields by the names that options, files and keywords have."""
OF_TRAINING = ("cp", "sp", "zero", "micro_batches", "schedule", "virtual_stages")
"""Those that say nothing of a model that serves."""
_THERE = f"there are {', '.join(k.replace('_', '-') for k in KEYS)}"
_LEAST = {"sp": 0, "zero": 0, "micro_batches": 0}
_MOST = {"sp": 1, "zero": 3, "micro_batches": 1 << 20}


def flag(key: str) -> str:
    """A key as an option is typed."""
    return f"--{key.replace('_', '-')}"


def _degree(name: str, value: object, where: str) -> int | str:
    """A degree of parallelism, or the name of a schedule."""
    if name == "schedule":
        if not isinstance(value, str) or not value or len(value) > 32:
            raise ParseError(f"{value!r} is no schedule", where=where)
        return value
    text = str(value)
    is_number = not isinstance(value, float) and text.isascii() and text.isdigit()
    if isinstance(value, bool):
        text, is_number = str(int(value)), name == "sp"
    least, most = _LEAST.get(name, 1), _MOST.get(name, MOST_RANKS)
    if not is_number or not least <= int(text[:9]) <= most:
        raise ParseError(f"{text[:32]!r} is no degree", where=where, hint=f"{least} to {most}")
    return int(text)
