"""Writing of fitted efficiencies to a target file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from perfc.analyzers.estimators.fitted_rates import Efficiencies
from perfc.analyzers.estimators.fitted_rates.efficiencies import HIGH, LOW, WHOLE, source_of
from perfc.common.whole_file import replacing
from perfc.errors import ParseError, TargetError
from perfc.ir import record
from perfc.machine import Machine, load_machine, validate
from perfc.machine.files import whole_card
from perfc.passes.runtimes import Framework, standing_for

from ..tables.dataset import models_file, read
from ..tables.rows import KernelRow, ModelRow
from .evaluate import PredictedRun, leave_one_out
from .fit import fit, samples_of
from .residuals import ratios

_SECTION = re.compile(r"\s*\[")
_FITTED = re.compile(r'\s*\[\s*(?:efficiency\b|source\.(?:"?)fit-)')
LEAST_MODELS = 3


@record
class FitResult:
    """Result of a fit.

    Args:
        machine: as it now stands in the file.
        efficiencies: the rates.
        outcomes: each model, predicted by a fit to the others.
        version: version of the runtime.
        threads: number of threads of its pool.
    """

    machine: Machine
    efficiencies: Efficiencies
    outcomes: tuple[PredictedRun, ...]
    version: str
    threads: int

    @property
    def error(self) -> float:
        """Mean absolute relative error of total times, leaving one model out."""
        return sum(abs(o.error) for o in self.outcomes) / max(len(self.outcomes), 1)


def fit_from(
    rows: Path, target: str, output: Path, *, threads: int | None = None, runtime: str = ""
) -> FitResult:
    """Fit efficiencies to the rows of a dataset and write them into a copy of a target file.

    Args:
        rows: rows of kernels (``perfc measure --append``); those of whole runs lie beside, in
            ``…-models`` or, in a folder's ``kernels.csv.gz``, in ``models.csv.gz``.
        target: name or file of the machine they were measured on.
        output: the file to write.
        threads: whose rows are used; those with most runs by default.
        runtime: fusion table that the rows speak of; of ONNX Runtime on processors by default.

    Raises:
        ParseError: no such rows, or too few models.
        TargetError: the file would not be valid.
    """
    kernels = read(rows, KernelRow)
    models = read(models_beside(rows), ModelRow)
    chosen = threads or most_common(m.threads for m in models)
    models = [m for m in models if m.threads == chosen]
    kernels = [k for k in kernels if k.threads == chosen]
    if len({m.digest for m in models}) < LEAST_MODELS:
        raise ParseError(
            f"{len({m.digest for m in models})} models at {chosen} threads",
            where=str(rows), hint=f"measure {LEAST_MODELS} at least, better 20",
        )  # fmt: skip
    samples, host = samples_of(kernels, models)
    efficiencies = fit(samples, host)
    outcomes = leave_one_out(kernels, models, samples, host)
    efficiencies = replace(efficiencies, ratios=ratios(samples, host, outcomes))
    version = models[0].version
    error = sum(abs(o.error) for o in outcomes) / max(len(outcomes), 1)
    date = max(m.date for m in models)
    source = {
        "origin": "measured",
        "title": f"perfc fit to {len(samples)} kernels of {len({m.digest for m in models})} models",
        "tool": version,
        "date": date,
        "threads": str(chosen),
        "note": f"total time of a model left out: {error:.1%} mean absolute error",
    }
    table = runtime or standing_for(Framework.ORT, "cpu").name
    machine = write(whole_card(target), output, efficiencies, table, source)
    return FitResult(machine, efficiencies, tuple(outcomes), version, chosen)


def models_beside(rows: Path) -> Path:
    """Return the file with the rows of whole runs.

    Raises:
        ParseError: there is none.
    """
    named = rows.with_name(rows.name.replace("kernels", "models", 1))
    for path in (models_file(rows), named):
        if path != rows and path.is_file():
            return path
    raise ParseError(
        "no rows of whole runs beside it", where=str(rows), hint=str(models_file(rows))
    )


def most_common(numbers: Iterable[int]) -> int:
    """The number that occurs most often, the largest of them.

    Raises:
        ParseError: there is none.
    """
    counts: dict[int, int] = {}
    for n in numbers:
        counts[n] = counts.get(n, 0) + 1
    if not counts:
        raise ParseError("no row of a whole run")
    return max(counts, key=lambda n: (counts[n], n))


def write(
    base: Machine, output: Path, efficiencies: Efficiencies, runtime: str, source: dict[str, str]
) -> Machine:
    """Write the target file of ``base`` with these efficiencies in place of earlier ones.

    Raises:
        TargetError: the file would not be valid, or cannot be written.
    """
    name = source_of(runtime)
    text = without(base.path.read_text(encoding="utf-8"), _FITTED)
    if efficiencies.host_s > 0:
        text = with_launch(text, efficiencies.host_s, name)
    replace_target(text.rstrip() + "\n" + rendered(efficiencies, name, source), output)
    return load_machine(output)


def replace_target(text: str, output: Path) -> None:
    """Write a target file in one step, if it is valid.

    Raises:
        TargetError: it is not, or cannot be written.
    """
    try:
        with replacing(output, suffix=".toml") as part:
            part.write_text(text, encoding="utf-8")
            problems = validate(part)
            if problems:
                raise TargetError(problems[0], where=str(output))
    except OSError as error:
        raise TargetError(error.strerror or "cannot be written", where=str(output)) from None


def without(text: str, tables: re.Pattern[str]) -> str:
    """Return a target file without the tables whose headings match a pattern."""
    lines: list[str] = []
    is_left_out = False
    for line in text.splitlines():
        if _SECTION.match(line):
            is_left_out = bool(tables.match(line))
        if not is_left_out:
            lines.append(line)
    return "\n".join(lines) + "\n"


def with_launch(text: str, seconds: float, source: str) -> str:
    """A target file whose launch overhead is the fitted one."""
    line = f'launch_overhead_s = {{ value = {seconds:.4g}, from = "{source}" }}'
    replaced = re.sub(r"(?m)^\s*launch_overhead_s\s*=.*$", line, text, count=1)
    if replaced != text:
        return replaced
    return re.sub(r"(?m)^\[device\]\s*$", f"[device]\n{line}", text, count=1)


def rendered(efficiencies: Efficiencies, name: str, source: dict[str, str]) -> str:
    """The tables of a fit as TOML."""
    lines = ["", f"[source.{name}]"]
    lines += [f'{k} = "{plain(v)}"' for k, v in source.items()]
    for group, rates in sorted(efficiencies.seconds.items()):
        lines += ["", f'[efficiency."{group}"]']
        count = efficiencies.samples.get(group, 0)
        for term, seconds in rates.items():
            value = seconds if term.is_time else 1 / seconds
            extra = f", n = {count}" if count else ""
            lines.append(f'{term.value} = {{ value = {value:.4e}, from = "{name}"{extra} }}')
        lines += sides(efficiencies, group, name)
    whole = sides(efficiencies, WHOLE, name)
    lines += ["", f'[efficiency."{WHOLE}"]', *whole] if whole else []
    return "\n".join(lines) + "\n"


def sides(efficiencies: Efficiencies, group: str, name: str) -> list[str]:
    """The ratios of a class as TOML, nothing where it has none."""
    ratio = efficiencies.ratios.get(group)
    if ratio is None or not ratio.low > 0:
        return []
    return [
        f'{key} = {{ value = {value:.4g}, from = "{name}" }}'
        for key, value in ((LOW, ratio.low), (HIGH, ratio.high))
    ]


def plain(text: str) -> str:
    """Remove characters that the schema does not allow."""
    return "".join(c if c.isprintable() and c not in '|`"\\' else " " for c in text)[:400]
