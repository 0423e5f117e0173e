"""Whole processes, measured: the commands whose speed is watched, and the graphs they read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RESNET = ROOT / "examples" / "models" / "resnet50.onnx.gz"
MODEL = "{model}"
NO_VARIABLES: Mapping[str, str] = {}


@dataclass(frozen=True)
class Sample:
    """One process: seconds, those of the processor, peak resident mebibytes, status, output."""

    seconds: float
    cpu_s: float
    peak_mib: float
    status: int
    out: str


@dataclass(frozen=True)
class Case:
    """A command that a user waits for.

    Args:
        name: how reports call it.
        arguments: of the interpreter; ``{model}`` stands for the file.
        graph: function of ``graphs`` that writes the file, and its arguments; else ResNet-50.
        repeats: runs of which the least counts, as others only add to it.
    """

    name: str
    arguments: tuple[str, ...]
    graph: tuple[object, ...] = ()
    repeats: int = 7

    def command(self, folder: Path) -> tuple[str, ...]:
        """Return the arguments with the file's name, which is written to ``folder`` if none exists.

        Raises:
            RuntimeError: the file could not be written.
        """
        model = RESNET
        if self.graph and MODEL in self.arguments:
            kind, *arguments = self.graph
            model = build(str(kind), folder, *arguments)
        return tuple(str(model) if a == MODEL else a for a in self.arguments)


ANALYZE = ("-m", "perfc", "analyze", MODEL)
AT_A100 = (*ANALYZE, "--target", "a100")
WEIGHTS = ("resnet50",)
CHAIN_5_000 = ("chain", 5_000, 64)
CHAIN_100_000 = ("chain", 100_000, 64, False)
LLM = ("-m", "perfc", "llm", "llama-3.1-8b", "-t", "h100", "--concurrency", "64", "--dtype", "fp8")

CASES = {
    case.name: case
    for case in (
        Case("import", ("-c", "import perfc")),
        Case("help", ("-m", "perfc", "--help")),
        Case("no-predict", (*ANALYZE, "--no-predict")),
        Case("analyze", ANALYZE),
        Case("chain", (*AT_A100, "--no-predict"), CHAIN_5_000, 3),
        Case("chain-predicted", AT_A100, CHAIN_5_000, 3),
        Case("100000-nodes", (*AT_A100, "--no-predict"), CHAIN_100_000, 2),
        Case("100000-nodes-predicted", AT_A100, CHAIN_100_000, 2),
        Case("llm", (*LLM, "--tp", "2"), repeats=3),
        Case("weights", AT_A100, WEIGHTS),
        Case("weights-quiet", (*AT_A100, "--quiet"), WEIGHTS),
        Case("weights-no-predict", (*AT_A100, "--no-predict"), WEIGHTS),
        Case("check", ("-m", "perfc", "check", MODEL), WEIGHTS),
        Case("compare-all", ("-m", "perfc", "compare", MODEL, "--target", "all"), WEIGHTS, 3),
    )
}
"""By name; ResNet-50 is analyzed where no graph is named."""


def run(
    arguments: Iterable[str],
    folder: Path | None = None,
    tree: Path | None = ROOT,
    variables: Mapping[str, str] = NO_VARIABLES,
) -> Sample:
    """Run the interpreter in a fresh process and measure it.

    Args:
        arguments: of the interpreter.
        folder: where it runs; the root of the repository if None.
        tree: what perfc is imported from; the installed one if None.
        variables: of the environment, further ones.
    """
    paths = [] if tree is None else [str(tree), str(HERE.parent)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths), **variables}
    with tempfile.TemporaryFile() as out:
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdout=out,
            stderr=subprocess.STDOUT,
            env=env,
            cwd=folder or ROOT,
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode("utf-8", "replace")
    cpu_s = usage.ru_utime + usage.ru_stime
    return Sample(seconds, cpu_s, usage.ru_maxrss / 1024, process.returncode, text)


def run_apart(arguments: Iterable[str], folder: Path) -> Sample:
    """Return the same of the installed perfc, by a process that is small.

    A process inherits the peak memory of the one that starts it, and those that drive benchmarks
    are larger than what they measure.

    Raises:
        RuntimeError: the command failed; with the end of what it printed.
    """
    result = subprocess.run(
        [sys.executable, "-I", __file__, str(folder), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return succeeded(Sample(**json.loads(result.stdout)))


def succeeded(sample: Sample) -> Sample:
    """Return the sample of a command that did not fail.

    Raises:
        RuntimeError: it did; with the end of what it printed.
    """
    if sample.status:
        raise RuntimeError(f"exit {sample.status}: {sample.out[-400:]}")
    return sample


def build(kind: str, folder: Path, *args: object) -> Path:
    """Have a model written by another process.

    A process inherits the peak memory of the one that started it, so this one stays small.

    Raises:
        RuntimeError: the model could not be written.
    """
    call = ", ".join(["pathlib.Path(sys.argv[1])", *map(repr, args)])
    code = f"import sys, pathlib; from speed import graphs; print(graphs.{kind}({call}))"
    sample = measured(["-c", code, str(folder)])
    return Path(sample.out.splitlines()[-1])


def measured(
    command: Iterable[str], folder: Path | None = None, tree: Path | None = ROOT
) -> Sample:
    """Return `run` of a command that must not fail.

    Raises:
        RuntimeError: it did; with the end of what it printed.
    """
    return succeeded(run(command, folder, tree))


if __name__ == "__main__":
    print(json.dumps(asdict(run(sys.argv[2:], Path(sys.argv[1]), tree=None))))
