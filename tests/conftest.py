"""Golden files: what to run, and the whole output that must come out.

The first line of ``tests/golden/**/*.pir`` says which passes run on the IR text that follows::

    # RUN: shapes,fuse{runtime=ort} | print --facts cost,fuse
    # RUN: shapes,liveness | table liveness
    # RUN: shapes | kernels
    # RUN: shapes | error

After a line ``# ---- expect`` stands the output: the module, the table of an analysis, the kernels
under every runtime, or the one-line error. ``tests/golden/**/*.txt`` begins with a command,
``$ perfc lint model.onnxtxt``; what it prints follows, then its exit code.
``tests/golden/**/*.table`` holds questions, each with its answer: to predictors
(`tests/golden_estimates.py`), operators (`tests/golden_variants.py`), analyses
(`tests/golden_passes.py`) and training (`tests/golden_training.py`, `tests/golden_learning.py`).
``tests/golden/**/*.leaves`` has what a command states as JSON and the files that it writes
(`tests/golden_leaves.py`). Numbers of both may differ by a millionth.
``pytest tests/golden --update-goldens`` writes what came out; the difference is then reviewed.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings

# Tables of tests are small: threads of a library wait for each other longer than they work.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Sources are compiled once, not by each of the thousand processes that tests start.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Modules and tests live to the end: looking at all again and again is a twentieth of the time.
gc.set_threshold(100_000, 20, 50)
# no test asks a server
os.environ.setdefault("HF_HUB_OFFLINE", "1")
if "PYTEST_XDIST_WORKER" in os.environ:
    # a worker has no terminal, but is told that one is 80 wide
    os.environ.pop("COLUMNS", None)

pytest_plugins = ("pytester",)

ROOT = Path(__file__).parents[1]
SEPARATOR = "# ---- expect\n"
MOST_DIFFERENCES = 20
"""Lines of a table that are shown."""

# How long an example takes says something of the machine, nothing of the code.
settings.register_profile("perfc", deadline=None)
settings.load_profile("perfc")


@pytest.fixture(autouse=True, scope="session")
def this_machine() -> None:
    """No test probes the machine that it runs on: ``host`` is a file that is known."""
    os.environ["PERFC_HOST"] = str(ROOT / "perfc/targets/generic-x86-64.toml")


@pytest.fixture(autouse=True)
def nothing_was_read() -> None:
    """No test sees results of another one, as it may replace what they depend on."""
    from perfc.passes.manager import LAST_READ

    for results in LAST_READ.values():
        results.clear()
    LAST_READ.clear()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("filterwarnings", "error::numpy.exceptions.ComplexWarning")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Give a file's tests to one worker, which sets up what they share once."""
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log) if config.getoption("dist") == "load" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="rewrite golden files")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix in (".pir", ".txt", ".table", ".leaves") and "golden" in file_path.parts:
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
        if self.path.suffix in (".table", ".leaves"):
            self.check_numbers(text)
            return
        if self.path.suffix == ".txt":
            between = "\n"
            source, separator, expected = text.partition(between)
            actual = run_command(source, self.path.parent)
        else:
            between = SEPARATOR
            source, separator, expected = text.partition(between)
            actual = run_golden(source, self.path.name)
        if actual == expected:
            return
        if self.config.getoption("--update-goldens"):
            self.path.write_text(source + between + actual, encoding="utf-8")
            return
        lines = unified_diff(
            expected.splitlines(), actual.splitlines(), "expected", "actual", lineterm=""
        )
        raise MismatchError("\n".join(lines) if separator else "it expects nothing yet")

    def check_numbers(self, text: str) -> None:
        """What predictors and commands say, where it differs by more than rounding."""
        from tests.golden_estimates import answered, differences
        from tests.golden_leaves import leaves, written

        if self.path.suffix == ".leaves":
            command = text.partition("\n")[0]
            with TemporaryDirectory() as folder:
                page = Path(folder) / "page.html"
                line = command.replace(" PAGE", f" {page}").replace(" OUT.", f" {folder}/OUT.")
                printed = run_command(line, self.path.parent).replace(folder, "")
                drawn = page.read_text(encoding="utf-8") if page.is_file() else ""
                actual = leaves(command, drawn + printed)
                actual += "".join(map(written, sorted(Path(folder).glob("OUT.*"))))
        else:
            actual = answered(text, self.path.parent)
        found = differences(text, actual)
        if found and self.config.getoption("--update-goldens"):
            self.path.write_text(actual, encoding="utf-8")
        elif found:
            raise MismatchError("\n".join(found[:MOST_DIFFERENCES]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:  # type: ignore[override]
        if isinstance(excinfo.value, MismatchError):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, str(self.path.name)


def run_golden(source: str, name: str) -> str:
    """The output of the ``RUN`` line of ``source``."""
    from perfc.errors import PerfcError
    from perfc.ir.graphs.verify import verify
    from perfc.ir.syntax.parse import parse
    from perfc.ir.syntax.text import print_module
    from perfc.passes import Analysis, pass_name
    from perfc.passes.manager import Analyses, VerifyEach
    from perfc.passes.pipeline import facts_of, parse_pipeline
    from tests.golden_tables import kernels_by_runtime, table

    run, _, _ = source.partition("\n")
    prefix, _, command = run.partition(":")
    passes, _, action = (part.strip() for part in command.partition("|"))
    verb, _, facts = action.partition(" --facts ")
    assert prefix == "# RUN", f"{name} begins with a RUN line"
    verb, _, asked = verb.partition(" ")
    assert verb in ("print", "table", "kernels", "error", "parse"), f"{name}: no action {action!r}"
    try:
        parsed = parse(source, name)
        verify(parsed.module, where=parsed.where)
        am = Analyses((VerifyEach(),))
        pipeline = parse_pipeline(passes)
        module = pipeline.run(parsed.module, am)
        if verb == "kernels":
            return kernels_by_runtime(module, am)
        if verb == "table":
            (analysis,) = (p for p in pipeline.passes if pass_name(p) == asked)
            assert isinstance(analysis, Analysis)
            return "".join(f"{line}\n" for line in table(am.get(analysis, module)))
        names = [n for n in facts.split(",") if n]
        found = facts_of(names, pipeline, module, am) if verb == "print" else parsed.facts
        printed = print_module(module, facts=found)
    except PerfcError as error:
        if verb != "error":
            raise
        return f"{error}\n"
    assert verb != "error", f"{name} must give an error"
    return printed


def run_command(line: str, folder: Path) -> str:
    """What a command ``$ perfc …`` prints in a folder, and its exit code."""
    import contextlib
    import io
    import shlex

    from perfc import cli

    prompt, program, *arguments = shlex.split(line)
    assert (prompt, program) == ("$", "perfc"), f"no command: {line!r}"
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setenv("COLUMNS", "98")
        patch.chdir(folder)
        code = cli.run(arguments)
    return f"{out.getvalue()}[{code}]\n"
