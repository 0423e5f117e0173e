"""Fit the host of each runtime to measured runs: time per launch and fixed time of a run.

    python -m perfc_lab.fits.hosts DATA [-o analyzers/runs/host.toml]

A run takes the longer of its device and its host, and a fixed time: ``max(f d, h n) + t`` for a
device time d and n launches. The unknowns h and t are fitted to the runs of a runtime on boards of
one generation. The fit also has a factor of h for each host, which is a source and a board, and
factors f for each precision on each board and for each network, which are not written. Batches
separate the terms: n and t do not grow with them. Spreads are the 5th and 95th percentiles of
measured over fitted time where the host takes longer than the device, without factors of hosts.
Printed errors are those of hosts left out of the fit.

DATA has the tables and graphs of ``perfc_lab.tables.whole_models``; datasets of this repository
are read too. Takes three minutes.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.graph.measured_runs import model_folder
from perfc.analyzers.runs.host import FILE, OTHER, HostTimes, launch_counts
from perfc.analyzers.runs.prediction import predicted
from perfc.analyzers.runs.run_table import precision, stored_element
from perfc.common.fitted import read_records
from perfc.common.whole_file import write_output
from perfc.errors import PerfcError
from perfc.frontend.collector import paused_collector
from perfc.ir import Kind, Module
from perfc.passes.manager import Analyses
from perfc_lab.data.fitted import as_toml
from perfc_lab.tables.ort_runs import published_runs
from perfc_lab.tables.own_runs import own_runs
from perfc_lab.tables.whole_models import WholeModel, whole_models
from perfc_lab.training.runs.measured_runs import executed, typed

LAUNCH_S, FIXED_S = 10e-6, 20e-6
"""Centres of the priors of h and t, 30 µs together; one launch and its synchronization take 16 to
22 µs on one H200 (`datasets/h200/machine.csv.gz`, launch_roundtrip)."""
SPREADS = {"launch": 1.0, "fixed": 1.5, "host": 0.3, "board": 0.5, "network": 0.25}
"""Standard deviations of the priors of logarithms: of h, t, and the factors of each host, board and
network. Wide for h and t, which the runs determine."""
ERROR, OUTLIER = 0.1, 0.15
"""Standard deviation of the logarithm of a measured time; error from which it counts linearly."""
SHARPNESS = 6.0  # exponent of the smooth maximum: 12 % above two equal times (2^(1/6))
COMMENT = "Hosts of runs by runtime; written by lab/perfc_lab/fits/hosts.py."
LARGEST_BATCH = 16
"""Largest batch of the runs that are read: above it kernels outlast their launches."""
FEW = 5
"""Fewer runs that wait for their host have the spread `ASSUMED`."""
ASSUMED = np.array([0.55, 1.0, 1.65])
"""Ratios of low, middle and high to the fitted time per launch that a spread covers at least: hosts
of three laboratories differ by 1.4 to 2 times."""
FIXED = np.array([0.4, 1.0, 2.5])
"""The same ratios for the fixed time, whose spread is not fitted."""
HELPER_S, SLOW_HELPER_S = 6e-6, 18e-6
"""Time of a further launch inside an operator. A library makes that launch, so that the time holds
for any framework. 47 rows of one H200 that wait for their host fit 24 µs per operator and 6 µs per
further launch (`datasets/h200/vision.csv.gz`, launches by ``graph_nodes``), where a bare launch
takes 7 µs. Three times 6 µs on the slower processors of Jetson."""
CONVOLUTIONAL = 0.35
"""Share of convolutions in the device time above which a network is convolutional; such networks
have a factor of the board for themselves."""


@dataclass(frozen=True)
class HostClass:
    """Runtimes and boards with one host.

    Args:
        runtimes: runtimes whose runs are fitted.
        also: further runtimes that get the fitted times, without runs in the fit.
        generation: least compute capability of the boards.
        below: compute capability that the boards are below.
        boards: start of the names of the boards: ``jetson-``, or "" for all others.
        helper_s: time of a further launch inside an operator.
        but: source whose runs are left out.
    """

    runtimes: tuple[str, ...]
    also: tuple[str, ...] = ()
    generation: float = 0.0
    below: float = math.inf
    boards: str = ""
    helper_s: float = HELPER_S
    but: str = ""


# prefix of boards with a slow host, and first compute capabilities of generations
JETSON, AMPERE, HOPPER = "jetson-", 8.0, 9.0
on_jetson = partial(HostClass, boards=JETSON, helper_s=SLOW_HELPER_S)
# by the name of the entry in the file; fields by position: runtimes, also, generation, below
CLASSES = {
    "eager-hopper": HostClass(("eager",), ("eager-literal",), HOPPER),
    "eager-ampere": HostClass(("eager",), ("eager-literal",), AMPERE, HOPPER),
    "eager-older": HostClass(("eager",), ("eager-literal",), 1.0, AMPERE),
    "eager-jetson": on_jetson(("eager",), ("eager-literal",)),
    "torchscript-ampere": HostClass(("torchscript",), (), AMPERE),
    "torchscript-older": HostClass(("torchscript",), (), 0.0, AMPERE),
    "tensorrt": HostClass(("tensorrt", "ort-tensorrt")),
    "tensorrt-jetson": on_jetson(("tensorrt", "ort-tensorrt")),
    "paddle": HostClass(("paddle",)),
    "paddle-trt": HostClass(("paddle-trt",)),
    "ort": HostClass(("ort", "ort-optimized"), (OTHER,)),
    "ort-jetson": on_jetson(("ort", "ort-optimized"), (OTHER,)),
    # TensorFlow 2 layer by layer, 58 to 92 µs a kernel, is no graph executor
    "tensorflow": HostClass(("tensorflow",), but="TensorRT's TensorFlow quantization"),
    "fastertransformer": HostClass(("fastertransformer",)),
}
OTHER_HOSTS = read_records(Path(__file__).with_suffix(".toml"), HostTimes)
"""Entries without a fit: no runs that wait for these hosts are known, or no run waits for them."""


@dataclass(frozen=True)
class HostRun:
    """A run on its machine.

    Args:
        stored: precision of the run.
        is_convolutional: whether convolutions take more than `CONVOLUTIONAL` of the device time.
        device_s: sum of the kernels' times.
        operators: number of operators that launch kernels.
        helpers: number of further launches inside of operators.
        generation: compute capability of the board.
    """

    stored: str
    is_convolutional: bool
    device_s: float
    operators: float
    helpers: float
    generation: float


@dataclass(frozen=True)
class HostSample:
    """A measured run: its row, and its kernels on its machine."""

    row: WholeModel
    run: HostRun

    def is_of(self, host: HostClass) -> bool:
        """Return True if the run belongs to a class of hosts: by runtime, board and generation."""
        how, generation = self.row.deployment, self.run.generation
        is_board = how.target.startswith(JETSON) == (host.boards == JETSON)
        is_generation = host.generation <= generation < host.below
        is_fitted = how.runtime in host.runtimes and self.row.source != host.but
        return is_fitted and is_board and is_generation

    @property
    def host(self) -> tuple[str, str]:
        """Return what identifies the host of the run: source and board."""
        return self.row.source, self.row.deployment.target


def samples(data: Path, say: Callable[[str], None]) -> Iterator[HostSample]:
    """Yield the measured runs of small batches whose graph and target exist.

    ``say`` gets the name of each graph, and why a run is left out.
    """
    graphs = model_folder(data)
    by_graph: dict[str, list[WholeModel]] = {}
    wanted = {r for c in CLASSES.values() for r in c.runtimes}
    for row in (*whole_models(data), *own_runs(graphs), *published_runs(data, graphs)):
        how = row.deployment
        is_small = how.dims.get("batch", 1) <= LARGEST_BATCH
        if how.runtime in wanted and is_small and (graphs / row.graph).is_file():
            by_graph.setdefault(row.graph, []).append(row)
    for graph, rows in sorted(by_graph.items()):
        say(graph)
        with paused_collector():
            # rows that differ in nothing but their times share a lowered run
            am, runs, sources = Analyses(), dict[object, HostRun](), dict[object, Module]()
            for row in rows:
                how, dims = row.deployment, tuple(sorted(row.deployment.dims.items()))
                key = how.target, how.runtime, how.runtime_version, how.dtype, how.rounded, dims
                try:
                    if dims not in sources:
                        sources[dims] = typed(graphs / graph, how.dims)
                    if key not in runs:
                        runs[key] = lowered(sources[dims], row, am)
                except PerfcError as error:
                    say(f"left out: {error}")
                    continue
                yield HostSample(row, runs[key])


def lowered(source: Module, row: WholeModel, am: Analyses) -> HostRun:
    """Return a row's kernels on its machine, summed: device time, launches, generation.

    Raises:
        PerfcError: no such target, or a precision that the model cannot have.
    """
    execution = executed(source, row, am)
    each = predicted(execution).launched
    times_s = [k.time_s - k.gap_s for k in each]
    of_convolutions = (
        t
        for t, b in zip(times_s, execution.bounds.kernels, strict=True)
        if b.kernel.anchor.op.kind is Kind.CONV
    )
    # counted without launches inside an operator, then with them: the difference is their number
    operators = math.fsum(launch_counts(execution, 0.0))
    return HostRun(
        precision(row.deployment, stored_element(source), execution.bounds),
        math.fsum(of_convolutions) > CONVOLUTIONAL * math.fsum(times_s),
        math.fsum(times_s),
        operators,
        math.fsum(launch_counts(execution, 1.0)) - operators,
        Sheet(execution.machine).generation,
    )


@dataclass(frozen=True, eq=False)
class HostFit:
    """Fitted times of a class of hosts.

    Args:
        launch_s: median time per operator over the runs that wait for their host.
        fixed_s: time of a run besides launches and kernels.
        hosts: time per operator by host, as `HostSample.host` identifies it.
        waits: True for each row whose host takes longer than its device.
    """

    launch_s: float
    fixed_s: float
    hosts: dict[object, float]
    waits: np.ndarray

    def ratios(self, rows: Sequence[HostSample], helper_s: float) -> np.ndarray:
        """Return the measured time of each row over the fitted time of its host."""
        host_s = [self.launch_s * r.run.operators + helper_s * r.run.helpers for r in rows]
        return np.array([r.row.time_s for r in rows]) / (np.array(host_s) + self.fixed_s)


def numbered(keys: Sequence[object]) -> tuple[np.ndarray, dict[object, int]]:
    """Return the number of each row's key as an array, and the numbers by key."""
    numbers = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys]), numbers


def fitted(rows: Sequence[HostSample], helper_s: float) -> HostFit:
    """Return the fitted host of runs, by robust least squares of logarithms with normal priors."""
    of_board = [(r.row.deployment.target, r.run.stored, r.run.is_convolutional) for r in rows]
    of_network = [(r.row.graph, r.run.stored, r.row.deployment.target) for r in rows]
    # arrays of parameters, indexed by these numbers, have a value per row
    board, boards = numbered(of_board)
    host, hosts = numbered([r.host for r in rows])
    network, networks = numbered(of_network)
    repeats = Counter(of_network)
    # least squares square a weight, so that all rows of one network on one board count as one
    weight = np.array([repeats[n] ** -0.5 for n in of_network])
    device_s = np.array([r.run.device_s for r in rows])
    operators = np.array([r.run.operators for r in rows])
    inside_s = np.array([helper_s * r.run.helpers for r in rows])
    measured = np.log([r.row.time_s for r in rows])
    sizes = 1, 1, len(hosts), len(boards), len(networks)
    ends = np.cumsum(sizes)[:-1]
    # an unknown is the logarithm of a parameter over its centre, in units of its prior's deviation
    scale = np.repeat(list(SPREADS.values()), sizes)

    def parts(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
        """Return times of device and host by row, the fixed time, and logarithms by host."""
        launch, fixed, of_hosts, of_boards, of_networks = np.split(z * scale, ends)
        device = device_s * np.exp(of_boards[board] + of_networks[network])
        waiting = LAUNCH_S * np.exp(launch + of_hosts[host]) * operators + inside_s
        return device, waiting, FIXED_S * float(np.exp(fixed[0])), of_hosts

    def residuals(z: np.ndarray) -> np.ndarray:
        device, waiting, fixed_s, _ = parts(z)
        longer = np.maximum(device, waiting)
        # the smooth maximum has a gradient in both times; powers of ratios do not overflow
        each = (device / longer) ** SHARPNESS + (waiting / longer) ** SHARPNESS
        error = (np.log(longer * each ** (1 / SHARPNESS) + fixed_s) - measured) / OUTLIER
        # root of the pseudo-Huber loss, as least_squares squares what it is given
        robust = np.sign(error) * np.sqrt(2 * (np.sqrt(1 + error**2) - 1)) * OUTLIER
        # the unknowns themselves are the residuals of their priors
        return np.concatenate([weight * robust / ERROR, z])

    z = least_squares(residuals, np.zeros(sum(sizes)), max_nfev=80).x
    device, waiting, fixed_s, of_hosts = parts(z)
    launch_s = LAUNCH_S * np.exp(z[0] * SPREADS["launch"] + of_hosts)
    waits = waiting > device
    late = [r for r, is_late in zip(rows, waits, strict=True) if is_late]
    (middle_s,) = percentiles(launch_s[host[waits]], late, 50) if late else [np.median(launch_s)]
    return HostFit(middle_s, fixed_s, dict(zip(hosts, launch_s, strict=True)), waits)


def percentiles(values: np.ndarray, rows: Sequence[HostSample], *wanted: float) -> list[float]:
    """Return percentiles of values of rows, where a host has the weight of the root of its rows."""
    repeats = Counter(r.host for r in rows)
    weights = np.array([repeats[r.host] ** -0.5 for r in rows])
    order = np.argsort(values)
    # weight below the middle of each row, in ascending order
    below = np.cumsum(weights[order]) - weights[order] / 2
    return np.interp(np.array(wanted) / 100 * weights.sum(), below, values[order]).tolist()


def spread(fit: HostFit, rows: Sequence[HostSample], helper_s: float) -> np.ndarray:
    """Return low, 1 and high of measured over fitted time: percentiles, but at least `ASSUMED`."""
    late = [r for r, waits in zip(rows, fit.waits, strict=True) if waits]
    if len(late) < FEW:
        return ASSUMED
    low, high = percentiles(fit.ratios(late, helper_s), late, 5, 95)
    return np.array([min(low, ASSUMED[0]), 1.0, max(high, ASSUMED[2])])


def left_out(fit: HostFit, rows: Sequence[HostSample], helper_s: float) -> str:
    """Return, as text, the error of runs that wait for their host, with each host left out."""
    ratios: list[float] = []
    inside: list[bool] = []
    for host in fit.hosts:
        rest = [r for r in rows if r.host != host]
        late = [r for r, waits in zip(rows, fit.waits, strict=True) if waits and r.host == host]
        if rest and late:
            other = fitted(rest, helper_s)
            here = other.ratios(late, helper_s)
            low, _, high = spread(other, rest, helper_s)
            ratios += here.tolist()
            inside += ((here >= low) & (here <= high)).tolist()
    if not ratios:
        return "one host"
    off = np.median(np.abs(1 / np.array(ratios) - 1))
    return f"hosts left out {off:.0%} off, {np.mean(inside):.0%} of {len(ratios)} inside"


def host_of(host: HostClass, rows: Sequence[HostSample]) -> tuple[HostTimes, str]:
    """Return the times of a class of hosts, and a text of how well they hold."""
    fit = fitted(rows, host.helper_s)
    launch_s = fit.launch_s * spread(fit, rows, host.helper_s)
    each = ", ".join(f"{s} on {t} {1e6 * seconds:.1f}" for (s, t), seconds in fit.hosts.items())
    words = (
        f"{len(rows)} runs, {fit.waits.sum()} wait; {left_out(fit, rows, host.helper_s)}; {each}"
    )
    times = HostTimes(
        (*host.runtimes, *host.also),
        rounded(launch_s),
        # a further launch inside an operator takes no longer than one from outside
        rounded(np.minimum(launch_s, host.helper_s * launch_s / fit.launch_s)),
        rounded(fit.fixed_s * FIXED),
        host.generation,
        host.boards,
        int(fit.waits.sum()),
        ", ".join(sorted({r.row.source for r in rows})),
    )
    return times, words


def page(hosts: Mapping[str, HostTimes]) -> str:
    """Return the table of docs/predict.md: middle and ends in µs."""
    lines = ["| runtime, boards | launch | run |", "| --- | ---: | ---: |"]
    for name, host in sorted(hosts.items()):
        each = (host.launch_s, host.fixed_s)
        cells = (f"{1e6 * m:,.4g} ({1e6 * a:,.4g} to {1e6 * b:,.4g})" for a, m, b in each)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def rounded(values: np.ndarray) -> tuple[float, float, float]:
    """Return three values with two digits."""
    low, middle, high = (float(f"{v:.2g}") for v in values)
    return low, middle, high


def main() -> None:
    """Fit the hosts of all classes and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=FILE)
    args = parser.parse_args()
    every = list(samples(args.data, lambda _: None))
    times, known = dict(OTHER_HOSTS), read_records(FILE, HostTimes)
    for name, host in CLASSES.items():
        rows = [s for s in every if s.is_of(host)]
        # where DATA lacks the sources of a host, its entry in the file stays as it is
        if not rows:
            times[name], words = known[name], "no runs, times as before"
        else:
            times[name], words = host_of(host, rows)
        print(f"{name}: {words}")
    print(page(times))
    write_output(args.output, as_toml(times, COMMENT))


if __name__ == "__main__":
    main()
