"""The baseline of TraPPM that looks at no graph: its static features through two layers.

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
    """TraPPM's last part alone: 512 wide, dropout 0.05, Adam at 10⁻³, squared error, 100 epochs."""

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
