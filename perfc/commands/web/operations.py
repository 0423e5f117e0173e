"""Operations of the page of `perfc ui`: settings of each, and the command line that answers them.

The browser and the server run these command lines, so a page has the numbers of the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from perfc.common.fitted import data_next_to
from perfc.errors import ParseError
from perfc.frontend.reading.folder import SUFFIXES as MODELS
from perfc.ir import frozen

SUFFIXES = (*MODELS, ".safetensors", ".json")
"""Suffixes of model files; other files, Python sources among them, are not opened."""
CONFIG = "config.json"
"""File with the configuration of a checkpoint."""
WEIGHTS = ".safetensors"
"""Suffix of the weights of a checkpoint."""
Reply = dict[str, str | int]
"""``output`` of a command, or ``error`` in one line; ``line`` as a user types it; exit ``code``."""
_NUMBER = re.compile(r"[1-9]\d{0,6}")
"""Whole numbers from 1 to 9999999."""
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,79}", re.ASCII)
"""Names of machines and choices: no path, and no option, which begins with a hyphen."""
_FILE = re.compile(r"[\w(\[][\w .()\[\]+=,@-]{0,199}")
"""Names of uploaded files: without separators, so that none leaves its folder."""
_HUB = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
"""Names of models on the Hugging Face Hub, ``owner/name``, 96 characters each at most."""


def failed(reason: str) -> Reply:
    """Return the reply to a request without an answer."""
    return {"output": "", "line": "", "error": reason, "code": 2}


class SettingKind(StrEnum):
    """Kinds of settings."""

    MACHINE = "machine"
    MACHINES = "machines"
    NUMBER = "number"
    NAME = "name"


@frozen
class PageSetting:
    """A setting of an operation.

    Args:
        name: name in links and requests.
        flag: option of the command.
        label: label in the form.
        kind: kind of value.
        usual: value when the form opens; "" leaves the option out.
        choices: key of the catalogue with the known values of a name.
        empty: label of the choice of none of them.
        is_plugged_in: True if plug-ins have such names; a static page has none.
    """

    name: str
    flag: str
    label: str
    kind: SettingKind
    usual: str = ""
    choices: str = ""
    empty: str = "default"
    is_plugged_in: bool = False


@frozen
class PageOperation:
    """A command of the page.

    Args:
        name: name in links and requests.
        words: command and its fixed options.
        title: label of its tab.
        summary: what it answers, in a sentence.
        settings: its settings, in the order of the form.
        quick: options that give a first answer without predictors; () if there is none.
        page: options of the answer in place; the downloaded report has none of them.
    """

    name: str
    words: tuple[str, ...]
    title: str
    summary: str
    settings: tuple[PageSetting, ...]
    quick: tuple[str, ...] = ()
    page: tuple[str, ...] = ()


_TABLE = data_next_to(__file__)
"""Rows of operations, and of settings that several operations have."""


def _setting(row: str | dict[str, Any]) -> PageSetting:
    """Return a setting by its fields, or by the name of one that several operations have."""
    fields = _TABLE["settings"][row] if isinstance(row, str) else row
    return PageSetting(**{**fields, "kind": SettingKind(fields["kind"])})


def _operation(row: dict[str, Any]) -> PageOperation:
    """Return an operation by its row; lists become tuples."""
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
    return PageOperation(**{**fields, "settings": tuple(map(_setting, row["settings"]))})


OPERATIONS = tuple(map(_operation, _TABLE["operations"]))
"""Operations in the order of their tabs."""


class AnswerForm(StrEnum):
    """Form of an answer."""

    QUICK = "quick"  # without predictors, at once
    PAGE = "page"  # shown in place
    WHOLE = "whole"  # report to download


def operation_named(name: str) -> PageOperation:
    """Return the operation.

    Raises:
        ParseError: there is none of that name.
    """
    for operation in OPERATIONS:
        if operation.name == name:
            return operation
    raise ParseError(
        f"no operation {name[:32]!r}", hint=f"there are {', '.join(o.name for o in OPERATIONS)}"
    )


def arguments(name: str, settings: Mapping[str, str], answer: AnswerForm) -> list[str]:
    """Return the words of the command line after ``perfc`` and its model.

    No setting can name a file or another option.

    Raises:
        ParseError: an unknown operation or setting, or a value that it cannot have.
    """
    operation = operation_named(name)
    allowed = {s.name: s for s in operation.settings}
    for key in settings:
        if key not in allowed:
            raise ParseError(f"no setting {key[:32]!r}", where=name, hint=", ".join(allowed))
    words: list[str] = []
    for setting in operation.settings:
        if value := settings.get(setting.name, "").strip():
            words += [setting.flag, checked(setting, value)]
    fixed = {
        AnswerForm.QUICK: operation.quick,
        AnswerForm.PAGE: operation.page,
        AnswerForm.WHOLE: (),
    }
    return [*words, *fixed[answer]]


def checked(setting: PageSetting, value: str) -> str:
    """Return the value of a setting.

    Raises:
        ParseError: it is not of the kind of the setting.
    """
    match setting.kind:
        case SettingKind.NUMBER:
            is_valid, what = bool(_NUMBER.fullmatch(value)), "a whole number, at most 9999999"
        case SettingKind.MACHINES:
            names = [part.strip() for part in value.split(",")]
            # each name costs an analysis
            is_valid = len(names) <= 16 and all(_NAME.fullmatch(n) for n in names)
            value, what = ",".join(names), "up to 16 names of machines, with commas"
        case _:
            is_valid, what = bool(_NAME.fullmatch(value)), "a name"
    if not is_valid:
        raise ParseError(f"{setting.name} is {what}", where=setting.flag)
    return value


def command_line(
    name: str, model: str, settings: Mapping[str, str], answer: AnswerForm, form: str = "html"
) -> list[str]:
    """Return the words of the whole command line after ``perfc``.

    Args:
        name: operation.
        model: path of a file or folder, or a shipped name.
        settings: values by name.
        answer: form of the answer, which decides the options that it has.
        form: output format.

    Raises:
        ParseError: as `arguments`.
    """
    words = operation_named(name).words
    options = arguments(name, settings, answer)
    # no project file of a folder above applies
    return [*words, model, *options, "--isolated", "--output-format", form]


def shown_line(name: str, model: str, settings: Mapping[str, str]) -> str:
    """Return the command line as a user types it.

    Raises:
        ParseError: as `arguments`.
    """
    import shlex

    words = [*operation_named(name).words, model, *arguments(name, settings, AnswerForm.WHOLE)]
    return shlex.join(["perfc", *words])


def opened(names: Sequence[str]) -> str:
    """Return the file by which a model of several files is opened; "" for their folder.

    Raises:
        ParseError: no name of a model, or a name that no file has.
    """
    for name in names:
        if not _FILE.fullmatch(name) or not name.lower().endswith(SUFFIXES):
            raise ParseError(f"not a model: {name[:64]!r}", hint=f"drop {', '.join(SUFFIXES)}")
    if not names:
        raise ParseError("no model", hint="drop a file, or type a name")
    # a checkpoint with its configuration is opened as a folder
    if any(n.lower().endswith(WEIGHTS) for n in names) and CONFIG in names:
        return ""
    return next((n for n in names if not n.lower().endswith(".json")), names[0])


def catalogue(*, is_local: bool = False) -> dict[str, object]:
    """Return what the form offers: operations, models, machines and names of settings.

    Args:
        is_local: a server of this machine answers, with the plug-ins that it has.
    """
    from perfc.commands.analysis.compare import ALL
    from perfc.commands.shared import names
    from perfc.frontend.checkpoints.sources import shipped
    from perfc.frontend.config import read_config
    from perfc.machine import list_clusters, list_machines

    lists: Mapping[str, Callable[[], Iterable[str]]] = {
        "precisions": names.precisions,
        "runtimes": names.runtimes,
        "optimizers": names.optimizers,
        "engines": names.engines,
        "weight_formats": names.weight_formats,
        "serving_predictors": names.serving_predictors,
        "predictors": names.predictors,
        "sets_of_predictors": lambda: (ALL, *names.predictors()),
    }
    return {
        "operations": [form_of(o, is_local=is_local) for o in OPERATIONS],
        "suffixes": list(SUFFIXES),
        "samples": list(samples()),
        "models": list(shipped()),
        "encoders": [name for name in shipped() if read_config(name).decoder is None],
        "machines": [[m.name, m.description] for m in (*list_machines(), *list_clusters())],
        "is_local": is_local,
        **{key: list(known()) for key, known in lists.items()},
    }


def form_of(operation: PageOperation, *, is_local: bool) -> dict[str, object]:
    """Return an operation as JSON, for a static page without settings of plug-ins."""
    from perfc.common import plugins

    has_lab = bool(plugins.entries(plugins.PREDICTORS))
    settings = [
        {
            "name": s.name,
            "label": s.label,
            "kind": s.kind.value,
            "usual": s.usual,
            "choices": s.choices,
            "empty": s.empty,
            "lacking": plugins.LAB_HINT if s.is_plugged_in and not has_lab else "",
        }
        for s in operation.settings
        if is_local or not s.is_plugged_in
    ]
    return {
        "name": operation.name,
        "title": operation.title,
        "summary": operation.summary,
        "settings": settings,
        "has_quick": bool(operation.quick),
        # without options of the answer in place, a report to download would equal it
        "has_whole": bool(operation.page),
    }


def samples() -> Mapping[str, str]:
    """Return the paths of the sample models by name."""
    from pathlib import Path

    folder = Path(__file__).parent / "samples"
    files = sorted(folder.glob("*.onnx.gz"))
    return {f.name.removesuffix(".onnx.gz"): str(f) for f in files}


def named(name: str, *, has_hub: bool = False) -> str:
    """Return the path or name by which the command line opens a model.

    Args:
        name: name of a sample, a shipped configuration, or ORG/NAME on the hub.
        has_hub: allow names on the hub.

    Raises:
        ParseError: there is no such model.
    """
    from perfc.frontend.checkpoints.sources import nearest, shipped

    plain = name.strip().lower()
    if plain in shipped():
        return plain
    if path := samples().get(plain):
        return path
    if _HUB.fullmatch(name) and has_hub:
        return name
    close = nearest(plain[:80])  # comparing a very long name takes long
    hint = f"did you mean {' or '.join(close)}?" if close else "drop a file instead"
    raise ParseError(f"no model {name[:64]!r} comes with perfc", hint=hint)
