"""Broken orders among answers of `perfc.llm` for drawn served models.

    python -m benchmarks.served_orders [--count 20] [--seed 0] [--show 20]

More users, longer prompts and wider weights take no less time for a token or for the first one; a
board that is better in every rate takes no longer; more users get no fewer tokens a second. Each
answer is the public call with the fields that `perfc llm --target --runtime --isl --osl
--concurrency --dtype` sets. A pair is broken beyond 2 %, the noise of simulated arrivals.
"""

from __future__ import annotations

import argparse
import itertools
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import perfc
from benchmarks.orders import dominates
from perfc.errors import PerfcError
from perfc.machine import load_machine

MODELS = ("llama-3.2-3b", "olmo-2-7b", "granite-3.0-8b", "qwen2.5-7b", "phi-4", "gemma-3-4b")
"""Models that no host was fitted to."""
TARGETS = ("a100", "h100", "h200", "b200", "l40s", "l4", "mi300x")
RUNTIMES = ("vllm", "sglang", "trtllm")
USERS, PROMPTS, TOLERANCE = (1, 4, 16, 64), (128, 1024, 4000), 1.02
FIGURES = "ttft", "tpot", "tokens"


class Served(NamedTuple):
    """One served model."""

    model: str
    target: str
    runtime: str
    isl: int
    concurrency: int
    dtype: str = ""


def answers(drawn: Served) -> Iterator[tuple[Served, dict[str, float]]]:
    """Yield the figures of one served model with all numbers of users, and next to it."""
    cells = [drawn._replace(concurrency=users) for users in USERS]
    cells += [drawn._replace(isl=isl) for isl in PROMPTS]
    cells += [drawn._replace(target=name) for name in TARGETS]
    cells += [drawn._replace(dtype="fp8")]
    for cell in dict.fromkeys(cells):
        fields = cell._asdict() | {"osl": 128}
        try:
            report = perfc.llm(fields.pop("model"), **fields)
        except PerfcError:
            continue
        late, through = report.latencies, report.throughput
        is_steady = not report.preempted  # fewer users at once have shorter steps
        if report.fits and is_steady and late and late.tpot and through:
            numbers = late.ttft.p50, late.tpot.p50, through.output_tokens_per_s
            yield cell, dict(zip(FIGURES, numbers, strict=True))


def pairs(cells: dict[Served, Any]) -> Iterator[tuple[str, Served, Served]]:
    """Yield an order, the served model that is no slower, and the other."""
    for a, b in itertools.permutations(cells, 2):
        differs = [name for name in Served._fields if getattr(a, name) != getattr(b, name)]
        match differs:
            case ["concurrency"] if a.concurrency < b.concurrency:
                yield "users", a, b
            case ["isl"] if a.isl < b.isl:
                yield "prompt", a, b
            case ["dtype"] if a.dtype:
                yield "weights", a, b
            case ["target"] if dominates(load_machine(a.target), load_machine(b.target)):
                yield "machine", a, b
            case _:
                pass


def main() -> None:
    """Print the number of pairs and of broken ones for each order and figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (("count", 20), ("seed", 0), ("show", 20)):
        parser.add_argument(f"--{name}", type=int, default=value)
    given, counts, broken = parser.parse_args(), Counter[str](), list[tuple[float, str, Any, Any]]()
    r = random.Random(given.seed)
    for _ in range(given.count):
        lists: tuple[Any, ...] = MODELS, TARGETS, RUNTIMES, PROMPTS, USERS
        cells = dict(answers(Served(*map(r.choice, lists))))
        for order, a, b in pairs(cells):
            for figure in FIGURES:
                ratio = cells[a][figure] / cells[b][figure]
                counts[key := f"{order} {figure}"] += 1
                # of tokens per second the served model that is no slower has more, except with
                # fewer users
                is_more = figure == "tokens" and order != "users"
                if (ratio := 1 / ratio if is_more else ratio) > TOLERANCE:
                    broken.append((ratio, key, a, b))
    wrong = Counter(key for _, key, _, _ in broken)
    for key, count in counts.items():
        print(f"{key:16} {count:5,} pairs, broken {wrong[key]:4}")
    for ratio, key, a, b in sorted(broken, reverse=True)[: given.show]:
        print(f"{ratio:5.2f} {key:16} {tuple(a)} {tuple(b)}")


if __name__ == "__main__":
    main()
