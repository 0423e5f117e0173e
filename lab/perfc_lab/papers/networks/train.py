"""The training loop of networks: seeded, limited in epochs and processor time, resumable.

`NetworkPredictor.fit` calls `fit_network`. Time limits are of processor time, so that other load on
the machine does not change a training.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from perfc.analyzers.graph.predictor import Say, TrainingBudget
from perfc.ir.record import frozen

from .batches import Batch, RowBatches
from .progress import TrainingProgress, resumed, save

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

Loss = Callable[[nn.Module, Batch], Tensor]
Step = Callable[[nn.Module, torch.optim.Optimizer, Batch], float]
"""Function that updates a network by a mini-batch, and returns the loss."""


@frozen
class TrainRecipe:
    """Settings of the training of a network; by default plain Adam at one rate for all epochs.

    Args:
        epochs: maximum number of epochs.
        learning_rate: learning rate at the start.
        weight_decay: decoupled weight decay (AdamW); 0 for plain Adam.
        rows: rows of a mini-batch; 0 for as many as have about `NODES_PER_BATCH` operators.
        halve_after: epochs without a better validation before the rate is halved; 0 for never.
        least_rate: minimum of the rate, at which halving ends.
        is_annealed: whether the rate falls along half a cosine over the time or the epochs,
            whichever end first.
        patience: epochs without a better validation before training stops; 0 for never.
        clip: maximum norm of the gradient; 0 for none.
        has_short_products: whether graph layers multiply in bfloat16 and add in 32 bits while they
            learn, where that is faster: two to four times for layers 512 wide. Heads, sums over
            updates and predictions keep 32 bits.
        rising_steps: updates over which the rate rises to its start; it is then set before each
            update by the clock, as trainings of few epochs need, not for each epoch. 0 for neither.
        checkpoint_every_s: processor seconds between checkpoints.
    """

    epochs: int = 500
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    rows: int = 0
    halve_after: int = 0
    least_rate: float = 0.0
    is_annealed: bool = False
    patience: int = 0
    clip: float = 0.0
    has_short_products: bool = False
    rising_steps: int = 0
    checkpoint_every_s: float = 60.0

    def annealed(self, learning_rate: float | None = None, patience: int = 200) -> TrainRecipe:
        """Return a recipe for less time and fewer rows than the paper's.

        The rate falls along a cosine, gradients are clipped, mini-batches have about equal numbers
        of operators, layers multiply in bfloat16, and training stops without progress.
        """
        return replace(
            self,
            learning_rate=learning_rate or self.learning_rate,
            rows=0,
            halve_after=0,
            is_annealed=True,
            patience=patience,
            clip=1.0,
            has_short_products=True,
        )

    def rate(self, progress: TrainingProgress, share: float) -> float:
        """Return the learning rate of an epoch, before which ``share`` of the training is over."""
        if self.is_annealed:
            return self.learning_rate * _cosine(share)
        return max(self.learning_rate * progress.rate, self.least_rate)


@frozen
class Trained:
    """Results of a training.

    Args:
        epochs: number of epochs, those before an interruption included.
        seconds: processor time of all of them.
        best: validation error of the weights that the network ends with.
        history: numbers of every epoch, in the order of `progress.FIELDS`.
    """

    epochs: int
    seconds: float
    best: float
    history: tuple[tuple[float, ...], ...]


def device() -> torch.device:
    """Return the GPU if there is one, else the processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def clock_s() -> float:
    """Return processor time, which load does not change; wall time if a GPU does the work."""
    return time.perf_counter() if device().type == "cuda" else time.process_time()


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread in the context: several that wait for other programs take longer."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def seeded(seed: int) -> None:
    """Set the seeds of all generators, also of the initialisation of networks."""
    random.seed(seed)
    torch.manual_seed(seed)


def huber(network: nn.Module, batch: Batch) -> Tensor:
    """Return the Huber loss of the scaled quantity."""
    return nn.functional.huber_loss(network(batch), batch.y)


def predicted(network: nn.Module, batches: RowBatches) -> Array:
    """Return the quantity of every row, ``[rows]``."""
    network.eval()
    place = next(network.parameters()).device
    result = np.zeros(len(batches))
    with torch.no_grad():
        for batch in batches.epoch():
            values = network(batch.to(place)).reshape(-1).double().cpu()
            for i, value in zip(batch.index.tolist(), values.tolist(), strict=True):
                result[i] = batches.scale.value(value)
    return result


def mape(network: nn.Module, batches: RowBatches) -> float:
    """Return the mean absolute relative error of the rows."""
    measured = batches.data.values(batches.quantity)
    return float(np.abs(predicted(network, batches) / measured - 1).mean())


def fit_network(
    network: nn.Module,
    train: RowBatches,
    validation: RowBatches,
    recipe: TrainRecipe,
    budget: TrainingBudget,
    say: Say,
    *,
    loss: Loss = huber,
    step: Step | None = None,
) -> Trained:
    """Train a network in place; it ends with the weights that were best on validation.

    Args:
        network: network that returns ``[rows]`` for a `Batch`.
        train: rows to learn from.
        validation: rows of other architectures, which choose the best weights and the end.
        recipe: hyperparameters of the training.
        budget: seed, time limit, folder of checkpoints.
        say: gets a line every tenth epoch.
        loss: returns the loss of a batch.
        step: update in place of the usual one by ``loss``.
    """
    place = device()
    network.to(place)
    # without weight decay AdamW is Adam
    optimizer = torch.optim.AdamW(
        [{"params": p, "share": share} for p, share in rated(network)],
        lr=recipe.learning_rate,
        weight_decay=recipe.weight_decay,
        fused=True,  # an update of three million weights in 6 ms instead of 16
    )
    digest = fingerprint(network, recipe, budget, train)
    state, best = resumed(network, optimizer, budget.folder, digest)
    best = best or _copied(network)
    # time before an interruption counts: the start lies as long ago
    start = saved = clock_s() - state.seconds
    while state.epoch < recipe.epochs and clock_s() - start < budget.limit_s:
        share = max((clock_s() - start) / budget.limit_s, state.epoch / recipe.epochs)
        rate = recipe.rate(state, share)
        for group in optimizer.param_groups:
            group["lr"] = rate * group["share"]
        network.train()
        # the order of batches depends on seed and epoch alone, so that a resumed training repeats
        # it
        drawn = train.epoch(random.Random(f"{budget.seed} {state.epoch}"))
        losses = [
            update(network, optimizer, batch.to(place), loss, recipe, step)
            for batch in paced(drawn, optimizer, recipe, budget, start)
        ]
        mean = sum(losses) / max(len(losses), 1)
        # without validation rows the training loss stands for the error
        error = mape(network, validation) if len(validation) else mean
        if state.record(clock_s() - start, mean, error, rate, recipe.halve_after):
            best = _copied(network)
        _tell(state, mean, error, recipe, budget, say)
        if clock_s() - saved > recipe.checkpoint_every_s:
            saved = clock_s()
            save(network, best, optimizer, state, budget.folder, digest)
        if recipe.patience and state.epoch - state.best_epoch >= recipe.patience:
            break
    save(network, best, optimizer, state, budget.folder, digest)
    network.load_state_dict(best)
    network.eval()
    say(f"best validation {state.best:.1%} at epoch {state.best_epoch} of {state.epoch}")
    return Trained(state.epoch, state.seconds, state.best, state.history)


def paced(
    batches: Iterable[Batch],
    optimizer: torch.optim.Optimizer,
    recipe: TrainRecipe,
    budget: TrainingBudget,
    start: float,
) -> Iterator[Batch]:
    """Yield the batches of an epoch.

    With `TrainRecipe.rising_steps` the rate is set by the clock before each batch, and the epoch
    ends at the time limit.
    """
    if not recipe.rising_steps:
        yield from batches
        return
    for batch in batches:
        share = (clock_s() - start) / budget.limit_s
        # Adam counts the updates of each parameter; before the first there is no state
        counts = [s["step"] for s in optimizer.state.values() if "step" in s]
        risen = min((float(max(counts, default=0)) + 1) / recipe.rising_steps, 1.0)
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate * _cosine(share) * risen * group["share"]
        yield batch
        if share >= 1:
            return


@runtime_checkable
class Rated(Protocol):
    """A network whose parts learn at different rates, some not at all."""

    def rated_groups(self) -> list[tuple[list[nn.Parameter], float]]:
        """Return groups of parameters, each with its share of the recipe's rate."""


def rated(network: nn.Module) -> list[tuple[list[nn.Parameter], float]]:
    """Return groups of parameters with their share of the rate; one group by default."""
    if isinstance(network, Rated):
        return network.rated_groups()
    return [(list(network.parameters()), 1.0)]


def _tell(
    state: TrainingProgress,
    loss: float,
    error: float,
    recipe: TrainRecipe,
    budget: TrainingBudget,
    say: Say,
) -> None:
    """Report an epoch: the finished share to a progress bar, a line every tenth epoch."""
    if budget.progress is not None:
        # by time or by epochs, whichever is nearer to its end
        over = max(state.seconds / budget.limit_s, state.epoch / recipe.epochs)
        budget.progress(min(over, 1.0), f"epoch {state.epoch}, validation {error:.1%}")
    if state.epoch % 10 == 0:
        say(f"epoch {state.epoch}: loss {loss:.4f}, validation {error:.1%}")


def _copied(network: nn.Module) -> dict[str, Tensor]:
    """Return a copy of the weights, which later updates leave as they are."""
    return {n: t.detach().clone() for n, t in network.state_dict().items()}


def _cosine(share: float) -> float:
    """Return the factor of an annealed rate, half a cosine, after a share of a training."""
    from math import cos, pi

    # it ends at a hundredth of the rate, not at 0, so that the last updates still learn
    return 0.5 * (1 + cos(pi * min(share, 1.0))) + 0.01


def short_products(place: torch.device, wanted: bool = True) -> torch.autocast:
    """Return a context of products in bfloat16, without effect on a CPU that lacks them."""
    names = ("avx512_bf16", "amx_bf16")
    is_supported = place.type != "cpu" or any(
        torch.cpu.get_capabilities().get(n, False) for n in names
    )
    return torch.autocast(place.type, torch.bfloat16, enabled=wanted and is_supported)


def update(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    loss: Loss,
    recipe: TrainRecipe,
    step: Step | None = None,
) -> float:
    """Update the weights by a mini-batch and return its loss."""
    if step is not None:
        return step(network, optimizer, batch)
    optimizer.zero_grad(set_to_none=True)
    with short_products(batch.x.device, recipe.has_short_products):
        value = loss(network, batch)
    value.backward()  # type: ignore[no-untyped-call]
    if recipe.clip:
        nn.utils.clip_grad_norm_(network.parameters(), recipe.clip)
    optimizer.step()
    return float(value.detach())


def fingerprint(
    network: nn.Module, recipe: TrainRecipe, budget: TrainingBudget, train: RowBatches
) -> str:
    """Return the digest of all that a checkpoint and the training that resumes it must share.

    The time limit is not part of it, so that a training can be resumed with more time.
    """
    shapes = {n: list(t.shape) for n, t in network.state_dict().items()}
    rows = [f"{r.graph} {r.target} {r.batch} {r.time_s}" for r in train.data.rows]
    text = json.dumps([shapes, asdict(recipe), budget.seed, train.quantity.value, rows])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
