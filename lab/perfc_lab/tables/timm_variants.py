"""Which form of a graph a row of timm's benchmark was measured on: as trained, or deployed.

Models with linear branches are exported as they are trained, and the benchmark's newer tables ran
some of them with ``--reparam``, which folds those branches. A table says how many parameters the
model had that was run, and no two forms of one graph have the same number.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.ir.ops.normalization.normalization import BatchNormalization
from perfc.ir.tensors.types import TensorType

if TYPE_CHECKING:
    from perfc.ir.graph import Module, Value
    from perfc.passes.manager import Analyses

ROUNDING = 5e3
"""Rounding error of the table's number of parameters: half of its last digit, in millions."""
NEARER = 0.5
"""Part of the distance of the graph as it is that a folded form is off at most."""
LEARNED_OF_NORM = 3
"""Operands of a normalisation before its statistics, which no optimiser changes."""


def read_variants(path: Path) -> tuple[list[Module], Analyses]:
    """Return every form of a model file, and the analyses that made them.

    Raises:
        PerfcError: the file cannot be read, or contradicts itself.
    """
    from perfc.frontend.collector import paused_collector
    from perfc.passes.manager import Analyses

    with paused_collector():
        am = Analyses()
        return variants(_canonical(path, am), am), am


def _canonical(path: Path, am: Analyses) -> Module:
    """Return a model file typed and in canonical form, which variants are counted in."""
    from perfc.frontend import load
    from perfc.passes.inference.shapes import Shapes
    from perfc.passes.rewriting.canonicalize import Canonicalize

    return am.apply(Canonicalize(), am.apply(Shapes(), load(path)))


def variants(module: Module, am: Analyses) -> list[Module]:
    """Return a typed, canonical module, and what is left of it where its branches fold.

    Branches alone, and the normalisations behind convolutions too; nothing but the module itself
    where no branches fold, since nobody deploys such a model in another form.
    """
    from perfc.passes.rewriting.canonicalize import Canonicalize
    from perfc.passes.rewriting.reparameterize import Reparameterize

    modules = [module]
    for norms in (False, True):
        folded = am.apply(Reparameterize(norms), module)
        if folded is module:
            return modules
        modules.append(am.apply(Canonicalize(), folded))
    return modules


def parameters(module: Module) -> int:
    """Return the elements of learned tensors, counted wherever they are read.

    Exporters that leave the content of weights out store equal shapes once.
    """
    count = 0
    for node in module.graph:
        is_norm = isinstance(node.op, BatchNormalization)
        operands = node.inputs[:LEARNED_OF_NORM] if is_norm else node.inputs
        count += sum(map(_learned, operands))
    return count


def _learned(v: Value | None) -> int:
    """Return the elements of a parameter; 0 of anything else."""
    if v is None or v.weight is None or not v.weight.is_parameter:
        return 0
    numel = v.type.numel if isinstance(v.type, TensorType) else None
    return numel if isinstance(numel, int) else 0


def forms(counts: Sequence[int], published: Sequence[float | None]) -> list[int]:
    """Return the form of the graph that each row ran, by its published parameters.

    The graph as it is, unless the row states fewer parameters than another row of the graph, or
    all state the same, and a folded form comes much nearer to them: heads that differ, and tensors
    that several nodes share, shift all forms equally. Of equally near ones the last.

    >>> forms([28_226_000, 25_500_000], [28.21e6, 25.5e6, None])
    [0, 1, 0]
    """
    numbers = {s for s in published if s is not None}
    # folding only removes parameters: of several numbers the largest is that of the whole graph
    as_trained = max(numbers) if len(numbers) > 1 else None
    return [0 if s is None or s == as_trained else _nearest(counts, s) for s in published]


def _nearest(counts: Sequence[int], published: float) -> int:
    """Return the form of nearest parameters; 0, the graph as it is, if none is much nearer."""
    errors = [max(abs(count - published) - ROUNDING, 0.0) for count in counts]
    best = min(range(len(counts)), key=lambda i: (errors[i], -i))
    return best if errors[best] <= NEARER * errors[0] and errors[0] > 0 else 0
