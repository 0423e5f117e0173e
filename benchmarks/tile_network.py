"""A small tile-aware network in place of the forest, on the same rows and the same splits.

    python benchmarks/tile_network.py --data DIR matmul matmul_f32

NeuSight lets a multilayer perceptron say how well a wave of tiles
uses the machine: utilisation = α − β / waves, with α and β two outputs between 0 and 1, so that few
waves use less of it. Here the time at full utilisation is the class's own physical scale, which
counts whole waves and what a launch costs, times what the fastest hundredth of the rows takes of
it; the network reads what the forest reads.

Three ways, each on at most ``--rows`` rows: *forest* (the class's own recipe), *network* (the
logarithm of time over scale, free of form), *tiles* (the form above). The figures are mean absolute
errors of fold 0 of unseen shapes and of machines left out in turn, whose rows count alike.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from perfc.analyzers.features.rows import Rows
from perfc_lab.training.experiments import OperatorExperiment, experiments
from perfc_lab.training.growing import Stack, grow, protocols_of, stacked
from perfc_lab.training.protocols import Holdout, UnseenMachine, UnseenShapes, split, targets

Array = NDArray[np.float64]
WIDTH, EPOCHS, BATCH = 128, 30, 1024
LEAST_UTILISATION = 1e-3


def network(outputs: int, inputs: int) -> torch.nn.Sequential:
    """Two hidden layers of ``WIDTH``."""
    return torch.nn.Sequential(
        torch.nn.Linear(inputs, WIDTH), torch.nn.ReLU(),
        torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(),
        torch.nn.Linear(WIDTH, outputs),
    )  # fmt: skip


def waves_of(stack: Stack) -> Array:
    """Waves of tiles of 128 × 128, at least one, ``[rows]``."""
    names = stack.table.names
    if "waves_128x128" in names:
        waves = stack.table.values[:, names.index("waves_128x128")].astype(np.float64)
    else:
        waves = 2.0 ** stack.table.values[:, names.index("log_waves")].astype(np.float64)
    return np.maximum(waves, 1.0)


def fitted(stack: Stack, by_tiles: bool, seed: int) -> Callable[[Stack], Array]:
    """Train one network; what it says of other rows is ``log(time / scale)``."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    values = torch.tensor(stack.table.values)
    mean, deviation = values.mean(0), values.std(0).clamp_min(1e-6)
    made = network(2 if by_tiles else 1, values.shape[1])
    fastest = float(np.quantile(stack.log_factor, 0.01))

    def says(rows: Any, waves: Any) -> Any:
        out = made(((rows - mean) / deviation).clamp(-6, 6))
        if not by_tiles:
            return out[:, 0]
        used = torch.sigmoid(out[:, 0]) - torch.sigmoid(out[:, 1]) / waves
        return fastest - torch.log(used.clamp_min(LEAST_UTILISATION))

    def columns(of: Stack) -> tuple[Any, Any]:
        return torch.tensor(of.table.values), torch.tensor(waves_of(of), dtype=torch.float32)

    train(says, made, columns(stack), stack, seed)

    def predicted(of: Stack) -> Array:
        with torch.no_grad():
            found: Array = says(*columns(of)).numpy().astype(np.float64)
        return found

    return predicted


def train(
    says: Callable[..., Any], made: torch.nn.Module, inputs: Sequence[Any], stack: Stack, seed: int
) -> None:
    """Adam on the absolute error of the logarithm, the rate annealed to nothing."""
    wanted = torch.tensor(stack.log_factor, dtype=torch.float32)
    weight = torch.tensor(stack.weight, dtype=torch.float32)
    optimiser = torch.optim.Adam(made.parameters(), 2e-3)
    steps = EPOCHS * max(len(wanted) // BATCH, 1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, total_steps=steps)
    draw = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        chosen = torch.randint(len(wanted), (min(BATCH, len(wanted)),), generator=draw)
        error = says(*(x[chosen] for x in inputs)) - wanted[chosen]
        loss = (error.abs() * weight[chosen]).mean()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(made.parameters(), 1.0)
        optimiser.step()
        schedule.step()


def errors(
    experiment: OperatorExperiment, blocks: list[Rows], holdout: Holdout, most: int
) -> dict[str, Array]:
    """Absolute relative errors of tested rows, by way."""
    parts = split(blocks, holdout)
    recipe = experiment.recipe
    if isinstance(holdout, UnseenMachine):
        recipe = recipe.for_unseen_machine()
    recipe = replace(recipe, max_rows=most, general=False)
    known = tuple(sorted({b.framework for b in parts.train}))
    protocols = protocols_of(parts.train)
    stack = stacked(parts.train, known, recipe, protocols)
    tested = stacked(parts.test, known, replace(recipe, max_rows=most), protocols)
    forest = grow(stack, recipe)
    ways: dict[str, Callable[[Stack], Array]] = {
        "scale": lambda s: np.zeros(len(s.log_factor)),
        "forest": lambda s: forest(s.table.values),
        "network": fitted(stack, False, recipe.seed),
        "tiles": fitted(stack, True, recipe.seed),
    }
    least = np.log(tested.table.floor_s / tested.table.scale_s)
    return {
        name: np.abs(np.expm1(np.maximum(way(tested), least) - tested.log_factor))
        for name, way in ways.items()
    }


def show(name: str, held_out: str, found: dict[str, Array]) -> None:
    """One line."""
    cells = "  ".join(f"{way} {values.mean():6.1%}" for way, values in found.items())
    print(f"{name:12} {held_out:34} {len(found['scale']):7,}  {cells}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=40_000)
    given = parser.parse_args()
    for name in given.names:
        experiment = experiments()[name]
        if not isinstance(experiment, OperatorExperiment):
            raise SystemExit(f"{name} is not of single kernels")
        blocks, begin = experiment.rows(given.data), time.process_time()
        found = errors(experiment, blocks, UnseenShapes(experiment.group), given.rows)
        show(name, "unseen shapes, fold 0", found)
        together: dict[str, list[Array]] = {}
        for target in targets(blocks):
            found = errors(experiment, blocks, UnseenMachine(target), given.rows)
            show(name, f"without {target}", found)
            for way, values in found.items():
                together.setdefault(way, []).append(values)
        show(name, "each machine", {w: np.concatenate(v) for w, v in together.items()})
        print(f"{name}: {time.process_time() - begin:.0f} s of processor time")


if __name__ == "__main__":
    main()
