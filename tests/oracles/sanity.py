"""What must hold of every prediction, whatever the model, machine, batch, type and runtime.

Each model runs on a draw of targets at a draw of types and runtimes, at several batches. Printed
is a table of properties: how often each was looked at, how often it does not hold, and where most.

    python -m tests.oracles.sanity --models MODELS --count 60 --share 0.1

Kernels one by one and summed, and whole runs by the shipped weights (`perfc.predict`). A model is
an ONNX file; `sanity_models.py` adds recurrent layers, a decoder with a cache, a diffusion block,
messages on a graph, quantised ones and experts. Exit 1 where anything does not hold.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from perfc.analyzers.estimators import Execution
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.runs.energy import idle_w, power_model
from perfc.analyzers.runs.prediction import PredictionTable, predicted
from perfc.analyzers.steps.setting import Precision, RunMode, Setting
from perfc.analyzers.whole_runs.estimate import WholeRunEstimate, estimate
from perfc.analyzers.whole_runs.shipped import newest
from perfc.api import typed
from perfc.errors import PerfcError
from perfc.frontend import load
from perfc.ir.graph import Module
from perfc.machine import Machine, Unit, list_machines, load_machine
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.manager import Analyses
from perfc.passes.memory.liveness import Liveness
from perfc.passes.precision.retype import Retype
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.roofline.cost import Cost
from perfc.passes.roofline.roofline import bounds

from .sanity_models import MODELS

BATCHES = (1, 2, 8, 16, 64, 128, 256)
RUNTIMES = ("eager", "cudagraph", "ort", "tensorrt", "inductor")
DTYPES = ("", "f16", "bf16", "i8", "fp8")
WIDEST = 30.0
"""High over low of a run beyond which an interval says little."""
WIDEST_KERNEL = 400.0
DROP = 0.08
"""Largest share of the time that a larger batch may save: forests have steps."""
BETTER = 1.25
"""A machine all of whose rates are so much higher must not be slower."""
SLOWER = 1.1


@dataclass(frozen=True)
class Run:
    """One prediction: of kernels summed, or of a whole run.

    Args:
        model: its name.
        machine: the target.
        way: type and runtime, or precision and mode.
        batch: its first symbol.
        floor_s: no run is faster.
        time_s: predicted.
        low_s: lower end of its interval.
        high_s: upper end.
        warns: whether it says that it extrapolates.
        table: of the kernels, None of a whole run.
        weight_bytes: of what is stored.
        memory_bytes: of that and of activations at their peak.
    """

    model: str
    machine: Machine
    way: str
    batch: int
    floor_s: float
    time_s: float
    low_s: float
    high_s: float
    warns: bool
    table: PredictionTable | None = None
    weight_bytes: float = 0.0
    memory_bytes: float = 0.0

    def __str__(self) -> str:
        ends = f"{self.low_s:.3g} … {self.time_s:.3g} … {self.high_s:.3g} s"
        return f"{self.model} × {self.batch}, {self.machine.name}, {self.way}: {ends}"


@dataclass
class Tally:
    """How often a property was looked at, and where it does not hold; larger is worse."""

    looked: int = 0
    broken: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])

    def look(self, holds: bool, how: float, where: object) -> None:
        """Count one; ``how`` far off it is."""
        self.looked += 1
        if not holds:
            self.broken.append((how, str(where)))


Tallies = dict[str, Tally]


def of_run(run: Run, found: Tallies) -> None:
    """What one prediction must be by itself."""
    numbers = (run.floor_s, run.low_s, run.time_s, run.high_s)
    finite = all(math.isfinite(x) and x > 0 for x in numbers)
    found["finite and above zero"].look(finite, 1.0, run)
    if not finite:
        return
    near = 1 + 1e-9
    ordered = run.floor_s <= run.low_s * near and run.low_s <= run.time_s * near
    ordered = ordered and run.time_s <= run.high_s * near
    found["floor ≤ low ≤ prediction ≤ high"].look(ordered, run.floor_s / run.time_s, run)
    width = run.high_s / run.low_s
    found[f"a run's high ≤ {WIDEST:g} low"].look(width <= WIDEST, width, run)
    if run.table is None:
        return
    found["memory above weights"].look(run.memory_bytes > run.weight_bytes, 1.0, run)
    of_kernels(run, run.table, found)
    of_energy(run, run.table, found)


def of_kernels(run: Run, table: PredictionTable, found: Tallies) -> None:
    """What its kernels must be."""
    for k in table.kernels:
        inside = 0 <= k.floor_s <= k.low_s * (1 + 1e-9) <= k.time_s * (1 + 2e-9)
        inside = inside and k.time_s <= k.high_s * (1 + 1e-9) < math.inf
        found["the same of kernels"].look(inside, 1.0, f"{k.class_name} {k} of {run}")
        if inside and k.low_s > 0:
            width = k.high_s / k.low_s
            holds = width <= WIDEST_KERNEL
            found[f"a kernel's high ≤ {WIDEST_KERNEL:g} low"].look(holds, width, f"{k} of {run}")


def of_energy(run: Run, table: PredictionTable, found: Tallies) -> None:
    """Energy between that of a board that idles and of one at its limit."""
    energy = table.energy
    if energy is None:
        return
    power_w = energy.energy_j / table.total.time_s
    least, most = idle_w(run.machine, power_model()), Sheet(run.machine).power_w
    holds = least * 0.999 <= power_w <= most * 1.001 and energy.low_j <= energy.energy_j
    found["power between idle and limit"].look(holds, power_w / most, f"{power_w:.0f} W, {run}")


def of_batches(runs: Sequence[Run], found: Tallies) -> None:
    """More work takes no less time."""
    for small, large in pairwise(runs):
        drop = 1 - large.time_s / small.time_s
        found["more batch, no less time"].look(drop <= DROP, drop, f"{large}, before {small}")
        floors = small.floor_s <= large.floor_s * (1 + 1e-9)
        found["more batch, no lower floor"].look(floors, small.floor_s / large.floor_s, large)


def better(one: Machine, other: Machine) -> bool:
    """Whether every rate of one machine is clearly higher; of one vendor, as libraries differ."""
    a, b = Sheet(one), Sheet(other)
    if one.vendor != other.vendor or "cpu" in (one.kind, other.kind):
        return False
    pairs = [
        (a.device_bytes_per_s, b.device_bytes_per_s),
        (a.l2_bytes_per_s, b.l2_bytes_per_s),
        *(
            (one.entry(u, t).nominal.value, other.entry(u, t).nominal.value)
            for u, t in ((Unit.MATRIX, "f16"), (Unit.MATRIX, "f32"), (Unit.VECTOR, "f32"))
        ),
    ]
    return all(x >= BETTER * y for x, y in pairs) and a.l2_bytes >= b.l2_bytes


def of_machines(runs: Sequence[Run], found: Tallies) -> None:
    """A machine that is better in everything is not slower, where kernels are long."""
    for fast in runs:
        for slow in runs:
            if better(fast.machine, slow.machine):
                ratio = fast.time_s / slow.time_s
                where = f"{fast}, against {slow.machine.name} {slow.time_s:.3g} s"
                found["better machines are not slower"].look(ratio <= SLOWER, ratio, where)


class Model:
    """One graph, read once."""

    def __init__(self, path: Path) -> None:
        self.name = path.name.partition(".")[0]
        self.am = Analyses()
        self.read = load(path)
        self.source = typed(path, am=self.am)
        self.module = self.am.apply(Canonicalize(), self.source)
        self.retyped: dict[str, Module] = {"": self.module}
        self.batched = bool(self.module.symbols)

    def kernels(self, machine: Machine, dtype: str, runtime: str, batch: int) -> Run:
        """The kernels of a run, summed."""
        if dtype not in self.retyped:
            self.retyped[dtype] = self.am.apply(Retype(dtype), self.module)
        module = self.retyped[dtype]
        env = {**module.defaults(), **self.env(batch)}
        fused = self.am.get(Fuse(runtime), module)
        table = predicted(Execution(bounds(fused, machine, env), fused, module))
        cost = self.am.get(Cost(), module)
        weights = float(cost.weight_bytes) if isinstance(cost.weight_bytes, int) else 0.0
        peak = self.am.get(Liveness(), module).peak(env)[0]
        total = table.total
        way = f"{dtype or 'own type'}, {runtime}"
        return Run(
            self.name,
            machine,
            way,
            batch,
            total.floor_s,
            total.time_s,
            total.low_s,
            total.high_s,
            bool(table.notes),
            table,
            weights,
            weights + peak,
        )

    def whole(self, machine: Machine, setting: Setting, batch: int) -> Run:
        """A whole run, by the shipped weights."""
        dims = {k: v for k, v in self.module.defaults().items() if k not in self.env(batch)}
        setting = newest(None, machine.name, setting)
        asked = batch if self.batched else None
        found: WholeRunEstimate = estimate(self.read, None, machine.name, setting, asked, dims)
        way = f"whole, {setting.precision.value}, {setting.mode.value}"
        return Run(
            self.name,
            machine,
            way,
            batch,
            found.floor_s,
            found.value,
            found.low,
            found.high,
            bool(found.outside),
        )

    def env(self, batch: int) -> dict[str, int]:
        """The batch, where it is free."""
        return {self.module.symbols[0].name: batch} if self.batched else {}


Ask = Callable[[Machine, int], Run]


def asked(model: Model, draw: random.Random) -> Iterator[Ask]:
    """A draw of ways to run a model: one of kernels, one of whole runs."""
    dtype, runtime = draw.choice(DTYPES), draw.choice(RUNTIMES)
    yield lambda machine, batch: model.kernels(machine, dtype, runtime, batch)
    precision = draw.choice(list(Precision))
    mode = draw.choice(list(RunMode))
    setting = Setting(
        precision,
        mode is RunMode.CHANNELS_LAST,
        mode is RunMode.COMPILED,
        training=mode is RunMode.TRAINING,
    )
    yield lambda machine, batch: model.whole(machine, setting, batch)


def checked(
    paths: Sequence[Path], machines: Sequence[Machine], batches: Sequence[int], seed: int
) -> tuple[Tallies, list[str], int]:
    """Every property of every model; what cannot be read; how many predictions."""
    found: Tallies = Keyed()
    refused: list[str] = []
    count = 0
    draw = random.Random(seed)
    for path in paths:
        try:
            model = Model(path)
            for ask in asked(model, draw):
                at_most: list[Run] = []
                for machine in machines:
                    sizes = batches if model.batched else batches[:1]
                    runs = [ask(machine, batch) for batch in sizes]
                    count += len(runs)
                    for run in runs:
                        of_run(run, found)
                    of_batches(runs, found)
                    at_most.append(runs[-1])
                of_machines(at_most, found)
        except PerfcError as error:
            refused.append(f"{path.name}: {error}")
    return found, refused, count


class Keyed(dict[str, Tally]):
    """Tallies that begin when first looked up."""

    def __missing__(self, key: str) -> Tally:
        self[key] = Tally()
        return self[key]


def table(found: Tallies, top: int) -> Iterator[str]:
    """Properties, and the worst of those that do not hold."""
    yield f"{'property':40s} {'looked at':>10s} {'broken':>8s}"
    for name, tally in found.items():
        yield f"{name:40s} {tally.looked:10,d} {len(tally.broken):8,d}"
        for how, where in sorted(tally.broken, reverse=True)[:top]:
            yield f"    {how:10.4g}  {where}"


def models(folder: Path | None, count: int, draw: random.Random) -> list[Path]:
    """A draw of the files of a folder, by the first part of their name as evenly as may be."""
    root = folder or Path(__file__).parents[2] / "examples" / "models"
    every = sorted(p for p in root.iterdir() if p.name.endswith((".onnx", ".onnx.gz")))
    draw.shuffle(every)
    return sorted(every[:count])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", type=Path, help="folder; examples/models by default")
    parser.add_argument("--odd", type=Path, required=True, help="folder to write the odd ones to")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--share", type=float, default=1.0, help="of the targets, for each model")
    parser.add_argument("--batches", type=int, nargs="+", default=BATCHES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--top", type=int, default=3)
    args = parser.parse_args()
    draw = random.Random(args.seed)
    args.odd.mkdir(parents=True, exist_ok=True)
    paths = models(args.models, args.count, draw)
    for name, text in MODELS.items():
        paths.append(args.odd / f"{name}.onnxtxt")
        paths[-1].write_text(text, encoding="utf-8")
    names = [found.name for found in list_machines()]
    found: Tallies = Keyed()
    refused: list[str] = []
    count = 0
    for i, path in enumerate(paths):
        some = draw.sample(names, max(round(args.share * len(names)), 2))
        machines = [load_machine(name) for name in some]
        part, bad, n = checked([path], machines, args.batches, args.seed + i)
        for name, tally in part.items():
            found[name].looked += tally.looked
            found[name].broken += tally.broken
        refused += bad
        count += n
        print(f"{i + 1} of {len(paths)}: {path.name}", file=sys.stderr)
    print(f"{len(paths)} models, {count:,} predictions")
    print("\n".join(table(found, args.top)))
    for line in refused:
        print(f"refused: {line}")
    return 1 if refused or any(t.broken for t in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
