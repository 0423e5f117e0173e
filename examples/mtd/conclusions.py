"""Conclusions of section 3.4.1 from its rooflines, each as a test of rates along one factor.

    python examples/mtd/conclusions.py

Prints each conclusion beside predicted rates of its GPU and beside rates that one H200 measured:
on the same convolution of 112 channels where that was measured, and on one of 3 channels. Then
what ran there, by the profiler's counters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from campaign import CountedKernel

SINGLE, HALF = "single", "half"
FORWARD, BACKWARD = "forward", "backward"
SAME, FASTER, CLEARLY = 0.05, 0.02, 0.1
"""Shares within which rates are the same, and above which one is higher, or well above."""
Rates = Callable[[str, str, str, str], list[float]]
"""Tflop/s of a GPU, a direction and a precision along a factor; the factor ``precision`` is single,
then half."""


@dataclass(frozen=True)
class Conclusion:
    """A sentence of the section.

    Args:
        text: what it says.
        where: in the dissertation.
        gpu: ``V100`` or ``A100``.
        direction: forward or backward.
        precision: single or half; empty where both are compared.
        factor: along which rates are told.
        holds: whether rates along it say so.
    """

    text: str
    where: str
    gpu: str
    direction: str
    precision: str
    factor: str
    holds: Callable[[Sequence[float]], bool]

    def __str__(self) -> str:
        parts = [self.gpu, self.direction, *([self.precision] if self.precision else [])]
        return f"{self.text} ({', '.join(parts)})"

    def outcome(self, rates: Rates) -> tuple[str, bool]:
        """Rates in order, and whether they say so."""
        found = rates(self.gpu, self.direction, self.precision, self.factor)
        return " ".join(f"{v:.3g}" for v in found), self.holds(found)


def rises(values: Sequence[float]) -> bool:
    """Whether each is at least as high as the one before, and the last higher than the first."""
    steps = all(b >= 0.99 * a for a, b in pairwise(values))
    return steps and values[-1] > (1 + FASTER) * values[0]


def last_is_highest(values: Sequence[float]) -> bool:
    """Whether the last is above all others."""
    return values[-1] > (1 + FASTER) * max(values[:-1])


def first_is_highest(values: Sequence[float]) -> bool:
    """Whether no other is above the first."""
    return max(values) == values[0]


def less_than_linear(values: Sequence[float]) -> bool:
    """Whether four times the work runs at less than four times the rate."""
    return values[-1] < 4 * (1 - SAME) * values[0]


def last_two_are_close(values: Sequence[float]) -> bool:
    """Whether the last two are the same, and well above the first."""
    return abs(values[2] / values[1] - 1) <= SAME and values[1] > (1 + CLEARLY) * values[0]


def conclusions() -> Iterator[Conclusion]:
    """Every sentence that rates can decide, in the order of the section."""
    gpus, both = ("V100", "A100"), (FORWARD, BACKWARD)
    for gpu in gpus:
        for direction in both:
            yield Conclusion(
                "half precision outperforms single",
                "batch, fig. 3.5",
                gpu,
                direction,
                "",
                "precision",
                last_is_highest,
            )
    for gpu in gpus:
        yield Conclusion(
            "batch 64 above 16 and 32",
            "batch, fig. 3.5",
            gpu,
            FORWARD,
            HALF,
            "batch",
            last_is_highest,
        )
        yield Conclusion(
            "batch 64 well above 32",
            "summary",
            gpu,
            FORWARD,
            HALF,
            "batch",
            lambda v: v[2] > (1 + CLEARLY) * v[1],
        )
    for precision in (SINGLE, HALF):
        yield Conclusion(
            "batch 16 to 64 grows less than linearly",
            "batch",
            "A100",
            BACKWARD,
            precision,
            "batch",
            less_than_linear,
        )
    for precision in (SINGLE, HALF):
        yield Conclusion(
            "stride 2 is fastest",
            "strides",
            "V100",
            BACKWARD,
            precision,
            "stride",
            first_is_highest,
        )
    yield Conclusion(
        "strides 4, 5 above 2, 3",
        "strides",
        "A100",
        BACKWARD,
        HALF,
        "stride",
        lambda v: min(v[2:]) > max(v[:2]),
    )
    for gpu, precision in (("V100", SINGLE), ("V100", HALF), ("A100", SINGLE)):
        yield Conclusion(
            "grows with the kernel", "kernel, fig. 3.6", gpu, BACKWARD, precision, "kernel", rises
        )
    yield Conclusion(
        "5x5 above 7x7",
        "kernel, fig. 3.6b",
        "A100",
        BACKWARD,
        HALF,
        "kernel",
        lambda v: v[1] > v[2],
    )
    for gpu, direction, precision in (
        ("A100", BACKWARD, HALF),
        ("V100", BACKWARD, SINGLE),
        ("V100", BACKWARD, HALF),
        ("V100", FORWARD, SINGLE),
    ):
        yield Conclusion(
            "grows with the filters", "filters", gpu, direction, precision, "filters", rises
        )
    yield Conclusion(
        "112 filters above 224",
        "filters",
        "A100",
        BACKWARD,
        SINGLE,
        "filters",
        lambda v: v[1] > v[2],
    )
    for gpu in gpus:
        yield Conclusion(
            "112 and 224 filters alike, well above 56",
            "filters",
            gpu,
            FORWARD,
            HALF,
            "filters",
            last_two_are_close,
        )


LOCALITY = (
    ("L2 and device memory overlap, L1 is apart", "batch, fig. 3.5", "V100 forward"),
    ("better locality at L1, L2 and device memory than the V100", "batch, summary", "A100"),
    ("more L1 misses in single precision than in half", "strides, summary", "V100, A100"),
    ("strides 2 and 3 have good L1 locality", "strides", "V100 backward, half"),
    ("better locality than the V100", "strides", "A100, half"),
    ("good locality whatever the kernel", "kernel, fig. 3.6a", "V100 backward"),
    ("poor L1 locality", "kernel, fig. 3.6b", "A100 backward, single"),
    ("good locality in half precision, some L1 misses in single", "filters", "both, backward"),
    ("poor locality", "filters", "V100 forward, single"),
)
"""Sentences on cache misses, which counters alone decide: what, where, of which points."""


def main() -> None:
    """Print every conclusion by predicted and by measured rates, and what ran."""
    import campaign
    import operators
    import tables

    ways = (operators.rates, campaign.rates(112), campaign.rates(3))
    rows, agreed = [], [[0, 0] for _ in ways]
    for conclusion in conclusions():
        cells = []
        for count, rates in zip(agreed, ways, strict=True):
            try:
                text, holds = conclusion.outcome(rates)
            except KeyError:
                cells.append("-")
                continue
            count[0] += holds
            count[1] += 1
            cells.append(f"{text} {'yes' if holds else 'no'}")
        rows.append((str(conclusion), *cells))
    header = ["section 3.4.1 concludes", "predicted, its GPU", "H200, 112 channels", "H200, 3"]
    tables.show("Conclusions: Tflop/s in order, and whether they agree", header, rows)
    predicted, measured, small = (f"{yes} of {every}" for yes, every in agreed)
    tables.say(f"They agree: predicted {predicted}; measured {measured} and {small}.")

    header = ["channels, pass, type", "kernels", "us", "preparing", "L1/L2", "L2/device", "longest"]
    rows = [
        (f"{channels} {direction} {dtype}", *row(kernels))
        for (channels, direction, dtype), kernels in campaign.counted().items()
    ]
    tables.show("What ran on the H200, batch 32, stride 3, 3x3, 56 filters", header, rows)
    tables.say(WHY)


def row(kernels: Sequence[CountedKernel]) -> tuple[str, ...]:
    """Return a line on kernels: how many, time, share that prepares operands, bytes by level."""
    from campaign import LAYOUT

    time_s = sum(k.time_s for k in kernels)
    prepare_s = sum(k.time_s for k in kernels if LAYOUT.search(k.name))
    l1, l2, device = (
        sum(getattr(k, f"{level}_bytes") for k in kernels) for level in ("l1", "l2", "device")
    )
    longest = max(kernels, key=lambda k: k.time_s).name
    return (
        str(len(kernels)),
        f"{1e6 * time_s:.0f}",
        f"{100 * prepare_s / time_s:.0f} %",
        f"{l1 / l2:.1f}",
        f"{l2 / device:.1f}",
        longest.removeprefix("void ")[:44],
    )


WHY = (
    "What counts and ceilings lack, by the counters: a convolution in half precision converts "
    "layouts (NCHW to NHWC and back), 70 % of its time with 112 channels; backward in single "
    "precision runs engines without tensor cores, which read again what L1 drops; rates rise with "
    "the batch as blocks fill their last wave. The A100's order of strides, 5x5 above 7x7 and 112 "
    "filters above 224 follow neither from counts nor from the H200: cuDNN 8.3 chose its kernels "
    "there by rules that it does not publish, and a rule of ours would be fitted to these three "
    "sentences alone."
)


if __name__ == "__main__":
    main()
