"""``--fix``: apply all safe rewrites, verify equal results, write the model atomically."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.common.plain_text import say
from perfc.errors import PerfcError
from perfc.frontend.reading.onnx_file import read_model, write_model
from perfc.ir import record
from perfc.view.report.units import plural, share, time_text

from ..engine import Linted, LintOutcome, fixable
from ..formats.output import text
from ..work import LintWork, named
from .edit import FixError
from .onnx_edit import OnnxEditor

if TYPE_CHECKING:
    import onnx

    from ..finding import Finding

MAX_ROUNDS = 32
"""Maximum rounds of fixes: one makes room for the next, and two rules may undo each other."""


@record
class FixedModel:
    """A fixed model that is not yet written.

    Args:
        model: the fixed model.
        fixed: fixed findings.
        before: findings before.
        after: remaining findings.
        runs: number of random inputs with equal results.
    """

    model: onnx.ModelProto
    fixed: tuple[Finding, ...]
    before: Linted
    after: Linted
    runs: int

    @property
    def gain_s(self) -> float:
        """Return the time saved according to the analysis of the fixed model."""
        before_s, after_s = self.before.time_s, self.after.time_s
        return 0.0 if abs(before_s - after_s) <= 1e-9 * before_s else before_s - after_s


def fixed_model(work: LintWork, path: str) -> FixedModel | None:
    """Fix the model at ``path``; None if it has no fixable findings.

    Raises:
        FixError: the results differ or could not be verified, or the fixed model is slower.
        PerfcError: the model cannot be read.
    """
    original = read_model(path)
    model, fixed = original, list["Finding"]()
    first = latest = work.lint(path)
    for _ in range(MAX_ROUNDS):
        wanted = fixable(latest.findings)
        if not wanted:
            break
        editor = OnnxEditor(model)
        applied = editor.apply(wanted)
        if not applied:
            break
        fixed += applied
        model = editor.exported()
        latest = work.lint(path, model)
    if not fixed:
        return None
    # a difference of up to 1e-9 is rounding of sums
    if latest.sustained_s > first.sustained_s * (1 + 1e-9):
        raise FixError("the fixed model would be slower at measured rates", where=path)
    from perfc.api import typed

    from .proof import prove

    try:
        before, after = original.SerializeToString(), model.SerializeToString()
        module = typed(path, work.deployment.dims, work.values)
        runs = prove(before, after, module, Path(path).resolve().parent, work.values)
    except PerfcError as error:
        error.where = path if not error.where else f"{path}: {error.where}"
        raise
    return FixedModel(model, tuple(fixed), first, latest, runs)


def fix_files(work: LintWork, paths: Sequence[str], output: Path | None, *, in_place: bool) -> int:
    """Fix files, print what was done and what remains, and return the exit code.

    A file that cannot be read or verified is left unchanged and reported on standard error;
    the others continue.
    """
    if output is not None and (len(paths) > 1 or in_place):
        raise click.UsageError("-o names one file: give one model, and no --in-place")
    remaining: list[Linted] = []
    errors: list[str] = []
    for path in paths:
        try:
            fixed = fixed_model(work, path)
            if fixed is None:
                say(f"{path}: nothing to fix")
                remaining.append(work.lint(path))
                continue
            target = Path(path) if in_place else output or fixed_name(path)
            check_target(fixed.model, Path(path), target, in_place=in_place)
            write_model(fixed.model, target)
        except PerfcError as error:
            errors.append(named(error, path))
            say(f"error: {errors[-1]}", is_error=True)
            continue
        say(summary(fixed, path, target))
        remaining.append(fixed.after)
    outcome: LintOutcome = work.linter.outcome(remaining, errors)
    for line in text(outcome).splitlines():
        say(line)
    # exit codes of perfc lint: unreadable files, findings, neither
    return 2 if errors else 1 if outcome.count else 0


def summary(fixed: FixedModel, path: str, target: Path) -> str:
    """Summarize fixes, gain and verification in one line."""
    codes = Counter(f.code for f in fixed.fixed)
    listed = ", ".join(f"{c} x{n}" if n > 1 else c for c, n in sorted(codes.items()))
    part = share(fixed.gain_s / fixed.before.time_s) if fixed.before.time_s else "0 %"
    gain = f"{time_text(fixed.gain_s)} ({part})" if fixed.gain_s > 0 else "no time"
    nodes = f"{plural(len(fixed.model.graph.node), 'node')} left"
    return (
        f"{path}: fixed {plural(len(fixed.fixed), 'finding')} ({listed}), gains {gain}, {nodes}, "
        f"equal on {fixed.runs} random inputs; wrote {target}"
    )


def fixed_name(path: str) -> Path:
    """Return ``model.fixed.onnx`` for ``model.onnx``."""
    name = Path(path).name
    stem, dot, ending = name.partition(".onnx")
    return Path(path).with_name(f"{stem}.fixed{dot}{ending}" if dot else f"{name}.fixed.onnx")


def check_target(model: onnx.ModelProto, path: Path, target: Path, *, in_place: bool) -> None:
    """Reject overwriting the input without --in-place, and separating it from external data.

    Raises:
        FixError: either.
    """
    from perfc.measuring.measure.tables.weights import external

    if not in_place and target.resolve() == path.resolve():
        raise FixError("that is the input", where=str(target), hint="--in-place writes over it")
    is_elsewhere = target.resolve().parent != path.resolve().parent
    if is_elsewhere and next(external(model.graph), None) is not None:
        hint = "write the result to the same folder"
        raise FixError(
            f"weights of {path.name} are external files next to it", where=str(target), hint=hint
        )
    if in_place and not path.name.endswith((".onnx", ".onnx.gz")):
        raise FixError("only .onnx and .onnx.gz are written", where=str(path))
    if not in_place and path.name.endswith(".gz") and not target.name.endswith((".gz", ".onnx")):
        raise FixError("name it .onnx or .onnx.gz", where=str(target))
