"""Write searches of architectures: the Pareto front as table, JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import PurePath
from typing import ClassVar

from perfc.common.plain_text import printable
from perfc.ir import record
from perfc.ir.record import project
from perfc.view.report.formats import comma
from perfc.view.report.formats.document import (
    Column,
    Document,
    Note,
    Part,
    Section,
    Table,
    tabulate,
)
from perfc.view.report.formats.json_form import document_text
from perfc.view.report.units import INTERVAL, plural, quantity, time_range

from .quantity import MEASURES, Objective
from .run import SpaceSearch, Trial

LONGEST = 60
"""Maximum characters of a parameter."""
MOST_ROWS = 40
"""Maximum number of rows of a printed table."""


@record
class FrontView:
    """One candidate of the Pareto front.

    Args:
        trial: its position in the search, from 0.
        params: its parameters.
        time_s: predicted time; null if neither an objective nor a limit.
        low_s: lower end of the 90 % prediction interval of the time.
        high_s: its upper end.
        memory_bytes: device memory of a run; null if neither an objective nor a limit.
        energy_j: energy of the board in a run; null if neither an objective nor a limit.
        flop: floating-point operations of a run; null if neither an objective nor a limit.
        score: score that the user's function returned; null without one.
    """

    trial: int
    params: Mapping[str, object]
    time_s: float | None
    low_s: float | None
    high_s: float | None
    memory_bytes: float | None
    energy_j: float | None
    flop: float | None
    score: float | None

    @classmethod
    def of(cls, trial: Trial) -> FrontView:
        """Return the view of a trial."""
        estimate = trial.estimate
        # the columns of the quantities are the names of the fields
        values = {quantity.column: estimate.values.get(quantity) for quantity in MEASURES}
        return project(
            cls, trial, trial=trial.number, low_s=estimate.low_s, high_s=estimate.high_s, **values
        )


@record
class SpaceSearchView:
    """JSON document of ``perfc search``.

    Args:
        space: file and function that builds the candidates.
        deployment: how candidates are run.
        objectives: quantities of the front.
        limits: largest values by quantity, in SI units.
        sampler: how Optuna proposed the candidates.
        seed: seed of the sampler.
        trials: candidates with an answer.
        analyzed: different models among them.
        within: candidates within the limits.
        failures: reasons of candidates without an answer, with their number.
        time_s: time that the search took.
        front: candidates within the limits that no other beats in every objective.
    """

    document: ClassVar[str] = "perfc-search/1"
    space: str
    deployment: Mapping[str, object]
    objectives: tuple[Objective, ...]
    limits: Mapping[str, float]
    sampler: str
    seed: int
    trials: int
    analyzed: int
    within: int
    failures: Mapping[str, int]
    time_s: float
    front: tuple[FrontView, ...]

    @classmethod
    def of(cls, search: SpaceSearch) -> SpaceSearchView:
        """Return the view of a search."""
        plan = search.plan
        return cls(
            search.space,
            search.deployment.as_json(),
            plan.objectives,
            {one.column: most for one, most in plan.limits.items()},
            plan.sampler.value,
            plan.seed,
            len(search.trials),
            search.analyzed,
            sum(trial.is_within for trial in search.trials),
            search.failures,
            search.time_s,
            tuple(map(FrontView.of, search.front)),
        )


def render_json(search: SpaceSearch) -> str:
    """Return the search as a JSON document."""
    view = SpaceSearchView.of(search)
    return document_text(SpaceSearchView.document, view)


def render_csv(search: SpaceSearch) -> str:
    """Return the front as CSV, one row per candidate."""
    names = parameters(search)
    columns = ("time_s", "low_s", "high_s", "memory_bytes", "energy_j", "flop", "score")
    rows = (
        [v.trial, *(str(v.params.get(n, "")) for n in names), *(getattr(v, c) for c in columns)]
        for v in map(FrontView.of, search.front)
    )
    return comma.records(["trial", *names, *columns], rows)


def parameters(search: SpaceSearch) -> list[str]:
    """Return the names of the parameters of the front, in order."""
    return list(dict.fromkeys(name for trial in search.front for name in trial.params))


def title(search: SpaceSearch) -> str:
    """Return the space, the target and the number of candidates."""
    space = printable(PurePath(search.space).name[:LONGEST])
    return f"{space} on {search.deployment.target} · {plural(len(search.trials), 'candidate')}"


def document(search: SpaceSearch) -> Document:
    """Return the front as a table, with notes."""
    parts: tuple[Part, ...] = tuple(notes(search))
    if search.front:
        parts = (table(search), *parts)
    return Document(title(search), (Section("front", "Pareto front", parts),))


def table(search: SpaceSearch) -> Table:
    """Return one row per candidate of the front, evenly spaced ones of a long front."""
    plan = search.plan
    shown = tuple(dict.fromkeys((*plan.objectives, *plan.limits)))
    has_interval = Objective.LATENCY in shown
    columns = [Column("trial", cell=lambda t: str(t.number))]
    columns += [
        Column(one.column, one.value, one.unit, cell=partial(value_of, one=one)) for one in shown
    ]
    columns += [Column("interval", INTERVAL, is_spare=True, cell=interval)] if has_interval else []
    columns += [
        Column(n, printable(n[:LONGEST]), cell=partial(parameter_of, name=n))
        for n in parameters(search)
    ]
    # every n-th candidate, n rounded up: at most `MOST_ROWS`
    return tabulate(columns, search.front[:: -(-len(search.front) // MOST_ROWS)])


def parameter_of(trial: Trial, name: str) -> str:
    """Return a parameter as a cell, empty for a trial without it."""
    return printable(str(trial.params.get(name, ""))[:LONGEST])


def words_of(trial: Trial) -> str:
    """Return a trial's number and parameters as text."""
    params = ", ".join(f"{name} {value}" for name, value in trial.params.items())
    return printable(f"trial {trial.number}: {params}")


def value_of(trial: Trial, one: Objective) -> float | str:
    """Return a quantity as a cell; a score as the user printed it."""
    value = trial.value(one)
    return f"{value:.6g}" if one is Objective.SCORE else value


def interval(trial: Trial) -> str:
    """Return the prediction interval of a time as text."""
    return time_range(trial.estimate.low_s, trial.estimate.high_s)


def notes(search: SpaceSearch) -> Iterator[Note]:
    """Yield how many candidates there were, the limits, and reasons of failures."""
    plan = search.plan
    within = sum(trial.is_within for trial in search.trials)
    count, models = plural(len(search.trials), "candidate"), plural(search.analyzed, "model")
    yield Note(
        f"{count}, {models} analyzed; {plural(len(search.front), 'candidate')} on the front; "
        f"sampler {plan.sampler.value}, seed {plan.seed}"
    )
    if len(search.front) > MOST_ROWS:
        yield Note(f"evenly spaced candidates; all {len(search.front)} with -o front.csv or .json")
    if plan.limits:
        limits = ", ".join(
            f"{one.value} at most {quantity(most, one.unit)}" for one, most in plan.limits.items()
        )
        yield Note(f"{within} of {count} are within the limits: {limits}", is_warning=not within)
    for reason, number in search.failures.items():
        yield Note(
            f"no answer for {plural(number, 'candidate')}: {printable(reason)}", is_warning=True
        )
