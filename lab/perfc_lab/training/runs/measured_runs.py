"""Lower whole models that were measured under several runtimes, and tabulate their kernels.

A `RunTable` has the features of a run that `run_fit` and the predictor `runs` read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.analyzers.estimators import Execution
from perfc.analyzers.graph.measured_runs import model_folder
from perfc.analyzers.runs.prediction import predicted
from perfc.analyzers.runs.run_table import (
    RunTable,
    leading_extent,
    precision,
    stored_element,
    tabulated,
)
from perfc.deployment.extents import sized
from perfc.errors import PerfcError, TargetError
from perfc.frontend import load
from perfc.frontend.collector import paused_collector
from perfc.machine import load_machine
from perfc.passes.inference.sizes import Sizes
from perfc.passes.manager import Analyses
from perfc.passes.precision.what_if import what_if
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.roofline.roofline import bounds
from perfc.passes.runtimes import of_steps

from ...splitting import grouped
from ...tables.ort_runs import published_runs
from ...tables.own_runs import own_runs
from ...tables.whole_models import WholeModel, whole_models

if TYPE_CHECKING:
    from perfc.ir.graph import Module
    from perfc.passes.runtimes import Runtime


@dataclass(frozen=True, eq=False)
class MeasuredRun:
    """A run with its table.

    Args:
        row: the measured run.
        table: features of the run and its kernels.
    """

    row: WholeModel
    table: RunTable


def measured_runs(folder: Path, say: Callable[[str], None]) -> list[MeasuredRun]:
    """Return rows with a known graph and target, with kernels as `perfc analyze` estimates them.

    Takes minutes: about 0.1 s a row. Rows that do not lower are reported and left out.

    Raises:
        DataError: no table or no graphs.
    """
    graphs, runs, missing = model_folder(folder), list[MeasuredRun](), 0
    every = (*whole_models(folder), *published_runs(folder, graphs), *own_runs(graphs))
    by_graph = grouped(every, lambda row: row.graph)
    for graph, rows in sorted(by_graph.items()):
        path = graphs / graph
        if not path.is_file():
            missing += len(rows)
            continue
        with paused_collector():
            runs += of_graph(path, rows, say)
    say(f"{len(runs):,} runs of {len(by_graph):,} graphs; {missing:,} rows have no graph")
    return runs


def of_graph(
    path: Path, rows: Sequence[WholeModel], say: Callable[[str], None]
) -> Iterator[MeasuredRun]:
    """Yield the rows of one graph; rows with equal deployments share a table."""
    # modules by extents, tables by all fields of a deployment that change kernels or their times
    modules: dict[object, Module] = {}
    tables: dict[object, RunTable] = {}
    am = Analyses()
    for row in rows:
        how = row.deployment
        dims = tuple(sorted(how.dims.items()))
        key = how.target, how.runtime, how.runtime_version, how.dtype, how.rounded, dims
        try:
            if key not in tables:
                if dims not in modules:
                    modules[dims] = typed(path, how.dims)
                tables[key] = lowered(modules[dims], row, am)
        except TargetError:
            say(f"left out: no target {how.target}")
            continue
        except PerfcError as error:
            say(f"left out: {error}")
            continue
        yield MeasuredRun(row, tables[key])


def typed(path: Path, dims: Mapping[str, int]) -> Module:
    """Return a model at the extents it was measured at.

    Raises:
        PerfcError: the model cannot be read, or contradicts the extents.
    """
    module, given = sized(load(path, dims, {}), dims)
    return Analyses().apply(Sizes(tuple(given)), module)


def merged_then(table: Runtime, framework: tuple[int, int]) -> Runtime:
    """Return the fusion table that a runtime had when a row was measured.

    PyTorch before 2.0 ran attention as two products and a softmax. Other kernels are unchanged.
    """
    return table if table.known_steps is None else of_steps(table.known_steps, framework)


def executed(source: Module, row: WholeModel, am: Analyses) -> Execution:
    """Return the kernels of a run on its machine.

    Raises:
        PerfcError: no such target, or a precision that the model cannot be put in.
    """
    how, env = row.deployment.for_model(source), source.defaults()
    machine, tf32 = load_machine(how.target), how.rounded
    folded = am.apply(Canonicalize(how.runs_parameters), source)
    module = am.apply(what_if(how.executed(source) or how.dtype), folded)
    # kernels as fused by the framework version of the row, under the runtime of today
    then = replace(how, runtime=merged_then(how.table, row.framework).name, tf32=tf32)
    kernels = replace(then.launched(module, machine, env, am, source), runtime=how.table)
    bound = bounds(kernels, machine, env, tf32=tf32)
    return Execution(
        bound, kernels, module, host_launch_s=how.host_launch, framework=how.serving.value
    )


def lowered(source: Module, row: WholeModel, am: Analyses) -> RunTable:
    """Return the table of a run.

    Raises:
        PerfcError: no such target, or a precision that the model cannot be put in.
    """
    how, execution = row.deployment, executed(source, row, am)
    bound = execution.bounds
    stored = precision(how, stored_element(source), bound)
    table = predicted(execution)
    return tabulated(execution, table, how, stored, leading_extent(source, bound.env))
