"""Networks by name without inputs: how many answer, with modules and lines for 98 % of their time.

    python -m benchmarks.named_models timm 200
    python -m benchmarks.named_models transformers 100
    python -m benchmarks.named_models timm --names resnet18 vit_tiny_patch16_224

Names are drawn from all of timm, torchvision or the classes of transformers' tasks, whose default
configurations get four layers. Each runs in a separate process.
"""

from __future__ import annotations

import argparse
import random
import re
import signal
import tempfile
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

import perfc
from perfc.frontend.pytorch import catalogs, worker
from perfc.frontend.pytorch.torch_program import module_of
from perfc.view.report.sections.kernels import collect

SEED = 79
LONGEST_S = 300
"""Processor time of one network."""
MOST = 0.98
"""Share of the time with modules, or with lines, from which a network counts."""
DEPTH = re.compile(r"(num_(hidden_)?|n_|_)layers?|depth(?!wise)")
"""Attributes of configurations that are numbers of layers."""


def names_of(library: str) -> list[str]:
    """Return all names of a library."""
    if library != "transformers":
        return list(import_module(f"{library}.models").list_models())
    auto = vars(import_module("transformers.models.auto.modeling_auto"))
    tables = [t for n, t in auto.items() if re.fullmatch("MODEL.*MAPPING_NAMES", n)]
    return sorted(
        {n for t in tables for v in t.values() for n in ([v] if isinstance(v, str) else v)}
    )


def shallow(config: Any) -> dict[str, Any]:
    """Return the attributes of a configuration that make it four layers deep."""
    changed: dict[str, Any] = {}
    # layers that are read by number have to be there
    for key, value in vars(config).items() if not hasattr(config, "out_indices") else ():
        if isinstance(value, int) and DEPTH.search(key):
            changed[key] = min(value, 4)
        elif hasattr(value, "to_diff_dict"):
            vars(value).update(shallow(value))
            changed[key] = value
    return changed


def shares(model: Any, runtime: str = "eager") -> tuple[float, float]:
    """Return the shares of the time whose kernels have a module's path, and a line of code."""
    rows = collect(perfc.analyze(model, "a100", runtime=runtime))
    whole = sum(r.roofline_time_s for r in rows)
    named = sum(r.roofline_time_s for r in rows if any("/" in n[1:] for n in r.nodes))
    lines = sum(r.roofline_time_s for r in rows if r.frames)
    return round(named / whole, 3), round(lines / whole, 3)


def answered(library: str, name: str) -> tuple[float, float] | str:
    """Return the shares of a network, or its error."""
    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
    request: dict[str, Any] = {"name": f"{library}:{name}", "inputs": [], "kwargs": {}, "dims": {}}
    try:
        if library == "transformers":
            request["kwargs"] = shallow(catalogs.pretrained(name).config_class())
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder, "model.pt2")
            result = worker.exported({"input": None, "examples": None, **request}, archive)
            return shares(module_of(archive.read_bytes(), name, result["batch"]))
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200].replace("\n", " ")


def late(*_: object) -> None:
    """End a network that takes too long."""
    raise TimeoutError(f"longer than {LONGEST_S} s")


def main() -> None:
    """Print the shares of each network, and how many have 98 % in each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=catalogs.CATALOGS)
    parser.add_argument("count", type=int, nargs="?", default=20)
    parser.add_argument("--names", nargs="*")
    given = parser.parse_args()
    torch.set_num_threads(1)
    worker.archive_names_as_traced()
    names = given.names or random.Random(SEED).sample(names_of(given.library), given.count)
    good: list[tuple[float, float]] = []
    with get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        answers = pool.imap(partial(answered, given.library), names)
        for name, answer in zip(names, answers, strict=True):
            print(f"{name:45} {answer}", flush=True)
            if isinstance(answer, tuple):
                good.append(answer)
    modules, lines = (sum(answer[i] >= MOST for answer in good) for i in (0, 1))
    print(f"{len(good)} of {len(names)} answer, with modules {modules}, with lines {lines}")


if __name__ == "__main__":
    main()
