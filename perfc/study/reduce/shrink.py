"""Search for the smallest sub-model with one node, or with an error.

``perfc dev reduce`` calls `reduce_to_node` or `reduce_error`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfc.api import typed
from perfc.errors import ModelError, PerfcError
from perfc.ir import record
from perfc.ir.graphs.locate import find_node

from .cut import Cutter, values_by_name

if TYPE_CHECKING:
    import onnx

MAX_TRIES = 64
"""Maximum nodes of a sub-model from which nodes are removed one by one. The whole search probes at
most about four times as many sub-models, as each one is analyzed."""


@record
class Reduced:
    """A sub-model, the numbers of its nodes and of the model's, and the error it raises, if any."""

    model: onnx.ModelProto
    nodes: int
    total: int
    error: PerfcError | None = None


def reduce_to_node(model: onnx.ModelProto, wanted: str) -> Reduced:
    """Reduce a model to the node ``wanted``, with inferred types for its inputs.

    Operands become inputs. Small constants stay, contents that determine shapes become constants,
    and if they are symbolic, the nodes that compute them stay too.

    Raises:
        PerfcError: if the model cannot be analyzed or has no such node.
    """
    module = typed(model)
    cutter = Cutter(model, values_by_name(module.graph))
    node = cutter.owner(find_node(module.graph, wanted)[1])
    chosen = cutter.closed([node])
    return Reduced(cutter.submodel(chosen), len(chosen), len(cutter.nodes))


def reduce_error(model: onnx.ModelProto, probe: Callable[[onnx.ModelProto], None]) -> Reduced:
    """Reduce a model to the smallest sub-model that raises the same error.

    Bisection locates the shortest prefix that fails; its last node and as few ancestors as needed
    remain.

    Args:
        model: model whose analysis fails.
        probe: function that raises the error.

    Raises:
        ModelError: if the analysis does not fail, or the error is not in a node.
    """
    search = Search(probe)
    error = search.error_of(model)
    if error is None:
        raise ModelError("the analysis raises no error", hint="--node NAME cuts out one node")
    search.wanted = _key(error)
    cutter = Cutter(model)
    total = len(cutter.nodes)
    length = search.shortest(cutter)
    if length is None:
        raise ModelError(
            f"every prefix of the graph is valid by itself: {error.message}",
            hint="the error is not in a node",
        )
    prefix = cutter.nodes[:length]
    cutter.values = search.values(cutter, prefix[:-1])
    chosen = search.fewest(cutter, prefix)
    smallest = cutter.submodel(chosen)
    return Reduced(smallest, len(chosen), total, search.error_of(smallest))


def _key(error: PerfcError) -> tuple[type, str]:
    """Return what makes two errors the same: type and message up to details after a semicolon."""
    return type(error), error.message.partition(";")[0]


@dataclass(slots=True)
class Search:
    """Search over sub-models for the ones that raise an error.

    Args:
        probe: function that raises the error for a model that has it.
        wanted: key of the error, by `_key`; set from the error of the whole model.
        tries: number of sub-models that were probed so far.
    """

    probe: Callable[[onnx.ModelProto], None]
    wanted: tuple[type, str] | None = None
    tries: int = 0

    def error_of(self, model: onnx.ModelProto) -> PerfcError | None:
        """Return the error that analyzing ``model`` raises; None without one."""
        try:
            self.probe(model)
        except PerfcError as error:
            return error
        return None

    def shows(self, cutter: Cutter, chosen: Sequence[Any]) -> bool:
        """Return True if these nodes alone raise the error."""
        self.tries += 1
        try:
            error = self.error_of(cutter.submodel(chosen))
        except ModelError:
            return False
        return error is not None and _key(error) == self.wanted

    def shortest(self, cutter: Cutter) -> int | None:
        """Return the length of the shortest failing prefix; None if the whole does not fail."""
        # the prefix of `low` nodes is valid, that of `high` fails
        low, high = 0, len(cutter.nodes)
        if not self.shows(cutter, cutter.nodes):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (
                (low, middle) if self.shows(cutter, cutter.nodes[:middle]) else (middle, high)
            )
        return high

    @staticmethod
    def values(cutter: Cutter, sound: Sequence[Any]) -> dict[str, Any]:
        """Return inferred values of ``sound`` nodes, those before the failing one, by name."""
        if not sound:
            return {}
        try:
            return dict(values_by_name(typed(cutter.submodel(sound)).graph))
        except PerfcError:
            return {}

    def fewest(self, cutter: Cutter, beginning: Sequence[Any]) -> list[Any]:
        """Return the last node of a failing prefix with as few ancestors as still fail.

        The whole prefix is returned if no set of ancestors fails by itself.
        """
        order = {id(n): i for i, n in enumerate(cutter.nodes)}
        depth = 0
        chosen = list(beginning)
        while depth <= len(beginning):
            candidate = cutter.closed(cutter.ancestors(beginning[-1], depth))
            if self.shows(cutter, candidate):
                chosen = candidate
                break
            depth = depth * 2 or 1  # 0, 1, 2, 4 …
        # the last node has the error: only its ancestors are removed, one by one
        if len(chosen) <= MAX_TRIES:
            for node in list(reversed(chosen))[1:]:
                smaller = [n for n in chosen if n is not node]
                if self.tries < 4 * MAX_TRIES and self.shows(cutter, smaller):
                    chosen = smaller
        return sorted(chosen, key=lambda n: order[id(n)])
