"""Budgets of a project: ``perfc.toml``, or ``[tool.perfc]`` of ``pyproject.toml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Any

from perfc.common.repository import from_here
from perfc.deployment import KEYS, Deployment, project_file
from perfc.deployment.fields import with_axes
from perfc.deployment.prices import Offer
from perfc.errors import ParseError
from perfc.frontend.reading.module_name import NamedModule, is_named
from perfc.ir import record
from perfc.ir.symbolic.sizes import sizes_of
from perfc.review.diff.figures import BY_KEY, Metric
from perfc.view.report.units import Limit, parse_limit

from .globs import is_match

LOCK = "perfc.lock"
"""Default name of the baseline file."""


class Level(Enum):
    """Consequences of exceeding a limit."""

    WARN = "warn"
    FAIL = "fail"

    __hash__ = object.__hash__  # faster than Enum's hash of the name


@record
class LimitRule:
    """One limit on one metric, with its line in the file."""

    metric: Metric
    level: Level
    limit: Limit
    line: int = 0


METRICS = (
    Metric.FLOP,
    Metric.PARAMETERS,
    Metric.WEIGHTS,
    Metric.TRAFFIC,
    Metric.PEAK_MEMORY,
    Metric.TIME,
)
"""Metrics with limits in a budget that sets none, as in the built-in budgets. Weights and traffic
grow where a wider type replaces a quantized one, which work and time may not show."""
LIMITS: Mapping[Level, str] = {Level.WARN: "+0%", Level.FAIL: "+5%"}
"""Limits against the baseline. Counts are exact, so that the least growth warns; that a twentieth
fails is *assumed*. An estimate fails only if the interval of its difference exceeds them."""


def default_rules() -> tuple[LimitRule, ...]:
    """Return the limits of models without any in the file."""
    return tuple(
        [
            LimitRule(metric, level, parse_limit(text, metric.unit))
            for metric in METRICS
            for level, text in LIMITS.items()
        ]
    )


@record
class Budget:
    """Limits for the models of some globs under one setting.

    Args:
        models: globs relative to the folder of the file; of a module its source and name.
        deployment: how the models are run. Its ``dims`` may have symbols that a model lacks if
            they have all symbols of the model.
        rules: the limits.
        line: first line in the file.
        dims_line: line of ``dims``.
        module: PyTorch module that the budget is about, by name; None for files.
        offer: price of the target, for a limit on the cost; None without one.
    """

    models: tuple[str, ...]
    deployment: Deployment = field(default_factory=Deployment)
    rules: tuple[LimitRule, ...] = ()
    line: int = 0
    dims_line: int = 0
    module: NamedModule | None = None
    offer: Offer | None = None

    @property
    def target(self) -> str:
        """Return the name or file of the target."""
        return self.deployment.target

    @property
    def dims(self) -> Mapping[str, int]:
        """Return the values of symbolic extents."""
        return self.deployment.dims

    def covers(self, path: str) -> bool:
        """Return True if the budget covers the model at ``path``, relative to the file's folder."""
        if is_named(path):
            return self.module is not None and path in self.models
        return any(is_match(path, glob) for glob in self.models)


@record
class Config:
    """The budgets of a project.

    Args:
        path: project file.
        budgets: budgets in the order of the file.
        lock: baseline file.
        built_in_of: models of built-in budgets; None if the file has budgets.
    """

    path: Path
    budgets: tuple[Budget, ...]
    lock: Path
    built_in_of: tuple[str, ...] | None = None

    @property
    def root(self) -> Path:
        """Return the folder to which globs and names of models are relative."""
        return self.path.parent

    def named(self, path: Path) -> str:
        """Return a file of the project, as `shown`."""
        is_inside = path.is_relative_to(self.root)
        return self.shown(path.relative_to(self.root).as_posix()) if is_inside else str(path)

    def shown(self, name: str) -> str:
        """Make a file name relative to the current folder instead of the budgets' folder.

        Output does not depend on the project's location, and commands accept the printed names.
        """
        return name if name in self.modules else from_here(self.root, name)

    def place(self, line: int) -> str:
        """Return a place in the file, for messages."""
        return (
            "the built-in budgets"
            if self.built_in_of is not None
            else f"{self.shown(self.path.name)}:{line}"
        )

    @property
    def modules(self) -> dict[str, NamedModule]:
        """Return PyTorch modules with a budget, by source and name."""
        return {b.models[0]: b.module for b in self.budgets if b.module is not None}

    def modules_of(self, source: str) -> list[str]:
        """Return the modules of a source, of all its sets of inputs."""
        return [name for name in self.modules if name == source or name.startswith(f"{source}/")]

    def models(self) -> list[str]:
        """Return the files and PyTorch modules that some budget covers, sorted."""
        if self.built_in_of is not None:
            return sorted(self.built_in_of)
        files = set(self.modules)
        for glob in dict.fromkeys(g for b in self.budgets if not b.module for g in b.models):
            for path in self.root.glob(glob):
                if path.is_file():
                    files.add(path.relative_to(self.root).as_posix())
        return sorted(files)


def load(path: Path, typed: Mapping[str, object] | None = None) -> Config:
    """Read the budgets in ``path``.

    Args:
        path: the file.
        typed: deployment fields of the command line, which override the file's.

    Raises:
        ParseError: an invalid key or value; names it and its line.
    """
    tree, text, prefix = project_file.read_project(path)
    defaults = project_file.deployment_in(path, KEYS)
    reader = BudgetReader(path, text, f"{prefix}budget", defaults, typed or {})
    if not isinstance(tree, dict):
        raise reader.fault("perfc", "is not a table")
    budgets = [reader.budget(i, e) for i, e in enumerate(reader.tables(tree, "budget"))]
    # tables of [[models]] have the same fields, under another header in messages
    of_models = replace(reader, header=reader.header.replace("budget", "models"))
    for i, entry in enumerate(of_models.tables(tree, "models")):
        budgets += of_models.of_module(i, entry, budgets)
    return Config(path, tuple(budgets), reader.lock(tree.get("lock", LOCK)))


@dataclass(frozen=True)
class BudgetReader(project_file.ModelReader):
    """Parser of budget tables, with line numbers for messages."""

    defaults: project_file.ProjectValues
    typed: Mapping[str, object]

    def lock(self, name: object) -> Path:
        """Return the baseline file, which must be inside the project."""
        if not isinstance(name, str) or not name or "\0" in name:
            raise self.fault("lock", "lock is not the name of a file")
        root = self.path.parent
        if not (root / name).resolve().is_relative_to(root.resolve()):
            hint = "the baseline lies in the folder of the file, or below"
            raise self.fault("lock", f"lock = {name!r} leads out of the project", hint=hint)
        return root / name

    def of_module(
        self, index: int, entry: Mapping[str, Any], before: Sequence[Budget]
    ) -> Iterator[Budget]:
        """Yield the budgets of one ``[[models]]`` table, one per combination of its lists."""
        fields = tuple(name.replace("_", "-") for name in KEYS)
        self.check_keys(entry, index, "model", "source", "name", "input", "kwargs", "jax")
        model_name, module = self.module(index, entry)
        # the baseline has entries by name: one name is one module with one set of inputs
        if any(b.module not in (None, module) for b in before if b.covers(model_name)):
            hint = 'give each set of inputs a name, as in name = "large"'
            raise self.fault("source", f"{model_name} already has other inputs", index, hint=hint)
        lists = {k: v for k, v in entry.items() if k in fields and isinstance(v, list)}
        for key in (k for k, v in lists.items() if not v):
            raise self.fault(key, f"{key} is an empty list", index)
        # `target = ["a100", "h100"]` with two types is four budgets
        for values in product(*lists.values()):
            chosen = {**entry, **dict(zip(lists, values, strict=True))}
            yield self.limited((model_name,), chosen, index, module)

    def budget(self, index: int, entry: Mapping[str, Any]) -> Budget:
        """Parse one ``[[budget]]`` table."""
        self.check_keys(entry, index, "budget", "model")
        globs = entry.get("model", "**/*.onnx")
        models = tuple(
            # a backslash separates folders of a Windows path, as no name of a model has one
            glob.replace("\\", "/") if isinstance(glob, str) else glob
            for glob in (globs if isinstance(globs, list) else [globs])
        )
        for glob in models:
            self.check_glob(glob, index)
        return self.limited(models, entry, index)

    def check_keys(self, entry: Mapping[str, Any], index: int, what: str, *others: str) -> None:
        """Reject keys that are neither of a table, nor of a deployment, nor limits."""
        allowed = (*others, *(name.replace("_", "-") for name in KEYS), *BY_KEY)
        for key in entry:
            if key not in allowed:
                raise self.fault(key, f"no key {key!r} in a {what}", index, known=allowed)

    def limited(
        self,
        models: tuple[str, ...],
        entry: Mapping[str, Any],
        index: int,
        module: NamedModule | None = None,
    ) -> Budget:
        """Return the budget of a table with its limits."""
        limits = tuple(r for k, v in entry.items() if k in BY_KEY for r in self.rules(k, v, index))
        return Budget(
            models,
            self.deployment(entry, index),
            limits or default_rules(),
            self.line(None, index),
            self.line("dims", index),
            module,
        )

    def deployment(self, entry: Mapping[str, object], index: int) -> Deployment:
        """Build the deployment from the command line, then the budget, then ``[deployment]``."""
        of_budget = {n: entry[k] for n in KEYS if (k := n.replace("_", "-")) in entry}
        of_budget = with_axes(of_budget, lambda name: f"{self.path}:{self.line(name, index)}")
        if isinstance(of_budget.get("target"), str):
            of_budget["target"] = project_file.target_of(str(of_budget["target"]), self.path)
        dims: dict[str, int] = {}
        for values in (self.defaults.values, of_budget, self.typed):
            dims |= self.dims(values.get("dims", {}), index)

        def place(name: str) -> str:
            if name in self.typed:
                return f"--{name.replace('_', '-')}"
            is_of_budget = name in of_budget or name not in self.defaults.values
            line = self.line(name.replace("_", "-"), index)
            return f"{self.path}:{line}" if is_of_budget else self.defaults.place(name)

        every = {**self.defaults.values, **of_budget, **self.typed}
        # `dims` of the three sources were merged symbol by symbol; other fields have the value of
        # the last source that sets them
        every.pop("dims", None)
        result = Deployment().with_values(every, place)
        result.require_kernels(place("mode"))
        return replace(result, dims=dims)

    def check_glob(self, glob: object, index: int) -> None:
        """Reject a glob that leaves the folder of the file."""
        if not isinstance(glob, str) or not glob or "\0" in glob:
            raise self.fault("model", "model is not a glob or a list of them", index)
        parts = PurePosixPath(glob).parts
        if glob.startswith("/") or ".." in parts:
            hint = "globs are from the folder of the file and stay in it"
            raise self.fault("model", f"{glob!r} leads out of the project", index, hint=hint)
        if any("**" in part and part != "**" for part in parts):
            hint = "** stands for whole folders, as in models/**/*.onnx"
            raise self.fault("model", f"{glob!r} has ** in a name", index, hint=hint)

    def dims(self, table: object, index: int) -> dict[str, int]:
        """Parse values of symbols."""
        if not isinstance(table, dict):
            raise self.fault("dims", "dims is not a table, as in { batch = 8 }", index)
        for name, value in table.items():
            try:
                sizes_of({str(name): value})
            except ParseError as error:
                key, message = f"dims.{name}", f"dims.{error.message}"
                raise self.fault(key, message, index, hint=error.hint) from None
        return {str(k): int(v) for k, v in table.items()}

    def rules(self, key: str, value: object, index: int) -> Iterator[LimitRule]:
        """Parse the limits of one metric."""
        metric = BY_KEY[key]
        if not isinstance(value, dict):
            yield from self.limits(metric, "fail", value, key, index)
            return
        for name, limits in value.items():
            if name not in ("max", "warn", "fail"):
                text = f"no key {name!r} in {key}"
                raise self.fault(key, text, index, known=("max", "warn", "fail"))
            yield from self.limits(metric, name, limits, f"{key}.{name}", index)

    def limits(
        self, metric: Metric, name: str, value: object, key: str, index: int
    ) -> Iterator[LimitRule]:
        """Parse one limit or a list of limits."""
        level = Level.WARN if name == "warn" else Level.FAIL
        for item in value if isinstance(value, list) else [value]:
            # a count has no unit: `kernels = 40` is as good as "40"
            text = str(item) if type(item) is int and metric.unit.value == "count" else item
            if not isinstance(text, str):
                hint = "a string with a unit, as in '2.5 ms' or '+3%'"
                raise self.fault(key, f"{key} is not a limit", index, hint=hint)
            try:
                limit = parse_limit(text, metric.unit)
            except ValueError as error:
                raise self.fault(key, f"{key}: {error}", index) from None
            if name == "max" and limit.is_relative:
                hint = "write it under warn or fail"
                raise self.fault(key, f"{key}: {text!r} is against the baseline", index, hint=hint)
            yield LimitRule(metric, level, limit, self.line(key, index))
