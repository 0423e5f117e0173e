"""Subject of lint rules: an analyzed model, and the predicted gain of changes to it.

Rules ask for the gain of a rewrite, of another deployment, of fused kernels or of a faster kernel.
Each gain is the predicted time of the run minus that with the change.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from perfc.api import Report, analyze
from perfc.errors import PerfcError
from perfc.ir import (
    Dim,
    Graph,
    Module,
    Node,
    Traffic,
    Value,
    dim_sum,
    evaluate,
    total_work,
)
from perfc.passes.fusion.fuse import KernelTable
from perfc.passes.fusion.kernel import Kernel
from perfc.passes.inference.shapes import Shapes
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.roofline.roofline import KernelBound, RooflineTable, bounds

from .finding import Gain, GainBasis
from .fixes.edit import Edit, rewritten

MAX_ANALYSES = 400
"""Maximum distinct changes per model, each of which takes an analysis; other gains are unknown."""


@dataclass(slots=True)
class GainCache:
    """Cache of gains by their inputs: layers repeat, so equal places are analyzed once."""

    gains: dict[Hashable, Gain | None] = field(default_factory=dict)

    def once(self, key: Hashable, analyzed: Callable[[], Gain | None]) -> Gain | None:
        """Return the gain of ``key``, analyzed at first use; None after `MAX_ANALYSES` changes."""
        if key not in self.gains and len(self.gains) < MAX_ANALYSES:
            self.gains[key] = analyzed()
        return self.gains.get(key)


@dataclass(frozen=True, eq=False)
class Subject:
    """A report with lookups shared by rules.

    Args:
        report: the analysis.
        has_values: True if contents of inputs were given, so that known values need not be
            constants.
    """

    report: Report
    has_values: bool = False
    memory: GainCache = field(default_factory=GainCache)

    @property
    def graph(self) -> Graph:
        """Return the executed graph."""
        return self.report.module.graph

    @property
    def file(self) -> Graph:
        """Return the graph of the file."""
        return self.report.source.graph

    @cached_property
    def kernels(self) -> tuple[KernelBound, ...]:
        """Return the kernels with their times, in execution order."""
        return self.report.roofline.kernels

    @cached_property
    def now(self) -> tuple[float, float]:
        """Return the predicted time of a run, as in `perfc analyze`, and its lower bound."""
        return self.report.prediction.total.time_s, self.report.roofline.floor_s

    @cached_property
    def outputs(self) -> frozenset[Value]:
        """Return the outputs of the graph, resolved through views."""
        return frozenset(self.root(v) for v in self.graph.outputs)

    @cached_property
    def readers(self) -> Mapping[Value, tuple[int, ...]]:
        """Return the positions of the kernels that read a value from memory."""
        positions: dict[Value, list[int]] = {}
        for i, k in enumerate(self.kernels):
            for v in k.kernel.reads:
                positions.setdefault(v, []).append(i)
        return {v: tuple(at) for v, at in positions.items()}

    def root(self, v: Value) -> Value:
        """Return the value that owns the bytes of ``v``."""
        is_view = self.report.kernels.runtime.is_view
        seen = 0
        while (maker := self.graph.producers.get(v)) is not None and is_view(maker):
            source = maker.inputs[0] if maker.inputs else None
            # no chain of views is longer than the graph
            if source is None or seen > len(self.graph.nodes):
                break
            v, seen = source, seen + 1
        return v

    def extent(self, d: Dim) -> int:
        """Evaluate an extent at the symbol values."""
        return d if isinstance(d, int) else int(evaluate(d, self.report.env))

    def nbytes(self, v: Value) -> int | None:
        """Return the bytes of a value; None if unknown."""
        size = v.nbytes
        if size is None and v.weight is not None:
            size = v.weight.nbytes
        return None if size is None else self.extent(size)

    def lone_reader(self, v: Value) -> Node | None:
        """Return the only reader of ``v``; None if there are several or it is an output."""
        users = self.graph.users.get(v, ())
        return users[0] if len(users) == 1 and v not in self.graph.outputs else None

    def nothing(self, basis: GainBasis = GainBasis.COUNTED) -> Gain:
        """Return a gain of zero, by default for what every runtime does at load time."""
        return Gain(0.0, 0.0, 0.0, basis, self.now[0])

    def rewriting(
        self, edits: Sequence[Edit], place_key: Hashable, stored: Sequence[Value] = ()
    ) -> Gain | None:
        """Return the gain of ``edits`` by analyzing the rewritten module.

        Args:
            edits: edits of values and nodes of the executed module.
            place_key: equal for places with the same gain.
            stored: further stored tensors that the edits refer to.
        """
        key = ("rewriting", place_key)
        return self.memory.once(key, lambda: self._reanalysed(edits, stored))

    def _reanalysed(self, edits: Sequence[Edit], stored: Sequence[Value]) -> Gain | None:
        """Analyze the rewritten module; None if it is not valid."""
        report, am = self.report, Analyses()
        try:
            module = rewritten(report.module, edits, stored)
            module = am.apply(Canonicalize(), am.apply(Shapes(), module))
            env = module.defaults()
            kernels = report.deployment.launched(module, report.machine, env, am)
            roof = bounds(kernels, report.machine, env, tf32=report.tf32)
        except PerfcError:
            return None  # types that no longer go together: the rewrite is not one
        return self.gain_of(roof, kernels, module, GainBasis.REANALYSIS)

    def deployed(self, **changes: object) -> Gain | None:
        """Return the gain of another deployment by analyzing it.

        Args:
            changes: changed fields of the deployment.
        """
        key = ("deployed", tuple(sorted(changes.items())))
        return self.memory.once(key, lambda: self._deployed(changes))

    def _deployed(self, changes: Mapping[str, Any]) -> Gain | None:
        """Analyze the model under a changed deployment; None if it cannot run so."""
        report = self.report
        deployment = replace(report.deployment, **changes)
        try:
            other = analyze(
                report.model,
                deployment=deployment,
                values=report.values,
                predictor=report.predictor,
            )
            pair = other.prediction.total.time_s, other.roofline.floor_s
        except PerfcError:
            return None  # a precision or a runtime that this model cannot have
        return Gain.of(self.now, pair, GainBasis.DEPLOYMENT)

    def fusing(self, groups: Sequence[Sequence[int]], place_key: Hashable) -> Gain | None:
        """Return the gain of fusing each group of kernels: fewer launches and less traffic.

        None if kernels of undecided branches make positions ambiguous.

        Args:
            groups: positions of kernels.
            place_key: equal for groups with the same gain.
        """
        if self.report.kernels.alternatives:
            return None
        key = ("fusing", place_key)
        return self.memory.once(key, lambda: self._fused(self.with_merged(groups)))

    def with_merged(self, groups: Sequence[Sequence[int]]) -> list[Kernel]:
        """Return the kernels of the run with each group fused."""
        chosen = {i for group in groups for i in group}
        # a fused kernel runs where the last of its group ran, when all operands exist
        ends = {max(group): group for group in groups}
        table: list[Kernel] = []
        for i, k in enumerate(self.kernels):
            if i in ends:
                table.append(self.merged([self.kernels[j].kernel for j in ends[i]], ends[i]))
            elif i not in chosen:
                table.append(k.kernel)
        return table

    def merged(self, parts: Sequence[Kernel], indices: Iterable[int]) -> Kernel:
        """Fuse ``parts`` into one kernel; values that only they read stay on chip."""
        chosen = set(indices)
        produced = {v for k in parts for v in k.writes}
        inside = {
            v for v in produced if v not in self.outputs and set(self.readers.get(v, ())) <= chosen
        }
        reads: dict[Value, Dim] = {}
        for k in parts:
            for v, part in zip(k.reads, k.read_parts, strict=True):
                if v not in produced:
                    reads.setdefault(v, part)
        writes = tuple(v for k in parts for v in k.writes if v not in inside)
        # what stays on chip is not written; each operand is read once, however many parts read it
        hidden = dim_sum(v.nbytes or 0 for v in inside)
        written = dim_sum((*(k.traffic.write_bytes for k in parts), hidden * -1))
        traffic = Traffic(dim_sum(reads.values()), written, any(k.traffic.is_bound for k in parts))
        heaviest = max(parts, key=lambda k: self.report.kernels.runtime.rank(k.anchor))
        work = total_work([k.work for k in parts])
        return replace(
            heaviest,
            nodes=tuple(n for k in parts for n in k.nodes),
            work=replace(work, dtype=heaviest.mac_dtype),
            traffic=traffic,
            reads=tuple(reads),
            writes=writes,
            read_parts=tuple(reads.values()),
        )

    def lightened(self, index: int, time_s: float, floor_s: float | None = None) -> Gain:
        """Return the gain if kernel ``index`` had the sustained time ``time_s``.

        Its predicted time is scaled by the same factor.

        Args:
            index: index of the kernel.
            time_s: sustained time including the launch.
            floor_s: new lower bound; None for the current one.
        """
        kernel, table = self.kernels[index], self.report.prediction
        factor = time_s / kernel.time_s if kernel.time_s else 1.0
        then_s = table.total_with({index: table.launched[index].time_s * factor})
        less_floor_s = 0.0 if floor_s is None else kernel.floor_s - floor_s
        _, now_floor_s = self.now
        return Gain.of(self.now, (then_s, now_floor_s - less_floor_s), GainBasis.BOUNDS)

    def gain_of(
        self, roof: RooflineTable, kernels: KernelTable, module: Module, basis: GainBasis
    ) -> Gain:
        """Return the gain of running other kernels, from their predictions."""
        from perfc.analyzers.runs.prediction import predicted

        prediction = predicted(
            replace(self.report.execution, bounds=roof, kernels=kernels, module=module)
        )
        then_s = self.report.prediction.time_of(prediction)
        return Gain.of(self.now, (then_s, roof.floor_s), basis)

    def _fused(self, kernels: Sequence[Kernel]) -> Gain:
        """Return the gain of running fused kernels in place of the kernels of the report."""
        report = self.report
        table = KernelTable(report.kernels.runtime, tuple(kernels), report.kernels.host)
        roof = bounds(table, report.machine, dict(report.env), tf32=report.tf32)
        return self.gain_of(roof, table, report.module, GainBasis.BOUNDS)

    def shape_key(self, nodes: Iterable[Node]) -> Hashable:
        """Return a key of equal places: operators and the types of their inputs and results."""
        return tuple(_signature(n) for n in nodes)


def _signature(node: Node) -> tuple[object, ...]:
    """Return operator and types of a node; None for absent operands."""
    types = (v and v.type for v in (*node.inputs, *node.outputs))
    return (node.op, *types)
