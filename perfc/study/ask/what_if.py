"""Answers that need one more analysis: another machine, precision, runtime, size, or command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from perfc.errors import ParseError, PerfcError
from perfc.view.report.units import Unit
from perfc.view.report.views import Views, collect

from .answer import LIST, MOST_QUESTION, OF_TIME, Answer, answer_of, answered, refused
from .doors import facts_of_door
from .elsewhere import Elsewhere
from .fact import ReportFact, Selection, cite, shown
from .reading import Absent, ClaimRank, Reading, RemedyChange, reading
from .settings import SettingDifference
from .topics import topic

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.deployment import DeploymentKeywords
    from perfc.study.expenses import Prices

TARGET = "-t"
FASTER = frozenset({"remedies", "headroom"})
"""Topics of questions that compare two settings: is it faster, how much faster."""


def ask(report: Report, views: Views, question: str, prices: Prices) -> Answer:
    """Return the answer to a question, from the report or from one more analysis of its model.

    Args:
        report: report of the model.
        views: views of the report, with a prediction.
        question: question; only the first 1,000 characters are read.
        prices: prices declared by the project.
    """
    read = reading(question[:MOST_QUESTION], views)
    doors = [m for m in read.of(Elsewhere) if isinstance(m, Elsewhere)]
    options = list(options_of(read, views))
    is_refused = bool(read.unknown or (doors and read.numbers))
    is_refused = is_refused or any(d.door is None for d in doors)
    is_refused = is_refused or not all(name.startswith("-") for name, _ in options)
    if is_refused or not (doors or options):
        return answer_of(read, views, question)
    machines = [value for name, value in options if name == TARGET]
    if any(d.is_of_many for d in doors):
        options = [o for o in options if o[0] != TARGET]
    facts: list[ReportFact] = []
    for chosen in combinations(options):
        words = " ".join(f"{name} {value}" for name, value in chosen)
        prefix = f"with {words}: " if words else ""
        try:
            other = under(report, chosen) if chosen else report
            others = collect(other) if chosen else views
            # "faster in fp16 on a T4" compares precisions of one machine
            machine = [o for o in chosen if o[0] == TARGET]
            base = collect(under(report, machine)) if 0 < len(machine) < len(chosen) else views
            more = [f for d in doors for f in facts_of_door(d, other, machines, prices)]
        except PerfcError as error:
            return refused(question, f"{prefix}{error.message}", error.hint or LIST)
        is_sized = any(name.startswith("--batch") or name == "--seq" for name, _ in chosen)
        known = () if doors and not subjects(read) else under_options(
            base, others, question, options, is_compared=not (is_sized or doors)
        )  # fmt: skip
        if isinstance(known, Answer):
            return known
        facts += [replace(f, text=prefix + f.text) for f in (*known, *more)]
    return answered(question, tuple(facts))


def options_of(read: Reading, views: Views) -> Iterator[tuple[str, str]]:
    """Yield options of the settings that the question names and the report does not have."""
    others = [m for m in read.of(SettingDifference) if isinstance(m, SettingDifference)]
    for other in others:
        name, _, value = other.hint.partition(" ")
        yield name, value
    rest = {topic.name for topic in read.topics} - OF_TIME
    if others or rest or read.of(Selection) or read.of(Elsewhere):
        for change in read.of(RemedyChange):
            assert isinstance(change, RemedyChange)
            name, _, value = views.bottlenecks.remedies[change.index].option.rpartition(" ")
            axis, _, size = value.rpartition("=")
            yield (f"--{axis}", size) if axis else (name, value)


def combinations(options: Iterable[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], ...]]:
    """Yield every combination of options: two machines are two settings."""
    values: dict[str, list[tuple[str, str]]] = {}
    for option in dict.fromkeys(options):
        values.setdefault(option[0], []).append(option)
    yield from product(*values.values())


def under(report: Report, options: Iterable[tuple[str, str]]) -> Report:
    """Return the report with other options.

    Raises:
        PerfcError: the model or the machine does not allow them.
    """
    target: str | None = None
    changed: DeploymentKeywords = {}
    for name, value in options:
        match name:
            case "-t":
                target = value
            case "--dtype":
                changed["dtype"] = value
            case "--runtime":
                changed["runtime"] = value
            case _ if int(value) < 1:
                raise ParseError("a size is at least 1", hint=f"{name} 1 or more")
            case _:
                sizes = changed.get("dims") or report.deployment.dims or {}
                changed["dims"] = {**sizes, name.removeprefix("--"): int(value)}
    return report.with_(target, **changed)


def subjects(read: Reading) -> bool:
    """Return whether the question names something to report, more than a setting."""
    is_topic = any(c.rank in (ClaimRank.TOPIC, ClaimRank.WEAK) and c.meaning for c in read.claims)
    return is_topic or bool(read.of(Selection) or read.of(Absent))


def under_options(
    views: Views,
    others: Views,
    question: str,
    options: list[tuple[str, str]],
    *,
    is_compared: bool,
) -> tuple[ReportFact, ...] | Answer:
    """Return the facts of a report with other options; a refusal where it has none.

    Args:
        views: views of the report to compare with.
        others: views of the report with the options.
        question: question in English.
        options: options that the question names.
        is_compared: True if times of a run in both can be compared.
    """
    read = reading(question[:MOST_QUESTION], others)
    # changes are options by now, and other commands answer for themselves
    dropped = RemedyChange | Elsewhere | SettingDifference
    claims = tuple(c for c in read.claims if not isinstance(c.meaning, dropped))
    # the setting of the report, named next to another, differs from the other
    named_hints = {m.hint for m in read.of(SettingDifference) if isinstance(m, SettingDifference)}
    is_both = bool(named_hints - {f"{name} {value}" for name, value in options})
    read = replace(read, claims=claims)
    names = {known.name for known in read.topics if subjects(read)}
    is_faster = bool(names) and names <= FASTER
    is_time = names <= {"predicted time"} and is_both
    is_of_run = not (read.of(Selection) or read.of(Absent) or read.numbers)
    if is_compared and (is_faster or is_time) and is_of_run:
        after = cite(others, "verdict.expected.mid", Unit.SECOND)
        before, times = views.verdict.time_s, others.verdict.time_s
        rate = f"{before / times:.3g} times as fast as" if times else "compared with"
        mine = shown(cite(views, "verdict.expected.mid", Unit.SECOND))
        where, dtype = views.verdict.target, views.assumptions.dtype
        types = f" in {dtype}" if dtype else ""
        text = f"a run takes {shown(after)} (predicted), {rate} {mine} on {where}{types}"
        return (ReportFact("predicted time", text, (after,)),)
    if not subjects(read) and not read.numbers:
        fact = topic("predicted time").fact(others)
        return () if fact is None else (fact,)
    answer = answer_of(read, others, question)
    return answer.facts if answer.is_answered else answer
