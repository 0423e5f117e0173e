"""SeerNet-Multi: a SeerBlock, a head for each metric, and PCGrad (PerfSeer, Section 3.2)."""

from __future__ import annotations

import random
from typing import ClassVar

import torch
from torch import Tensor, nn

from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity

from .networks.batches import Batch
from .networks.gradient_surgery import assign, surgery, task_gradients
from .networks.network_predictor import head
from .networks.row_features import ROW
from .networks.several import SeveralQuantities, TaskNetwork
from .networks.train import Step, TrainRecipe
from .seer_block import SeerBlock
from .seernet import SeerNet

# variant without PCGrad
PLAIN_SUM = "without-pcgrad"
# first words of the names of tasks
INFERENCE, TRAINING = "inference", "training"


class SeerMultiNetwork(TaskNetwork):
    """A block, and a head for each task, which is a quantity of inference or of training.

    Args:
        block: block that all heads read.
        tasks: names of the tasks.
        width: width of the block and the heads.
        quantity: quantity that a call returns.
    """

    def __init__(
        self, block: SeerBlock, tasks: tuple[str, ...], width: int, quantity: Quantity
    ) -> None:
        super().__init__(tasks, quantity)
        self.block = block
        self.heads = nn.ModuleList(head(width + len(ROW), width) for _ in tasks)

    def every(self, batch: Batch) -> Tensor:
        embedding = self.block(batch)[batch.graph_of_row]
        read = torch.cat([embedding, batch.row], dim=1)
        return torch.cat([h(read) for h in self.heads], dim=1)

    def chosen(self, batch: Batch, every: Tensor) -> Tensor:
        """Return the requested quantity of each row, in the row's mode of running."""
        is_training = batch.row[:, ROW.index("is_training")] > 0.5  # 0 or 1
        inference, training = (
            self.column(f"{kind} {self.quantity.value}") for kind in (INFERENCE, TRAINING)
        )
        return torch.where(is_training, every[:, training], every[:, inference])


class SeerNetMulti(SeveralQuantities, SeerNet):
    """SeerNet for all quantities; a row does not train the heads of quantities that it lacks.

    The variant ``without-pcgrad`` sums the gradients of the tasks (Figure 6).
    """

    name: ClassVar[str] = "seernet-multi"
    title: ClassVar[str] = 'SeerNet-Multi with PCGrad (Zhao et al., "PerfSeer", 2025)'
    variants: ClassVar[tuple[str, ...]] = (PLAIN_SUM,)

    def task(self, quantity: Quantity, row: GraphRow) -> str:
        """Return the name of a metric in the paper: a quantity of inference or training."""
        return f"{TRAINING if row.setting.training else INFERENCE} {quantity.value}"

    def network(self) -> nn.Module:
        return SeerMultiNetwork(self.block(), self.tasks, self.width, self.quantity)

    def step(self, train: Measurements, recipe: TrainRecipe, seed: int) -> Step | None:
        """Return the update of the weights by a mini-batch, from the gradients of its tasks."""
        targets = self.targets(train)
        generator = random.Random(seed)

        def step(module: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch) -> float:
            parameters = list(module.parameters())
            losses = self.losses(module, batch, targets)
            gradients = task_gradients(losses, parameters)
            total = (
                torch.stack(gradients).sum(0)
                if self.variant == PLAIN_SUM
                else surgery(gradients, generator)
            )
            assign(total, parameters)  # replaces the gradients, which need no zeroing before
            if recipe.clip:
                nn.utils.clip_grad_norm_(parameters, recipe.clip)
            optimizer.step()
            return float(torch.stack(losses).detach().mean())

        return step


PREDICTOR = SeerNetMulti
