"""``perfc search``: find the Pareto front of an architecture space, with Optuna."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.common.durations import seconds_of
from perfc.errors import ParseError

from ..shared.prelude import (
    DeploymentOptions,
    color_option,
    deliver,
    deployment_options,
    format_options,
    grouped_command,
    names_in,
    show_view,
)
from ..shared.progress import ProgressLine
from ..shared.table import table_options

if TYPE_CHECKING:
    from perfc.study.search import Limits, Objective

FINDINGS = 1
"""Exit code if no candidate is within the limits."""
DOCUMENTS = {"search": "perfc.study.search.views:SpaceSearchView"}
"""JSON document of the command, and the type that defines its schema."""


@grouped_command("search")
@click.argument("space", metavar="SPACE.PY[:FUNCTION]")
@deployment_options
@table_options("search")
@format_options("text", "json", "csv", "markdown", "html")
@color_option
def command(
    options: DeploymentOptions,
    space: str,
    objectives: str,
    slo: str | None,
    max_memory: str | None,
    trials: int,
    sampler: str,
    seed: int,
    form: str,
    output: Path | None,
) -> int:
    """Search SPACE.PY for fast models: `perfc search space.py --slo 5ms -t t4`.

    Its function `build(trial)` returns a model, or `model, score`. Each candidate is estimated as
    `perfc analyze` does, equal ones once. The exit code is 1 if no candidate is within the limits.
    """
    from perfc.study.search import SearchPlan, Space, search_space
    from perfc.study.search.evaluate import ModelEvaluator
    from perfc.study.search.run import optuna_module
    from perfc.study.search.samplers import Sampler
    from perfc.study.search.views import document, render_csv, render_json

    optuna_module()  # an error before anything is read, if Optuna is not installed
    wanted, limits = objectives_of(objectives), limits_of(slo, max_memory)
    plan = SearchPlan(wanted, limits, trials, Sampler(sampler), seed)
    evaluator = ModelEvaluator(
        options.deployment(), frozenset((*wanted, *limits)), options.contents
    )
    with ProgressLine() as progress:
        result = search_space(Space.load(space), evaluator, plan, progress.show)
    if form == "html":
        from perfc.study.search.page import front_page

        deliver(front_page(result), output)
    else:
        show_view(form, output, result, render_json, render_csv, document)
    return 0 if result.holds else FINDINGS


def objectives_of(text: str) -> tuple[Objective, ...]:
    """Return the named objectives, each once.

    Raises:
        ParseError: an unknown name, or none.
    """
    from perfc.common.choice import member
    from perfc.study.search import Objective

    names = dict.fromkeys(names_in(text))
    if not names:
        raise ParseError("names no objective", where="--objective", hint="latency,score")
    return tuple(member(Objective, name, "--objective") for name in names)


def limits_of(slo: str | None, max_memory: str | None) -> Limits:
    """Return the upper limits that the options set, by objective.

    Raises:
        ParseError: not a time, or not a size.
    """
    from perfc.machine import Reserve
    from perfc.study.search import Objective

    limits: dict[Objective, float] = {}
    if slo is not None:
        limits[Objective.LATENCY] = seconds_of(slo, "--slo", is_limit=True)
    if max_memory is not None:
        nbytes = Reserve.parse(max_memory, "--max-memory").nbytes
        # 0 for a share of the memory, such as 5%, which no limit of a model can be
        if not nbytes:
            hint = "as in 2GiB"
            raise ParseError(f"{max_memory!r} is no size", where="--max-memory", hint=hint)
        limits[Objective.MEMORY] = float(nbytes)
    return limits
