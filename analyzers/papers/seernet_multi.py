"""SeerNet-Multi: one SeerBlock, a head for each metric, PCGrad between them (PerfSeer, 3.2)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from ..graph.predictor import Budget, Say
from ..graph.rows import GraphRow, Measurements, Quantity
from .networks.batches import Batch, LogScale
from .networks.gradient_surgery import assign, surgery, task_gradients
from .networks.network_predictor import head
from .networks.row_features import ROW
from .networks.train import Step, TrainRecipe
from .seer_block import SeerBlock
from .seernet import SeerNet

if TYPE_CHECKING:
    from ..features.classes import Array

PLAIN_SUM = "without-pcgrad"
INFERENCE, TRAINING = "inference", "training"
LEAST_ROWS = 2


def task_name(quantity: Quantity, row: GraphRow) -> str:
    """A metric of the paper: a quantity of inference, or one of a training step."""
    return f"{TRAINING if row.setting.training else INFERENCE} {quantity.value}"


class SeerMultiNetwork(nn.Module):
    """A head for each task; called with a batch it gives the tasks of the rows' own quantity.

    Args:
        block: shared.
        tasks: their names.
        width: of the block and the heads.
        quantity: what a call gives.
    """

    def __init__(
        self, block: SeerBlock, tasks: Sequence[str], width: int, quantity: Quantity
    ) -> None:
        super().__init__()
        self.block = block
        self.tasks = tuple(tasks)
        self.quantity = quantity
        self.heads = nn.ModuleList(head(width + len(ROW), width) for _ in tasks)

    def every(self, batch: Batch) -> Tensor:
        """Every task of every row, ``[rows, tasks]``."""
        embedding = self.block(batch)[batch.graph_of_row]
        read = torch.cat([embedding, batch.row], dim=1)
        return torch.cat([h(read) for h in self.heads], dim=1)

    def forward(self, batch: Batch) -> Tensor:
        found = self.every(batch)
        is_training = batch.row[:, ROW.index("is_training")] > 0.5
        columns = [self._column(f"{kind} {self.quantity.value}") for kind in (INFERENCE, TRAINING)]
        return torch.where(is_training, found[:, columns[1]], found[:, columns[0]])

    def _column(self, task: str) -> int:
        """That of the task; of the quantity's other one where no row had it."""
        if task in self.tasks:
            return self.tasks.index(task)
        return next(i for i, t in enumerate(self.tasks) if t.endswith(self.quantity.value))


class SeerNetMulti(SeerNet):
    """All quantities at once; a row that was not measured in one says nothing about it.

    The variant ``without-pcgrad`` adds the tasks' gradients as they are (Figure 6). The time of the
    best epoch is chosen by the quantity that is asked for.
    """

    name: ClassVar[str] = "seernet-multi"
    title: ClassVar[str] = 'SeerNet-Multi with PCGrad (Zhao et al., "PerfSeer", 2025)'
    variants: ClassVar[tuple[str, ...]] = (PLAIN_SUM,)

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        super().__init__(variant, quantity)
        self.scales: dict[Quantity, LogScale] = {}
        self.tasks: tuple[str, ...] = ()

    def fit(self, train: Measurements, validation: Measurements, budget: Budget, say: Say) -> None:
        """Find which tasks there are, then train all."""
        found: set[str] = set()
        for quantity in Quantity:
            known = train.measured(quantity)
            if len(known) >= LEAST_ROWS:
                self.scales[quantity] = LogScale.of(known.values(quantity).tolist())
                found |= {task_name(quantity, row) for row in known.rows}
        self.tasks = tuple(sorted(found))
        super().fit(train, validation, budget, say)

    def network(self) -> nn.Module:
        return SeerMultiNetwork(self.block(), self.tasks, self.width, self.quantity)

    def targets(self, data: Measurements) -> Tensor:
        """``[rows, tasks]``, scaled; NaN where a row has no such number."""
        found = torch.full((len(data), len(self.tasks)), float("nan"))
        for i, row in enumerate(data.rows):
            for quantity, scale in self.scales.items():
                name, value = task_name(quantity, row), row.value(quantity)
                if name in self.tasks and value == value and value > 0:
                    found[i, self.tasks.index(name)] = scale.scaled(value)
        return found

    def step(self, train: Measurements, recipe: TrainRecipe, seed: int) -> Step | None:
        """One update a mini-batch, from the gradients of every task in it."""
        targets = self.targets(train)
        generator = random.Random(seed)

        def step(module: nn.Module, optimiser: torch.optim.Optimizer, batch: Batch) -> float:
            assert isinstance(module, SeerMultiNetwork)
            parameters = list(module.parameters())
            wanted = targets[batch.index].to(batch.y.device)
            known = torch.isfinite(wanted)
            # NaN times a gradient of nought is NaN, so none may enter the difference
            errors = (module.every(batch) - torch.where(known, wanted, 0.0)) ** 2
            losses = [
                errors[known[:, i], i].mean() for i in range(len(self.tasks)) if known[:, i].any()
            ]
            gradients = task_gradients(losses, parameters)
            total = (
                torch.stack(gradients).sum(0)
                if self.variant == PLAIN_SUM
                else surgery(gradients, generator)
            )
            assign(total, parameters)
            if recipe.clip:
                nn.utils.clip_grad_norm_(parameters, recipe.clip)
            optimiser.step()
            return float(torch.stack(losses).detach().mean())

        return step

    def meta(self) -> Mapping[str, Any]:
        """And its tasks."""
        scales = {q.value: [s.mean, s.deviation] for q, s in self.scales.items()}
        return {**super().meta(), "tasks": list(self.tasks), "scales": scales}

    def restore(self, arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> None:
        """Weights of the same features and tasks."""
        self.tasks = tuple(map(str, meta["tasks"]))
        self.scales = {Quantity(q): LogScale(*map(float, s)) for q, s in meta["scales"].items()}
        super().restore(arrays, meta)


PREDICTOR = SeerNetMulti
