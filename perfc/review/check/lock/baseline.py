"""Baseline: committed figures of every model under every budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from perfc.deployment import Deployment
from perfc.ir import record
from perfc.ir.syntax.names import symbol_key
from perfc.passes.runtimes import DEFAULT
from perfc.review.diff.figures import Figure, Metric

OTHERS = frozenset({"framework", "host_launch", "runtime_version", "tf32", "layout"})
"""Deployment fields that a case lists if they differ from the default."""
DIGITS = 6
"""Significant digits of times; counts are written in full."""
DIGEST_CHARACTERS = 16
"""Hexadecimal digits of a digest in a baseline: in 64 bits, models of a project do not collide."""

KEYS: Mapping[Metric, str] = {
    Metric.TIME: "time_s",
    Metric.FLOOR: "floor_s",
    Metric.ENERGY: "energy_j",
    Metric.COST: "usd_per_million",
    Metric.FLOP: "flop",
    Metric.MAC: "mac",
    Metric.TRAFFIC: "traffic_bytes",
    Metric.PARAMETERS: "parameters",
    Metric.WEIGHTS: "weight_bytes",
    Metric.PEAK_MEMORY: "peak_memory_bytes",
    Metric.KERNELS: "kernels",
    Metric.UNKNOWN: "unknown_share",
}
"""Names of figures in the lock file and in JSON, with their unit."""


@dataclass(frozen=True, slots=True)
class BaselineCase:
    """A model under one setting.

    Args:
        model: file relative to the folder of the budgets, with slashes.
        target: canonical name of the target.
        runtime: runtime with its streams.
        dtype: what-if precision.
        dims: values of symbols, sorted.
        others: further deployment fields that differ from the default, sorted, in file syntax.
    """

    model: str
    target: str
    runtime: str = DEFAULT
    dtype: str = ""
    dims: tuple[tuple[str, int], ...] = ()
    others: tuple[tuple[str, str | bool], ...] = ()

    @classmethod
    def of(cls, model: str, target: str, how: Deployment) -> BaselineCase:
        """Create the case of a model with a deployment on the named target."""
        # a field at its default does not appear, so that new fields do not change old entries
        usual = Deployment().as_json()
        others = {
            # a number of seconds is a duration, which files write as 30us
            name.replace("_", "-"): f"{1e6 * value:g}us" if isinstance(value, float) else value
            for name, value in how.as_json().items()
            if name in OTHERS and value != usual[name]
        }
        dims, more = sorted(how.dims.items()), sorted(others.items())
        return cls(model, target, how.table_name, how.dtype, tuple(dims), tuple(more))  # type: ignore[arg-type]

    def __lt__(self, other: BaselineCase) -> bool:
        """Order by model, then by setting; values of a field may have different types."""
        ours, theirs = (
            (c.model, c.target, c.runtime, c.dtype, c.dims, [(n, str(v)) for n, v in c.others])
            for c in (self, other)
        )
        return ours < theirs

    @property
    def deployment(self) -> Deployment:
        """Return the deployment of the case."""
        fields = {name.replace("-", "_"): value for name, value in self.others}
        fields |= {"target": self.target, "runtime": self.runtime, "dtype": self.dtype}
        return replace(Deployment().with_values(fields), dims=dict(self.dims))

    @property
    def setting(self) -> str:
        """Return the setting as text, without the model."""
        return self.at([f"{name}={value}" for name, value in self.dims])

    @property
    def more(self) -> Iterator[str]:
        """Yield ``others`` as text: "tf32", "no tf32", or "layout" and its value."""
        words: dict[str | bool, str] = {False: "no {}", True: "{}"}
        return (words.get(v, f"{{}} {v}").format(k) for k, v in self.others)

    def at(self, sizes: Iterable[str]) -> str:
        """Format the setting with ``sizes``."""
        return ", ".join(
            [self.target, self.runtime, *filter(None, [self.dtype]), *self.more, *sizes]
        )


@record
class Entry:
    """Figures of one case.

    Args:
        digest: digest of the model's file, without large weights.
        figures: figures by metric.
        target_digest: digest of the target's file.
        sizes: every symbol of the model's inputs, with its value. Budgets cover many models,
            whose symbols differ from ``BaselineCase.dims``.
        line: line in the lock file; 0 if not read from one.
    """

    digest: str
    figures: Mapping[Metric, Figure]
    target_digest: str
    sizes: tuple[tuple[str, int], ...] = ()
    line: int = field(default=0, compare=False)

    @property
    def bounds(self) -> list[str]:
        """Return the names of the figures that are lower bounds."""
        return sorted(KEYS[m] for m, f in self.figures.items() if f.is_bound)

    def setting(self, case: BaselineCase) -> str:
        """Format the setting with the model's sizes; default ones are marked."""
        given = {symbol_key(name) for name, _ in case.dims}
        return case.at(f"{n}={v}" + ("" if n in given else " (assumed)") for n, v in self.sizes)


@record
class Baseline:
    """Contents of a lock file.

    Args:
        predictor: digest of the code and weights that computed the figures.
        entries: figures by case.
        path: lock file, or revision whose models are analyzed now; None if there is none.
        absent: why a case has no entry, if it is known.
    """

    predictor: str = ""
    entries: Mapping[BaselineCase, Entry] = field(default_factory=dict)
    path: Path | None = None
    absent: Mapping[BaselineCase, str] = field(default_factory=dict)


def rounded(value: float) -> float:
    """Round a value as in a lock file: counts in full, others to six digits."""
    # integers of TOML have 64 bits with the sign, into which these fit
    if float(value).is_integer() and abs(value) < 1 << 62:
        return int(value)
    return float(f"{value:.{DIGITS}g}")
