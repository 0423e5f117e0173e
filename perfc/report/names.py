"""What kernels are called, so that a person recognises them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from perfc.ir.problem import Problem, Product, Window
from perfc.machine import HOST

if TYPE_CHECKING:
    from perfc.machine import Machine
    from perfc.passes.fuse import Kernel
    from perfc.passes.runtimes import Runtime

_NUMBER = re.compile(r"\d+")


def title(kernel: Kernel) -> str:
    """``Conv 3x3 + Relu``, ``MatMul 768x3072``: operators, with the window or the right operand.

    What is folded into weights is left out, and extents that depend on a symbol.
    """
    if kernel.pattern == "attention":
        return "Attention"
    folded = {n.loc.op_type or n.op.mnemonic for n in kernel.folded}
    label = kernel.label
    for name in folded:
        label = label.replace(f" + {name}", "")
    anchor = kernel.anchor.loc.op_type or kernel.anchor.op.mnemonic
    label = label.replace(anchor, f"{anchor} {extents(kernel.problem)}".strip(), 1)
    return label.replace("Normalization", "Norm")


def extents(problem: Problem | None) -> str:
    """What tells problems of an operator apart, as numbers; empty where a symbol decides."""
    match problem:
        case Window():
            words = "x".join(map(str, problem.static_extents))
            return f"{words} depthwise" if words and problem.is_depthwise else words
        case Product(k=int(k), n=int(n)):
            return f"{k}x{n}"
        case _:
            return ""


def runtime_title(runtime: Runtime) -> str:
    """A runtime's product where it is one, else the name that ``--runtime`` takes."""
    product = runtime.title.partition(",")[0]
    return product if product[:1].isupper() or "(" in product else runtime.name.partition(":")[0]


def machine_title(machine: Machine) -> str:
    """The product name of a machine, without its architecture."""
    product = re.split(r" \(|[,:] ", machine.description, maxsplit=1)[0] or machine.name
    title = f"a{product[1:]}" if product.startswith("A ") else product
    return f"{title} (this machine, as probed)" if machine.name == HOST else title


def runs_elsewhere(runtime: Runtime, machine: Machine) -> str:
    """That a runtime does not run on such a machine, in words; empty where it does."""
    if runtime.runs_on(machine.kind, machine.vendor):
        return ""
    name = runtime.name.partition(":")[0]
    return f"{name} does not run on {machine_title(machine)}: what-if only"


def emulated(machine: Machine, dtypes: Iterable[str]) -> str:
    """That a machine has no unit for a type that products are in, in words; empty where it has.

    Args:
        machine: where it runs.
        dtypes: codes of element types, or options that end in one, as ``amp-bf16``.
    """
    codes = dict.fromkeys(dtype.rpartition("-")[2] for dtype in dtypes)
    lacking = [code for code in codes if machine.emulates(code)]
    title = machine_title(machine)
    return f"{title} has no {' or '.join(lacking)} units: emulated in f32" if lacking else ""


def place(anchors: Sequence[str], op_type: str = "") -> str:
    """Where equal kernels are in the model: ``layer3.*/conv2``, from the names of their nodes.

    Folders that the next one repeats, and a last part that only says the operator, are left out.
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
    kept = [p for p, after in zip(parts, [*parts[1:], ""], strict=True) if not repeats(p, after)]
    return "/".join(kept)


def repeats(part: str, after: str) -> bool:
    """Whether a folder is only the beginning of the next, ``layer3`` of ``layer3.0``."""
    return after.startswith(f"{part}.")


def merged(texts: Sequence[str]) -> str:
    """What texts have in common, a star for the rest; numbers stay whole."""
    if len(set(texts)) == 1:
        return texts[0]
    shapes = {_NUMBER.sub("*", t) for t in texts}
    if len(shapes) == 1:
        columns = zip(*(_NUMBER.findall(t) for t in texts), strict=True)
        numbers = iter([c[0] if len(set(c)) == 1 else "*" for c in columns])
        return _NUMBER.sub(lambda _: next(numbers), texts[0])
    head = texts[0][: shared(texts)]
    tails = [t[len(head) :][::-1] for t in texts]
    return f"{head}*{tails[0][: shared(tails)][::-1]}"


def shared(texts: Sequence[str]) -> int:
    """How many characters all texts begin with."""
    first, last = min(texts), max(texts)
    return next((i for i, c in enumerate(first) if last[i : i + 1] != c), len(first))


def gathered(names: Sequence[str]) -> str:
    """Node names with their common folder written once: ``/layer1/{conv/Conv, act/Relu}``."""
    if len(names) < 2:
        return "".join(names)
    prefix = names[0][: names[0].rfind("/", 0, shared(names)) + 1]
    if len(prefix) < 2:
        return ", ".join(names)
    return f"{prefix}{{{', '.join(n[len(prefix) :] for n in names)}}}"
