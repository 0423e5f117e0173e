"""Train stages 0 to 2: a small decoder on text, GraphMAE, and graph-text adaptation.

`perfc train gnn-llm --stage 0 --stage 1 --stage 2` runs a `Course`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property

import torch
from torch import Tensor

from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.predictor import Say
from perfc.errors import ParseError

from ..networks.batches import GraphTensors
from ..networks.train import device, one_thread
from . import graph_mae
from .alignment import Pairs, align, summaries
from .checkpoints import DECODER, ENCODER, STANDARDS, Stages, adapted_file, summaries_file
from .corpus import corpus, drawn_batch
from .counts import vector
from .descriptions import GraphSummary
from .features import FILES, NODES, UNSEEN, GraphFeatures, chosen_names
from .language_model import fresh_decoder, train_decoder
from .loop import StageRecipe, learn
from .network import LORA_RANK, GraphLanguageNetwork
from .projection import Readout

LEAST_GRAPHS = 8
"""Minimum graphs of a training."""
STANDARD_GRAPHS = 512
"""Maximum graphs whose features set the means and deviations of all."""


class Course:
    """Trainings of the stages on unlabelled graphs.

    Args:
        stages: folder of the stages.
        graphs: pool of unlabelled graphs by name.
        say: gets the progress.
        limit_s: limit of processor time for each stage; by default that of the preset.

    Raises:
        ParseError: the pool has too few graphs.
    """

    def __init__(
        self,
        stages: Stages,
        graphs: Mapping[str, ModelGraph],
        say: Say,
        limit_s: float | None = None,
    ) -> None:
        self.stages, self.graphs, self.say, self.limit_s = stages, graphs, say, limit_s
        self.names, self.unseen = chosen_names(list(graphs), stages.preset.graphs, stages.card.seed)
        if len(self.names) < LEAST_GRAPHS:
            raise ParseError(
                f"{len(self.names)} graphs that nobody measured are too few",
                where="--graphs",
                hint="perfc data build graphs --unlabelled 20000",
            )

    def recipe(self, epochs: int, limit_s: float) -> StageRecipe:
        """Return the recipe of a stage."""
        preset = self.stages.preset
        limit = limit_s if self.limit_s is None else self.limit_s
        return StageRecipe(epochs, limit, preset.is_annealed, has_short_products=preset.is_annealed)

    @cached_property
    def features(self) -> GraphFeatures:
        """Return the features with the stored standards, at first those of the pool."""
        if not (self.stages.folder / STANDARDS).is_file():
            fitted = GraphFeatures.of(self.graphs, self.names[:STANDARD_GRAPHS])
            self.stages.keep_standards(fitted.nodes, fitted.sums)
        return GraphFeatures(*self.stages.standards())

    def learn_text(self) -> None:
        """Train stage 0, the small decoder, if no language model is given."""
        if self.stages.card.language_model:
            self.say("the language model of the folder is used as it is")
            return
        preset = self.stages.preset
        texts = corpus(self.graphs, self.names, self.stages.card.seed)
        with one_thread():
            train_decoder(
                texts,
                preset.decoder,
                self.stages.folder / DECODER,
                self.recipe(1000, preset.text_s),  # so many epochs that the time ends it
                seed=self.stages.card.seed,
                say=self.say,
            )

    def learn_graphs(self) -> None:
        """Train stage 1, GraphMAE."""
        preset, stages = self.stages.preset, self.stages
        torch.manual_seed(stages.card.seed)
        network = graph_mae.GraphMae(len(NODES), stages.width).to(device())
        tensors = [self.features.raw(self.graphs[n], drawn_batch(n)) for n in self.names]
        # a graph without edges has no neighbours that a hidden operator can be restored from
        pool = [g for g in tensors if g.edge_index.shape[1]]
        generator = torch.Generator().manual_seed(stages.card.seed)

        def batches(order: random.Random) -> Iterator[tuple[Tensor, Tensor]]:
            yield from graph_mae.side_by_side(pool, order, preset.graphs_per_step)

        def loss(batch: tuple[Tensor, Tensor]) -> Tensor:
            x, edges = (t.to(device()) for t in batch)
            return network.loss(x, edges, generator)

        network.train()
        with one_thread():
            learn(
                network,
                [(network.parameters(), graph_mae.LEARNING_RATE)],
                batches,
                loss,
                self.recipe(preset.encoder_epochs, preset.encoder_s),
                seed=stages.card.seed,
                folder=stages.folder / "encoder-checkpoint",
                say=self.say,
            )
        stages.keep(ENCODER, network.encoder.state_dict())

    def learn_pairs(self, readout: Readout) -> None:
        """Train stage 2, graph-text adaptation, then score and write summaries of unseen graphs."""
        preset, stages = self.stages.preset, self.stages
        # an untrained decoder, as one that learned to continue text is slow to learn to copy
        # numbers from the tokens of a graph
        is_fresh = stages.moves_every_weight and readout is Readout.NUMBERS
        network = adaptable(stages, readout, is_fresh=is_fresh)
        network.encoder.load_state_dict(stages.encoder())
        network.freeze_encoder()
        network.to(device())
        network.eval()
        with one_thread():
            # pairs that the thesis does not have (`lessons`) need a token for each number
            summed = self.summed if readout is Readout.NUMBERS else None
            pairs = Pairs(network, self.graphs, self.names, self.encoded, summed)
            align(
                network,
                pairs,
                self.recipe(preset.alignment_epochs, preset.alignment_s),
                # the projection is untrained, so that it learns at least as fast as the language
                # model
                (max(preset.graph_rate, preset.language_rate), preset.language_rate),
                seed=stages.card.seed,
                folder=stages.folder / f"adapted-{readout.value}-checkpoint",
                say=self.say,
            )
            # the encoder was frozen: projection and language model, or its low-rank updates, remain
            trained = {
                n: t for n, t in network.state_dict().items() if not n.startswith("encoder.")
            }
            stages.keep(adapted_file(readout), trained)
            self._write_summaries(network, readout)

    def encoded(self, graph: ModelGraph, batch: float) -> GraphTensors:
        """Return the tensors of a graph on the device of the training."""
        tensors = self.features(graph, batch)
        place = device()
        moved = {n: t.to(place) for n, t in vars(tensors).items() if isinstance(t, Tensor)}
        return replace(tensors, **moved)

    def summed(self, counted: GraphSummary) -> Tensor:
        """Return the standardised columns `SUMS` of a summary on the device of the training."""
        sums = self.features.sums(torch.tensor(vector(counted), dtype=torch.float32))
        return sums.to(device())

    def _write_summaries(self, network: GraphLanguageNetwork, readout: Readout) -> None:
        """Write summaries of graphs that stages 1 and 2 did not see, and their scores."""
        files = sorted(n for n in self.graphs if n.split(".")[0] == FILES)
        draw = random.Random(self.stages.card.seed)
        sets = {
            "drawn graphs": self.unseen,
            "model files": draw.sample(files, min(UNSEEN, len(files))),
        }
        figures, answers = {}, []
        for name, names in sets.items():
            if names:
                figure, written = summaries(
                    network, Pairs(network, self.graphs, names, self.encoded)
                )
                figures[name] = figure
                answers += written[:2]
                self.say(f"{name}: {figure.exact:.1%} of {figure.fields} fields exact")
        self.stages.keep_summaries(summaries_file(readout), figures, answers)


def adaptable(stages: Stages, readout: Readout, *, is_fresh: bool = False) -> GraphLanguageNetwork:
    """Return the network that stage 2 begins from, with an untrained encoder and projection.

    Args:
        stages: stages with the language model.
        readout: numbers of a graph that become tokens.
        is_fresh: whether the decoder is untrained, with only the tokenizer of stage 0.
    """
    torch.manual_seed(stages.card.seed)
    model = stages.language_model()
    if is_fresh:
        fresh = fresh_decoder(stages.preset.decoder, stages.card.seed)
        model = replace(model, network=fresh)
    network = GraphLanguageNetwork(len(NODES), stages.width, readout, model)
    if not stages.moves_every_weight:
        network.with_lora(LORA_RANK, has_every_layer=stages.preset.has_every_layer)
    return network
