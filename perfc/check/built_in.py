"""Budgets of a project that states none, and the file that `perfc init` writes of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from perfc.deployment import Deployment
from perfc.diff.figures import Metric
from perfc.errors import ModelError

from .config import LOCK, Budget, Config, Level, Rule
from .limits import parse_limit

SUFFIXES = (".onnx", ".onnx.gz")
METRICS = (Metric.FLOP, Metric.PARAMETERS, Metric.PEAK_MEMORY, Metric.TIME)
LIMITS: Mapping[Level, str] = {Level.WARN: "+0%", Level.FAIL: "+5%"}
"""Against the baseline; an estimate fails only where the interval of the difference says so."""
MOST_FOLDERS = 4
"""With models; of more a file names all folders at once."""
MOST_MODELS = 10_000
"""Looked for in a project."""


def budgets(root: Path, models: Sequence[str], deployment: Deployment) -> Config:
    """The built-in budgets of ``models``, which are named from ``root``."""
    rules = tuple(
        Rule(metric, level, parse_limit(text, metric.unit))
        for metric in METRICS
        for level, text in LIMITS.items()
    )
    budget = Budget(("**/*",), deployment, rules)
    return Config(root / "perfc.toml", (budget,), root / LOCK, tuple(models))


def said(config: Config) -> str:
    """What built-in budgets are, in a line."""
    how = config.budgets[0].deployment
    sizes = ", ".join(f"{name}={size}" for name, size in how.dims.items()) or "batch 1"
    limits = ", ".join(f"{level.value} {text}" for level, text in LIMITS.items())
    keys = ", ".join(metric.key for metric in METRICS)
    setting = f"{limits}; {how.target}, {sizes}"
    return f"no budgets stated: built-in ones for {keys} ({setting}); perfc init writes them down"


def root_of(files: Iterable[str], start: Path) -> Path:
    """The folder that built-in budgets of ``files`` are of.

    That of the nearest baseline upwards, else ``start``, or what the files have in common where
    they lie elsewhere.
    """
    places = [Path(os.path.abspath(start / f)).parent for f in files]
    common = Path(os.path.commonpath(places)) if places else start
    here = start if common.is_relative_to(start) else common
    return next((f for f in (here, *here.parents) if (f / LOCK).is_file()), here)


def models_in(root: Path) -> list[str]:
    """Models below a folder, with slashes, sorted; hidden folders and packages are left out.

    Raises:
        ModelError: more than anybody has.
    """
    found: list[str] = []
    for here, folders, names in os.walk(root):
        folders[:] = [f for f in folders if not is_foreign(Path(here, f))]
        found += [Path(here, n).relative_to(root).as_posix() for n in names if is_model(n)]
        if len(found) > MOST_MODELS:
            what = f"more than {MOST_MODELS:,} models below this folder"
            raise ModelError(what, where=str(root), hint="name some, or write a perfc.toml")
    return sorted(found)


def is_model(name: str) -> bool:
    """Whether a file of that name is one."""
    return name.endswith(SUFFIXES) and not name.startswith(".")


def is_foreign(folder: Path) -> bool:
    """Whether what lies in a folder is hidden, installed, or an environment of Python."""
    name = folder.name
    hidden = name.startswith(".") or name in ("node_modules", "site-packages", "__pycache__")
    return hidden or (folder / "pyvenv.cfg").is_file()


def globs_of(models: Iterable[str]) -> list[str]:
    """Globs for models, one for each folder and ending; all folders where there are many."""
    pairs = sorted({(m.rpartition("/")[0], ending(m)) for m in models})
    if len({folder for folder, _ in pairs}) > MOST_FOLDERS:
        return [f"**/*{end}" for end in SUFFIXES if any(e == end for _, e in pairs)]
    return [f"{escaped(folder)}/*{end}" if folder else f"*{end}" for folder, end in pairs]


def ending(model: str) -> str:
    """The longest ending of a model's name."""
    return max((end for end in SUFFIXES if model.endswith(end)), key=len)


def escaped(folder: str) -> str:
    """A folder in a glob."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in folder)


def file_text(models: Sequence[str], stated: Mapping[str, object], target: str) -> str:
    """A commented ``perfc.toml`` of the built-in budgets.

    Args:
        models: it is about.
        stated: fields of the deployment that are written down.
        target: that is meant where ``stated`` has none.
    """
    how = {"target": target, **stated}
    lines = [
        "# What the models of this project may cost. `perfc check` compares them with perfc.lock;",
        "# `perfc baseline update MODEL` accepts a change that is meant.",
        "",
        "[[budget]]",
        pair("model", globs_of(models), "globs from this folder"),
        *(pair(k.replace("_", "-"), v, HINTS.get(k, "")) for k, v in how.items()),
        *(
            []
            if "dims" in how
            else ["# dims = { batch = 8 }  # sizes of open extents; 1 otherwise"]
        ),
        "",
        "# limits with + are against the baseline",
        *(f"{metric.key} = {inline(limits())}" for metric in METRICS),
        '# time = { max = "2.5 ms", fail = "+5%" }  # a limit without + is absolute',
    ]
    return "\n".join(lines) + "\n"


HINTS = {"target": "the machine; see `perfc targets`", "dims": "sizes of open extents"}


def limits() -> dict[str, object]:
    """Limits of one metric, as a file has them."""
    return {level.value: text for level, text in LIMITS.items()}


def pair(key: str, value: object, hint: str) -> str:
    """A line of TOML."""
    return f"{key} = {inline(value)}{f'  # {hint}' if hint else ''}"


def inline(value: object) -> str:
    """A value on one line of TOML; tomli_w spreads lists over several."""
    import tomli_w

    match value:
        case list():
            return f"[{', '.join(map(inline, value))}]"
        case dict():
            return f"{{ {', '.join(pair(key_of(str(k)), v, '') for k, v in value.items())} }}"
        case _:
            return tomli_w.dumps({"x": value}).partition("= ")[2].strip()


def key_of(name: str) -> str:
    """A key, quoted where it must be."""
    import tomli_w

    return tomli_w.dumps({name: 0}).partition(" = ")[0]
