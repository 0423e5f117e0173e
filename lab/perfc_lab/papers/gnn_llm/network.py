"""The network from a graph and a question to an answer: encoder, projection, language model.

Stage 2 trains it on summaries, stage 3 on latencies.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn

from perfc.errors import PerfcError

from ..networks.batches import Batch
from ..networks.message_passing import pooled
from .counts import SUMS
from .graph_mae import GinEncoder
from .language_model import IGNORED, CausalLanguageModel
from .projection import GraphProjection, Readout

BEFORE, AFTER = "<graph>", "</graph>"
"""Texts before and after the graph's tokens (Eq. 7.7), no special tokens."""
LORA_RANK = 8
"""Rank of the adapters of the language model. Source: thesis, Section 7.5.2."""


@dataclass(frozen=True, eq=False)
class Begun:
    """Prompts of rows whose beginning the language model has read already.

    Args:
        past: keys and values of the tokens that were read, by row.
        mask: 1 for tokens, 0 for padding among them, ``[rows, length]``.
        rests: ids of the remaining tokens of each prompt.
    """

    past: Any
    mask: Tensor
    rests: Sequence[Sequence[int]]


class GraphLanguageNetwork(nn.Module):
    """Network that reads ``[<graph>, GraphToken, </graph>, Q]`` and writes an answer (Figure 7.1).

    Its ``state_dict`` leaves out the frozen weights of the language model.

    Args:
        features: number of features of an operator.
        width: width of the encoder.
        readout: numbers of a graph that become tokens.
        model: language model, whose network becomes a part of this one.
        has_graph: whether the graph's tokens are read; if not, questions alone are.
    """

    def __init__(
        self,
        features: int,
        width: int,
        readout: Readout,
        model: CausalLanguageModel,
        *,
        has_graph: bool = True,
    ) -> None:
        super().__init__()
        self.model = model
        self.has_graph = has_graph
        self.encoder = GinEncoder(features, width)
        self.projection = GraphProjection(width, model.width, readout)
        self.language = model.network
        self.has_frozen_encoder = False
        self.before, self.after = model.ids(BEFORE), model.ids(AFTER)
        if not has_graph:
            self.encoder.requires_grad_(False)
            self.projection.requires_grad_(False)

    def with_lora(self, rank: int, *, has_every_layer: bool) -> None:
        """Freeze the language model and add low-rank updates to its linear layers.

        By default these are peft's choice for the family: queries and values of Llama and Mistral.
        Table 7.3 has 0.42 million weights more per rank, as these layers of Llama-3-8B have.
        """
        from peft import LoraConfig, get_peft_model

        targets = "all-linear" if has_every_layer else None
        # updates are scaled by alpha over rank, which is 2 at every rank
        adapter = LoraConfig(
            r=rank, lora_alpha=2 * rank, target_modules=targets, task_type="CAUSAL_LM"
        )
        with warnings.catch_warnings():
            # peft uses names that the newest transformers replaced
            warnings.simplefilter("ignore", FutureWarning)
            self.language = get_peft_model(self.language, adapter)
        for module in self.language.modules():
            # other classes of layers have transposed or quantised weights, which `at_once` does not
            # add
            is_plain = type(getattr(module, "base_layer", None)) is nn.Linear
            if is_plain and self.language.dtype == torch.float32:
                module.forward = MethodType(at_once, module)

    def merge_lora(self) -> None:
        """Add the low-rank updates to the weights of their layers."""
        self.language = self.language.merge_and_unload()  # type: ignore[operator]

    def freeze_encoder(self) -> None:
        """Freeze the encoder, which stage 2 does not train (Section 7.4.3)."""
        self.has_frozen_encoder = True
        self.encoder.requires_grad_(False)
        self.encoder.eval()

    def train(self, mode: bool = True) -> GraphLanguageNetwork:
        """Set the mode of all parts, but not of a frozen encoder, whose dropout stays off."""
        super().train(mode)
        if self.has_frozen_encoder:
            self.encoder.eval()
        return self

    def groups(
        self, graph_rate: float, language_rate: float
    ) -> list[tuple[list[nn.Parameter], float]]:
        """Return the trained parameters with their rates."""
        parts: tuple[tuple[Iterable[nn.Parameter], float], ...] = (
            (self.encoder.parameters(), graph_rate),
            (self.projection.parameters(), graph_rate),
            (self.language.parameters(), language_rate),
        )
        learning = [([p for p in part if p.requires_grad], rate) for part, rate in parts]
        return [(part, rate) for part, rate in learning if part]

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Return all tensors except the frozen weights and buffers of the language model."""
        frozen = {
            f"language.{n}" for n, p in self.language.named_parameters() if not p.requires_grad
        }
        buffers = {f"language.{n}" for n, _ in self.language.named_buffers()}
        left_out = frozen | buffers
        full: dict[str, Any] = super().state_dict(*args, **kwargs)
        # tied weights have two names, of which one is dropped
        tied = {"language.lm_head.weight"} if self.is_tied else set()
        return {n: t for n, t in full.items() if n not in left_out | tied}

    @property
    def is_tied(self) -> bool:
        """Return True if the last layer shares its weights with the embedding."""
        return bool(getattr(self.language.config, "tie_word_embeddings", False))

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Restore the tensors that `state_dict` returned.

        Raises:
            PerfcError: they are of another network.
        """
        expected = self.state_dict()
        other = expected.keys() ^ state_dict.keys()
        # files turn a tensor without axes into one of a single element
        other |= {
            n
            for n in expected.keys() & state_dict.keys()
            if (expected[n].shape or (1,)) != (state_dict[n].shape or (1,))
        }
        if strict and other:
            raise PerfcError(
                f"weights of another network: {sorted(other)[0]} is not the same",
                hint="learn the stages again",
            )
        return super().load_state_dict(state_dict, strict=False, assign=assign)

    def readout(self, batch: Batch) -> Tensor:
        """Return the mean of the encoder's output over operators, ``[graphs, width]`` (Eq. 7.5)."""
        h = self.encoder(batch.x, batch.edge_index)
        return pooled(h, batch.graph_of_node, batch.graphs, "mean", batch.count)

    def graph_tokens(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the tokens of the graphs of a batch, and a mask of those that a graph has."""
        assert batch.u is not None
        if not self.has_graph:
            width = self.model.width
            nothing = torch.zeros(batch.graphs, 0, width, device=batch.x.device)
            return nothing, torch.zeros(batch.graphs, 0, dtype=torch.long, device=batch.x.device)
        assert batch.u.shape[1] == len(SUMS)
        return self.projection(self.readout(batch), batch.u)  # type: ignore[no-any-return]

    def inputs(
        self, tokens: Tensor, is_there: Tensor, texts: Sequence[Sequence[int]]
    ) -> tuple[Tensor, Tensor]:
        """Return the embeddings of graphs and texts, ``[rows, length, width]``, and their mask.

        Args:
            tokens: tokens of the graph of each row, ``[rows, tokens, width]``.
            is_there: mask of these tokens, ``[rows, tokens]``.
            texts: ids of the text after them; shorter ones are padded at their end.
        """
        place, rows = tokens.device, len(texts)
        words, mask = self.words(texts, place)
        if not self.has_graph:
            return words, mask
        embedding = self.language.get_input_embeddings()  # type: ignore[operator]
        sides = [embedding(torch.tensor(s, device=place)) for s in (self.before, self.after)]
        before, after = (side.expand(rows, *side.shape) for side in sides)
        ones = [
            torch.ones(rows, side.shape[1], dtype=torch.long, device=place)
            for side in (before, after)
        ]
        return (
            torch.cat([before, tokens.to(words.dtype), after, words], dim=1),
            torch.cat([ones[0], is_there, ones[1], mask], dim=1),
        )

    def words(self, texts: Sequence[Sequence[int]], place: torch.device) -> tuple[Tensor, Tensor]:
        """Return the embeddings of texts, ``[rows, length, width]``, and their mask.

        Shorter texts are padded at their end.
        """
        rows, longest = len(texts), max(len(text) for text in texts)
        ids = torch.zeros(rows, longest, dtype=torch.long)
        mask = torch.zeros(rows, longest, dtype=torch.long)
        for i, text in enumerate(texts):
            ids[i, : len(text)] = torch.tensor(text)
            mask[i, : len(text)] = 1
        embedding = self.language.get_input_embeddings()  # type: ignore[operator]
        return embedding(ids.to(place)), mask.to(place)

    def read_once(
        self, tokens: Tensor, is_there: Tensor, questions: Sequence[Sequence[int]], of_row: Tensor
    ) -> Begun:
        """Return prompts of which each graph, and the start of all questions on it, was read once.

        Keys and values of a token depend only on the tokens before it, as the model is causal. So
        rows with the same beginning share them.

        Args:
            tokens: tokens of each graph, ``[graphs, tokens, width]``.
            is_there: mask of these tokens, ``[graphs, tokens]``.
            questions: ids of the question of each row, at least one id.
            of_row: graph of each row, ``[rows]``; each graph has a row.
        """
        graph_of = of_row.tolist()
        of_graph: list[list[Sequence[int]]] = [[] for _ in range(len(tokens))]
        for graph, question in zip(graph_of, questions, strict=True):
            # the last token is left for the next pass, whose output begins with its logits
            of_graph[graph].append(question[:-1])
        starts = [common_start(texts) for texts in of_graph]
        embeddings, mask = self.inputs(tokens, is_there, starts)
        out = self.language(
            inputs_embeds=embeddings,
            attention_mask=mask,
            position_ids=positions(mask),
            use_cache=True,
            logits_to_keep=1,
        )
        out.past_key_values.batch_select_indices(of_row)
        rests = [q[len(starts[g]) :] for g, q in zip(graph_of, questions, strict=True)]
        return Begun(out.past_key_values, mask[of_row], rests)

    def answer_loss(
        self,
        tokens: Tensor,
        is_there: Tensor,
        questions: Sequence[Sequence[int]],
        answers: Sequence[Sequence[int]],
        of_row: Tensor | None = None,
    ) -> Tensor:
        """Return the cross entropy of the answers' tokens, with those that end them.

        Args:
            tokens: tokens of the graph of each row, or with ``of_row`` of each graph.
            is_there: mask of these tokens.
            questions: ids of the questions.
            answers: ids of the answers.
            of_row: graph of each row, so that a graph is passed once; None for one graph per row.
        """
        arguments: dict[str, Any] = {"use_cache": False}
        before = None  # mask of a prefix that was read once for several rows
        if of_row is not None:
            begun = self.read_once(tokens, is_there, questions, of_row)
            questions, before = begun.rests, begun.mask
            arguments = {"use_cache": True, "past_key_values": begun.past}
        ended = [[*answer, self.model.end] for answer in answers]
        texts = [[*q, *a] for q, a in zip(questions, ended, strict=True)]
        if before is None:
            embeddings, mask = self.inputs(tokens, is_there, texts)
            whole = mask
        else:
            embeddings, mask = self.words(texts, tokens.device)
            whole = torch.cat([before, mask], dim=1)
        labels = torch.full(mask.shape, IGNORED)
        # texts start after the graph's tokens, if these are in the same pass
        start = mask.shape[1] - max(len(text) for text in texts)
        for i, (question, answer) in enumerate(zip(questions, ended, strict=True)):
            begin = start + len(question)
            labels[i, begin : begin + len(answer)] = torch.tensor(answer)
        loss: Tensor = self.language(
            inputs_embeds=embeddings,
            attention_mask=whole,
            # of a prefix that was read before, the mask alone is passed
            position_ids=positions(whole)[:, -mask.shape[1] :],
            labels=labels.to(mask.device),
            **arguments,
        ).loss
        return loss

    def answers(
        self,
        tokens: Tensor,
        is_there: Tensor,
        questions: Sequence[Sequence[int]],
        most: int,
        of_row: Tensor | None = None,
    ) -> list[str]:
        """Return the answers of the language model, greedily: the likeliest token at each place.

        Args:
            tokens: tokens of the graph of each row, or with ``of_row`` of each graph.
            is_there: mask of these tokens.
            questions: ids of the questions.
            most: maximum tokens of an answer.
            of_row: graph of each row; None for one graph per row.
        """
        with torch.no_grad():
            if of_row is None:
                of_row = torch.arange(len(questions), device=tokens.device)
            return self._written(self.read_once(tokens, is_there, questions, of_row), most)

    def _written(self, begun: Begun, most: int) -> list[str]:
        """Return the answers of rows; each pass reads only the tokens since the pass before."""
        embeddings, rest = self.words(begun.rests, begun.mask.device)
        mask = torch.cat([begun.mask, rest], dim=1)
        written: list[Tensor] = []
        has_ended = torch.zeros(len(mask), dtype=torch.bool, device=mask.device)
        # position of the last token of each question, before its padding
        last = rest.shape[1] - 1 - rest.flip(1).argmax(1)
        arguments: dict[str, Any] = {
            "inputs_embeds": embeddings,
            "position_ids": positions(mask)[:, -rest.shape[1] :],
            "past_key_values": begun.past,
        }
        for _ in range(most):
            out = self.language(attention_mask=mask, use_cache=True, **arguments)
            each = torch.arange(len(mask), device=mask.device)
            ids = out.logits[each, last].argmax(1)
            ids = torch.where(has_ended, torch.full_like(ids, self.model.end), ids)
            written.append(ids)
            has_ended |= ids == self.model.end
            if bool(has_ended.all()):
                break
            mask = torch.cat([mask, torch.ones_like(mask[:, :1])], dim=1)
            arguments = {
                "input_ids": ids[:, None],
                "position_ids": positions(mask)[:, -1:],
                "past_key_values": out.past_key_values,
            }
            # each later pass reads one token, whose logits are at position 0
            last = torch.zeros_like(last)
        if not written:
            return [""] * len(mask)
        return [self.model.text(line) for line in torch.stack(written, dim=1).tolist()]


def positions(mask: Tensor) -> Tensor:
    """Return the position of each token among those that are no padding, ``[rows, length]``."""
    return (mask.cumsum(1) - 1).clamp_min(0)


def at_once(layer: Any, x: Tensor) -> Tensor:
    """Return ``x (W + s B A)ᵀ``, a linear layer with low-rank update, by one product with ``x``.

    peft computes three products with ``x``. A small model takes a fifth longer with these, as
    adding results of all tokens costs more than adding weights.
    """
    (name,) = layer.active_adapters
    down, up = layer.lora_A[name].weight, layer.lora_B[name].weight
    weight = torch.addmm(layer.base_layer.weight, up, down, alpha=layer.scaling[name])
    return nn.functional.linear(x, weight, layer.base_layer.bias)


def common_start(texts: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the common prefix of all texts.

    >>> common_start([(1, 2, 3), (1, 2), (1, 2, 4)])
    (1, 2)
    """
    # all texts are between the lowest and the highest in lexical order, so that these two suffice
    first, last = min(map(tuple, texts)), max(map(tuple, texts))
    same = (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return first[: next(same, min(len(first), len(last)))]


def parts(rows: Sequence[int], most: int) -> Iterator[Sequence[int]]:
    """Yield the rows, at most ``most`` at a time."""
    for start in range(0, len(rows), most):
        yield rows[start : start + most]
