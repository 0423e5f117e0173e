"""What a trained graph and language model writes of one graph (stage 2, Section 7.4.3)."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.errors import PerfcError

from ..networks.train import one_thread
from .alignment import LONGEST_ANSWER, alone
from .checkpoints import Stages, adapted_file
from .features import GraphFeatures
from .projection import Readout
from .stages import adaptable


class GraphWriter:
    """Answers on a graph, in the words of the language model.

    Args:
        folder: folder of the stages, as `perfc train gnn-llm` writes it.

    Raises:
        PerfcError: it is no such folder, or a stage was not learned.
        MissingExtraError: without transformers and peft.
    """

    def __init__(self, folder: Path) -> None:
        stages = Stages.open(folder)
        readout = next((r for r in Readout if (folder / adapted_file(r)).is_file()), None)
        if readout is None:
            raise PerfcError("stage 2 is not there", where=os.fspath(folder), hint=stages.how("2"))
        self.features = GraphFeatures(*stages.standards())
        self.network = adaptable(stages, readout)
        encoder = {f"encoder.{n}": t for n, t in stages.encoder().items()}
        self.network.load_state_dict(encoder | stages.adapted(readout))
        self.network.eval()

    def write(self, graph: ModelGraph, batch: int, question: str) -> str:
        """The likeliest answer to a question on a graph at a batch."""
        tensors = self.features(graph, float(batch))
        with one_thread(), torch.no_grad():
            tokens, is_there = self.network.graph_tokens(alone(tensors))
            ids = self.network.model.ids(f"{question}\n")
            return self.network.answers(tokens, is_there, [ids], LONGEST_ANSWER)[0]
