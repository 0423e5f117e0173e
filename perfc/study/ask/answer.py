"""Answers: the facts that answer a question, or the reason for a refusal."""

from __future__ import annotations

from collections import Counter
from enum import Enum

from perfc.ir.record import record
from perfc.view.report.amounts import title
from perfc.view.report.sections.kernels import groups
from perfc.view.report.units import INTERVAL, Unit, plural, quantity, share
from perfc.view.report.views import Views

from .elsewhere import Elsewhere
from .fact import Citation, ReportFact, Selection, Topic, cite, cite_row, listed, shown
from .reading import Absent, Reading, RemedyChange
from .settings import SettingDifference
from .topics import topics
from .topics.kernels import cite_group, words_of
from .topics.limits import remedy

SCHEMA = "perfc-ask/1"
LIST = "perfc ask MODEL lists what the report has"
OF_TIME = frozenset({"predicted time", "remedies", "ceilings", "headroom"})
"""Topics that an analyzed change can answer."""
OF_RUN = frozenset({"memory", "weights", "activations", "energy", "power", "flop", "mac", "traffic",
                    "parameters", "intensity", "utilisation"})  # fmt: skip
"""Topics that do not rank kernels."""
TOP_ALL = "perfc analyze MODEL --view kernels --top all"
MOST_NAMED = 5
MOST_QUESTION = 1_000
"""Maximum number of characters of a question."""


class AnswerSource(Enum):
    """Source of the words of an answer."""

    REPORT = "report"
    ADAPTER = "adapter"


@record
class Answer:
    """Answer of a report to a question.

    Args:
        question: the question; empty if all facts were requested.
        is_answered: True if the report has the answer.
        source: source of the words; numbers are always from the report.
        text: text of the answer.
        facts: facts of the answer, with their fields in the report.
        reason: why there is no answer.
        hint: what to do without an answer.
    """

    question: str
    is_answered: bool
    source: AnswerSource
    text: str
    facts: tuple[ReportFact, ...]
    reason: str
    hint: str


@record
class Answers:
    """Answers of a report to several questions.

    Args:
        model: name of the file.
        target: name of the machine.
        answers: answers in the order of the questions.
    """

    model: str
    target: str
    answers: tuple[Answer, ...]

    @property
    def is_answered(self) -> bool:
        """True if every question is answered."""
        return all(answer.is_answered for answer in self.answers)


def answer_of(read: Reading, views: Views, question: str) -> Answer:
    """Answer a parsed question from a report.

    Each number of an answer cites its field in the report. Unknown words, and machines, sizes or
    precisions other than those of the report, lead to a refusal.
    """
    why = refusal(read)
    if why is not None:
        return refused(question, *why)
    outcome = facts_of(read, views)
    if isinstance(outcome, tuple):
        return answered(question, outcome)
    return refused(question, outcome.reason, outcome.hint)


def every_fact(views: Views) -> Answer:
    """Return all facts that questions can ask for."""
    known = (topic.fact(views) for topic in topics())
    return answered("", tuple(fact for fact in known if fact is not None))


def answered(question: str, facts: tuple[ReportFact, ...]) -> Answer:
    """Return an answer from facts."""
    words = "; ".join(fact.text for fact in facts)
    return Answer(question, True, AnswerSource.REPORT, words, facts, "", "")


def refused(question: str, reason: str, hint: str) -> Answer:
    """Return a refusal with its reason and a hint."""
    return Answer(question, False, AnswerSource.REPORT, "", (), reason, hint)


def refusal(read: Reading) -> tuple[str, str] | None:
    """Return reason and hint if the words cannot be answered; otherwise None."""
    elsewhere = [m for m in read.of(Elsewhere) if isinstance(m, Elsewhere)]
    if elsewhere:
        return elsewhere[0].reason, elsewhere[0].hint or LIST
    if read.unknown:
        words = ", ".join(repr(w) for w in dict.fromkeys(read.unknown[:MOST_NAMED]))
        return f"the report has nothing called {words}", LIST
    for other in read.of(SettingDifference):
        assert isinstance(other, SettingDifference)
        return other.what, other.hint
    return None


@record
class _Refusal:
    reason: str
    hint: str


def facts_of(read: Reading, views: Views) -> tuple[ReportFact, ...] | _Refusal:
    """Return the requested facts, or the reason for a refusal."""
    for absent in read.of(Absent):
        assert isinstance(absent, Absent)
        kinds = listed(
            [f"{n} {kind}" for kind, n in Counter(r.kind for r in views.kernels).items()]
        )
        return _Refusal(f"the report has no {absent.name}", f"it has {kinds}")
    chosen = [m for m in read.of(Selection) if isinstance(m, Selection)]
    changed = [m for m in read.of(RemedyChange) if isinstance(m, RemedyChange)]
    names = {topic.name for topic in read.topics}
    if read.numbers and not (names == {"slowest kernels"} and len(read.numbers) == 1):
        sizes = ", ".join(f"{s.label} = {s.value}" for s in views.assumptions.symbols)
        reason = (
            f"the report is for {sizes or 'fixed sizes'} and does not say what {read.numbers[0]}"
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


def of_topics(
    requested: list[Topic], read: Reading, views: Views
) -> tuple[ReportFact, ...] | _Refusal:
    """Return a fact for each requested topic."""
    if not requested:
        return _Refusal("the question names nothing that the report has", LIST)
    names = {topic.name for topic in requested}
    if "slowest kernels" in names and names & OF_RUN:
        reason = "the report ranks kernels by time"
        return _Refusal(f"{reason}, not by: {listed(sorted(names & OF_RUN))}", TOP_ALL)
    if "time per item" in names and names & OF_RUN:
        reason = f"the report has {listed(sorted(names & OF_RUN))} per run, not per item"
        return _Refusal(reason, "ask about the run; throughput has the items per run")
    facts: list[ReportFact] = []
    for topic in requested:
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
    "lower bound": ("floor_s", Unit.SECOND, "lower bound {}"),
    "energy": ("predicted.energy_j", Unit.JOULE, "{}, board only"),
    "flop": ("flop", Unit.FLOP, "{}"),
    "mac": ("mac", Unit.MAC, "{}"),
    "traffic": ("read_bytes", Unit.BYTE, "{} read"),
    "time at measured rates": ("time_s", Unit.SECOND, "{} at measured rates"),
}
"""Topics of single kernels: summed field, unit, and format of the text."""
WHOLE = frozenset({"predicted time", "kernel count", "nodes", "limits", "slowest kernels",
                   "precision", "prediction interval", "critical kernels", *SUMS})  # fmt: skip
"""Topics with facts about single kernels."""


def of_kernels(
    chosen: list[Selection], names: set[str], views: Views
) -> tuple[ReportFact, ...] | _Refusal:
    """Return facts about selected kernels."""
    rest = names - WHOLE
    if rest:
        reason = f"the report has no {listed(sorted(rest))} of single kernels"
        return _Refusal(reason, "ask about the run, or use perfc explain MODEL NODE")
    facts: list[ReportFact] = []
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
            facts.append(
                ReportFact(name, f"{kernels.noun}: {words.format(shown(total))}", (total,))
            )
    return tuple(facts)


def time_of(kernels: Selection, views: Views) -> ReportFact:
    """Return the count of kernels and their share of the predicted time."""
    count, mid = kernels.count(), cite(views, "verdict.expected.mid", Unit.SECOND)
    is_predicted = all(row.predicted is not None for row in kernels.rows)
    part = kernels.total("predicted.share" if is_predicted else "roofline_share", Unit.SHARE)
    theirs = float(part.value or 0.0) * views.verdict.time_s
    of = plural(len(views.kernels), "kernel")
    text = f"{kernels.noun}: {shown(count)} of {of}, {shown(part)} of the time"
    return ReportFact("kernels", f"{text}, {quantity(theirs, Unit.SECOND)} of {shown(mid)}",
                (count, part, mid))  # fmt: skip


def slowest_of(kernels: Selection, views: Views) -> ReportFact:
    """Return the slowest group of the kernels."""
    first = groups(kernels.rows)[0]
    return ReportFact(
        "slowest kernels", f"{kernels.noun}: {words_of(first, views)}", cite_group(first, views)
    )


def limits_of(kernels: Selection) -> ReportFact:
    """Return the limits of the kernels with their shares."""
    spent: dict[str, float] = {}
    for row in kernels.rows:
        time_s = row.predicted.time_s if row.predicted else row.roofline_time_s
        spent[row.held_by] = spent.get(row.held_by, 0.0) + time_s
    whole = sum(spent.values())
    ordered = sorted(spent.items(), key=lambda item: -item[1])
    field = "predicted.bound" if kernels.rows[0].predicted else "bound"
    cited = [
        Selection("", f"({kernels.where}) && {field}=='{bound}'",
                  tuple(r for r in kernels.rows if r.held_by == bound)).count()
        for bound, _ in ordered
    ]  # fmt: skip
    words = [f"{title(bound)} {share(s / whole if whole else 0.0)}" for bound, s in ordered]
    return ReportFact(
        "limits", f"{kernels.noun}: limited by {listed(words)} of their time", tuple(cited)
    )


def range_of(kernels: Selection) -> ReportFact:
    """Return the prediction interval of the first kernel."""
    row = kernels.rows[0]
    values = [cite_row(row, f"predicted.{name}_s") for name in ("low", "high")]
    cited = tuple(
        Citation(f"kernels[{row.index}].predicted.{name}_s", v if isinstance(v, float) else None,
                 Unit.SECOND)
        for name, v in zip(("low", "high"), values, strict=True)
    )  # fmt: skip
    ends = " to ".join(shown(c) for c in cited)
    text = f"kernel {row.index}, {row.title}: {INTERVAL} {ends}"
    return ReportFact("prediction interval", text, cited)


def types_of(kernels: Selection) -> ReportFact:
    """Return the element types of the kernels' products."""
    types = sorted({row.dtype for row in kernels.rows})
    first = kernels.rows[0].index
    cited = (Citation(f"kernels[{first}].dtype", kernels.rows[0].dtype, Unit.NONE),)
    return ReportFact("precision", f"{kernels.noun}: {listed(types)}", cited)
