"""Decide which form of a graph a row of timm's benchmark was measured on: as trained, or deployed.

Models with linear branches are exported as they are trained. The newer tables of the benchmark ran
some of them with ``--reparam``, which folds the branches into one convolution. Tables have the
number of parameters of the model that ran, which differs between the forms of a graph.
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
"""Maximum rounding error of the published number of parameters: half of its last digit, 0.01
million."""
NEARER = 0.5
"""Maximum error of a folded form, as a share of the error of the graph as trained, for the folded
form to be chosen; errors are differences from the published number of parameters."""
LEARNED_OF_NORM = 3
"""Number of first operands of a normalisation that count: input, scale and shift. The statistics
after them are no parameters, as no optimizer changes them."""


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
    """Return a model file typed and in canonical form, the form in which parameters are counted."""
    from perfc.frontend import load
    from perfc.passes.inference.shapes import Shapes
    from perfc.passes.rewriting.canonicalize import Canonicalize

    return am.apply(Canonicalize(), am.apply(Shapes(), load(path)))


def variants(module: Module, am: Analyses) -> list[Module]:
    """Return all forms of a typed, canonical module: as trained, then its folded forms.

    In the first folded form branches are folded, in the second also the normalisations after
    convolutions. A module without such branches has one form, since nobody deploys it in another.
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
    """Return the number of elements of learned tensors, counted at each node that reads one.

    Exporters that leave the content of weights out store weights of one shape as one tensor, which
    stands for a different weight at each node.
    """
    count = 0
    for node in module.graph:
        is_norm = isinstance(node.op, BatchNormalization)
        operands = node.inputs[:LEARNED_OF_NORM] if is_norm else node.inputs
        count += sum(map(_learned, operands))
    return count


def _learned(v: Value | None) -> int:
    """Return the number of elements of a parameter; 0 for any other value."""
    if v is None or v.weight is None or not v.weight.is_parameter:
        return 0
    numel = v.type.numel if isinstance(v.type, TensorType) else None
    return numel if isinstance(numel, int) else 0


def forms(counts: Sequence[int], published: Sequence[float | None]) -> list[int]:
    """Return the form of the graph that each row ran, by its published parameters.

    ``counts`` are the parameters of the forms. If published numbers differ, the rows with the
    largest ran the graph as trained, form 0. Any other row ran the form with the nearest number, if
    that is much nearer than form 0: other heads of a model, and tensors that several nodes share,
    shift the numbers of all forms equally. Of equally near forms the last one counts.

    >>> forms([28_226_000, 25_500_000], [28.21e6, 25.5e6, None])
    [0, 1, 0]
    """
    numbers = {s for s in published if s is not None}
    # folding only removes parameters: of several numbers the largest is that of the graph as
    # trained
    as_trained = max(numbers) if len(numbers) > 1 else None
    return [0 if s is None or s == as_trained else _nearest(counts, s) for s in published]


def _nearest(counts: Sequence[int], published: float) -> int:
    """Return the form with the nearest number of parameters; 0 if none is much nearer than 0."""
    errors = [max(abs(count - published) - ROUNDING, 0.0) for count in counts]
    best = min(range(len(counts)), key=lambda i: (errors[i], -i))
    return best if errors[best] <= NEARER * errors[0] and errors[0] > 0 else 0
