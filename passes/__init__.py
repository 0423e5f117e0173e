"""Passes: what can be proved from the graph alone; a pass is the file of its name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

from perfc.ir import Module, Node
from perfc.ir.record import frozen

if TYPE_CHECKING:
    from .manager import Analyses

R = TypeVar("R", covariant=True)

Facts: TypeAlias = "Mapping[Node, Mapping[str, object]]"
"""What an analysis says of each node, by name; printed as ``! cost {mac=…}``."""


@runtime_checkable
class HasFacts(Protocol):
    """A result that can be printed beneath the nodes it speaks of."""

    def facts(self) -> Facts:
        """Node to named numbers."""
        ...


@frozen
class Analysis(ABC, Generic[R]):
    """A pure function of a module.

    Subclasses are `frozen`: their fields are the options of the pass and, with the
    module, the key under which the result is remembered. The module verifies before it runs.
    """

    requires: ClassVar[tuple[type[Analysis[object]], ...]] = ()
    """Analyses it may ask for; asking for another is an error, so the declaration is true."""

    @abstractmethod
    def run(self, module: Module, am: Analyses) -> R:
        """The result; ``am.get`` gives the results of ``requires``."""


@frozen
class Transform(ABC):
    """Module to module; the same object back means that nothing changed.

    The module verifies before and after it runs, not during.
    """

    preserves: ClassVar[tuple[type[Analysis[object]], ...]] = ()
    """Analyses still true of the result; only for a transform that keeps every node's identity."""

    @abstractmethod
    def run(self, module: Module, am: Analyses) -> Module:
        """The transformed module."""


Pass: TypeAlias = "Analysis[object] | Transform"


def pass_name(pass_: type[Pass] | Pass) -> str:
    """Name in pipelines: that of the defining file, in kebab case.

    >>> pass_name(type("Roofline", (Transform,), {"__module__": "perfc.passes.roofline"}))
    'roofline'
    """
    cls = pass_ if isinstance(pass_, type) else type(pass_)
    return cls.__module__.rpartition(".")[2].replace("_", "-")
