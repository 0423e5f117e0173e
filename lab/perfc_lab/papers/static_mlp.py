"""A baseline of TraPPM: two fully connected layers on the static features of a graph.

Panner Selvam and Brorsson, NeurIPS 2023 workshop, Appendix A.4; thesis, Section 5.5.5.2.
"""

from __future__ import annotations

from typing import ClassVar

from torch import nn

from .networks.network_predictor import NetworkPredictor, squared
from .networks.summed import SummedNetwork
from .networks.train import Loss, TrainRecipe
from .static_features import STATIC
from .trappm import ENCODING


class StaticMlp(NetworkPredictor):
    """TraPPM's fully connected layers alone.

    They are 512 wide with dropout 0.05, trained with Adam at 10⁻³ on squared errors, 100 epochs.
    """

    name: ClassVar[str] = "static-mlp"
    title: ClassVar[str] = "MLP on static features (baseline of TraPPM, 2023)"
    hidden: ClassVar[int] = 512
    recipe: ClassVar[TrainRecipe] = TrainRecipe(epochs=100, learning_rate=1e-3)
    ours: ClassVar[TrainRecipe] = recipe.annealed(patience=100)
    loss: ClassVar[Loss] = staticmethod(squared)
    encoding = ENCODING

    def network(self) -> nn.Module:
        return SummedNetwork([], len(STATIC), self.width)


PREDICTOR = StaticMlp
