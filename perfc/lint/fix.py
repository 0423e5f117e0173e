"""``--fix``: safe rewrites until none is left, proved equal, then written in one step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.errors import PerfcError
from perfc.ir.record import record
from perfc.onnx_file import read_model, write_model
from perfc.plain_text import say
from perfc.report.units import Unit, plural, quantity, share

from .engine import Linted, Outcome, fixable
from .onnx_edit import FixError, OnnxEditor
from .output import text
from .work import Work, named

if TYPE_CHECKING:
    import onnx

    from .finding import Finding

MAX_ROUNDS = 32


@record
class Mended:
    """A rewritten model, not yet written.

    Args:
        model: the rewritten one.
        fixed: findings that are gone.
        before: what was found at first.
        after: what is left.
        runs: random inputs on which both models gave the same.
    """

    model: onnx.ModelProto
    fixed: tuple[Finding, ...]
    before: Linted
    after: Linted
    runs: int

    @property
    def gain_s(self) -> float:
        """What a re-analysis of the rewritten model says is saved."""
        now, then = self.before.time_s, self.after.time_s
        return 0.0 if abs(now - then) <= 1e-9 * now else now - then


def mended(work: Work, path: str) -> Mended | None:
    """The model at ``path`` with its fixable findings mended; None where there are none.

    Raises:
        FixError: the result could not be proved equal, or would be slower.
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
        done = editor.apply(wanted)
        if not done:
            break
        fixed += done
        model = editor.exported()
        latest = work.lint(path, model)
    if not fixed:
        return None
    if latest.sustained_s > first.sustained_s * (1 + 1e-9):
        raise FixError("the mended model would be slower at measured rates", where=path)
    from perfc.api import typed

    from .proof import prove

    try:
        before, after = original.SerializeToString(), model.SerializeToString()
        module = typed(path, work.deployment.dims, work.values)
        runs = prove(before, after, module, Path(path).resolve().parent, work.values)
    except PerfcError as error:
        error.where = path if not error.where else f"{path}: {error.where}"
        raise
    return Mended(model, tuple(fixed), first, latest, runs)


def mend(work: Work, paths: Sequence[str], output: Path | None, *, in_place: bool) -> int:
    """Mend files, say what was done, and list what is left; the exit code.

    A file that cannot be read or proved stays as it is, is said on standard error, and stops no
    other.
    """
    if output is not None and (len(paths) > 1 or in_place):
        raise click.UsageError("-o names one file: give one model, and no --in-place")
    left: list[Linted] = []
    errors: list[str] = []
    for path in paths:
        try:
            found = mended(work, path)
            if found is None:
                say(f"{path}: nothing to fix")
                left.append(work.lint(path))
                continue
            target = Path(path) if in_place else output or beside(path)
            check_target(found.model, Path(path), target, in_place=in_place)
            write_model(found.model, target)
        except PerfcError as error:
            errors.append(named(error, path))
            say(f"error: {errors[-1]}", is_error=True)
            continue
        say(summary(found, path, target))
        left.append(found.after)
    outcome: Outcome = work.linter.outcome(left, errors)
    for line in text(outcome).splitlines():
        say(line)
    return 2 if errors else 1 if outcome.count else 0


def summary(found: Mended, path: str, target: Path) -> str:
    """What was mended, gained and proved, in one line."""
    codes = Counter(f.code for f in found.fixed)
    listed = ", ".join(f"{c} x{n}" if n > 1 else c for c, n in sorted(codes.items()))
    part = share(found.gain_s / found.before.time_s) if found.before.time_s else "0 %"
    gain = f"{quantity(found.gain_s, Unit.SECOND)} ({part})" if found.gain_s > 0 else "no time"
    nodes = f"{plural(len(found.model.graph.node), 'node')} left"
    return (
        f"{path}: fixed {plural(len(found.fixed), 'finding')} ({listed}), gains {gain}, {nodes}, "
        f"equal on {found.runs} random inputs; wrote {target}"
    )


def beside(path: str) -> Path:
    """``model.fixed.onnx`` for ``model.onnx``."""
    name = Path(path).name
    stem, dot, ending = name.partition(".onnx")
    return Path(path).with_name(f"{stem}.fixed{dot}{ending}" if dot else f"{name}.fixed.onnx")


def check_target(model: onnx.ModelProto, path: Path, target: Path, *, in_place: bool) -> None:
    """Refuse what would harm: writing over the input unasked, leaving external data behind.

    Raises:
        FixError: either.
    """
    from perfc.measure.weights import external

    if not in_place and target.resolve() == path.resolve():
        raise FixError("that is the input", where=str(target), hint="--in-place writes over it")
    apart = target.resolve().parent != path.resolve().parent
    if apart and next(external(model.graph), None) is not None:
        hint = "write the result to the same folder"
        raise FixError(f"weights of {path.name} lie beside it", where=str(target), hint=hint)
    if in_place and not path.name.endswith((".onnx", ".onnx.gz")):
        raise FixError("only .onnx and .onnx.gz are written", where=str(path))
    if not in_place and path.name.endswith(".gz") and not target.name.endswith((".gz", ".onnx")):
        raise FixError("name it .onnx or .onnx.gz", where=str(target))
