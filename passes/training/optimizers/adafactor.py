"""Adafactor: second moments of matrices from the means of their rows and columns."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.ir import Value, frozen
from perfc.ir.gradients.tape import Tape, shape_of

from ..implementation import OptimizerLaunch
from ..optimizer import ListKernel, ListOptimizer, apply, state_like

FACTORED = (
    ListKernel("row means", "gr", "r", alu=2),
    ListKernel("column means", "gc", "c", alu=2),
    ListKernel("update", "grc", "t", alu=3, sfu=1),
    ListKernel("_foreach_add_", "pt", "p", alu=4),
)
"""Kernels of matrices; the norm of an update is left out.

The numbers of operations set no time, as memory bounds every kernel.
Letters: ``p`` parameters, ``g`` gradients, ``r`` and ``c`` means of rows and columns, ``t`` update.
"""
WHOLE = (
    ListKernel("_foreach_lerp_", "vg", "v", alu=4),
    ListKernel("_foreach_addcdiv_", "pgv", "p", alu=3, sfu=2),
)
"""Kernels of vectors, with a variance ``v`` for each element."""


@frozen
class Factored(ListOptimizer):
    """Adafactor: matrices have means of rows and columns, vectors one variance per element."""

    @property
    def state_bytes(self) -> float:
        """Return 0 bytes per element: means of rows and columns are few."""
        return 0.0

    def update(
        self, tape: Tape, trained: Sequence[tuple[Value, Value]], how: OptimizerLaunch
    ) -> tuple[list[Value], list[Value]]:
        """Return the updated values; see `ListOptimizer.update`."""
        del how
        updated: list[Value] = []
        stored: list[Value] = []
        matrices = [pair for pair in trained if len(shape_of(pair[0])) > 1]
        vectors = [pair for pair in trained if len(shape_of(pair[0])) <= 1]
        # the two kinds differ in states and in kernels
        for pairs, steps in ((matrices, FACTORED), (vectors, WHOLE)):
            if not pairs:
                continue
            lists = {"p": [p for p, _ in pairs], "g": [g for _, g in pairs]}
            states = means(tape, lists["p"]) if steps is FACTORED else whole(tape, lists["p"])
            stored += [v for vs in states.values() for v in vs]
            lists |= states
            for step in steps:
                apply(tape, step, lists)
            updated += [v for letter in ("p", *states) for v in lists[letter]]
        return updated, stored


def means(tape: Tape, parameters: Sequence[Value]) -> dict[str, list[Value]]:
    """Return the states of matrices: one mean per row and one per column."""
    rows, columns = [], []
    for p in parameters:
        shape = shape_of(p)
        rows.append(state_like(tape, p, "row_var", shape=(*shape[:-1], 1)))
        columns.append(state_like(tape, p, "col_var", shape=(*shape[:-2], 1, shape[-1])))
    return {"r": rows, "c": columns}


def whole(tape: Tape, parameters: Sequence[Value]) -> dict[str, list[Value]]:
    """Return the states of vectors: one variance per element."""
    return {"v": [state_like(tape, p, "variance") for p in parameters]}


OPTIMIZER = Factored(
    name="adafactor",
    title="Adafactor",
    source="PyTorch, torch/optim/_adafactor.py; arXiv:1804.04235",
)
