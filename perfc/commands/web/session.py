"""Run command lines in this process and return what they print, for the worker of the page."""

from __future__ import annotations

import gc
import io
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout

from perfc.errors import PerfcError

from .operations import AnswerForm, Reply, command_line, failed, named, opened, shown_line


def run_operation(
    operation: str,
    model: str,
    files: Sequence[str],
    settings: Mapping[str, str],
    answer: str,
    form: str = "html",
    *,
    has_hub: bool = False,
) -> Reply:
    """Return the answer of an operation.

    Args:
        operation: name of the operation.
        model: shipped name, or the folder of the files.
        files: names of files in that folder; () for a name.
        settings: values by name.
        answer: value of `AnswerForm`.
        form: output format of the command.
        has_hub: allow names on the hub that this machine has.
    """
    try:
        if files:
            file = opened(files)
            # the server runs a job in the folder of its files: reports name the file alone
            where = file if model == "." and file else os.path.join(model, file)
            shown = file or "FOLDER"
        else:
            where, shown = named(model, has_hub=has_hub), model
            if os.path.isfile(where):
                # report and command line name a sample without its folder
                os.chdir(os.path.dirname(where))
                where = shown = os.path.basename(where)
        line = shown_line(operation, shown, settings)
        words = command_line(operation, where, settings, AnswerForm(answer), form)
    except PerfcError as error:
        return failed(str(error))
    return {"line": line, **run_command(words)}


def run_command(words: Sequence[str]) -> Reply:
    """Run a command line and return its ``output``, and its errors as ``error``."""
    from perfc.commands import cli

    out, errors = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        code = cli.run([*words])
        out.flush()
    buffer = out.buffer
    assert isinstance(buffer, io.BytesIO)
    output = buffer.getvalue().decode()
    gc.collect()  # frees a model before the next one is read
    return {"output": output, "error": message(errors.getvalue(), output), "code": code}


def message(errors: str, output: str) -> str:
    """Return the errors of a run without an answer; "" if there is one."""
    # with an answer, standard error has only notes; else its last lines say what is wrong
    lines = [e.removeprefix("error: ") for e in errors.splitlines() if e.strip()]
    return "" if output else "\n".join(lines[-3:]) or "no answer"


def listen(report: Callable[[str], None]) -> None:
    """Call ``report`` with the name of each pass that finishes."""
    from perfc.commands.shared import progress

    progress.LISTENERS[:] = [report]
