"""Broken orders among predictions of `perfc.analyze` in a grid of deployments.

    python -m benchmarks.orders MODEL... [--targets A B] [--jobs 1] [--show 20]

More work takes no less time, and an image in a larger batch no more than a tenth longer; an element
type that the board has a faster rate for takes no longer, if no run waits for its host; a board
that is better in every rate is no slower; TensorRT is no slower than ONNX Runtime, and that no
slower than eager PyTorch, unless the lower bound of its kernels is higher: only PyTorch fuses
attention, or the GELU of dynamo's exports, whose five operators ONNX Runtime 1.32 leaves as they
are (the product with 0.5 comes before that with the input). Each answer is the public call with
the fields that `perfc analyze --target --runtime --dtype --batch` sets. A pair is broken beyond
0.5 %. Pairs of two runs measured under that runtime on that chip are counted separately.

Measured runs, which `perfc train op runs` reads, decide what is an order:

- Of pairs with one run that waits for its host, the narrower float was slower in 42 of 139, as it
  has more launches; in 18 of 18 under eager with autocast where both wait. Of others in 14 of 362.
- An image took over 0.5 % longer in the larger batch in 229 of 2,028 pairs, over 10 % in 17.
- Whisper took 1.2 and 2.4 times as long under ONNX Runtime, which runs attention as products and
  a softmax, as under PyTorch 2.0 on an A100, 0.4 to 0.9 times on a T4 (optimum-benchmark). BERT
  under PyTorch before 2.0, where neither fuses it, was never slower under ONNX Runtime (ten pairs).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import perfc
from benchmarks.arguments import parser_of
from perfc.errors import PerfcError
from perfc.machine import Machine, Unit, load_machine

TARGETS = (
    "t4",
    "a10",
    "a30",
    "a100-sxm4-80gb",
    "l4",
    "l40",
    "l40s",
    "rtx3090",
    "rtx4090",
    "h100-pcie-80gb",
    "h100-sxm5-80gb",
    "h200-sxm-141gb",
    "b200-sxm-180gb",
    "mi300x",
)
RUNTIMES = ("eager", "inductor", "ort", "torchscript", "paddle-trt", "tensorrt")
ORDERED = ("tensorrt", "ort", "eager")
DTYPES = ("f32", "bf16", "f16", "i8")
FASTER = (("f32", "bf16"), ("f32", "f16"), ("f16", "i8"), ("f32", "i8"))
BATCHES = (1, 2, 4, 8, 16, 32, 64)
TOLERANCE = 1.005
"""Ratio of times above which a pair is broken."""
LONGER_IMAGE = 1.1 / TOLERANCE
"""Time of an image over that in a smaller batch, up to which it is no order."""


class Cell(NamedTuple):
    """One deployment of a model."""

    model: str
    target: str
    runtime: str
    dtype: str
    batch: int


class Answer(NamedTuple):
    """Prediction of a run.

    Args:
        time_s: its time.
        is_measured: whether such runs were measured on the chip.
        predictor: name of the predictor; "" for kernels.
        waits: whether the device waits for its host.
        floor_s: lower bound of its kernels.
    """

    time_s: float
    is_measured: bool
    predictor: str
    waits: bool
    floor_s: float


def dominates(better: Machine, other: Machine) -> bool:
    """Return True if a machine is no worse in any rate or capacity of another of its vendor."""
    if (better.kind, better.vendor) != (other.kind, other.vendor) or better.name == other.name:
        return False
    levels = {level.name: level for level in better.memory}
    return all(
        key in better.compute and better.compute[key].nominal.value >= peak.nominal.value
        for key, peak in other.compute.items()
    ) and all(
        level.name in levels
        and levels[level.name].bandwidth.value >= level.bandwidth.value
        and levels[level.name].capacity_bytes >= level.capacity_bytes
        for level in other.memory
    )


def answers(model: str, targets: tuple[str, ...]) -> dict[Cell, Answer]:
    """Return the answers for one model in all deployments."""
    result = dict[Cell, Answer]()
    for target, name, dtype, batch in itertools.product(targets, RUNTIMES, DTYPES, BATCHES):
        cell = Cell(model, target, name, dtype, batch)
        try:
            report = perfc.analyze(model, target=target, runtime=name, dtype=dtype, batch=batch)
            table = report.prediction
        except PerfcError:
            continue
        result[cell] = Answer(
            table.total.time_s,
            table.is_own,
            table.total.predictor,
            table.is_host_bound,
            report.roofline.floor_s,
        )
    return result


def is_faster(machine: Machine, wide: str, narrow: str) -> bool:
    """Return True if a machine has a faster rate for the second element type than for the first."""
    slow, fast = (machine.entry(Unit.MATRIX, one).nominal.value for one in (wide, narrow))
    return fast > slow


def pairs(
    cells: dict[Cell, Answer], targets: tuple[str, ...]
) -> Iterator[tuple[str, Cell, Cell, float]]:
    """Yield order, the cell that takes no longer, the other, and the factor that it may take."""
    machines = {name: load_machine(name) for name in targets}
    ordered = itertools.permutations(targets, 2)
    better = [(a, b) for a, b in ordered if dominates(machines[a], machines[b])]
    for cell, answer in cells.items():
        for one, other in itertools.pairwise(BATCHES):
            if cell.batch == one:
                more = cell._replace(batch=other)
                yield "batch", cell, more, 1.0
                yield "image", more, cell, LONGER_IMAGE * other / one
        for slow, fast in (both for both in FASTER if is_faster(machines[cell.target], *both)):
            narrow = cell._replace(dtype=fast)
            is_order = cell.dtype == slow and narrow in cells
            if is_order and not cells[narrow].waits | answer.waits:
                yield "type", narrow, cell, 1.0
        for fast, slow in itertools.pairwise(ORDERED):
            quick = cell._replace(runtime=fast)
            is_order = cell.runtime == slow and quick in cells
            if is_order and cells[quick].floor_s <= answer.floor_s * TOLERANCE:
                yield "runtime", quick, cell, 1.0
        for a, b in better:
            if cell.target == b:
                yield "machine", cell._replace(target=a), cell, 1.0


def main() -> None:
    """Print the number of pairs and of broken ones for each order."""
    parser = parser_of(__doc__, jobs=1, show=20)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--targets", nargs="+", default=list(TARGETS))
    given = parser.parse_args()
    targets = tuple(given.targets)
    cells = dict[Cell, Answer]()
    with ProcessPoolExecutor(given.jobs) as pool:
        for answered in pool.map(partial(answers, targets=targets), given.models):
            cells |= answered
    counts, broken, measured = Counter[str](), Counter[str](), Counter[str]()
    worst = list[tuple[float, str, Cell, Cell]]()
    for order, fast, slow, factor in pairs(cells, targets):
        if fast not in cells or slow not in cells:
            continue
        counts[order] += 1
        ratio = cells[fast].time_s / (cells[slow].time_s * factor)
        if ratio <= TOLERANCE:
            continue
        is_row = cells[fast].is_measured and cells[slow].is_measured
        (measured if is_row else broken)[order] += 1
        worst.append((ratio, order, fast, slow))
    print(f"{len(cells):,} answers")
    for order in counts:
        both = f"both measured {measured[order]:5}"
        print(f"{order:8} {counts[order]:6,} pairs, broken {broken[order]:5}, {both}")
    for ratio, order, fast, slow in sorted(worst, reverse=True)[: given.show]:
        print(f"{ratio:5.2f} {order:8} {fast[1:]} {cells[fast]} {slow[1:]} {cells[slow]}")


if __name__ == "__main__":
    main()
