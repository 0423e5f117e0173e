"""PF106: consecutive elementwise operators that run as separate kernels."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.ir import Kind
from perfc.passes.fusion.kernel import Kernel
from perfc.passes.runtimes import Framework, LaunchMode, Steps, tables
from perfc.review.lint.rule import Finding, Rule, Subject


class UnfusedElementwise(Rule):
    """Chains of elementwise kernels that could be one kernel.

    What it does:
        Finds chains of two or more elementwise kernels that the runtime does not fuse, in which
        only the next kernel reads each result. They are one finding per model, since no edit of
        the file fixes them. The gain is that of one kernel per chain with the same inputs and
        outputs.

    Why is this bad:
        Every kernel is launched, writes its result to memory, and the next one reads it back;
        fused, the tensor stays in registers.

    Example:
        y = Mul(x, Sigmoid(x))         # two kernels, three passes over x

    Use instead:
        y = Swish(x)                   # opset 24, or a runtime that fuses elementwise operators

    Source:
        Williams et al. 2009, roofline: traffic bounds kernels of low intensity.
    """

    code = "PF106"

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield all maximal chains as one finding: no edit of the file fixes them."""
        in_runs: set[int] = set()
        runs: list[list[int]] = []
        for start in range(len(subject.kernels)):
            if start in in_runs:
                continue
            run = [start]
            while (after := following(subject, run[-1])) is not None and after not in in_runs:
                run.append(after)
            if len(run) > 1:
                in_runs.update(run)
                runs.append(run)
        if not runs:
            return
        longest = max(runs, key=len)
        # five kernels are enough to recognize the place
        labels = " → ".join(subject.kernels[i].kernel.label for i in longest[:5])
        more = " → …" if len(longest) > 5 else ""
        runtime = subject.report.kernels.runtime.name
        count = f"{len(runs)} places, {len(in_runs)}" if len(runs) > 1 else f"{len(in_runs)}"
        where = f", the longest at {subject.kernels[longest[0]].kernel.anchor.name}"
        yield self.finding(
            f"{count} consecutive elementwise kernels under {runtime}{where}: {labels}{more}",
            f"use a fused operator, or a runtime that fuses them ({', '.join(fusing())})",
            nodes=[n for run in runs for i in run for n in subject.kernels[i].kernel.nodes],
            gain=subject.fusing(runs, self.code),
            is_whole=True,
        )


def fusing() -> Iterator[str]:
    """Yield the runtimes of named frameworks that compile a model and fuse such chains."""
    chain = Kind.ELEMENTWISE
    # not tables for older GPUs only, nor the recorded form of another table
    usual = (t for t in tables() if not t.below and not t.is_recorded)
    named = (t for t in usual if t.framework is not Framework.OTHER)
    compiling = (t for t in named if t.launch is LaunchMode.GRAPH or t.steps is Steps.COMPILED)
    # what a kernel of this kind may be followed by within one launch
    return (t.name for t in compiling if chain in t.epilogue.get(chain, ()))


def following(subject: Subject, index: int) -> int | None:
    """Return the elementwise kernel that is the only reader of kernel ``index``, or None."""
    kernel = subject.kernels[index].kernel
    if not is_elementwise(kernel) or len(kernel.writes) != 1:
        return None
    v = kernel.writes[0]
    readers = subject.readers.get(v, ())
    if v in subject.outputs or len(readers) != 1 or readers[0] <= index:
        return None
    after = subject.kernels[readers[0]].kernel
    if not is_elementwise(after) or after.repeat != kernel.repeat or len(after.writes) != 1:
        return None
    # a reader that broadcasts or reduces has another number of elements
    return readers[0] if v.numel == after.writes[0].numel else None


def is_elementwise(kernel: Kernel) -> bool:
    """Return True if each result element depends only on the same element of the operands."""
    kinds = (n.op.kind for n in kernel.nodes)
    return all(k in (Kind.ELEMENTWISE, Kind.VIEW) for k in kinds) and not kernel.traffic.is_bound
