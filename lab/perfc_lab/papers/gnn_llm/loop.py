"""The training loop of stages 0 to 2: steps, a time limit, and checkpoints to resume from.

The stages call `learn` with a loss and batches of any type.
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
"""Seconds between checkpoints, the work that an interrupted training loses at most."""
LARGEST_GRADIENT = 1.0
"""Maximum norm of gradients."""
RISING_STEPS = 100
"""Steps over which learning rates rise at the start."""


@record
class StageRecipe:
    """Settings of the training of a stage.

    Args:
        epochs: maximum number of epochs.
        limit_s: limit of processor time.
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
        epoch: number of the current epoch, from 0.
        step: number of steps of that epoch so far.
        steps: number of steps of all epochs so far.
        seconds: processor time so far.
        loss: exponentially weighted mean of the loss; NaN before the first step.
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
    """Train a network in place with Adam, from its checkpoint if there is one.

    Args:
        network: network whose ``state_dict`` a checkpoint has.
        groups: groups of parameters, each with its learning rate.
        batches: returns the batches of an epoch, in an order by the random generator.
        loss: returns the loss of a batch.
        recipe: length of the training.
        seed: random seed of the order.
        folder: folder of the checkpoint; None for none.
        say: gets a line every fiftieth step.
    """
    listed = [{"params": list(p), "lr": r, "rate": r} for p, r in groups]
    optimizer = torch.optim.Adam(listed)
    digest = fingerprint(network, recipe, seed)
    state = _resumed(network, optimizer, folder, digest)
    # time before an interruption counts: the start lies as long ago
    start = saved = clock_s() - state.seconds
    place = next(network.parameters()).device
    while state.epoch < recipe.epochs and state.seconds < recipe.limit_s:
        order = random.Random(f"{seed} {state.epoch}")
        # a resumed epoch has the same order, and begins where it was interrupted
        for batch in islice(batches(order), state.step, None):
            share = max(state.seconds / recipe.limit_s, state.epoch / recipe.epochs)
            for group in optimizer.param_groups:
                group["lr"] = group["rate"] * (_rate(state, share) if recipe.is_annealed else 1.0)
            optimizer.zero_grad(set_to_none=True)
            with short_products(place, recipe.has_short_products):
                value = loss(batch)
            value.backward()  # type: ignore[no-untyped-call]
            if recipe.is_annealed:
                nn.utils.clip_grad_norm_(network.parameters(), LARGEST_GRADIENT)
            optimizer.step()
            _count(state, float(value.detach()), clock_s() - start, say)
            if state.seconds >= recipe.limit_s:
                break
            if clock_s() - saved > CHECKPOINT_EVERY_S:
                saved = clock_s()
                _save(network, optimizer, state, folder, digest)
        else:  # not after a break by the time limit: such an epoch is resumed at its step
            state.epoch, state.step = state.epoch + 1, 0
    _save(network, optimizer, state, folder, digest)
    say(f"{state.steps} steps, epoch {state.epoch}, {state.seconds:.0f} s, loss {state.loss:.4f}")
    return state


def _count(state: StageProgress, loss: float, seconds: float, say: Say) -> None:
    """Count a step in place, and report every fiftieth."""
    state.step, state.steps, state.seconds = state.step + 1, state.steps + 1, seconds
    # NaN, which is not equal to itself, before the first step
    state.loss = loss if state.loss != state.loss else 0.95 * state.loss + 0.05 * loss
    if state.steps % 50 == 0:
        say(f"step {state.steps}: epoch {state.epoch}, {seconds:.0f} s, loss {state.loss:.4f}")


def _rate(state: StageProgress, share: float) -> float:
    """Return the factor of the rate: it rises over `RISING_STEPS`, and falls along half a cosine.

    The cosine ends at 0.02, not at 0, so that the last steps still learn.
    """
    fallen = 0.5 * (1 + cos(pi * min(share, 1.0))) + 0.02
    return fallen * min((state.steps + 1) / RISING_STEPS, 1.0)


def fingerprint(network: nn.Module, recipe: StageRecipe, seed: int) -> str:
    """Return the digest of all that a checkpoint and the training that resumes it must share.

    Limits of time and epochs are not part of it, so that they may grow.
    """
    shapes = {n: list(t.shape) for n, t in network.state_dict().items()}
    rest = {n: v for n, v in asdict(recipe).items() if n not in ("limit_s", "epochs")}
    return hashlib.sha256(json.dumps([shapes, rest, seed]).encode()).hexdigest()[:16]


def _save(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    state: StageProgress,
    folder: Path | None,
    print_: str,
) -> None:
    """Write a checkpoint with a fingerprint, ``print_``; nothing without a folder."""
    if folder is not None:
        write_checkpoint(folder, print_, network, optimizer, asdict(state), {})


def _resumed(
    network: nn.Module, optimizer: torch.optim.Optimizer, folder: Path | None, print_: str
) -> StageProgress:
    """Restore an interrupted training of this fingerprint, ``print_``, and return its progress."""
    content = read_state(folder, print_)
    if folder is None or content is None or set(content) != set(asdict(StageProgress())):
        return StageProgress()
    read_checkpoint(folder, network, optimizer)
    return StageProgress(**content)
