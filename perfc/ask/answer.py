"""Answers: facts that a question asks for, or why the report holds none."""

from __future__ import annotations

from collections import Counter
from enum import Enum

from perfc.ir.record import record
from perfc.report.amounts import title
from perfc.report.kernels import groups
from perfc.report.units import INTERVAL, Unit, plural, quantity, share
from perfc.report.views import Views

from .elsewhere import Elsewhere
from .fact import Citation, Fact, Selection, Topic, cite, cite_row, listed, shown
from .reading import Absent, Change, Reading
from .settings import Difference
from .topics import topics
from .topics.kernels import cite_group, words_of
from .topics.limits import remedy

SCHEMA = "perfc-ask/1"
LIST = "perfc ask MODEL lists what the report has"
OF_TIME = frozenset({"predicted time", "remedies", "ceilings", "headroom"})
"""Topics that a change which was analysed answers."""
OF_RUN = frozenset({"memory", "weights", "activations", "energy", "power", "flop", "mac", "traffic",
                    "parameters", "intensity", "utilisation"})  # fmt: skip
"""Topics by which no kernels are ranked."""
TOP_ALL = "perfc analyze MODEL --view kernels --top all"
MOST_NAMED = 5
MOST_QUESTION = 1_000
"""Characters of a question."""


class Source(Enum):
    """Who said the words of an answer."""

    REPORT = "report"
    ADAPTER = "adapter"


@record
class Answer:
    """What a report says to a question.

    Args:
        question: as it was asked; empty where all facts were asked for.
        is_answered: whether the report holds what was asked.
        source: whose words they are; numbers are the report's in any case.
        text: of the answer.
        facts: that it rests on, with their fields of the report.
        reason: why there is no answer.
        hint: what to do then.
    """

    question: str
    is_answered: bool
    source: Source
    text: str
    facts: tuple[Fact, ...]
    reason: str
    hint: str


@record
class Answers:
    """What a report says to some questions.

    Args:
        model: name of the file.
        target: name of the machine.
        answers: in the order of the questions.
    """

    model: str
    target: str
    answers: tuple[Answer, ...]

    @property
    def is_answered(self) -> bool:
        """Whether the report holds all that was asked."""
        return all(answer.is_answered for answer in self.answers)


def answer_of(read: Reading, views: Views, question: str) -> Answer:
    """The answer of a report to a question that was read.

    Only what the report holds is answered, each number with the field that it is from. A word that
    means nothing here, another machine, size or precision than the report's, is a refusal.
    """
    why = refusal(read)
    if why is not None:
        return refused(question, *why)
    outcome = facts_of(read, views)
    if isinstance(outcome, tuple):
        return answered(question, outcome)
    return refused(question, outcome.reason, outcome.hint)


def every_fact(views: Views) -> Answer:
    """All that a report holds and a question may ask for."""
    known = (topic.fact(views) for topic in topics())
    return answered("", tuple(fact for fact in known if fact is not None))


def answered(question: str, facts: tuple[Fact, ...]) -> Answer:
    """An answer from facts."""
    words = "; ".join(fact.text for fact in facts)
    return Answer(question, True, Source.REPORT, words, facts, "", "")


def refused(question: str, reason: str, hint: str) -> Answer:
    """What is said where the report does not hold it."""
    return Answer(question, False, Source.REPORT, "", (), reason, hint)


def refusal(read: Reading) -> tuple[str, str] | None:
    """Why the words alone cannot be answered, and what to do; None where they can."""
    elsewhere = [m for m in read.of(Elsewhere) if isinstance(m, Elsewhere)]
    if elsewhere:
        return elsewhere[0].reason, elsewhere[0].hint or LIST
    if read.unknown:
        words = ", ".join(repr(w) for w in dict.fromkeys(read.unknown[:MOST_NAMED]))
        return f"the report has nothing called {words}", LIST
    for other in read.of(Difference):
        assert isinstance(other, Difference)
        return other.what, other.hint
    return None


@record
class _Refusal:
    reason: str
    hint: str


def facts_of(read: Reading, views: Views) -> tuple[Fact, ...] | _Refusal:
    """The facts that are asked for; why there are none."""
    for absent in read.of(Absent):
        assert isinstance(absent, Absent)
        kinds = listed(
            [f"{n} {kind}" for kind, n in Counter(r.kind for r in views.kernels).items()]
        )
        return _Refusal(f"the report has no {absent.name}", f"it has {kinds}")
    chosen = [m for m in read.of(Selection) if isinstance(m, Selection)]
    changed = [m for m in read.of(Change) if isinstance(m, Change)]
    names = {topic.name for topic in read.topics}
    if read.numbers and not (names == {"slowest kernels"} and len(read.numbers) == 1):
        stated = ", ".join(f"{s.label} = {s.value}" for s in views.assumptions.symbols)
        reason = (
            f"the report is for {stated or 'fixed sizes'} and does not say what {read.numbers[0]}"
        )
        return _Refusal(f"{reason} is", "omit the number, or pass it as an option")
    if changed:
        rest = [kernels.noun for kernels in chosen] or sorted(names - OF_TIME)
        if not rest:
            return tuple(remedy(views, change.index) for change in changed)
        option = views.bottlenecks.remedies[changed[0].index].option
        reason = "for a change the report has only the time of the run"
        return _Refusal(f"{reason}, not: {listed(rest)}", option or LIST)
    if chosen:
        return of_kernels(chosen, names, views)
    return of_topics(read.topics, read, views)


def of_topics(asked: list[Topic], read: Reading, views: Views) -> tuple[Fact, ...] | _Refusal:
    """A fact for each topic that is asked for."""
    if not asked:
        return _Refusal("the question names nothing that the report has", LIST)
    names = {topic.name for topic in asked}
    if "slowest kernels" in names and names & OF_RUN:
        reason = "the report ranks kernels by time"
        return _Refusal(f"{reason}, not by: {listed(sorted(names & OF_RUN))}", TOP_ALL)
    if "time per item" in names and names & OF_RUN:
        reason = f"the report has {listed(sorted(names & OF_RUN))} per run, not per item"
        return _Refusal(reason, "ask about the run; throughput has the items per run")
    facts: list[Fact] = []
    for topic in asked:
        if topic.name == "slowest kernels" and read.numbers:
            from .topics.kernels import slowest

            fact = slowest(views, int(float(read.numbers[0])) or 1)
        else:
            fact = topic.fact(views)
        if fact is None:
            return _Refusal(f"no {topic.name} in the report: {topic.absent or 'unknown'}", LIST)
        facts.append(fact)
    return tuple(facts)


SUMS = {
    "lower bound": ("floor_s", Unit.SECOND, "at best {}"),
    "energy": ("predicted.energy_j", Unit.JOULE, "{}, board only"),
    "flop": ("flop", Unit.FLOP, "{}"),
    "mac": ("mac", Unit.MAC, "{}"),
    "traffic": ("read_bytes", Unit.BYTE, "{} read"),
    "time at measured rates": ("time_s", Unit.SECOND, "{} at measured rates"),
}
"""Topics of single kernels: field that is added up, its unit, the words around it."""
WHOLE = frozenset({"predicted time", "kernel count", "nodes", "limits", "slowest kernels",
                   "precision", "prediction interval", "critical kernels", *SUMS})  # fmt: skip
"""Topics that single kernels have facts of."""


def of_kernels(
    chosen: list[Selection], names: set[str], views: Views
) -> tuple[Fact, ...] | _Refusal:
    """Facts of some of the kernels."""
    rest = names - WHOLE
    if rest:
        reason = f"the report has no {listed(sorted(rest))} of single kernels"
        return _Refusal(reason, "ask about the run, or use perfc explain MODEL NODE")
    facts: list[Fact] = []
    for kernels in chosen:
        if not names or names & {"predicted time", "kernel count", "nodes", "critical kernels"}:
            facts.append(time_of(kernels, views))
        if "slowest kernels" in names:
            facts.append(slowest_of(kernels, views))
        if "limits" in names:
            facts.append(limits_of(kernels))
        if "prediction interval" in names:
            facts.append(range_of(kernels))
        if "precision" in names:
            facts.append(types_of(kernels))
        for name in sorted(names & SUMS.keys()):
            field, unit, words = SUMS[name]
            total = kernels.total(field, unit)
            if total.value is None:
                return _Refusal(f"no {name} of {kernels.noun} in the report", LIST)
            facts.append(Fact(name, f"{kernels.noun}: {words.format(shown(total))}", (total,)))
    return tuple(facts)


def time_of(kernels: Selection, views: Views) -> Fact:
    """How many they are, and what of the expected time is theirs."""
    count, mid = kernels.count(), cite(views, "verdict.expected.mid", Unit.SECOND)
    is_predicted = all(row.predicted is not None for row in kernels.rows)
    part = kernels.total("predicted.share" if is_predicted else "share", Unit.SHARE)
    theirs = float(part.value or 0.0) * views.verdict.time_s
    of = plural(len(views.kernels), "kernel")
    text = f"{kernels.noun}: {shown(count)} of {of}, {shown(part)} of the time"
    return Fact("kernels", f"{text}, {quantity(theirs, Unit.SECOND)} of {shown(mid)}",
                (count, part, mid))  # fmt: skip


def slowest_of(kernels: Selection, views: Views) -> Fact:
    """The group among them that takes most."""
    first = max(groups(kernels.rows), key=lambda g: (g.predicted_s, -g.first.index))
    return Fact(
        "slowest kernels", f"{kernels.noun}: {words_of(first, views)}", cite_group(first, views)
    )


def limits_of(kernels: Selection) -> Fact:
    """What most of their time goes to."""
    held: dict[str, float] = {}
    for row in kernels.rows:
        time_s = row.predicted.time_s if row.predicted else row.time_s
        held[row.held_by] = held.get(row.held_by, 0.0) + time_s
    whole = sum(held.values())
    ordered = sorted(held.items(), key=lambda item: -item[1])
    field = "predicted.bound" if kernels.rows[0].predicted else "bound"
    cited = [
        Selection("", f"({kernels.where}) && {field}=='{bound}'",
                  tuple(r for r in kernels.rows if r.held_by == bound)).count()
        for bound, _ in ordered
    ]  # fmt: skip
    words = [f"{title(bound)} {share(s / whole if whole else 0.0)}" for bound, s in ordered]
    return Fact("limits", f"{kernels.noun}: limited by {listed(words)} of their time", tuple(cited))


def range_of(kernels: Selection) -> Fact:
    """The range of the one that runs first."""
    row = kernels.rows[0]
    values = [cite_row(row, f"predicted.{name}_s") for name in ("low", "high")]
    cited = tuple(
        Citation(f"kernels[{row.index}].predicted.{name}_s", v if isinstance(v, float) else None,
                 Unit.SECOND)
        for name, v in zip(("low", "high"), values, strict=True)
    )  # fmt: skip
    ends = " to ".join(shown(c) for c in cited)
    text = f"kernel {row.index}, {row.title}: {INTERVAL} {ends}"
    return Fact("prediction interval", text, cited)


def types_of(kernels: Selection) -> Fact:
    """Element types of their products."""
    types = sorted({row.dtype for row in kernels.rows})
    first = kernels.rows[0].index
    cited = (Citation(f"kernels[{first}].dtype", kernels.rows[0].dtype, Unit.NONE),)
    return Fact("precision", f"{kernels.noun}: {listed(types)}", cited)
