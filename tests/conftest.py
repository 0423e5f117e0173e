"""Golden files: IR text with the passes to run on it and the whole output they must give.

The first line of ``tests/golden/**/*.pir`` says what to do::

    # RUN: shapes,fuse{runtime=ort} | print --facts cost,fuse
    # RUN: shapes | error

The input follows, then a line ``# ---- expect`` and the output: the module, or the one-line error.
``pytest --update-goldens`` writes what came out; the difference is then reviewed.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import pytest
from hypothesis import settings

SEPARATOR = "# ---- expect\n"

# How long an example takes says something of the machine, nothing of the code.
settings.register_profile("perfc", deadline=None)
settings.load_profile("perfc")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="rewrite golden files")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".pir" and "golden" in file_path.parts:
        return GoldenFile.from_parent(parent, path=file_path)
    return None


class MismatchError(Exception):
    """The output is not the expected one; the text is their difference."""


class GoldenFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        yield GoldenItem.from_parent(self, name="golden")


class GoldenItem(pytest.Item):
    def runtest(self) -> None:
        text = self.path.read_text(encoding="utf-8")
        source, separator, expected = text.partition(SEPARATOR)
        actual = run_golden(source, self.path.name)
        if actual == expected:
            return
        if self.config.getoption("--update-goldens"):
            self.path.write_text(source + SEPARATOR + actual, encoding="utf-8")
            return
        lines = unified_diff(
            expected.splitlines(), actual.splitlines(), "expected", "actual", lineterm=""
        )
        raise MismatchError("\n".join(lines) if separator else "no '# ---- expect' line")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:  # type: ignore[override]
        if isinstance(excinfo.value, MismatchError):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, str(self.path.name)


def run_golden(source: str, name: str) -> str:
    """The output of the ``RUN`` line of ``source``."""
    from perfc.errors import PerfcError
    from perfc.ir.parse import parse
    from perfc.ir.text import print_module
    from perfc.ir.verify import verify
    from perfc.passes.manager import Analyses, VerifyEach
    from perfc.passes.pipeline import facts_of, parse_pipeline

    run, _, _ = source.partition("\n")
    prefix, _, command = run.partition(":")
    passes, _, action = (part.strip() for part in command.partition("|"))
    verb, _, facts = action.partition(" --facts ")
    assert prefix == "# RUN", f"{name} begins with a RUN line"
    assert verb in ("print", "error", "parse"), f"{name}: no action {action!r}"
    try:
        parsed = parse(source, name)
        verify(parsed.module, where=parsed.where)
        am = Analyses((VerifyEach(),))
        pipeline = parse_pipeline(passes)
        module = pipeline.run(parsed.module, am)
        names = [n for n in facts.split(",") if n]
        found = facts_of(names, pipeline, module, am) if verb == "print" else parsed.facts
        printed = print_module(module, facts=found)
    except PerfcError as error:
        if verb != "error":
            raise
        return f"{error}\n"
    assert verb != "error", f"{name} must give an error"
    return printed
