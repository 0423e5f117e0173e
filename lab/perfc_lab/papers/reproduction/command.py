"""Command `perfc eval papers`: run trainings in several processes, and write the page.

The result of a training is a JSON file, so that a run continues after an interruption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from perfc.analyzers.graph.predictor import Say
from perfc.analyzers.graph.store import StoredGraphs, write_file

from ...datasets.unlabelled import unlabelled_graphs
from .charts import write_charts
from .page import INTRODUCTION, Done, board, standing
from .published import PaperTable
from .runs import REPEATED, Job, Preset, chosen_rows, is_open, jobs, run, stored


def reproduce(
    tables: Sequence[PaperTable], wanted: Sequence[Job], folder: Path, processes: int, say: Say
) -> None:
    """Run the trainings that have no result yet; each process writes the result of its training.

    Args:
        tables: tables of the papers, whose number a message has.
        wanted: all trainings.
        folder: folder of the results.
        processes: number of trainings at a time, each on one core.
        say: gets a line at the end of each training.

    Raises:
        DataError: a data set is not built.
    """
    # one training for each selection of rows: a data set that is not built is an error here, not
    # after hours of training
    for job in {job.table.rows: job for job in wanted}.values():
        chosen_rows(job)
    missing = [job for job in wanted if is_open(folder, job)]
    say(
        f"{len(tables)} tables, {len(wanted)} trainings, {len(wanted) - len(missing)} there already"
    )
    if processes <= 1:
        for count, job in enumerate(missing, 1):
            run(job, folder, say)
            say(f"{count} of {len(missing)}: {job.key}")
        return
    # spawned, not forked, as PyTorch's threads do not survive a fork
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(partial(run, job, folder, _silent)): job for job in missing}
        for count, future in enumerate(as_completed(running), 1):
            future.result()
            say(f"{count} of {len(missing)}: {running[future].key}")


def _silent(line: str) -> None:
    """Print nothing, as lines of parallel trainings would be mixed."""
    del line


def written(
    tables: Sequence[PaperTable],
    seeds: Sequence[int],
    graphs: Path,
    results_folder: Path,
    folder: Path,
    preset: Preset,
    origin: str,
    *,
    is_faithful: bool,
    has_charts: bool,
) -> Path:
    """Write the page of all tables with its charts; cells without a result are empty."""
    lines = []
    charts = {}
    results: dict[str, Mapping[str, Any]] = {}
    counts = dict.fromkeys(seeds, 0)
    wanted = every_job(tables, seeds, graphs, preset, is_faithful=is_faithful)
    for job in wanted:
        result = stored(results_folder, job)
        if result is not None:
            results[job.key] = result
            counts[job.seed] += 1
    for table in tables:
        done = []
        for line in table.lines:
            # results are looked up by key, as tables share trainings
            keys = [Job(table, line, s, graphs, preset, is_faithful).key for s in seeds]
            done.append(Done(line, tuple(results[key] for key in keys if key in results)))
        lines.append((table, done))
        charts[table.key] = write_charts(table, done, folder) if has_charts else []
    pool = unlabelled_graphs(graphs)
    introduction = INTRODUCTION.format(
        scale=preset.scale,
        limit_s=preset.limit_s,
        repeated=REPEATED,
        standing=standing(results, len(wanted), counts),
        pool=0 if pool is None else len(StoredGraphs(pool)),
    )
    path = folder / "papers.md"
    write_file(path, board(lines, introduction, charts).written("markdown", origin).encode())
    return path


def every_job(
    tables: Sequence[PaperTable],
    seeds: Sequence[int],
    graphs: Path,
    preset: Preset,
    *,
    is_faithful: bool,
) -> list[Job]:
    """Return the trainings of all tables, the most useful first, as a run may be interrupted.

    The first seed of all tables comes before the second. Tables with a published order of lines
    come first, and short tables before long ones.
    """
    short = sorted(tables, key=lambda table: (not table.has_order, len(table.lines)))
    chosen = [list(jobs(short, (seed,), graphs, preset, is_faithful)) for seed in seeds]
    return [job for jobs_of_seed in chosen for job in jobs_of_seed]
