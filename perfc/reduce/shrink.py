"""The smallest sub-model that shows something: one node, or an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfc.api import analyze, typed
from perfc.errors import ModelError, PerfcError
from perfc.ir.record import record
from perfc.locate import find_node

from .cut import Cutter, values_by_name

if TYPE_CHECKING:
    import onnx

MAX_TRIES = 64


@record
class Reduced:
    """A sub-model, how many nodes of how many it has, and the error it shows, if any."""

    model: onnx.ModelProto
    kept: int
    total: int
    error: PerfcError | None = None


def reduce_to_node(model: onnx.ModelProto, wanted: str) -> Reduced:
    """The node ``wanted`` by itself, its inputs typed with what was inferred.

    What it reads becomes an input. Small constants stay, contents that drive shapes become
    constants, and where they hold symbols the nodes that compute them are kept.

    Raises:
        PerfcError: the model cannot be analysed, or has no such node.
    """
    module = typed(model)
    cutter = Cutter(model, values_by_name(module.graph))
    node = cutter.owner(find_node(module.graph, wanted)[1])
    chosen = cutter.closed([node])
    return Reduced(cutter.submodel(chosen), len(chosen), len(cutter.nodes))


def reduce_error(
    model: onnx.ModelProto, probe: Callable[[onnx.ModelProto], None] | None = None
) -> Reduced:
    """The smallest sub-model found that raises the error that ``model`` does.

    The shortest beginning that fails is found by bisection; of it the last node and as few of its
    ancestors as needed are kept.

    Args:
        model: one whose analysis fails.
        probe: raises the error; analysis with all defaults where not given.

    Raises:
        ModelError: the analysis raises nothing, or the error is not about nodes.
    """
    search = Search(probe or _analyse)
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
    beginning = cutter.nodes[:length]
    cutter.values = search.values(cutter, beginning[:-1])
    chosen = search.fewest(cutter, beginning)
    found = cutter.submodel(chosen)
    return Reduced(found, len(chosen), total, search.error_of(found))


def _analyse(model: onnx.ModelProto) -> None:
    analyze(model)


def _key(error: PerfcError) -> tuple[type, str]:
    return type(error), error.message.partition(";")[0]


@dataclass(slots=True)
class Search:
    """Tries sub-models against the error that is looked for."""

    probe: Callable[[onnx.ModelProto], None]
    wanted: tuple[type, str] | None = None
    tries: int = 0

    def error_of(self, model: onnx.ModelProto) -> PerfcError | None:
        """What analysing ``model`` raises."""
        try:
            self.probe(model)
        except PerfcError as error:
            return error
        return None

    def shows(self, cutter: Cutter, chosen: Sequence[Any]) -> bool:
        """Whether these nodes by themselves raise the error."""
        self.tries += 1
        try:
            error = self.error_of(cutter.submodel(chosen))
        except ModelError:
            return False
        return error is not None and _key(error) == self.wanted

    def shortest(self, cutter: Cutter) -> int | None:
        """Length of the shortest beginning that fails, None where not even the whole does."""
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
        """Inferred types of what comes before the failing node."""
        if not sound:
            return {}
        try:
            return dict(values_by_name(typed(cutter.submodel(sound)).graph))
        except PerfcError:
            return {}

    def fewest(self, cutter: Cutter, beginning: Sequence[Any]) -> list[Any]:
        """The last of these nodes with as few of its ancestors as still fail."""
        order = {id(n): i for i, n in enumerate(cutter.nodes)}
        depth = 0
        chosen = list(beginning)
        while depth <= len(beginning):
            candidate = cutter.closed(cutter.ancestors(beginning[-1], depth))
            if self.shows(cutter, candidate):
                chosen = candidate
                break
            depth = depth * 2 or 1
        if len(chosen) <= MAX_TRIES:
            for node in list(reversed(chosen))[1:]:
                smaller = [n for n in chosen if n is not node]
                if self.tries < 4 * MAX_TRIES and self.shows(cutter, smaller):
                    chosen = smaller
        return sorted(chosen, key=lambda n: order[id(n)])
