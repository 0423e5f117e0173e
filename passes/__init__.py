"""Passes: analyses and rewrites of the IR. Each pass lives in the file of the same name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

from perfc.ir import Module, Node, frozen

if TYPE_CHECKING:
    from .manager import Analyses

R = TypeVar("R", covariant=True)

Facts: TypeAlias = "Mapping[Node, Mapping[str, object]]"
"""Named facts of each node from an analysis; printed as ``! cost {mac=…}``."""


@runtime_checkable
class HasFacts(Protocol):
    """A result that can be printed below the nodes it describes."""

    def facts(self) -> Facts:
        """Return named numbers by node."""
        ...


@frozen
class Analysis(ABC, Generic[R]):
    """A pure function of a module.

    Subclasses are `frozen`: their fields are the options of the pass and, with the
    module, the key under which the result is remembered. The module verifies before it runs.
    """

    requires: ClassVar[tuple[type[Analysis[object]], ...]] = ()
    """Analyses that ``run`` may request; requesting any other one raises an error."""
    # No annotation: `frozen` makes a field, and so an option of the pass, of each attribute whose
    # annotation is not ClassVar. Subclasses set this attribute without one as well.
    reads_files = False
    """True if the result also depends on files, so that a later call may give another result."""

    @abstractmethod
    def run(self, module: Module, am: Analyses) -> R:
        """Return the result; ``am.get`` returns the results of ``requires``."""


@frozen
class Transform(ABC):
    """A rewrite of a module; it returns the same object if nothing changed.

    The module verifies before and after it runs, not during.
    """

    preserves: ClassVar[tuple[type[Analysis[object]], ...]] = ()
    """Analyses that remain valid for the result; only if every node keeps its identity."""
    # no annotation, for the reason given at `Analysis.reads_files`
    is_retained = True
    """False if ``run`` has an effect besides its result, which a cached result would skip."""

    @abstractmethod
    def run(self, module: Module, am: Analyses) -> Module:
        """Return the transformed module."""


Pass: TypeAlias = "Analysis[object] | Transform"


def pass_name(pass_: type[Pass] | Pass) -> str:
    """Return the name of a pass in pipelines: its file name in kebab case.

    >>> pass_name(type("Roofline", (Transform,), {"__module__": "perfc.passes.roofline.roofline"}))
    'roofline'
    """
    cls = pass_ if isinstance(pass_, type) else type(pass_)
    return cls.__module__.rpartition(".")[2].replace("_", "-")
