"""``perfc diff``: compare two models or traces and show which operators explain the change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.common.plain_text import say
from perfc.errors import ParseError

from ..shared.prelude import (
    DeploymentOptions,
    color_option,
    deliver,
    flag_of,
    grouped_command,
    model_options,
    new_values,
    new_values_option,
    parse_top,
    present,
    result_options,
)
from ..shared.progress import reading
from ..shared.table import table_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perfc.measuring.trace.difference import TraceDifference
    from perfc.measuring.trace.facts import DeviceTrace
    from perfc.review.code.model import CodeModel
    from perfc.review.diff import Difference, SideSetting

FINDINGS = 1
"""Exit code of a difference under ``--exit-code``, as of ``git diff``."""
INCOMPLETE = 3
"""Exit code under ``--strict`` of an incomplete difference, whose totals are lower bounds."""
MOST_TRACES = 26
"""Maximum traces of a difference, each of which has a letter as its name."""
TRACE_SUFFIXES = (".json", ".sqlite", ".pb", ".pftrace")
"""Suffixes of recorded profiles, which are compared kernel by kernel."""
DOCUMENTS = {
    "diff": "perfc.review.diff.views:DiffViews",
    "trace-diff": "perfc.measuring.trace.difference:TraceDifference",
}
"""JSON documents of the command, and the types that define their schemas."""


@grouped_command("diff")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="[NEW]", required=False)
@click.argument("more", metavar="[TRACE]...", nargs=-1)
@model_options
@new_values_option
@result_options
@color_option
@table_options("diff")
def command(
    options: DeploymentOptions,
    /,
    old: str,
    new: str | None,
    more: tuple[str, ...],
    to: tuple[str, ...],
    step: tuple[int, ...],
    by: str | None,
    patch: Path | None,
    form: str,
    output: Path | None,
    top: str,
    exit_code: bool,
    strict: bool,
) -> int:
    """Compare two models by structure, or several traces; OLD and NEW are files.

    A model may also be git's REVISION:FILE. Kernels of traces of `perfc trace` are matched by
    operator, shapes and name, and their measured times compared with those of the first.

    Without NEW, OLD is compared with itself under --to, or else as it is in HEAD with
    as it is now: `perfc diff model.onnx`, `perfc diff HEAD~1:model.onnx model.onnx`,
    `perfc diff model.onnx --batch 1 --to batch=8`. PyTorch modules are named package.module:Name,
    at a revision too; `perfc diff HEAD~1` is of the one in [[models]] of perfc.toml.
    """
    from perfc.review.diff import document, views_of
    from perfc.review.diff.priced import patched

    limit = parse_top(top)
    paths = (old, *([] if new is None else [new]), *more)
    if new is not None and (traces := traces_of(paths, has_frames=bool(by))) is not None:
        result = compared(traces, paths, step, by)
        present(result, form, output, limit)
        return FINDINGS if exit_code and not result.is_empty else 0
    # options that only traces have; the message begins with the key
    of_traces = {"--step is": step, "--by is": by, "more than two are": more}
    if which := next((words for words, value in of_traces.items() if value), ""):
        raise click.UsageError(f"{which} for traces")
    first, second = sides(options, old, new, new_values(to))
    if patch is not None:
        # a patch applies to the working tree; both sides have the options of the second
        first = current(second)
        second = patched(first, patch.read_text("utf-8"))
    difference = between(first, second)
    views = views_of(difference)
    if form == "html":
        from perfc.review.page import comparison_of, comparison_page

        deliver(comparison_page(comparison_of(difference, document(views, limit))), output)
    else:
        present(views, form, output, limit)
    if strict and not difference.is_complete:
        say("incomplete: totals are lower bounds", is_error=True)
        return INCOMPLETE
    return FINDINGS if exit_code and not difference.is_empty else 0


def between(first: SideSetting, second: SideSetting) -> Difference:
    """Return the difference of two sides, with the changed lines of their code."""
    from perfc.review.code.changed_lines import code_change
    from perfc.review.diff import both, compare
    from perfc.review.diff.blame import frames_in

    reports = both(first, second)
    labels = (str(first.model), str(second.model))
    change = code_change(first.model, second.model, frames_in(reports))
    return compare(*reports, labels, change)


def sides(
    options: DeploymentOptions, old: str, new: str | None, changed: Mapping[str, object]
) -> tuple[SideSetting, SideSetting]:
    """Return both sides; ``changed`` has the options in which the second differs."""
    from perfc.review.diff import SideSetting

    old, new = resolved(options, old, new)
    how = options.deployment()
    first = SideSetting(model_of(options, old), how, options.contents)
    # an error names the option without its hyphens: --to batch
    new_how = how.with_values(changed, lambda f: f"--to {flag_of(f)[2:]}")
    new_how.require_kernels("--to mode")
    second = SideSetting(model_of(options, new or old), new_how, options.contents)
    # one model under the same options: its change since the last commit
    if new is None and first == second:
        return committed(first), current(second)
    return first, second


def committed(side: SideSetting) -> SideSetting:
    """Return a side at HEAD; a PyTorch module with a revision stays at that one.

    Raises:
        ParseError: a file that has a revision.
    """
    from perfc.review.code.model import HEAD, CodeModel

    if isinstance(side.model, CodeModel):
        return replace(side, model=CodeModel(side.model.module, side.model.revision or HEAD))
    name = side.model
    if ":" in name and not Path(name).exists():
        raise ParseError("nothing to compare with", where=name, hint="give a second model")
    # git takes paths as relative to the root of the repository, unless they begin with ./
    return replace(side, model=f"HEAD:{name}" if Path(name).is_absolute() else f"HEAD:./{name}")


def current(side: SideSetting) -> SideSetting:
    """Return a side in the working tree."""
    from perfc.review.code.model import CodeModel

    if not isinstance(side.model, CodeModel):
        return side
    return replace(side, model=CodeModel(side.model.module))


def traces_of(paths: Sequence[str], *, has_frames: bool) -> list[DeviceTrace] | None:
    """Return the traces in files; None if a file has no suffix of a trace, or none begins as one.

    Args:
        paths: paths of the files.
        has_frames: whether the frames of the host are read, too.

    Raises:
        ParseError: some files are traces and others are not, or a trace cannot be read.
    """
    if not all(n.removesuffix(".gz").endswith(TRACE_SUFFIXES) and Path(n).is_file() for n in paths):
        return None
    from perfc.measuring.trace.formats import format_of, read_trace

    # models, too, may be JSON or gzipped: what the files begin with decides
    if all(format_of(n) is None for n in paths):
        return None
    traces: list[DeviceTrace] = []
    for path in paths:
        with reading(path):
            traces.append(read_trace(path, has_frames=has_frames))
    return traces


def compared(
    traces: Sequence[DeviceTrace], paths: Sequence[str], steps: Sequence[int], by: str | None
) -> TraceDifference:
    """Return the difference of traces.

    Raises:
        UsageError: there are too many traces, or the steps are neither one nor one for each trace.
    """
    from perfc.measuring.trace.analyses.stack import StackBy
    from perfc.measuring.trace.difference import difference
    from perfc.measuring.trace.steps import selected
    from perfc.measuring.trace.summary import summarized

    if len(traces) > MOST_TRACES:
        raise click.UsageError(f"{len(traces)} traces; {MOST_TRACES} at most")
    if len(steps) not in (0, 1, len(traces)):
        raise click.UsageError(f"--step: one, or one for each of {len(traces)} traces")
    # a single step applies to all traces; without any, None is the median step of each
    numbers = steps if len(steps) > 1 else [*steps, None][:1] * len(traces)
    sides = [selected(t, n) for t, n in zip(traces, numbers, strict=True)]
    # a step of one trace is not comparable with the whole of another: without steps in one of the
    # traces, all are compared as a whole
    if not all(side.steps for side in sides):
        sides = [selected(t, has_steps=False) for t in traces]
    summaries = [summarized(t, is_bounded=False) for t in sides]
    return difference(paths, summaries, StackBy(by) if by else None)


def model_of(options: DeploymentOptions, name: str) -> str | CodeModel:
    """Return a PyTorch module, at a revision or in the working tree, or the name of a file.

    Raises:
        PerfcError: as `DeploymentOptions.named`.
    """
    from perfc.common.repository import is_revision
    from perfc.frontend.reading.module_name import NamedModule, is_named
    from perfc.review.code.model import CodeModel

    # four forms: FILE, REVISION:FILE, package.module:Name, REVISION:package.module:Name; the text
    # before a colon may be a package, not a revision
    revision, _, after_colon = name.partition(":")
    if not ((is_named(name) or is_named(after_colon)) and is_revision(revision)):
        revision, after_colon = "", name
    # a file at a revision
    elif not is_named(after_colon):
        return name
    module = options.named(after_colon)
    return CodeModel(module, revision) if isinstance(module, NamedModule) else name


def resolved(options: DeploymentOptions, old: str, new: str | None) -> tuple[str, str | None]:
    """Return both sides; a revision alone is completed with its model.

    Raises:
        ParseError: no module, or several, fit a revision.
    """
    from perfc.common.repository import is_revision
    from perfc.frontend.reading.module_name import is_named

    from ..shared.options import modules_in

    # a revision alone, as ``HEAD~1``: neither a file nor a model at a revision
    for name, other in ((old, new), (new, old)):
        if name is None or ":" in name or Path(name).exists() or not is_revision(name):
            continue
        # OLD is a revision and NEW a model: OLD is that model at the revision
        if other is not None and name is old and (is_named(other) or Path(other).is_file()):
            return f"{name}:{other}", other
        # without NEW: the only module of the project, at the revision and as it is now
        modules = [*modules_in(options.file)] if options.file and other is None else []
        if len(modules) == 1:
            return f"{name}:{modules[0]}", modules[0]
        # the hint has the model if one is known
        model = "MODEL" if other is None or is_revision(other) else other.rpartition(":")[2]
        model = modules[0] if modules else model
        call = f"perfc diff {name}:{model} {model}"
        raise ParseError("a revision of git, not a model", where=name, hint=f"as in {call}")
    return old, new
