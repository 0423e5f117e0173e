"""Built-in budgets of a project without any, and the `perfc.toml` that `perfc init` writes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from perfc.deployment import Deployment
from perfc.frontend.reading.folder import SUFFIXES
from perfc.frontend.reading.module_name import NamedModule

from .config import LIMITS, LOCK, METRICS, Budget, Config, default_rules

MOST_FOLDERS = 4
"""Maximum folders listed in a file; above that it uses one glob for all."""


def budgets(root: Path, models: Sequence[str], deployment: Deployment) -> Config:
    """Return the built-in budgets of ``models``, named relative to ``root``."""
    budget = Budget(("**/*",), deployment, default_rules())
    return Config(root / "perfc.toml", (budget,), root / LOCK, tuple(models))


def said(config: Config) -> str:
    """Describe the built-in budgets in a line."""
    deployment = config.budgets[0].deployment
    sizes = ", ".join(f"{name}={size}" for name, size in deployment.dims.items()) or "batch 1"
    limits = ", ".join(f"{level.value} {text}" for level, text in LIMITS.items())
    keys = ", ".join(metric.key for metric in METRICS)
    setting = f"{limits}; {deployment.target}, {sizes}"
    return (
        f"no budgets given: built-in ones for {keys} ({setting}); perfc init writes them to a file"
    )


def root_of(files: Iterable[str], start: Path) -> Path:
    """Return the folder of the built-in budgets of ``files``.

    It is that of the nearest baseline upwards, else ``start``, or the common folder of files
    outside of it.
    """
    places = [Path(os.path.abspath(start / f)).parent for f in files]
    common = Path(os.path.commonpath(places)) if places else start
    here = start if common.is_relative_to(start) else common
    return next((f for f in (here, *here.parents) if (f / LOCK).is_file()), here)


def globs_of(models: Sequence[str]) -> list[str]:
    """Return globs for models, one per folder and suffix; one for all folders if there are many.

    Suffixes that other files have too stand for their model alone.
    """
    alone = sorted(escaped(m) for m in models if not m.endswith(SUFFIXES))
    pairs = sorted({(m.rpartition("/")[0], ending(m)) for m in models if m.endswith(SUFFIXES)})
    if len({folder for folder, _ in pairs}) > MOST_FOLDERS:
        return [f"**/*{end}" for end in SUFFIXES if any(e == end for _, e in pairs)] + alone
    return [f"{escaped(folder)}/*{end}" if folder else f"*{end}" for folder, end in pairs] + alone


def ending(model: str) -> str:
    """Return the longest of the suffixes that a model's name has."""
    return max((end for end in SUFFIXES if model.endswith(end)), key=len)


def escaped(folder: str) -> str:
    """Escape a folder for a glob."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in folder)


def file_text(
    models: Sequence[str],
    given: Mapping[str, object],
    target: str,
    modules: Sequence[NamedModule] = (),
    proposed: Sequence[str] = (),
) -> str:
    """Return a commented ``perfc.toml`` with the built-in budgets.

    Args:
        models: models of the budgets.
        given: deployment fields to write.
        target: target if ``given`` has none.
        modules: PyTorch modules with budgets.
        proposed: PyTorch modules to write as comments.
    """
    fields = {"target": target, **given}
    lines = [
        "# What the models of this project may cost. `perfc check` compares them with perfc.lock;",
        "# `perfc check --write-baseline MODEL` accepts an intended change.",
        *(budget_lines(models, fields) if models else ()),
        *(line for m in modules for line in module_lines(m, fields)),
    ]
    for name in proposed:
        lines += [
            "",
            "# [[models]]",
            f"# source = {inline(name)}",
            '# input = "8x3x224x224"  # with its batch',
        ]
    return "\n".join(lines) + "\n"


def module_lines(module: NamedModule, how: Mapping[str, object]) -> list[str]:
    """Return the lines of a PyTorch module with the built-in limits.

    Raises:
        ModelError: its arguments are not a JSON object.
    """
    from perfc.frontend.pytorch.named import arguments_of

    lines = ["", "[[models]]", pair("source", module.name, "by its name")]
    if module.inputs:
        lines.append(pair("input", [*module.inputs], "with its batch"))
    if module.is_jax:
        lines.append(pair("jax", True, "a function of JAX"))
    if module.kwargs:
        lines.append(pair("kwargs", arguments_of(module.kwargs), ""))
    return [*lines, *deployed(how)]


def deployed(how: Mapping[str, object]) -> Iterator[str]:
    """Return the lines of fields of a deployment."""
    return (pair(k.replace("_", "-"), v, HINTS.get(k, "")) for k, v in how.items())


def budget_lines(models: Sequence[str], how: Mapping[str, object]) -> list[str]:
    """Return the lines of the budget of files."""
    return [
        "",
        "[[budget]]",
        pair("model", globs_of(models), "globs from this folder"),
        *deployed(how),
        *["# dims = { batch = 8 }  # sizes of open extents; 1 otherwise"][: "dims" not in how],
        "",
        "# limits with + are against the baseline",
        *(f"{metric.key} = {inline(limits())}" for metric in METRICS),
        '# time = { max = "2.5 ms", fail = "+5%" }  # a limit without + is absolute',
    ]


HINTS = {"target": "the machine; see `perfc targets`", "dims": "sizes of open extents"}
"""Comments behind fields of a deployment in the written file."""


def limits() -> dict[str, object]:
    """Return the limits of one metric in file syntax."""
    return {level.value: text for level, text in LIMITS.items()}


def pair(key: str, value: object, hint: str) -> str:
    """Format a line of TOML."""
    return f"{key} = {inline(value)}{f'  # {hint}' if hint else ''}"


def inline(value: object) -> str:
    """Format a value on one line of TOML; tomli_w uses several lines for lists."""
    import tomli_w

    match value:
        case list():
            return f"[{', '.join(map(inline, value))}]"
        case dict():
            return f"{{ {', '.join(pair(key_of(str(k)), v, '') for k, v in value.items())} }}"
        case _:
            return tomli_w.dumps({"x": value}).partition("= ")[2].strip()


def key_of(name: str) -> str:
    """Return a key, quoted if necessary."""
    import tomli_w

    return tomli_w.dumps({name: 0}).partition(" = ")[0]
