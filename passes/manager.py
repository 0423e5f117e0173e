"""Pass manager: runs passes, caches results of analyses and notifies instruments."""

from __future__ import annotations

import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable
from dataclasses import field
from pathlib import Path
from typing import Any, Protocol, TextIO, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

from perfc.errors import PassError, PerfcError
from perfc.ir import Module, mutable, record

from . import Analysis, Facts, HasFacts, Pass, Transform, pass_name

R = TypeVar("R")


@record
class PassStep:
    """One pass that ran (or one cached result), as instruments see it.

    ``depth`` is 0 for passes of the pipeline, 1 for analyses that these request, and so on.
    """

    pass_: Pass
    module: Module
    result: object
    time_s: float
    is_cached: bool
    depth: int

    @property
    def name(self) -> str:
        """Return the name of the pass."""
        return pass_name(self.pass_)

    @property
    def facts(self) -> dict[str, Facts]:
        """Return the printable facts of the result; empty if it has none."""
        return {self.name: self.result.facts()} if isinstance(self.result, HasFacts) else {}


class Instrument(Protocol):
    """Watches passes from outside."""

    def after(self, step: PassStep) -> None:
        """Observe a pass that has run."""
        ...


MOST_MODULES, MOST_NODES = 8, 20_000
"""Maximum modules whose results outlive their reports, and maximum nodes of such a module.

Both limit the memory of a process; results of the modules that were read last are retained.
"""
MOST_RESULTS = 96
"""Maximum cached results of a module, which limits memory; the oldest is dropped first."""
Shared: TypeAlias = dict[tuple[Module, Hashable], Any]
"""Results by module and by what computed them: a pass, or the key of `Analyses.once`."""
ABSENT = object()
"""Stands for no cached result, as None may be one."""
LAST_READ: OrderedDict[Module, Shared] = OrderedDict()
"""Results of the modules read last, and of those derived from them."""


@mutable
class Analyses:
    """Results by module and pass. Modules are immutable, so an entry is never stale.

    Args:
        instruments: callbacks that observe the passes.
        shared: results shared with other analyses of the module; None to share none.
    """

    instruments: tuple[Instrument, ...] = ()
    shared: Shared | None = None
    _memo: WeakKeyDictionary[Module, dict[Analysis[object], object]] = field(
        default_factory=WeakKeyDictionary
    )
    _running: list[Pass] = field(default_factory=list)
    _done: list[str] = field(default_factory=list)

    @classmethod
    def sharing(cls, read: Module, instruments: tuple[Instrument, ...] = ()) -> Analyses:
        """Return analyses that share the results of earlier analyses of one module.

        ``read`` is the module as it was read from a file. With instruments no earlier result is
        reused, so that they observe every pass; a large module shares no results at all.
        """
        if len(read.graph.nodes) > MOST_NODES:
            return cls(instruments)
        shared = LAST_READ.pop(read, None)
        shared = LAST_READ[read] = {} if shared is None or instruments else shared
        while len(LAST_READ) > MOST_MODULES:
            # results include reports, which refer to the results: clearing ends that cycle
            LAST_READ.popitem(last=False)[1].clear()
        return cls(instruments, shared)

    def once(
        self, subject: Module, key: Hashable, result: Callable[[], R], holds: Callable[[R], bool]
    ) -> R:
        """Return what ``result`` computes of a module; an earlier result while it ``holds``.

        Unlike the result of a pass, it is never None, so that None stands for an absent one.
        """
        cached = None if self.shared is None else self.shared.get((subject, key))
        if cached is None or not holds(cached):
            cached = result()
            self._share(subject, key, cached)
        return cast(R, cached)

    def _share(self, subject: Module, key: Hashable, result: object) -> None:
        """Cache a result for later analyses of the module; the oldest makes room for it."""
        if self.shared is not None:
            if len(self.shared) >= MOST_RESULTS:
                del self.shared[next(iter(self.shared))]
            self.shared[subject, key] = result

    def get(self, analysis: Analysis[R], module: Module) -> R:
        """Return the result of ``analysis`` on ``module``, computed at most once.

        Raises:
            TypeError: the requesting analysis does not declare this one in ``requires``.
            PassError: the analysis failed in a way that is not the model's fault.
        """
        requester = self._running[-1] if self._running else None
        if isinstance(requester, Analysis) and type(analysis) not in requester.requires:
            raise TypeError(f"{type(requester).__name__} uses {type(analysis).__name__} undeclared")
        start = time.perf_counter()
        memo, shared = self._memo.setdefault(module, {}), self.shared or {}
        cached = memo.get(analysis, shared.get((module, analysis), ABSENT))
        is_cached = cached is not ABSENT
        if is_cached:
            result = cast(R, cached)
        else:
            result = self._guarded(analysis, lambda: analysis.run(module, self))
            # files may change between analyses of a module, so such a result is not shared
            if analysis.reads_files or self.shared is None:
                memo[analysis] = result
            else:
                self._share(module, analysis, result)
        self._notify(analysis, module, result, time.perf_counter() - start, is_cached)
        return result

    def stands_for(self, analysis: Analysis[R], module: Module, run: Callable[[], R]) -> R:
        """Return the result of ``run``, which instruments observe as that of ``analysis``.

        For a caller that computes the same by other options than the analysis has.
        """
        start = time.perf_counter()
        result = self._guarded(analysis, run)
        self._notify(analysis, module, result, time.perf_counter() - start, cached=False)
        return result

    def apply(self, transform: Transform, module: Module) -> Module:
        """Return ``module`` rewritten by ``transform``; the same object if nothing changed.

        Raises:
            PassError: the transform failed in a way that is not the model's fault.
        """
        start = time.perf_counter()
        out = (self.shared or {}).get((module, transform)) if transform.is_retained else None
        is_cached = out is not None
        if out is None:
            out = self._guarded(transform, lambda: transform.run(module, self))
            if transform.is_retained:
                self._share(module, transform, out)
        if out is not module and transform.preserves:
            # results that the rewrite preserves also hold for the new module
            cached_results = self._memo.get(module, {}).items()
            still_true = {a: r for a, r in cached_results if isinstance(a, transform.preserves)}
            self._memo.setdefault(out, {}).update(still_true)
        self._notify(transform, out, None, time.perf_counter() - start, is_cached)
        return out

    def run(self, passes: Collection[Pass], module: Module) -> Module:
        """Apply transforms and compute analyses in order; return the last module."""
        for p in passes:
            if isinstance(p, Transform):
                module = self.apply(p, module)
            else:
                self.get(p, module)
        return module

    def _guarded(self, pass_: Pass, run: Callable[[], R]) -> R:
        """Return the result of a pass; an unforeseen error names it and the passes before it."""
        self._running.append(pass_)
        try:
            return run()
        except PerfcError:
            # an error of the model already names its place and what to do
            raise
        except Exception as error:
            before = f"after {', '.join(self._done)}" if self._done else ""
            message = f"{type(error).__name__}: {error}"
            raise PassError(message, where=f"pass {pass_name(pass_)}", hint=before) from error
        finally:
            self._running.pop()

    def _notify(self, pass_: Pass, module: Module, result: object, t: float, cached: bool) -> None:
        """Pass a step on to the instruments; ``t`` is its time in seconds."""
        if not cached:
            self._done.append(pass_name(pass_))
        if self.instruments:
            step = PassStep(pass_, module, result, t, cached, len(self._running))
            for instrument in self.instruments:
                instrument.after(step)


@mutable
class Timing:
    """Wall time of every pass that ran, nested ones indented."""

    steps: list[tuple[str, float, int]] = field(default_factory=list)

    def after(self, step: PassStep) -> None:
        """Record the time."""
        if not step.is_cached:
            self.steps.append((step.name, step.time_s, step.depth))

    def __str__(self) -> str:
        # the time of a pass includes that of the passes nested in it
        total = sum(t for _, t, depth in self.steps if not depth)
        rows = [f"{t * 1e3:10.3f} ms  {'  ' * depth}{name}" for name, t, depth in self.steps]
        return "\n".join([*rows, f"{total * 1e3:10.3f} ms  total"])


@record
class PrintAfter:
    """Prints the module after the named passes, or after every pass if ``names`` is None."""

    names: frozenset[str] | None = None
    stream: TextIO | None = None

    def after(self, step: PassStep) -> None:
        """Print the module with the facts of an analysis."""
        if step.is_cached or (self.names is not None and step.name not in self.names):
            return
        from perfc.ir.syntax.text import print_module

        text = print_module(step.module, facts=step.facts)
        print(f"# after {step.name}\n{text}", file=self.stream or sys.stderr)


@record
class VerifyEach:
    """Verifies the module after every transform."""

    def after(self, step: PassStep) -> None:
        """Verify the module; an error names the pass that broke it."""
        if isinstance(step.pass_, Transform):
            from perfc.ir.graphs.verify import verify

            try:
                verify(step.module)
            except PerfcError as error:
                raise PassError(str(error), where=f"after pass {step.name}") from error


@mutable
class DumpTo:
    """Writes the module after every pass, as ``000-shapes.pir``, ``001-fuse.pir`` and so on."""

    folder: Path
    count: int = 0

    def after(self, step: PassStep) -> None:
        """Write the next file."""
        if step.is_cached:
            return
        from perfc.ir.syntax.text import print_module

        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{self.count:03d}-{step.name}.pir"
        path.write_text(print_module(step.module, facts=step.facts), encoding="utf-8")
        self.count += 1
