"""Readable names of kernels, runtimes, machines and places in a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from perfc.ir.problem import Problem, Product, SlidingWindow
from perfc.machine import HOST, Machine

if TYPE_CHECKING:
    from perfc.passes.fusion.kernel import Kernel
    from perfc.passes.runtimes import Runtime

TITLES = {"attention": "Attention", "gelu": "Gelu", "bias_gelu": "Add + Gelu"}
"""Titles of kernels by the pattern that they match, however it is written."""
_NUMBER = re.compile(r"\d+")
"""Numbers in names: names that differ only in them merge into one, with stars for the numbers."""


def title(kernel: Kernel) -> str:
    """Return the title of a kernel: operators with window or right operand, ``Conv 3x3 + Relu``.

    Operators folded into weights and symbolic extents are omitted.
    """
    if kernel.pattern in TITLES:
        return TITLES[kernel.pattern]
    folded = {n.loc.op_type or n.op.mnemonic for n in kernel.folded}
    label = kernel.label
    for name in folded:
        label = label.replace(f" + {name}", "")
    anchor = kernel.anchor.loc.op_type or kernel.anchor.op.mnemonic
    label = label.replace(anchor, f"{anchor} {extents(kernel.problem)}".strip(), 1)
    return label.replace("Normalization", "Norm")


def extents(problem: Problem | None) -> str:
    """Return the characteristic extents of a problem; empty if they are symbolic."""
    match problem:
        case SlidingWindow():
            words = "x".join(map(str, problem.static_extents))
            return f"{words} depthwise" if words and problem.is_depthwise else words
        case Product(k=int(k), n=int(n)):
            return f"{k}x{n}"
        case _:
            return ""


def runtime_title(runtime: Runtime) -> str:
    """Return the product name of a runtime, or its ``--runtime`` name if it is no product."""
    product = runtime.title.partition(",")[0]
    # a title in lower case describes kernels, unless the product follows in parentheses
    return product if product[:1].isupper() or "(" in product else runtime.name.partition(":")[0]


def machine_title(machine: Machine) -> str:
    """Return the product name of a machine, without its architecture."""
    product = re.split(r" \(|[,:] ", machine.description, maxsplit=1)[0] or machine.name
    # a description may begin with an article
    title = f"a{product[1:]}" if product.startswith("A ") else product
    return f"{title} (this machine, calibrated)" if machine.name == HOST else title


def runs_elsewhere(runtime: Runtime, machine: Machine) -> str:
    """Return a message if a runtime does not support a machine; otherwise empty."""
    if runtime.runs_on(machine.kind, machine.vendor):
        return ""
    name = runtime.name.partition(":")[0]
    return f"{name} does not run on {machine_title(machine)}: what-if only"


def emulated(machine: Machine, dtypes: Iterable[str]) -> str:
    """Return a message if a machine has no unit for one of the types; otherwise empty.

    Args:
        machine: the target machine.
        dtypes: codes of element types, or options that end in one, as ``amp-bf16``.
    """
    codes = dict.fromkeys(dtype.rpartition("-")[2] for dtype in dtypes)
    lacking = [code for code in codes if machine.emulates(code)]
    title = machine_title(machine)
    return f"{title} has no {' or '.join(lacking)} units: emulated in f32" if lacking else ""


def place(anchors: Sequence[str], op_type: str = "") -> str:
    """Return the common place of equal kernels in the model, ``layer3/*/conv2``, from node names.

    A last part that only names the operator is omitted.
    """
    if not anchors:
        return ""
    split = [name.strip("/").split("/") for name in anchors]
    if len({len(parts) for parts in split}) == 1:
        parts = [merged(column) for column in zip(*split, strict=True)]
    else:
        parts = [merged(anchors)]
    if len(parts) > 1 and parts[-1].rstrip("_*0123456789") == op_type:
        parts.pop()
    return "/".join(parts)


def merged(texts: Sequence[str]) -> str:
    """Merge texts into a pattern with stars where they differ; numbers stay whole."""
    if len(set(texts)) == 1:
        return texts[0]
    shapes = {_NUMBER.sub("*", t) for t in texts}
    if len(shapes) == 1:
        columns = zip(*(_NUMBER.findall(t) for t in texts), strict=True)
        numbers = iter([c[0] if len(set(c)) == 1 else "*" for c in columns])
        return _NUMBER.sub(lambda _: next(numbers), texts[0])
    # the common start of all texts, a star, and their common end
    head = texts[0][: shared(texts)]
    tails = [t[len(head) :][::-1] for t in texts]
    return f"{head}*{tails[0][: shared(tails)][::-1]}"


def shared(texts: Sequence[str]) -> int:
    """Return the length of the common prefix of all texts."""
    # any two texts differ no earlier than the first and the last in alphabetical order
    first, last = min(texts), max(texts)
    return next((i for i, c in enumerate(first) if last[i : i + 1] != c), len(first))


def gathered(names: Sequence[str]) -> str:
    """Join node names with their common folder once: ``/layer1/{conv/Conv, act/Relu}``."""
    if len(names) < 2:
        return "".join(names)
    prefix = names[0][: names[0].rfind("/", 0, shared(names)) + 1]
    if len(prefix) < 2:  # a slash alone is no folder
        return ", ".join(names)
    return f"{prefix}{{{', '.join(n[len(prefix) :] for n in names)}}}"
