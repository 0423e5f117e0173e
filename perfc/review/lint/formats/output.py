"""Findings as text and annotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from perfc.common.plain_text import printable
from perfc.ir import record
from perfc.review.pipelines import annotation
from perfc.review.pipelines.annotation import Annotation, AnnotationLevel
from perfc.view.report.units import plural, share, size_text, time_text

from ..engine import Linted, LintOutcome, near
from ..finding import Finding, Gain, GainBasis, Saves, Severity


@record
class FindingGroup:
    """Findings of one file with the same message at several places."""

    first: Finding
    places: tuple[str, ...]


def groups(linted: Linted) -> list[FindingGroup]:
    """Group equal findings, in the order of the first."""
    by_message: dict[tuple[object, ...], list[Finding]] = {}
    for f in linted.findings:
        # gains of equal layers differ a little by what the cache holds before them: three digits
        # are compared
        gain = None if f.gain is None else f"{f.gain.time_s:.2e}"
        key = (f.code, f.message, f.advice, gain, f.is_fixable)
        by_message.setdefault(key, []).append(f)
    return [FindingGroup(fs[0], tuple(f.place for f in fs)) for fs in by_message.values()]


def text(outcome: LintOutcome) -> str:
    """Format findings as lines: place, code, message, gain, advice."""
    lines: list[str] = []
    for linted in outcome.files:
        for group in groups(linted):
            f = group.first
            place = f" {f.place}:" if f.place else ""
            place += f" {f.source}:" if f.source else ""
            mark = " [*]" if f.is_fixable else ""
            lines.append(printable(f"{linted.path}:{place} {f.code}{mark} {f.message}"))
            lines.append(printable(f"    {worth(f)}; {f.advice}"))
            if len(group.places) > 1:
                lines.append(printable(f"    the same at {others(group.places[1:])}"))
    for path, f in outcome.configuration:
        lines.append(printable(f"{path}: {f.code} {f.message}"))
        lines.append(f"    {f.advice}")
    return "\n".join([*lines, *closing(outcome)]) + "\n"


def others(places: tuple[str, ...]) -> str:
    """Format the first three places and the number of others, which fit into a line."""
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return ", ".join(places[:3]) + more


def worth(finding: Finding) -> str:
    """Describe the benefit of a fix."""
    gain, parts = finding.gain, list[str]()
    if finding.saved_bytes is not None:
        parts.append(f"saves {size_text(finding.saved_bytes)} of memory")
    if finding.saves is Saves.LOADING:
        parts.append("reduces load time, not run time")
    elif finding.saves is Saves.KNOWLEDGE:
        parts.append("gain unknown" if gain is None else "no gain by itself")
    elif gain is None:
        parts.append("gain unknown")
    elif finding.saves is Saves.TIME:
        parts.append(gain_text(gain))
    return ", ".join(parts)


def gain_text(gain: Gain) -> str:
    """Format a gain with its lower bound."""
    if not gain.time_s:
        return "gains no time here"
    floor = time_text(gain.floor_s) if gain.floor_s else "0"
    saved = time_text(gain.time_s)
    if gain.basis is GainBasis.MEASURED:
        return f"saves at most {saved} ({share(gain.share)} of the run)"
    return f"gains {saved} ({share(gain.share)} of the run), at least {floor}"


def closing(outcome: LintOutcome) -> Iterator[str]:
    """Yield the last lines: numbers of findings, fixable and hidden ones."""
    total = outcome.count
    files = plural(len(outcome.files), "file")
    if outcome.errors:
        yield f"{plural(len(outcome.errors), 'file')} not analyzed."
    if outcome.files and not total:
        yield f"All checks passed in {files}."
    elif total:
        fixable = sum(f.is_fixable for x in outcome.files for f in x.findings)
        yield f"Found {plural(total, 'finding')} in {files}."
        if fixable:
            yield f"[*] {fixable} fixable with --fix."
    small = sum(x.small for x in outcome.files)
    if small:
        yield f"{small} of little or unknown gain not shown (--min-gain 0)."
    known = sum(x.known for x in outcome.files)
    if known:
        yield f"{known} that were there before not shown (without --new)."
    suppressed = sum(x.suppressed for x in outcome.files)
    if suppressed:
        yield f"{suppressed} suppressed by per-file-ignores."


def statistics(outcome: LintOutcome) -> str:
    """Count findings by code, most frequent first."""
    names = {f.code: f.rule for x in outcome.files for f in x.findings}
    names.update((f.code, f.rule) for _, f in outcome.configuration)
    counts = Counter(f.code for x in outcome.files for f in x.findings)
    counts.update(f.code for _, f in outcome.configuration)
    width = max((len(str(n)) for n in counts.values()), default=1)
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{n:{width}}  {code}  {names[code]}\n" for code, n in rows)


def located(outcome: LintOutcome) -> Iterator[tuple[str, Finding]]:
    """Yield every finding with its file, relative to the current folder if inside."""
    for x in outcome.files:
        for f in x.findings:
            yield near(Path(x.path)), f
    yield from outcome.configuration


def sentence(finding: Finding) -> str:
    """Format a finding in one line with its place."""
    place = f"{finding.place}: " if finding.place else ""
    parts = (finding.message, worth(finding), finding.advice)
    return printable(place + "; ".join(p for p in parts if p))


def annotated(outcome: LintOutcome) -> Iterator[Annotation]:
    """Yield annotations for every finding, and for files that could not be analyzed."""
    for path, f in located(outcome):
        level = AnnotationLevel.WARNING if f.severity is Severity.WARNING else AnnotationLevel.NOTE
        file, line = annotation.place_of(f.source, path)
        yield Annotation(
            level,
            file,
            rule=f.rule,
            title=f"perfc {f.code}",
            context=f.code,
            message=sentence(f),
            identity=f.fingerprint,
            line=line,
        )
    yield from map(annotation.unreadable, outcome.errors)
