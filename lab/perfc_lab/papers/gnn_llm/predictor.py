"""GNN-LLM as a predictor of whole models (Panner Selvam, thesis, Chapter 7).

``fit`` is stage 3, on measured rows; stages 0 to 2 are read from a folder.
"""

from __future__ import annotations

import copy
import os
import random
from collections.abc import Mapping
from dataclasses import replace
from math import cos, pi
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import torch
from torch import nn

from perfc.analyzers.features.classes import Array
from perfc.analyzers.graph.model_graph import ModelGraph
from perfc.analyzers.graph.predictor import Say, TrainingBudget
from perfc.analyzers.graph.rows import GraphRow, Measurements, Quantity
from perfc.errors import PerfcError

from ..networks.batches import GraphAtBatch, GraphTensors, Standard
from ..networks.network_predictor import NODE, ROWS, WHOLE, NetworkPredictor, plain_indicators
from ..networks.row_features import ROW, row_features
from ..networks.train import Loss, TrainRecipe, device, one_thread, rated, update
from ..reproduction.few_rows import drawn
from .alignment import alone
from .checkpoints import ENCODER, Stages, adapted_file
from .counts import KINDS
from .descriptions import as_json, as_text, latency_question
from .extra import need_extra
from .features import ENCODING, HIDDEN, NODES
from .graph_mae import LAYERS
from .language_model import CausalLanguageModel
from .network import LORA_RANK
from .projection import Readout
from .rows import DrawnRows
from .tuning import PADDING, GinLatency, LatencyNetwork, written_loss

RANKS = (16, 32, 64, 128)
"""Ranks of Table 7.3 in addition to 8, the default."""
# names of variants; the class says what each changes
GNN_ONLY, LLM_ONLY, NEITHER = "gnn-pretrained", "llm-pretrained", "neither-pretrained"
TEXT, JSON, WITHOUT = "text", "json", "without-llm"
MEAN, SUMS = "mean", "sums"
ROWS_AT_ONCE, LONG_ROWS = 192, 4
"""Rows of a mini-batch, and of one whose questions contain a whole graph as text."""
FEW_ROWS_PER_STEP = 16
"""Maximum rows of a new machine or family in one step."""
VALIDATION_ROWS = 96
"""Maximum validation rows, drawn at random, that choose the epoch with the best weights."""
CALIBRATION_ROWS = 160
"""Maximum validation rows that calibrate intervals: each costs an answer of the language model."""
USUAL_GRAPHS = 64
"""Graphs whose features standardise the inputs of the projection if stage 2 did not."""
_READ: WeakKeyDictionary[ModelGraph, dict[tuple[str, float], GraphTensors]] = WeakKeyDictionary()
"""Tensors of graphs for all trainings of a process, by digest of the standards and batch size."""


class GnnLlm(NetworkPredictor):
    """A graph encoder, a projection and a language model that writes the latency.

    Stages 1 and 2 are read from the budget's folder; ``fit`` is stage 3. A graph becomes a token
    for each number of its summary. Variants: ``mean`` has one token for the readout, as the thesis,
    ``sums`` one for the readout and the numbers; ``rank-16`` … have that rank of LoRA;
    ``gnn-pretrained``, ``llm-pretrained`` and ``neither-pretrained`` leave stages out; ``text`` and
    ``json`` write the graph into the question; ``without-llm`` is the encoder with a head for
    latencies.
    """

    name: ClassVar[str] = "gnn-llm"
    title: ClassVar[str] = "GNN-LLM (Panner Selvam et al., WANT workshop at ICML 2024)"
    variants: ClassVar[tuple[str, ...]] = (
        MEAN,
        SUMS,
        *(f"rank-{rank}" for rank in RANKS),
        GNN_ONLY,
        LLM_ONLY,
        NEITHER,
        TEXT,
        JSON,
        WITHOUT,
    )
    begins_from: ClassVar[str] = "perfc train gnn-llm"
    hidden: ClassVar[int] = HIDDEN
    recipe: ClassVar[TrainRecipe] = TrainRecipe(epochs=10, learning_rate=1e-3)
    ours: ClassVar[TrainRecipe] = recipe
    loss: ClassVar[Loss] = staticmethod(written_loss)
    encoding = ENCODING
    layers = LAYERS

    def __init__(self, variant: str = "", quantity: Quantity = Quantity.TIME) -> None:
        if quantity is not Quantity.TIME:
            raise PerfcError("gnn-llm says latencies alone", hint="leave --quantity out")
        super().__init__(variant, quantity)
        need_extra()
        self.stages: Stages | None = None
        # a language model for the next network; then caches of tokens and tensors, graphs for
        # `_settle`, and graphs that `prepare` reads
        self._model: CausalLanguageModel | None = None
        self._prompts: dict[GraphAtBatch, list[int]] = {}
        self._usual: list[tuple[ModelGraph, float]] = []
        self._questions: dict[str, list[int]] = {}
        self._cache: dict[GraphAtBatch, GraphTensors] = {}
        self._keys: set[GraphAtBatch] = set()

    @property
    def readout(self) -> Readout:
        """Return the numbers of a graph that become tokens."""
        return {MEAN: Readout.MEAN, SUMS: Readout.SUMS}.get(self.variant, Readout.NUMBERS)

    def needs(self, stages: Stages) -> None:
        """Raise an error unless the stages that the variant begins from were trained.

        Raises:
            PerfcError: one was not.
        """
        # stage 1 is the encoder, stage 2 the language model with its projection
        if self.variant not in (TEXT, JSON, WITHOUT, LLM_ONLY, NEITHER):
            stages.need(ENCODER, "1")
        if self.variant not in (TEXT, JSON, WITHOUT, GNN_ONLY, NEITHER):
            stages.need(adapted_file(self.readout), f"2 --readout {self.readout.value}")

    @property
    def rank(self) -> int:
        """Return the rank of LoRA."""
        return int(self.variant.removeprefix("rank-")) if "rank-" in self.variant else LORA_RANK

    @property
    def model(self) -> CausalLanguageModel:
        """Return the language model before stage 2, which is read again for each network."""
        if self._model is None:
            self._model = self.there.language_model()
        return self._model

    @property
    def there(self) -> Stages:
        """Return stages 0 to 2.

        Raises:
            PerfcError: the budget has no folder of them.
        """
        if self.stages is None:
            raise PerfcError(
                "gnn-llm begins from stages that were learned before",
                hint="perfc train gnn-llm --graphs GRAPHS -o stages",
            )
        return self.stages

    def fit(
        self, train: Measurements, validation: Measurements, budget: TrainingBudget, say: Say
    ) -> None:
        """Train stage 3 on rows."""
        if budget.pretrained is not None:
            self.stages = Stages.open(budget.pretrained)
        few = drawn(validation, VALIDATION_ROWS, budget.seed)
        usual = drawn(train, USUAL_GRAPHS, budget.seed)
        self._usual = [(usual.graph(r), float(r.batch)) for r in usual.rows]
        self._keys = {(r.graph, r.batch) for r in (*train.rows, *few.rows)}
        super().fit(train, few, replace(budget, scale=self.there.preset.scale), say)

    def calibrate(self, validation: Measurements) -> None:
        """Set the interval by a few rows drawn at random, as each costs an answer."""
        super().calibrate(drawn(validation, CALIBRATION_ROWS, 0))

    def chosen_recipe(self, budget: TrainingBudget) -> TrainRecipe:
        """Return the recipe of the preset; that of ``paper`` has the rates of Section 7.5.2."""
        preset = self.there.preset
        rows = LONG_ROWS if self.variant in (TEXT, JSON) else preset.rows_per_step
        epochs = preset.tuning_epochs if budget.epochs is None else budget.epochs
        return TrainRecipe(
            epochs=epochs,
            learning_rate=preset.graph_rate,
            rows=rows,
            is_annealed=preset.is_annealed,
            clip=1.0 if preset.is_annealed else 0.0,
            has_short_products=preset.is_annealed,
            rising_steps=preset.rising_steps,
        )

    def network(self) -> nn.Module:
        """Return the network of the variant, with the weights that it begins from."""
        stages = self.there
        preset = stages.preset
        if self.variant == WITHOUT:
            return GinLatency(len(NODES), stages.width)
        has_graph = self.variant not in (TEXT, JSON)
        # the network trains this model in place: the next network reads a fresh one
        model, self._model = self.model, None
        result = LatencyNetwork(
            len(NODES),
            stages.width,
            self.readout,
            model,
            self.scale,
            (preset.graph_rate, preset.language_rate),
            has_graph=has_graph,
        )
        is_plain = self.variant in (LLM_ONLY, NEITHER) or not has_graph
        encoder = None if is_plain else stages.encoder()
        if self.variant in (GNN_ONLY, NEITHER) or not has_graph:
            result.with_lora(self.rank, has_every_layer=preset.has_every_layer)
        else:
            self._adapted(result)
        if encoder is not None:
            result.encoder.load_state_dict(encoder)
        if has_graph and self.variant in (GNN_ONLY, LLM_ONLY, NEITHER):
            self._settle(result)
        return result

    def _settle(self, made: LatencyNetwork) -> None:
        """Standardise the inputs of a projection that stage 2 did not train with its encoder."""
        readouts, sums = [], []
        made.eval()
        with torch.no_grad():
            for graph, batch in self._usual:
                tensors = self.tensors(graph, batch)
                assert tensors.u is not None
                readouts.append(made.readout(alone(tensors)).squeeze(0))
                sums.append(tensors.u)
        if readouts:
            made.projection.settle(torch.stack(readouts), torch.stack(sums))

    def _adapted(self, made: LatencyNetwork) -> None:
        """Set the weights of stage 2; LoRA of another rank starts from 0 on top of them."""
        preset, learned = self.there.preset, self.there.adapted(self.readout)
        has_lora = not self.there.moves_every_weight
        if has_lora:
            made.with_lora(LORA_RANK, has_every_layer=preset.has_every_layer)
        # stage 2 stores no encoder: that of the network completes the tensors to load
        encoder = {n: t for n, t in made.state_dict().items() if n.startswith("encoder.")}
        made.load_state_dict(encoder | learned)
        if not has_lora or self.rank != LORA_RANK:
            if has_lora:
                made.merge_lora()
            made.with_lora(self.rank, has_every_layer=preset.has_every_layer)

    def batches(
        self, data: Measurements, cache: dict[GraphAtBatch, GraphTensors], rows: int = 0
    ) -> DrawnRows:
        """Return rows as mini-batches, shorter ones if questions contain a whole graph.

        The cache of tensors is that of the predictor and its copies.
        """
        del cache
        long = self.variant in (TEXT, JSON)
        drawn_rows = DrawnRows(
            data,
            self.quantity,
            self.passed,
            self._row,
            self.scale,
            rows=rows or (LONG_ROWS if long else ROWS_AT_ONCE),
            cache=self._cache,
            filler=PADDING,
        )
        # training alone passes `rows`; validation and prediction read every row
        drawn_rows.rows_per_epoch = self.there.preset.rows_per_epoch if rows else 0
        return drawn_rows

    def passed(self, graph: ModelGraph, batch: float) -> GraphTensors:
        """Return one graph as the network reads it, encoded once for all trainings of a process."""
        tensors, key = _READ.setdefault(graph, {}), (self.there.read_as, batch)
        if key not in tensors:
            tensors[key] = super().passed(graph, batch)
        return tensors[key]

    def prepare(
        self, graphs: Mapping[str, ModelGraph], budget: TrainingBudget, say: Say
    ) -> TrainingBudget:
        """Encode the graphs before the time of the training starts, as other networks do."""
        del say
        for name, batch in sorted(self._keys):
            self.passed(graphs[name], float(batch))
        return budget

    def _row(self, data: Measurements, row: GraphRow) -> list[float]:
        """Return the tokens of a row's question, as floats like the features of other networks."""
        if self.variant == WITHOUT:
            return super()._row(data, row)
        question = self._ids(f" {latency_question(row)}\n")
        if self.variant not in (TEXT, JSON):
            return [float(i) for i in question]
        key = row.graph, row.batch
        if key not in self._prompts:
            self._prompts[key] = self._prompt(data.graph(row), row.batch)
        return [float(i) for i in (*self._prompts[key], *question)]

    def _ids(self, question: str) -> list[int]:
        """Return the tokens of a question, from a cache, as many rows have the same."""
        if question not in self._questions:
            self._questions[question] = self.model.ids(question)
        return self._questions[question]

    def _prompt(self, graph: ModelGraph, batch: int) -> list[int]:
        """Return the tokens of a graph in words, or in JSON cut at the limit of the preset."""
        if self.variant == JSON:
            return self.model.ids(as_json(graph, batch))[: self.there.preset.json_tokens]
        return self.model.ids(as_text(graph, batch, kinds=KINDS))

    def _standardise(self, train: Measurements) -> None:
        # graphs are standardised as in stages 1 and 2, whose weights read such numbers
        nodes, sums = self.there.standards()
        rows = torch.tensor([row_features(train, r) for r in train.rows], dtype=torch.float32)
        self.standards = {
            NODE: nodes,
            WHOLE: sums,
            ROWS: plain_indicators(Standard.of([rows]), ROW),
        }

    def adapt(self, few: Measurements) -> None:
        """Train on rows of a new machine or family, then multiply by their median error.

        The thesis has three passes over the rows; presets for a CPU have more, as passes are short.
        """
        if self.made is None or not len(few):
            return
        preset, recipe = self.there.preset, self.chosen_recipe(TrainingBudget())
        # `few_rows` limits the rows of all passes together, so that many rows have fewer passes
        most = preset.few_rows // len(few) if preset.few_rows else preset.few_passes
        passes = max(min(preset.few_passes, most), 1)
        batches = self.batches(few, {}, min(recipe.rows, FEW_ROWS_PER_STEP))
        network = self.made.to(device())
        # half of the learning rate of the training; the recipe of the thesis has all of it
        rate = recipe.learning_rate / (2 if preset.is_annealed else 1)
        optimizer = torch.optim.Adam(
            [{"params": p, "lr": rate * share, "rate": rate * share} for p, share in rated(network)]
        )
        # batch normalisation uses the statistics of the training, as a few graphs have poor ones
        network.eval()
        with one_thread():
            for turn in range(passes):
                # half a cosine over the passes
                share = (
                    0.5 * (1 + cos(pi * turn / passes)) if preset.is_annealed and passes > 1 else 1
                )
                for group in optimizer.param_groups:
                    group["lr"] = group["rate"] * share
                for batch in batches.epoch(random.Random(turn)):
                    update(network, optimizer, batch.to(device()), written_loss, recipe)
        super().adapt(few)

    def __deepcopy__(self, memo: dict[int, Any]) -> GnnLlm:
        """Return a copy that can be trained separately; caches and frozen weights are shared."""
        shared: list[Any] = [self._cache, self._prompts, self._questions, self._usual, self.stages]
        if self.made is not None:
            shared += [p for p in self.made.parameters() if not p.requires_grad]
        # deepcopy returns an object of the memo as it is
        memo |= {id(item): item for item in shared}
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        vars(copied).update(copy.deepcopy(vars(self), memo))
        return copied

    @property
    def failure_rate(self) -> float | None:
        """Return the share of answers of the last prediction without a latency; None for none."""
        network = self.made
        if not isinstance(network, LatencyNetwork) or not network.attempts:
            return None
        return network.failed / network.attempts

    def predict(self, data: Measurements) -> Array:
        # counts of `failure_rate` begin again
        if isinstance(self.made, LatencyNetwork):
            self.made.attempts = self.made.failed = 0
        return super().predict(data)

    def meta(self) -> Mapping[str, Any]:
        """Return the entries of the card, with the folder of the stages, which the weights need."""
        result = {**super().meta(), "variant": self.variant}
        if self.stages is not None:
            result |= {
                "stages": os.fspath(self.stages.folder.resolve()),
                "of": self.stages.digest(self.readout),
            }
        return result

    def restore(self, arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> None:
        """Restore weights trained on top of the same stages.

        Raises:
            PerfcError: the stages are missing, or are other ones.
        """
        self.stages = Stages.open(Path(str(meta["stages"])))
        if self.stages.digest(self.readout) != meta["of"]:
            raise PerfcError(
                "these weights stand on other stages",
                where=os.fspath(self.stages.folder),
                hint="train stage 3 again",
            )
        super().restore(arrays, meta)


PREDICTOR = GnnLlm
