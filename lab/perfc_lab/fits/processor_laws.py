"""Fit the laws of kernels on processors: coefficients of resources by runtime and class.

    python -m perfc_lab.fits.processor_laws

Writes `analyzers/estimators/laws/processor_laws.toml` and the entries of whole runs in
`analyzers/runs/processor_runs.toml`. Rows are the kernels and runs of `DATASETS` at the rates of
the target file of their machine. A class is fitted by nonnegative least squares on relative errors,
robust to outliers, with equal weights of machines. For interval ends the networks are divided in
two halves, and a fit to one half predicts the other.
"""

from __future__ import annotations

import csv
import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from operator import methodcaller
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from perfc.analyzers.estimators.adapting import LEAST_LEFT
from perfc.analyzers.estimators.laws.law import KernelLaw
from perfc.analyzers.estimators.laws.processor_classes import Term
from perfc.analyzers.estimators.laws.processor_laws import FILE
from perfc.analyzers.estimators.laws.processor_resources import ProcessorSeconds, rates, second_of
from perfc.analyzers.estimators.laws.resource import KernelResources, Resource
from perfc.analyzers.runs.processor_runs import ProcessorLaw
from perfc.ir import record
from perfc.machine import load_machine
from perfc.measuring.measure.tables.dataset import read
from perfc.measuring.measure.tables.rows import MeasuredRow, ModelRow, subject_of
from perfc_lab.data.fitted import as_toml
from perfc_lab.fits import processor_runs

ROOT = Path(__file__).resolve().parents[3] / "datasets"
DATASETS = {
    "cpu-epyc-2c": "ort",
    "cpu-genoa-2c": "ort",
    "cpu-genoa-2c-int8": "ort",
    "cpu-genoa-2c-torch": "torch",
    "cpu-genoa-2c-torch-train": "torch.train",
    "cpu-genoa-2c-openvino": "openvino",
    "cpu-genoa-2c-openvino-bf16": "openvino",
}
"""Start of the names of the laws that each dataset trains."""
RUNS = {
    "ort-cpu-blocked": ("cpu-epyc-2c", "cpu-genoa-2c"),
    "rated eager f32": ("cpu-genoa-2c-torch",),
    "rated eager f32 training": ("cpu-genoa-2c-torch-train",),
    "rated openvino f32": ("cpu-genoa-2c-openvino",),
    "rated openvino bf16": ("cpu-genoa-2c-openvino-bf16",),
}
"""Datasets that each entry of whole runs is fitted to."""
LEAST_ROWS, LEAST_NETWORKS, MOST_ROWS = 60, 4, 6000
"""Minimum rows and networks of a law, and maximum rows of one machine, drawn at random."""
FEW_ROWS, FEW_NETWORKS, PRIOR_ROWS = 4, 2, 4
"""Minimum rows and networks for a factor on a more general law; weight, in rows, of a factor of
1."""
# splits "name:value"
PAIR = methodcaller("partition", ":")
LAYER_KERNELS = 11
"""Assumed number of kernels of a layer of a language model in a step of one token."""
SHORT_S = 0.01
"""Maximum time of runs that show what the profiler adds; its share of longer runs is small."""
LONGER = 0.25
"""Exponent of a kernel's time in its weight, so that long kernels count more."""
RARE = 30
"""Minimum kernels with a resource for a coefficient of it, for runtimes with few networks."""
OUTLIER = 0.15
"""Relative error above which a row counts less."""
ENDS = (0.05, 0.95)
"""Quantiles of a 90 % interval."""
COVERAGE = 0.9
"""Share of the runs of a machine that an interval of whole runs holds."""
UNKNOWN = (0.5, 1.0, 2.0)
"""Ratios added to those of each class, so that few rows give a wide interval."""
INTEGER_PARTS = re.compile("Quant|Integer")
"""Operators of quantized models that no other model has."""
PLAIN, INTEGERS = ("f32", ""), ("i8", "u8")
"""Element types that names of laws leave out, and those of quantized models."""
COLUMNS = tuple(Resource)  # resources by the column of a matrix of seconds
USUAL = COLUMNS.index(Resource.DEVICE), COLUMNS.index(Resource.MAPPED)
"""Columns of resources whose coefficient is 1 where too few kernels have them; the second is of
PyTorch alone, the only runtime that maps pages for results."""
Array = NDArray[np.float64]
Run = tuple[str, str, str, int]
"""Dataset, network, extents and threads of a measured run."""


@record
class ProcessorKernel:
    """A measured kernel.

    Args:
        run: the run that it is part of.
        names: its resources, once under each name of its class, the most specific name first.
        time_s: measured time; 0 where it is not known for this kernel alone.
    """

    run: Run
    names: tuple[KernelResources, ...]
    time_s: float


@record
class ProcessorFit:
    """Coefficients of one class.

    Args:
        coefficients: a number for each resource, in the order of `COLUMNS`.
        rows: number of kernels that they were fitted to.
        machines: targets of these kernels.
    """

    coefficients: Array
    rows: int
    machines: tuple[str, ...]


Row = tuple[ProcessorKernel, KernelResources]
"""A kernel, and its resources under one of its names."""


def half(network: str) -> int:
    """Return the half that a network belongs to, 0 or 1, by a digest of its name.

    The same in every process, and independent of the order of the data.
    """
    return hashlib.sha256(network.encode()).digest()[0] % 2


def kernels_of(dataset: str) -> Iterator[ProcessorKernel]:
    """Yield the kernels of a dataset, with the copies around them."""
    target = ROOT / "-".join(dataset.split("-")[:3]) / "target.toml"
    cores = range(1, load_machine(target).sm_count + 1)
    by_threads = {n: ProcessorSeconds(load_machine(target / f"{n}t")) for n in cores}
    table = list(read(ROOT / dataset / "kernels.csv.gz", MeasuredRow))
    added_s = profiler_s(dataset)
    shared = Counter((r.model, r.dims, r.threads, r.part) for r in table)
    resources: dict[tuple[object, ...], tuple[KernelResources, ...]] = {}
    for r in table:
        if r.kernel < 0:  # nodes that launch no analyzed kernel
            continue
        run, seconds = (dataset, r.model, r.dims, r.threads), by_threads[r.threads]
        key = r.op, r.ops, r.operands, r.results, r.views, r.kind, r.threads
        if key not in resources:
            resources[key] = tuple(seconds.of(subject_of(r)))
        # float kernels of quantized models are left to the fits of float models
        is_float = dataset.endswith("int8") and not INTEGER_PARTS.search(r.ops)
        # the only kernel of its part, launched once: the time of the part is its time
        is_whole = shared[r.model, r.dims, r.threads, r.part] == r.launches == 1
        alone = is_whole and not is_float
        # ``inserted_s`` has no transpositions, so that a time with them is not of the kernel alone
        is_separate = r.inserted_s > 0 or not r.moved_bytes or "Transpose" not in r.runtime_ops
        yield ProcessorKernel(
            run, resources[key], corrected_s(r, added_s) * (alone and is_separate)
        )
        if r.moved_bytes:
            # copies with known time: nodes that reorder blocks, or changes of layout around bytes
            is_clear = alone and ("Reorder" in r.runtime_ops or r.dtype in INTEGERS)
            copies = tuple(seconds.of_copy(r.moved_bytes, r.dtype))
            yield ProcessorKernel(run, copies, r.inserted_s * is_clear)


def profiler_s(dataset: str) -> dict[int, float]:
    """Return the median time that the profiler adds to each kernel, by number of threads."""
    each: dict[int, list[float]] = defaultdict(list)
    for m in read(ROOT / dataset / "models.csv.gz", ModelRow):
        if m.time_s < SHORT_S:
            each[m.threads].append((m.kernel_s - m.time_s) / m.runtime_kernels)
    return {threads: max(float(np.median(times)), 0.0) for threads, times in each.items()}


def corrected_s(row: MeasuredRow, added_s: Mapping[int, float]) -> float:
    """Return the time of a part without copies and without what the profiler adds."""
    # the runtime's nodes of the part, ``Conv+Relu*2``; reorders are copies, in ``inserted_s``
    names = [op for op in row.runtime_ops.split("+") if "Reorder" not in op]
    count = sum(int(op.partition("*")[2] or 1) for op in names)
    time_s = row.part_s - row.inserted_s
    return max(time_s - count * added_s.get(row.threads, 0.0), LEAST_LEFT * time_s)


def solved(x: Array, time_s: Array, weights: Array, least: int = 1) -> Array:
    """Return nonnegative coefficients of least relative error, robust to outliers."""
    weight = weights / time_s
    # a resource of fewer than `least` kernels has the coefficient 0: they say little of others
    x = x * ((x > 0).sum(axis=0) >= least)
    c: Array = np.zeros(x.shape[1])
    # four fits, with new weights after each: a row off by more than `OUTLIER` counts less
    for _ in range(4):
        c, _ = nnls(x * weight[:, None], time_s * weight)
        error = np.abs(x @ c / time_s - 1)
        weight = weights / time_s / np.sqrt(np.maximum(error / OUTLIER, 1))
    return c


def amounts(kernel: KernelResources) -> list[float]:
    """Return the seconds of all resources, in the order of `COLUMNS`."""
    return [kernel.seconds.get(r, 0.0) for r in COLUMNS]


def fitted(kernels: Sequence[ProcessorKernel]) -> dict[str, ProcessorFit]:
    """Return the coefficients of each name with enough rows."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for k in kernels:
        for subject in k.names if k.time_s > 0 else ():
            groups[f"{starts(k)[0]} {subject.name}"].append((k, subject))
    result: dict[str, ProcessorFit] = {}
    random = np.random.default_rng(0)
    for name, rows in groups.items():
        if len(rows) < LEAST_ROWS or len({k.run[1] for k, _ in rows}) < LEAST_NETWORKS:
            continue
        counts = Counter(machine_of(k) for k, _ in rows)
        chosen = [r for r in rows if random.random() < MOST_ROWS / counts[machine_of(r[0])]]
        time_s = np.array([k.time_s for k, _ in chosen])
        # least squares square a weight: every machine has the same weight, however many rows it has
        weights = np.sqrt([1 / min(counts[machine_of(k)], MOST_ROWS) for k, _ in chosen])
        x = np.array([amounts(subject) for _, subject in chosen])
        least = 1 if name.startswith("ort ") else RARE
        c = solved(x, time_s, weights * time_s**LONGER, least)
        for column in USUAL[: 1 + name.startswith("torch")]:
            c[column] = c[column] if (x[:, column] > 0).sum() >= least else 1.0
        result[name] = ProcessorFit(c, len(rows), tuple(sorted(counts)))
    return result | scaled(groups, result)


def scaled(
    groups: Mapping[str, Sequence[Row]], known: Mapping[str, ProcessorFit]
) -> dict[str, ProcessorFit]:
    """Return laws of names with few rows: the next more general law, times a factor."""
    result: dict[str, ProcessorFit] = {}
    for name, rows in groups.items():
        is_few = len(rows) < FEW_ROWS or len({k.run[1] for k, _ in rows}) < FEW_NETWORKS
        if name in known or is_few:
            continue
        names = named(rows[0][0])
        general = next((n for n in names[names.index(name) :] if n in known), None)
        if general is None:
            continue
        c = known[general].coefficients
        logs = [math.log(k.time_s / max(float(np.dot(c, amounts(o))), 1e-9)) for k, o in rows]
        factor = math.exp(float(np.median(logs)) * len(rows) / (len(rows) + PRIOR_ROWS))
        result[name] = ProcessorFit(
            c * factor, len(rows), tuple(sorted({machine_of(k) for k, _ in rows}))
        )
    return result


def machine_of(kernel: ProcessorKernel) -> str:
    """Return the name of the machine that ran a kernel."""
    return "-".join(kernel.run[0].split("-")[:3])


def starts(kernel: ProcessorKernel) -> list[str]:
    """Return the starts of the names of a kernel's laws, that of its element type first."""
    start, dtype = DATASETS[kernel.run[0]], kernel.names[0].dtype
    return [start] if dtype in PLAIN else [f"{start}.{dtype}", start]


def named(kernel: ProcessorKernel) -> list[str]:
    """Return the names of a kernel's laws, the most specific first."""
    return [f"{start} {subject.name}" for start in starts(kernel) for subject in kernel.names]


def predicted(kernel: ProcessorKernel, fits: Mapping[str, ProcessorFit]) -> tuple[str, float]:
    """Return the name of the law of a kernel, and its time; "" without one."""
    # all names with the element type come before all without: the resources repeat in that order
    for name, subject in zip(named(kernel), kernel.names * 2, strict=False):
        if name in fits:
            return name, float(np.dot(fits[name].coefficients, amounts(subject)))
    return "", 0.0


def decode_laws() -> dict[str, KernelLaw]:
    """Return the laws of llama.cpp: weights from memory, products by bits, each kernel."""
    target = ROOT / "cpu-genoa-2c/target.toml"
    with (ROOT / "cpu-genoa-2c-llamacpp/tokens.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    macs = [{b: float(n) for b, _, n in map(PAIR, r["macs"].split())} for r in rows]
    widths = sorted({bits for of_row in macs for bits in of_row})
    # seconds of a step's resources by row; and ratios of a prompt's time to that of its products
    each, prompts = list[list[float]](), list[float]()
    for r, mac in zip(rows, macs, strict=True):
        machine = load_machine(target / f"{r['threads']}t")
        memory_s, launch_s, mac_s = (
            second_of(rates()[t], machine, "f16", machine.sm_count)
            for t in (Term.FAR_BYTE, Term.LAUNCH, Term.MAC)
        )
        kernels_s = launch_s * LAYER_KERNELS * float(r["layers"])
        products_s = [mac_s * mac.get(b, 0.0) for b in widths]
        each.append([float(r["weight_bytes"]) * memory_s, kernels_s, *products_s])
        prompts.append(
            float(r["prompt_s"]) / (mac_s * sum(mac.values()) * float(r["prompt_tokens"]))
        )
    x, time_s = np.array(each), np.array([float(r["token_s"]) for r in rows])
    memory, kernel, *products = solved(x, time_s, np.ones(len(rows))).tolist()
    ratios = time_s / (x @ [memory, kernel, *products])
    low, high = (float(q) for q in np.quantile([*ratios, *UNKNOWN], ENDS))
    error = float(np.median(np.abs(1 / ratios - 1)))
    print(f"llama.cpp: {len(rows)} runs, median error {error:.1%}")
    coefficients = {
        "gemm": {"products": float(np.median(prompts))},
        "memory": {"device": memory, "cache": 1.0},
        **{
            f"gemm.{b} bits": {"device": memory, "products": c}
            for b, c in zip(widths, products, strict=True)
        },
    }
    # products of a vector with weights of other bits have the law of the fewest bits
    coefficients["gemm.stored.vector"] = coefficients[f"gemm.{widths[0]} bits"]
    ends, machines = ((low, low), (high, high)), ("cpu-genoa-2c",)
    return {
        f"llamacpp {name}": KernelLaw(
            {n: float(f"{c:.3g}") for n, c in {"ramp": kernel, **named_}.items() if c > 0},
            1.0,  # times of resources add up
            *ends,
            len(rows),
            error,
            machines,
            "datasets",
        )
        for name, named_ in coefficients.items()
    }


def main() -> None:
    """Fit and write the files."""
    kernels = [k for dataset in DATASETS for k in kernels_of(dataset)]
    parts = [[k for k in kernels if half(k.run[1]) == part] for part in (0, 1)]
    errors: dict[str, list[float]] = defaultdict(list)
    kinds: dict[str, list[float]] = defaultdict(list)
    sums: dict[Run, list[float]] = defaultdict(lambda: [0.0, 0.0])
    # each half is predicted by a fit to the other; sums are the predicted time and kernels of a run
    for part in (0, 1):
        fits = fitted(parts[1 - part])
        for k in parts[part]:
            name, time_s = predicted(k, fits)
            sums[k.run][0] += time_s
            sums[k.run][1] += 1
            if k.time_s > 0 and time_s > 0:
                errors[name].append(k.time_s / time_s)
                kinds[f"{k.run[0]} {name.partition('.')[0]}"].append(time_s / k.time_s - 1)
    for kind, each in sorted(kinds.items()):
        print(f"{kind}: {len(each)} kernels, median error {np.median(np.abs(each)):.1%}")
    laws: dict[str, KernelLaw] = {}
    for name, fit in fitted(kernels).items():
        ratios = [*errors[name], *UNKNOWN]
        low, high = (float(q) for q in np.quantile(ratios, ENDS))
        # the predicted time itself is inside; short and long kernels have the same ends
        low, high = min(low, 1.0), max(high, 1.0)
        named = {
            r.value: float(f"{c:.3g}")
            for r, c in zip(COLUMNS, fit.coefficients, strict=True)
            if c > 0
        }
        error = float(np.median(np.abs(1 / np.array(ratios) - 1)))
        laws[name] = KernelLaw(
            named, 1.0, (low, low), (high, high), fit.rows, error, fit.machines, "datasets"
        )
    laws |= decode_laws()
    FILE.write_text(as_toml(laws, "laws of kernel times on processors"), encoding="utf-8")
    processor_runs.update({name: fitted_runs(sums, datasets) for name, datasets in RUNS.items()})


def fitted_runs(sums: Mapping[Run, Sequence[float]], datasets: Sequence[str]) -> ProcessorLaw:
    """Return the time that each kernel, or node, adds to runs of datasets; print the errors."""
    rows: list[tuple[float, float, float]] = []
    machines: list[str] = []
    for dataset in datasets:
        for m in read(ROOT / dataset / "models.csv.gz", ModelRow):
            run = dataset, m.model, m.dims, m.threads
            if run in sums:
                kernels_s, count = sums[run]
                rows.append((m.time_s, kernels_s, count))
                machines.append(f"{dataset}, {m.threads} threads")
    measured, alone_s, launches = np.array(rows).T
    # candidates of the time of a node: 0 to 40 µs in steps of 0.1 µs
    nodes_s = np.linspace(0, 4e-5, 401)
    ratios = (alone_s + nodes_s[:, None] * launches) / measured
    best = int(np.abs(np.log(ratios)).mean(axis=1).argmin())
    error = ratios[best] - 1
    for machine in sorted(set(machines)):
        here = np.abs(error[np.array(machines) == machine])
        print(f"{machine}: {len(here)} runs, median {np.median(here):.1%}, mean {here.mean():.1%}")
    logs, named = np.abs(np.log(ratios[best])), np.array(machines)
    # the widest machine decides the half-width of the interval
    reach = max(float(np.quantile(logs[named == m], COVERAGE)) for m in {*machines})
    print(f"{nodes_s[best]:.2g} s a node, reach {reach:.2f}")
    return ProcessorLaw((), 1.0, float(nodes_s[best]), reach, len(rows))


if __name__ == "__main__":
    main()
