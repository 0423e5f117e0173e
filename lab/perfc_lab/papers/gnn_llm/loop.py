"""The loop of the stages that learn from graphs and text alone: steps, a time limit, resuming.

Stages 0, 1 and 2 call `learn` with a loss and batches of any type.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from math import cos, pi
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from perfc.analyzers.graph.predictor import Say
from perfc.ir.record import record

from ..networks.checkpoint import read_checkpoint, read_state, write_checkpoint
from ..networks.train import clock_s, short_products

T = TypeVar("T")
CHECKPOINT_EVERY_S = 60.0
"""Seconds of work that a stopped training loses at most."""
LARGEST_GRADIENT = 1.0
"""Norm to which gradients are clipped."""
RISING_STEPS = 100
"""Steps over which the learning rate rises."""


@record
class StageRecipe:
    """Settings of the training of a stage.

    Args:
        epochs: at most.
        limit_s: time limit of processor time.
        is_annealed: whether rates rise, then fall on half a cosine, and gradients are clipped.
        has_short_products: whether layers multiply in bfloat16 where that is faster.
    """

    epochs: int
    limit_s: float
    is_annealed: bool = False
    has_short_products: bool = False


@dataclass
class StageProgress:
    """Progress of a stage.

    Args:
        epoch: current epoch.
        step: step of the epoch.
        steps: number of steps of all epochs.
        seconds: seconds of processor time.
        loss: mean of the last steps, exponentially weighted.
    """

    epoch: int = 0
    step: int = 0
    steps: int = 0
    seconds: float = 0.0
    loss: float = float("nan")


def learn(
    network: nn.Module,
    groups: Sequence[tuple[Iterable[nn.Parameter], float]],
    batches: Callable[[random.Random], Iterable[T]],
    loss: Callable[[T], Tensor],
    recipe: StageRecipe,
    *,
    seed: int,
    folder: Path | None,
    say: Say,
) -> StageProgress:
    """Train in place with Adam; an interrupted training goes on from its checkpoint.

    Args:
        network: whose ``state_dict`` is kept.
        groups: parameters, each with its rate.
        batches: batches of an epoch, in an order that the generator draws.
        loss: loss of a batch.
        recipe: how long.
        seed: random seed of the order.
        folder: folder of the checkpoint; None for none.
        say: called now and then.
    """
    listed = [{"params": list(p), "lr": r, "rate": r} for p, r in groups]
    optimiser = torch.optim.Adam(listed)
    print_ = fingerprint(network, recipe, seed)
    state = _resumed(network, optimiser, folder, print_)
    start = saved = clock_s() - state.seconds
    place = next(network.parameters()).device
    while state.epoch < recipe.epochs and state.seconds < recipe.limit_s:
        order = random.Random(f"{seed} {state.epoch}")
        # a resumed epoch has the same order, and begins where it was interrupted
        for batch in islice(batches(order), state.step, None):
            share = max(state.seconds / recipe.limit_s, state.epoch / recipe.epochs)
            for group in optimiser.param_groups:
                group["lr"] = group["rate"] * (_rate(state, share) if recipe.is_annealed else 1.0)
            optimiser.zero_grad(set_to_none=True)
            with short_products(place, recipe.has_short_products):
                value = loss(batch)
            value.backward()  # type: ignore[no-untyped-call]
            if recipe.is_annealed:
                nn.utils.clip_grad_norm_(network.parameters(), LARGEST_GRADIENT)
            optimiser.step()
            _count(state, float(value.detach()), clock_s() - start, say)
            if state.seconds >= recipe.limit_s:
                break
            if clock_s() - saved > CHECKPOINT_EVERY_S:
                saved = clock_s()
                _save(network, optimiser, state, folder, print_)
        else:  # an epoch that the time limit broke off is resumed at its step
            state.epoch, state.step = state.epoch + 1, 0
    _save(network, optimiser, state, folder, print_)
    say(f"{state.steps} steps, epoch {state.epoch}, {state.seconds:.0f} s, loss {state.loss:.4f}")
    return state


def _count(state: StageProgress, loss: float, seconds: float, say: Say) -> None:
    """Count a step in place, and report every fiftieth."""
    state.step, state.steps, state.seconds = state.step + 1, state.steps + 1, seconds
    # NaN before the first step
    state.loss = loss if state.loss != state.loss else 0.95 * state.loss + 0.05 * loss
    if state.steps % 50 == 0:
        say(f"step {state.steps}: epoch {state.epoch}, {seconds:.0f} s, loss {state.loss:.4f}")


def _rate(state: StageProgress, share: float) -> float:
    """Return the factor of the rate: it rises over `RISING_STEPS`, and falls along half a cosine.

    The 0.02 at the end of the cosine keeps the last steps from standing still.
    """
    fallen = 0.5 * (1 + cos(pi * min(share, 1.0))) + 0.02
    return fallen * min((state.steps + 1) / RISING_STEPS, 1.0)


def fingerprint(network: nn.Module, recipe: StageRecipe, seed: int) -> str:
    """Return the digest of what a checkpoint must agree on to resume; the limit may grow."""
    shapes = {n: list(t.shape) for n, t in network.state_dict().items()}
    rest = {n: v for n, v in asdict(recipe).items() if n not in ("limit_s", "epochs")}
    return hashlib.sha256(json.dumps([shapes, rest, seed]).encode()).hexdigest()[:16]


def _save(
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    state: StageProgress,
    folder: Path | None,
    print_: str,
) -> None:
    if folder is not None:
        write_checkpoint(folder, print_, network, optimiser, asdict(state), {})


def _resumed(
    network: nn.Module, optimiser: torch.optim.Optimizer, folder: Path | None, print_: str
) -> StageProgress:
    """Load the state of an interrupted training; nothing if its fingerprint differs."""
    content = read_state(folder, print_)
    if folder is None or content is None or set(content) != set(asdict(StageProgress())):
        return StageProgress()
    read_checkpoint(folder, network, optimiser)
    return StageProgress(**content)
