"""The baseline: figures of every model under every budget, in a file that is committed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from perfc.deployment import Deployment
from perfc.diff.figures import Figure, Metric
from perfc.ir.names import symbol_key
from perfc.ir.record import record
from perfc.passes.runtimes import DEFAULT

OTHERS = frozenset({"framework", "host_launch", "runtime_version", "tf32", "layout"})
"""Fields of a deployment that a case says where they are not as by default."""
DIGITS = 6
"""Significant digits of times; counts are written whole."""
DIGEST_CHARACTERS = 16

KEYS: Mapping[Metric, str] = {
    Metric.TIME: "time_s",
    Metric.FLOOR: "floor_s",
    Metric.ENERGY: "energy_j",
    Metric.FLOP: "flop",
    Metric.MAC: "mac",
    Metric.TRAFFIC: "traffic_bytes",
    Metric.PARAMETERS: "parameters",
    Metric.WEIGHTS: "weight_bytes",
    Metric.PEAK_MEMORY: "peak_memory_bytes",
    Metric.KERNELS: "kernels",
    Metric.UNKNOWN: "unknown_share",
}


@dataclass(frozen=True, slots=True)
class Case:
    """A model under one setting.

    Args:
        model: file, from the folder of the budgets, with slashes.
        target: the target's own name.
        runtime: whose fusion table, with its streams.
        dtype: what-if precision.
        dims: values of symbols, sorted.
        others: further fields of the deployment that are not as by default, sorted, as a file
            has them.
    """

    model: str
    target: str
    runtime: str = DEFAULT
    dtype: str = ""
    dims: tuple[tuple[str, int], ...] = ()
    others: tuple[tuple[str, str | bool], ...] = ()

    @classmethod
    def of(cls, model: str, target: str, how: Deployment) -> Case:
        """The case of a model that is run in a way on the target of that name."""
        usual = Deployment().as_json()
        others = {
            # a duration as a file has it
            name.replace("_", "-"): f"{1e6 * value:g}us" if isinstance(value, float) else value
            for name, value in how.as_json().items()
            if name in OTHERS and value != usual[name]
        }
        dims, more = sorted(how.dims.items()), sorted(others.items())
        return cls(model, target, how.table_name, how.dtype, tuple(dims), tuple(more))  # type: ignore[arg-type]

    def __lt__(self, other: Case) -> bool:
        """By model, then by setting; values of one field may be words or not."""
        ours, theirs = (
            (c.model, c.target, c.runtime, c.dtype, c.dims, [(n, str(v)) for n, v in c.others])
            for c in (self, other)
        )
        return ours < theirs

    @property
    def deployment(self) -> Deployment:
        """How the model is run."""
        stated = {name.replace("-", "_"): value for name, value in self.others}
        stated |= {"target": self.target, "runtime": self.runtime, "dtype": self.dtype}
        return replace(Deployment().with_values(stated), dims=dict(self.dims))

    @property
    def setting(self) -> str:
        """All but the model, as people read it."""
        return self.at([f"{name}={value}" for name, value in self.dims])

    @property
    def more(self) -> Iterator[str]:
        """``others``, as people read them."""
        words: dict[str | bool, str] = {False: "no {}", True: "{}"}
        return (words.get(v, f"{{}} {v}").format(k) for k, v in self.others)

    def at(self, sizes: Iterable[str]) -> str:
        """The setting with ``sizes`` in words."""
        return ", ".join(
            [self.target, self.runtime, *filter(None, [self.dtype]), *self.more, *sizes]
        )


@record
class Entry:
    """Figures of one case.

    Args:
        digest: of the model's file, large weights left out.
        figures: by metric.
        target_digest: of the target's file.
        sizes: every symbol of the model's inputs, with the number used. Budgets are for many
            models, whose symbols are not those of ``Case.dims``.
        line: of the lock file that it was read from; 0 for one that was not.
    """

    digest: str
    figures: Mapping[Metric, Figure]
    target_digest: str
    sizes: tuple[tuple[str, int], ...] = ()
    line: int = field(default=0, compare=False)

    def setting(self, case: Case) -> str:
        """The setting with the sizes that the model has; those nobody gave are marked."""
        given = {symbol_key(name) for name, _ in case.dims}
        return case.at(f"{n}={v}" + ("" if n in given else " (assumed)") for n, v in self.sizes)


@record
class Baseline:
    """What a lock file says.

    Args:
        predictor: digest of the code and weights that the figures come from.
        entries: figures by case.
        path: the file; where there is none it is None, and nothing is known.
    """

    predictor: str = ""
    entries: Mapping[Case, Entry] = field(default_factory=dict[Case, Entry])
    path: Path | None = None


def rounded(value: float) -> float:
    """A count whole, anything else with six digits: what a lock file says of a value."""
    if float(value).is_integer() and abs(value) < 1 << 62:
        return int(value)
    return float(f"{value:.{DIGITS}g}")
