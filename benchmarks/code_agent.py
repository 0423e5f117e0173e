"""Count the calls in which an agent with the tools of ``perfc mcp`` finds the best edit of a model.

    python -m benchmarks.code_agent [--log FILE]

The best is the lowest price per million examples within 2 ms, over all sets of proposed edits,
three batches and five machines. It is known from pricing everything by the same predictions, so
this measures the search and not the predictions. The scripted agent compares machines at three
batches, collects the edits that save time, under the compiler too, and adds and drops them where
the largest saving so far promises the lowest price. Its second prompt has the solutions of the
models before as examples. Tools run in this process, which keeps exports; what ``propose`` lists
follows from prices.

A log has an array of JSON per priced request: model, request and answer. Requests that it has are
not computed again, so that agents and prompts meet equal answers.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Iterable
from contextlib import redirect_stdout
from functools import cached_property
from io import StringIO
from itertools import chain, combinations, product
from pathlib import Path
from typing import Any

from benchmarks import code_patches
from perfc.cli import run
from perfc.commands.help import _tools
from perfc.common.repository import git
from perfc.deployment import Deployment
from perfc.frontend.reading.module_name import NamedModule
from perfc.review.code.model import CodeModel
from perfc.review.code.proposals import proposals
from perfc.review.diff.priced import patched
from perfc.review.diff.sides import SideSetting

TARGETS = ("t4", "l4", "a100-sxm4-80gb/1g.10gb", "a100-sxm4-80gb", "h100-sxm5-80gb")
FACTORS = (1, 8, 64)
"""Factors of the batch of a model's file."""
WITHIN_S = 2e-3
MOST_PRICES = 12
"""Calls of the tool that prices edits."""
PROMISED = 1.25
"""Price over the best up to which a place that promises it is tried."""
COMPILED = "torch.compile"
Edits = tuple[str, ...]
Place = tuple[str, int]
"""Machine and factor of the batch."""


def solution(task: Task, examples: Iterable[Edits]) -> tuple[Place, Edits]:
    """Return what the scripted agent chooses; ``examples`` are the edits of other solutions."""
    rows = ((row, factor) for factor in FACTORS for row in task.called("compare", factor))
    base_s: dict[Place, float] = {(row["target"], factor): row["time_s"] for row, factor in rows}
    # the edits of most examples, else those that save time at the cheapest place
    edits = {*next(iter(Counter(examples).most_common(1)), ((), 0))[0]} & {*task.edits}
    place = min(base_s, key=lambda p: task.value(p, base_s[p]))
    edits |= set() if edits else {*task.called("propose", place, ())}
    chosen: Edits = tuple(sorted(edits))
    gain, tried = 1.0, dict[Place, dict[Edits, float]]()
    for _ in range(MOST_PRICES):
        if place not in tried and not examples:
            edits |= {COMPILED, *task.called("propose", place, (COMPILED,))}
        # the best set so far and its neighbors, with one edit more or less
        new = untried(chosen, edits, tried.setdefault(place, {}))
        times = task.called("price", place, new)
        gain = min(gain, *(time_s / base_s[place] for time_s in times))
        tried[place] |= {s: task.value(place, t) for s, t in zip(new, times, strict=True)}
        best = place = min(tried, key=lambda p: min(tried[p].values()))
        chosen = min(tried[best], key=tried[best].__getitem__)
        if not untried(chosen, edits, tried[best]):
            # all neighbors are priced: another place is worth a call if the largest saving so far
            # would make it nearly the best
            promised = {p: task.value(p, gain * t) for p, t in base_s.items() if p not in tried}
            place = min(promised, key=promised.__getitem__, default=best)
            if promised.get(place, 0.0) > PROMISED * tried[best][chosen] or place in tried:
                break
    return best, chosen


def untried(chosen: Edits, edits: set[str], tried: dict[Edits, float]) -> list[Edits]:
    """Return a set of edits and those with one more or less that are not priced yet."""
    flipped = (tuple(sorted({*chosen} ^ {edit})) for edit in sorted(edits))
    return [s for s in (chosen, *flipped) if s and s not in tried]


class Task:
    """A model in the current folder with its edits and priced requests."""

    def __init__(self, module: NamedModule, log: Path, lines: list[Any]) -> None:
        self.module, self.log, self.calls = module, log, 0
        self.batch = int(module.inputs[0].partition("x")[0])
        git(["init", "-q"])
        git(["add", "-A"])
        self.edits = {p.name: p.patch for p in proposals(module)}
        self.known = {json.dumps(a): b for model, a, b in lines if model == module.name}

    @cached_property
    def rows(self) -> dict[Place, dict[str, Any]]:
        """Return the time and price of each place."""
        return {(r["target"], f): r for f in FACTORS for r in self.answered("compare", f)}

    def called(self, tool: str, *request: Any) -> Any:
        """Return the answer to an agent's call, which counts."""
        self.calls += 1
        return self.answered(tool, *request)

    def answered(self, tool: str, *request: Any) -> Any:
        """Return rows of machines, names of edits, or the time of each set of edits."""
        match tool:
            case "price":
                place, sets = request
                return [self.answered("time", place, edits) for edits in sets]
            case "propose":
                place, with_ = request
                before_s = self.answered("time", place, with_)
                more = (tuple(sorted({*with_, edit})) for edit in self.edits)
                times = zip(self.edits, self.answered("price", place, more), strict=True)
                return [edit for edit, time_s in times if time_s < before_s * (1 - 1e-9)]
        if (key := json.dumps([tool, *request])) not in self.known:
            answer = self.known[key] = getattr(self, tool)(*request)
            with self.log.open("a") as file:
                file.write(f"{json.dumps([self.module.name, [tool, *request], answer])}\n")
        return self.known[key]

    def compare(self, factor: int) -> list[dict[str, Any]]:
        """Return the time and price of each machine."""
        given = {"models": [self.module.name], "target": list(TARGETS), "output_format": "json"}
        given |= {"batch": factor * self.batch, "input": self.module.inputs[0]}
        with redirect_stdout(StringIO()) as output:
            run(_tools.command_line("compare", given, Path.cwd(), is_code=True))
        names = ("target", "time_s", "price_per_hour")
        return [{n: row[n] for n in names} for row in json.loads(output.getvalue())["rows"]]

    def time(self, place: Place, edits: Edits) -> float:
        """Return the time with some edits, each proposed for the code with those before."""
        for name in (n for n in self.edits if n in edits):
            patches = {p.name: p.patch for p in proposals(self.module)}
            git(["apply", "-"], given=patches[name].encode())
        patch = git(["diff"]).stdout.decode()
        git(["checkout", "-q", "."])
        how = Deployment(target=place[0], dims={"batch": place[1] * self.batch})
        base = SideSetting(CodeModel(self.module), how)
        side = patched(base, patch) if patch else base
        with side.opened() as module:
            return side.report(module, side.dims).prediction.total.time_s

    def value(self, place: Place, time_s: float) -> float:
        """Return the price per million examples; that of late runs is above all others."""
        hourly = self.rows[place]["price_per_hour"]
        # an hour has 3600 s, and the price is of a million examples
        price = time_s / (place[1] * self.batch) * hourly / 3.6e-3
        return price + 1e9 * time_s * (time_s > WITHIN_S)


def main() -> None:
    """Print the solutions of each model, their calls, and how many are the best."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--log", type=Path, default=os.devnull)
    log = parser.parse_args().log.absolute()
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    solved: dict[str, list[Edits]] = {"stepwise": [], "examples": []}
    totals = Counter[str]()
    for _, module in code_patches.repositories():
        task = Task(module, log, lines)
        some = (combinations(sorted(task.edits), n + 1) for n in range(len(task.edits)))
        keys = product(product(TARGETS, FACTORS), chain.from_iterable(some))
        values = {k: task.value(k[0], task.answered("time", *k)) for k in keys}
        for prompt, before in solved.items():
            task.calls = 0
            place, edits = solution(task, before if prompt == "examples" else ())
            before.append(edits)
            ratio = values[place, edits] / min(values.values())
            totals += {f"{prompt}: best": ratio <= 1 + 1e-9, f"{prompt}: calls": task.calls}
            text = f"{task.module.name:15} {prompt}: {task.calls:2} calls, {ratio:.3f} times"
            print(text, "the best", *place, edits, flush=True)
    print(len(solved["stepwise"]), "models", dict(totals))


if __name__ == "__main__":
    main()
