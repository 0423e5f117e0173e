"""Base of networks that learn several quantities of a run together.

A row without a quantity adds nothing to the loss of that quantity. The networks of DIPPM, TraPPM
and SeerNet-Multi inherit from it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import astuple
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from perfc.analyzers.features.classes import Array
from perfc.analyzers.graph.predictor import Say, TrainingBudget
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.errors import PerfcError

from .batches import Batch, Scale, scale_of
from .network_predictor import NetworkPredictor
from .train import Step, TrainRecipe, one_thread, predicted

LEAST_ROWS = 2
"""Minimum rows of a quantity that is learned: its scale has a deviation, which needs two."""


class TaskNetwork(nn.Module):
    """A network with an output for each task; a call returns those of the requested quantity.

    A task is a quantity, or a quantity in one mode of running.

    Args:
        tasks: names of the tasks, in the order of the outputs.
        quantity: quantity that a call returns.
        is_raw: whether outputs are plain positive numbers, ``-log(sigmoid(x))``, as in the
            authors' programs of DIPPM and TraPPM.
    """

    def __init__(self, tasks: tuple[str, ...], quantity: Quantity, *, is_raw: bool = False) -> None:
        super().__init__()
        self.tasks = tasks
        self.quantity = quantity
        self.is_raw = is_raw

    def positive(self, outputs: Tensor) -> Tensor:
        """Return the outputs, made positive if the network learns plain numbers."""
        return -nn.functional.logsigmoid(outputs) if self.is_raw else outputs

    @abstractmethod
    def every(self, batch: Batch) -> Tensor:
        """Return the scaled numbers of all tasks, ``[rows, tasks]``."""

    def chosen(self, batch: Batch, every: Tensor) -> Tensor:
        """Return the requested quantity of each row, ``[rows]``, from those of all tasks."""
        del batch
        return every[:, self.column(self.quantity.value)]

    def forward(self, batch: Batch) -> Tensor:
        return self.chosen(batch, self.every(batch))

    def column(self, task: str) -> int:
        """Return the column of a task; without rows of it, that of another task of the quantity."""
        if task in self.tasks:
            return self.tasks.index(task)
        return next(i for i, t in enumerate(self.tasks) if t.endswith(self.quantity.value))


class SeveralQuantities(NetworkPredictor):
    """A predictor of all quantities that rows have; the requested one decides the best epoch.

    Attributes:
        error: class of the loss of predicted and measured numbers.
        scales: scale of each learned quantity.
        tasks: names of the outputs of the network.
    """

    error: ClassVar[type[nn.Module]] = nn.MSELoss

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        super().__init__(variant, quantity)
        self.scales: dict[Quantity, Scale] = {}
        self.tasks: tuple[str, ...] = ()

    def task(self, quantity: Quantity, row: GraphRow) -> str:
        """Return the task of a quantity of a row, a name that ends in that of the quantity."""
        del row
        return quantity.value

    def quantities(self) -> tuple[Quantity, ...]:
        """Return the quantities that are learned if there are rows of them."""
        return tuple(Quantity)

    def fit(
        self, train: Measurements, validation: Measurements, budget: TrainingBudget, say: Say
    ) -> None:
        """Train the network on all tasks that the rows have."""
        self.choose(budget.is_faithful)
        tasks: set[str] = set()
        for quantity in self.quantities():
            measured = train.measured(quantity)
            if len(measured) >= LEAST_ROWS:
                self.scales[quantity] = self.scale_for(quantity, measured)
                tasks |= {self.task(quantity, row) for row in measured.rows}
        # set before `super().fit` builds the network, which has an output for each
        self.tasks = tuple(sorted(tasks))
        super().fit(train, validation, budget, say)

    def every(self, data: Measurements) -> Mapping[Quantity, Array]:
        """Return every learned quantity of every row, ``[rows]`` each.

        Raises:
            PerfcError: the predictor is not trained.
        """
        network = self.made
        if not isinstance(network, TaskNetwork):
            raise PerfcError(f"{self.name} is not trained", hint="call fit first")
        by_quantity: dict[Quantity, Array] = {}
        batches = self.batches(data, {})
        # a call of the network returns one quantity, so that it is called for each in turn
        for quantity, scale in self.scales.items():
            batches.scale, network.quantity = scale, quantity
            with one_thread():
                by_quantity[quantity] = predicted(network, batches)
        network.quantity = self.quantity
        return by_quantity

    def other_quantities(self, data: Measurements) -> Mapping[Quantity, Array]:
        """Return the learned quantities other than ``quantity``, ``[rows]`` each."""
        return {q: v for q, v in self.every(data).items() if q is not self.quantity}

    def targets(self, data: Measurements) -> Tensor:
        """Return the scaled numbers of all tasks, ``[rows, tasks]``; NaN where a row has none."""
        wanted = torch.full((len(data), len(self.tasks)), float("nan"))
        for i, row in enumerate(data.rows):
            for quantity, scale in self.scales.items():
                name, value = self.task(quantity, row), row.value(quantity)
                # NaN is not equal to itself; 0 has no logarithm
                if name in self.tasks and value == value and value > 0:
                    wanted[i, self.tasks.index(name)] = scale.scaled(value)
        return wanted

    def losses(self, module: nn.Module, batch: Batch, targets: Tensor) -> list[Tensor]:
        """Return the loss of each task that some row of the batch has a number of."""
        assert isinstance(module, TaskNetwork)
        wanted = targets[batch.index].to(batch.y.device)
        is_measured = torch.isfinite(wanted)
        # zeros in place of NaN: masking the loss alone leaves a NaN gradient, as 0 · NaN is NaN
        errors = self.error(reduction="none")(
            module.every(batch), torch.where(is_measured, wanted, torch.zeros_like(wanted))
        )
        return [
            errors[is_measured[:, i], i].mean()
            for i in range(len(self.tasks))
            if is_measured[:, i].any()
        ]

    def step(self, train: Measurements, recipe: TrainRecipe, seed: int) -> Step | None:
        """Return a function that updates the weights by the mean loss of a mini-batch's tasks."""
        del seed
        targets = self.targets(train)

        def step(module: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch) -> float:
            optimizer.zero_grad(set_to_none=True)
            loss = torch.stack(self.losses(module, batch, targets)).mean()
            loss.backward()  # type: ignore[no-untyped-call]
            if recipe.clip:
                nn.utils.clip_grad_norm_(module.parameters(), recipe.clip)
            optimizer.step()
            return float(loss.detach())

        return step

    def meta(self) -> Mapping[str, Any]:
        """Return the entries of the card, with tasks and scales."""
        scales = {q.value: astuple(s) for q, s in self.scales.items()}
        return {**super().meta(), "tasks": list(self.tasks), "scales": scales}

    def restore(self, arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> None:
        """Restore weights of the same features and tasks."""
        self.tasks = tuple(map(str, meta["tasks"]))
        scales = meta["scales"].items()
        self.scales = {Quantity(q): scale_of([float(x) for x in s]) for q, s in scales}
        super().restore(arrays, meta)
