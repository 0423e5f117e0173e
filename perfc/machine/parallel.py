"""Degrees of parallelism of a run; a module of the IR has the share of one device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from perfc.common.fitted import data_next_to
from perfc.errors import ModelError, ParseError
from perfc.ir import record

T = TypeVar("T")
MOST_RANKS = 1 << 16
"""Maximum degree of any parallelism; a larger one is a typing error."""
SCHEDULE = "1f1b"
"""Default pipeline schedule: alternate one forward and one backward pass."""


@record
class Parallel:
    """Degrees of parallelism.

    Args:
        tensor: tensor-parallel ranks, which split heads, inner widths and vocabulary.
        pipeline: pipeline stages.
        expert: expert-parallel ranks; 1 shards each expert by ``tensor``.
        attention_data: data-parallel attention: groups of ``tensor`` ranks with their own
            sequences, which share the experts.
        nodes: nodes that the ranks of one stage span.
        data: data-parallel replicas, each with its own samples.
        context: context-parallel ranks, which split each sequence.
        sequence: 1 for sequence parallelism: ``tensor`` ranks also split the tokens outside
            matrix products; else 0.
        zero: ZeRO stage: replicas of ``data`` shard the optimizer state (1), also gradients (2),
            also parameters (3, as FSDP).
        micro_batches: micro-batches per replica; 0 for one per sample.
        schedule: pipeline schedule.
        virtual_stages: model chunks per stage of an interleaved pipeline.
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
        """Return rank groups with their own sequences: attention groups times pipeline stages."""
        return self.attention_data * self.pipeline

    @property
    def ranks(self) -> int:
        """Return the devices of one serving replica."""
        return self.tensor * self.sequence_groups

    @property
    def devices(self) -> int:
        """Return the devices of all training replicas; experts are distributed over replicas."""
        return self.tensor * self.context * self.pipeline * self.data

    def with_values(
        self, values: Mapping[str, object], where: Callable[[str], str] = str
    ) -> Parallel:
        """Return the degrees with some replaced.

        Args:
            values: values by ``KEYS``, as numbers or text.
            where: function from a key to its place in the input, for messages; by default the key.

        Raises:
            ParseError: an unknown key or an invalid degree.
        """
        fields: dict[str, int | str] = {}
        for key, value in values.items():
            name = key.replace("-", "_")
            if name not in KEYS:
                raise ParseError(f"no {key[:32]!r}", where=where(key), hint=_THERE)
            fields[KEYS[name]] = _degree(name, value, where(name))
        return replace(self, **fields)  # type: ignore[arg-type]

    def given(self) -> dict[str, int | str]:
        """Return the fields that differ from those of a single GPU, by name."""
        usual = ALONE.as_json()
        return {KEYS[key]: n for key, n in self.as_json().items() if n != usual[key]}

    def as_json(self) -> dict[str, int | str]:
        """Return the degrees by option name."""
        return {key: getattr(self, field) for key, field in KEYS.items()}

    def described(self) -> str:
        """Describe the degrees that differ from 1, ``tp 4, pp 2, zero 1``, or ``one GPU``."""
        # by names of options, which users know, not by fields
        usual = ALONE.as_json()
        parts = [
            f"{key.replace('_', ' ')} {value}"
            for key, value in self.as_json().items()
            if value != usual[key]
        ]
        return ", ".join(parts) or "one GPU"

    def require_serving(self) -> Parallel:
        """Return the degrees if they apply to serving.

        Raises:
            ParseError: degrees of a training step.
        """
        for key in OF_TRAINING:
            if getattr(self, KEYS[key]) != getattr(ALONE, KEYS[key]):
                hint = "`perfc plan` divides training steps so"
                raise ParseError(
                    "engines that serve are not divided so", where=flag(key), hint=hint
                )
        return self

    def share(self, total: int, what: str, where: str) -> int:
        """Return one rank's share of heads, columns or rows.

        Raises:
            ModelError: they do not divide evenly.
        """
        if total % self.tensor:
            message = f"{total} {what} do not divide among {self.tensor} ranks"
            raise ModelError(message, where=where)
        return total // self.tensor

    def share_at_least(self, total: int, what: str, where: str) -> int:
        """Return one rank's share of items that are replicated if there are fewer than ranks.

        Raises:
            ModelError: neither the items nor their replicas divide evenly.
        """
        if total >= self.tensor:
            return self.share(total, what, where)
        if self.tensor % total:
            message = f"{total} {what} cannot be copied evenly to {self.tensor} ranks"
            raise ModelError(message, where=where)
        return 1

    def of_stage(self, layers: tuple[T, ...], stage: int) -> tuple[T, ...]:
        """Return the layers of one stage; the first stages have one more if uneven."""
        # stages 0 to more - 1 have each + 1 layers
        each, more = divmod(len(layers), self.pipeline)
        first = stage * each + min(stage, more)
        return layers[first : first + each + (stage < more)]

    def checked(self) -> Parallel:
        """Return the degrees if they are compatible.

        Raises:
            ParseError: incompatible degrees.
        """
        named = (
            ("tensor", self.tensor),
            ("pipeline", self.pipeline),
            ("expert", self.expert),
            ("attention_data", self.attention_data),
            ("nodes", self.nodes),
        )
        for name, degree in named:
            if not 1 <= degree <= MOST_RANKS:
                raise ParseError(f"{name} = {degree} is no degree of parallelism", hint="1 or more")
        # engines divide experts among all ranks of a stage or split each of them
        stage = self.tensor * self.attention_data
        if self.expert not in (1, stage):
            alone = f"a stage has one rank; {flag('tp')} and {flag('attention_dp')} give it more"
            hint = f"1, or {stage}: all ranks of a stage" if stage > 1 else alone
            raise ParseError(f"experts cannot be divided among {self.expert} ranks", hint=hint)
        if stage % self.nodes:
            raise ParseError(f"{stage} ranks do not spread over {self.nodes} nodes")
        return self


ALONE = Parallel()
"""A single GPU."""
KEYS: Mapping[str, str] = data_next_to(__file__)
"""Fields by the names of options, keys and keywords."""
OF_TRAINING = ("cp", "sp", "zero", "micro_batches", "schedule", "virtual_stages")
"""Degrees that apply to training only."""
_THERE = f"there are {', '.join(k.replace('_', '-') for k in KEYS)}"
_LEAST = {"sp": 0, "zero": 0, "micro_batches": 0}
"""Degrees that may be 0, which turns them off; others are at least 1."""
_MOST = {"sp": 1, "zero": 3, "micro_batches": 1 << 20}
"""Largest values where these are not `MOST_RANKS`: sequence parallelism is on or off, and ZeRO has
three stages."""


def flag(key: str) -> str:
    """Return the flag of a key."""
    return f"--{key.replace('_', '-')}"


def _degree(name: str, value: object, where: str) -> int | str:
    """Parse a degree of parallelism, or the name of a schedule."""
    if name == "schedule":
        if not isinstance(value, str) or not value or len(value) > 32:
            raise ParseError(f"{value!r} is no schedule", where=where)
        return value
    text = str(value)
    is_number = not isinstance(value, float) and text.isascii() and text.isdigit()
    # ``sp`` is a switch: only for it, true and false count as 1 and 0
    if isinstance(value, bool):
        text, is_number = str(int(value)), name == "sp"
    least, most = _LEAST.get(name, 1), _MOST.get(name, MOST_RANKS)
    # ten digits exceed every limit, and a text of any length takes quadratic time to convert
    if not is_number or len(text) > 9 or not least <= int(text) <= most:
        raise ParseError(f"{text[:32]!r} is no degree", where=where, hint=f"{least} to {most}")
    return int(text)
