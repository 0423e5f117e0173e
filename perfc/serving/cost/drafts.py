"""Speculative decoding: a small model drafts tokens, one step of the large one verifies them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfc.errors import ParseError
from perfc.frontend.config import LanguageModel, token_predictor
from perfc.ir.evaluate import evaluate
from perfc.ir.record import record
from perfc.ir.types import TensorType

from ..simulation.scheduler import Chunk
from .memory import Demand
from .step import StepCost
from .surface import Parts

MOST_DRAFTED = 64


@record
class Speculation:
    """How tokens are drafted.

    Args:
        tokens: drafted for each sequence before a step verifies them; 0 for none.
        acceptance: probability that the next drafted token is kept, where those before it were.
        drafter: model that drafts; None for the model's own layer that predicts further tokens.
    """

    tokens: int = 0
    acceptance: float = 0.0
    drafter: LanguageModel | None = None

    def checked(self) -> Speculation:
        """Itself.

        Raises:
            ParseError: a number that is none.
        """
        if not 0 <= self.tokens <= MOST_DRAFTED:
            hint = f"0 to {MOST_DRAFTED}"
            raise ParseError(f"{self.tokens} drafted tokens", where="--draft-tokens", hint=hint)
        if not 0 <= self.acceptance <= 1:
            hint = "a probability, as 0.7"
            raise ParseError(f"{self.acceptance} is none", where="--acceptance", hint=hint)
        if bool(self.tokens) is not bool(self.acceptance):
            raise ParseError(
                "drafts need a number of tokens and how many of them are kept",
                where="--draft-tokens", hint="as in --draft-tokens 3 --acceptance 0.7",
            )  # fmt: skip
        if self.drafter is not None and not self.tokens:
            hint = "--draft-tokens 3 --acceptance 0.7"
            raise ParseError("a model that drafts no tokens", where="--draft", hint=hint)
        return self

    @property
    def tokens_per_step(self) -> float:
        """Mean tokens that a sequence writes in a step: those kept, and one of the model's own.

        Leviathan and others 2023, arXiv:2211.17192, equation 1.
        """
        if not self.tokens:
            return 1.0
        return sum(self.acceptance**i for i in range(self.tokens + 1))

    def drafter_of(self, model: LanguageModel) -> LanguageModel:
        """The model that drafts.

        Raises:
            ModelError: there is none.
        """
        return self.drafter or token_predictor(model)


@record
class DraftsView:
    """Speculative decoding as a report shows it.

    Args:
        drafter: model that drafts.
        tokens: drafted for each sequence in a step.
        acceptance: probability that one is kept where those before it were.
        tokens_per_step: that a sequence writes in the mean.
    """

    drafter: str
    tokens: int
    acceptance: float
    tokens_per_step: float

    @classmethod
    def of(cls, drafts: Speculation, model: LanguageModel) -> DraftsView | None:
        """Of drafts for a model; None for none."""
        if not drafts.tokens:
            return None
        name = drafts.drafter_of(model).name
        return cls(name, drafts.tokens, drafts.acceptance, drafts.tokens_per_step)


class DraftedCost(StepCost):
    """What steps cost in which drafted tokens are verified, and drafting them.

    Args:
        verifying: of the model, whose decodes have the drafted tokens in them.
        drafting: of the model that drafts, one token a pass.
        tokens: drafted for each sequence.
        is_own: whether the model lends its embedding and its head to what drafts.
    """

    def __init__(
        self, verifying: StepCost, drafting: StepCost, tokens: int, *, is_own: bool
    ) -> None:
        self.law, self.stages, self.recorded = verifying.law, verifying.stages, verifying.recorded
        self.drafting, self.tokens, self.is_own = drafting, tokens, is_own

    def parts(self, quantity: str, chunks: Sequence[Chunk], decodes: int, context: float) -> Parts:
        """One of ``QUANTITIES`` of a step: the model's pass, and those of what drafts."""
        both = [super().parts(quantity, chunks, decodes, context)]
        if chunks:
            # sequences beside prompts have as many more tokens as were drafted
            both += [self._drafted_rows(quantity, chunks, decodes)] if decodes else []
            both.append(self.drafting.parts(quantity, chunks, 0, 0.0))
        if decodes:
            each = self.drafting.parts(quantity, (), decodes, context)
            both += [each] * self.tokens
        return Parts(sum(p.kernels for p in both), sum(p.exchanges for p in both))

    def launches(self, chunks: Sequence[Chunk], decodes: int) -> int:
        """Those of the step that verifies, in which drafted tokens are beside each next one."""
        return super().launches(chunks, decodes * (1 + self.tokens))

    def _drafted_rows(self, quantity: str, chunks: Sequence[Chunk], decodes: int) -> Parts:
        rows = sum([c.tokens for c in chunks]) + decodes
        kernels = exchanges = 0.0
        for stage, count in self.stages:
            for surface in (stage.prompt_tokens, stage.prompt_exchanges):
                more = surface.at(quantity, rows + decodes * self.tokens)
                found = count * (more - surface.at(quantity, rows))
                if surface is stage.prompt_tokens:
                    kernels += found
                else:
                    exchanges += found
        return Parts(kernels, exchanges)

    def demand(self, tokens: int, budget: int, sequences: int) -> Demand:
        """Memory of the rank that holds the most, what drafts included."""
        own, small = (
            super().demand(tokens, budget, sequences),
            self.drafting.demand(tokens, budget, sequences),
        )
        weights = small.weight_bytes - (self._lent_bytes if self.is_own else 0.0)
        return replace(
            own, weight_bytes=own.weight_bytes + weights, kv_bytes=own.kv_bytes + small.kv_bytes,
            state_bytes=own.state_bytes + small.state_bytes,
        )  # fmt: skip

    @property
    def _lent_bytes(self) -> float:
        """Of the embedding and the head, which are stored once."""
        program = self.drafting.stages[0][0].passes.decode
        lent = (".embedding.weight", ".head.weight")
        types = [v.type for v in program.module.graph.weights if v.name.endswith(lent)]
        return sum(
            float(evaluate(t.nbytes, {}))
            for t in types
            if isinstance(t, TensorType) and t.nbytes is not None
        )
