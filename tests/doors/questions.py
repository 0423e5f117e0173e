"""Questions on a run of an example model, and answers of commands to them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx

from perfc.cli import run
from perfc.machine import load_machine
from perfc.passes.runtimes import runtime as runtime_table

MODELS = Path(__file__).parents[2] / "examples" / "models"
NETWORKS = {
    "resnet50": {},
    "vit-b16": {},
    "swin-t": {},
    "bert-base": {"seq": 128},
    "gpt2": {"seq": 64},
}
"""Models with the sizes that they need in addition to the batch."""
TARGETS = (
    "a100",
    "h100",
    "t4",
    "l4",
    "v100",
    "rtx4090",
    "b200",
    "a10g",
    "l40s",
    "h200",
    "rtx3090",
    "rtx5090",
    "mi300x",
    "jetson-agx-orin-64gb",
)
RUNTIMES = ("ort", "eager", "tensorrt", "inductor", "cudagraph", "torchscript")
TRAINING_RUNTIMES = ("eager", "inductor")
DTYPES = ("", "f16", "tf32")
TRAINED_EVERY = 10
"""One question in this many is of a training step."""
Ends = tuple[float, float, float]
"""Lower end, predicted value and upper end."""


@dataclass(frozen=True)
class Question:
    """A model, and how it is run.

    Args:
        network: name of an example model.
        batch: its batch.
        target: machine.
        runtime: software that runs it.
        dtype: what-if precision; "" for that of the model.
        train: optimizer of a training step; "" for a forward pass.
    """

    network: str
    batch: int
    target: str
    runtime: str
    dtype: str
    train: str = ""

    @property
    def model(self) -> str:
        """Path of the model."""
        return str(MODELS / f"{self.network}.onnx.gz")

    def values(self, *, batch: bool = True, target: bool = True) -> dict[str, Any]:
        """Return the options by name."""
        sizes = {**NETWORKS[self.network], **({"batch": self.batch} if batch else {})}
        given = {**sizes, "runtime": self.runtime, **({"target": self.target} if target else {})}
        given |= {"dtype": self.dtype} if self.dtype else {}
        return given | ({"train": self.train} if self.train else {})

    def words(self, *, batch: bool = True, target: bool = True) -> list[str]:
        """Return the options of a command line."""
        given = self.values(batch=batch, target=target)
        return [word for name, value in given.items() for word in (f"--{name}", str(value))]


def drawn(count: int, seed: int) -> Iterator[Question]:
    """Yield random questions; one in `TRAINED_EVERY` is of a training step.

    A runtime that does not run on the target is replaced.
    """
    r = random.Random(seed)
    for i in range(count):
        q = Question(
            r.choice(tuple(NETWORKS)),
            r.choice((1, 2, 8, 32)),
            r.choice(TARGETS),
            r.choice(RUNTIMES),
            r.choice(DTYPES),
        )
        machine = load_machine(q.target)
        if runtime_table(q.runtime).is_excluded(machine.kind, machine.vendor):
            q = replace(q, runtime=RUNTIMES[0])
        if i % TRAINED_EVERY == TRAINED_EVERY - 1:
            runtime, dtype = r.choice(TRAINING_RUNTIMES), "amp-f16" if q.dtype == "f16" else q.dtype
            q = Question(q.network, q.batch, q.target, runtime, dtype, "adamw")
        yield q


@lru_cache(maxsize=32)
def answer(*words: str, codes: tuple[int, ...] = (0,), suffix: str = "json") -> Any:
    """Run a command line in this process and return what it writes: JSON, a model or text.

    Several checks of one question read the same page of it, which is written once.
    """
    with TemporaryDirectory() as folder:
        path, errors = Path(folder) / f"answer.{suffix}", StringIO()
        with redirect_stdout(StringIO()), redirect_stderr(errors):
            code = run([*words, "-o", str(path)])
        assert code in codes, (words, errors.getvalue())
        if suffix == "onnx":
            return onnx.load(path, load_external_data=False)
        return json.loads(path.read_text()) if suffix == "json" else path.read_text()


def printed(*words: str) -> str:
    """Run a command line in this process and return what it prints."""
    shown = StringIO()
    with redirect_stdout(shown):
        assert run([*words]) == 0, words
    return shown.getvalue()


def check_of(q: Question, folder: Path) -> tuple[str, ...]:
    """Write a budget for a question into a folder and return the command that checks it."""
    model, config = folder / Path(q.model).name, folder / "perfc.toml"
    model.write_bytes(Path(q.model).read_bytes())
    lines = (f"{n} = {json.dumps(v)}" for n, v in {**q.values(), "model": model.name}.items())
    config.write_text("\n".join(("[[budget]]", *lines, 'time = { max = "9000 s" }')))
    return "check", str(model), "--config", str(config), "--no-cache"


@cache
def analyzed(q: Question) -> Any:
    """Return the JSON report of a question, the answer that every other one must equal."""
    return answer("analyze", q.model, *q.words())


def rounded(times_s: Ends) -> Ends:
    """Return times to twelve digits: sums in another order differ in the last ones."""
    low, mid, high = (float(f"{x:.12g}") for x in times_s)
    return low, mid, high


def ends(row: Mapping[str, Any]) -> Ends:
    """Return the interval of a row."""
    return row["low_s"], row["time_s"], row["high_s"]


def interval(row: Mapping[str, float]) -> Ends:
    """Return the ends of an interval."""
    return row["low"], row["mid"], row["high"]
