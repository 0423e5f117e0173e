"""Estimate speculative decoding: a small model drafts tokens, one step of the large one verifies.

`Engine.cost` uses `DraftedCost` in place of `StepCost` where draft tokens are requested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfc.errors import ParseError
from perfc.frontend.config import LanguageModel, token_predictor
from perfc.ir import TensorType, evaluate, record

from ..simulation.scheduler import Chunk
from .grid import Parts
from .memory import MemoryDemand
from .step import StepCost

MOST_DRAFTED = 64
"""Maximum draft tokens of a step, all of which the large model verifies."""


@record
class Speculation:
    """Settings of speculative decoding.

    Args:
        tokens: tokens drafted per sequence before a step verifies them; 0 for none.
        acceptance: probability that a drafted token is accepted if those before it were.
        drafter: model that drafts; None for the model's own multi-token-prediction layer.
    """

    tokens: int = 0
    acceptance: float = 0.0
    drafter: LanguageModel | None = None

    def checked(self) -> Speculation:
        """Return the settings if they are valid.

        Raises:
            ParseError: a value is out of range.
        """
        if not 0 <= self.tokens <= MOST_DRAFTED:
            hint = f"0 to {MOST_DRAFTED}"
            raise ParseError(f"{self.tokens} drafted tokens", where="--draft-tokens", hint=hint)
        if not 0 <= self.acceptance <= 1:
            hint = "a probability, as 0.7"
            raise ParseError(f"{self.acceptance} is out of range", where="--acceptance", hint=hint)
        if bool(self.tokens) is not bool(self.acceptance):
            raise ParseError(
                "speculative decoding needs a number of draft tokens and an acceptance",
                where="--draft-tokens",
                hint="as in --draft-tokens 3 --acceptance 0.7",
            )
        if self.drafter is not None and not self.tokens:
            hint = "--draft-tokens 3 --acceptance 0.7"
            raise ParseError("a model that drafts no tokens", where="--draft", hint=hint)
        return self

    @property
    def tokens_per_step(self) -> float:
        """Return the mean tokens of a sequence per step: accepted drafts and one of the model.

        Leviathan et al. 2023, arXiv:2211.17192, equation 1.
        """
        if not self.tokens:
            return 1.0
        # token i counts if it and all before it were accepted; i = 0 is the token of the model
        return sum(self.acceptance**i for i in range(self.tokens + 1))

    def drafter_of(self, model: LanguageModel) -> LanguageModel:
        """Return the model that drafts.

        Raises:
            ModelError: there is none.
        """
        return self.drafter or token_predictor(model)


@record
class DraftTimes:
    """Speculative decoding as a report shows it.

    Args:
        drafter: model that drafts.
        tokens: tokens drafted per sequence and step.
        acceptance: probability that a drafted token is accepted if those before it were.
        tokens_per_step: mean tokens that a sequence generates per step.
    """

    drafter: str
    tokens: int
    acceptance: float
    tokens_per_step: float

    @classmethod
    def of(cls, drafts: Speculation, model: LanguageModel) -> DraftTimes | None:
        """Return the view of drafts for a model; None without speculative decoding."""
        if not drafts.tokens:
            return None
        name = drafts.drafter_of(model).name
        return cls(name, drafts.tokens, drafts.acceptance, drafts.tokens_per_step)


class DraftedCost(StepCost):
    """Cost of steps that verify drafted tokens, drafting included.

    Args:
        verifying: cost of the large model, whose decode passes also compute the drafted tokens.
        drafting: cost of the drafter, one token per pass.
        tokens: tokens drafted per sequence.
        is_own: True if the drafter shares the model's embedding and head.
    """

    def __init__(
        self, verifying: StepCost, drafting: StepCost, tokens: int, *, is_own: bool
    ) -> None:
        # super().__init__ would estimate the stages again, which `verifying` already has
        self.share_stages(verifying)
        self.drafting, self.tokens, self.is_own = drafting, tokens, is_own

    def parts(self, quantity: str, chunks: Sequence[Chunk], decodes: int, context: float) -> Parts:
        """Return one of ``QUANTITIES`` of a step: the model's pass and the drafter's passes."""
        passes = [super().parts(quantity, chunks, decodes, context)]
        if chunks:
            # a step with prompts has one row per decoding sequence: the drafted tokens are added
            passes += [self._drafted_rows(quantity, chunks, decodes)] if decodes else []
            # the drafter reads each prompt too: it needs a KV cache
            passes.append(self.drafting.parts(quantity, chunks, 0, 0.0))
        if decodes:
            # one pass of the drafter per drafted token, each for all decoding sequences
            each = self.drafting.parts(quantity, (), decodes, context)
            passes += [each] * self.tokens
        return Parts(sum(p.kernels for p in passes), sum(p.exchanges for p in passes))

    def launches(self, chunks: Sequence[Chunk], decodes: int) -> int:
        """Return the launches of the verifying step, which also computes the drafted tokens."""
        return super().launches(chunks, decodes * (1 + self.tokens))

    def _drafted_rows(self, quantity: str, chunks: Sequence[Chunk], decodes: int) -> Parts:
        """Return what the drafted tokens add to the token-wise kernels of a step with prompts.

        Costs are no linear function of the rows, so both sizes are looked up and subtracted.
        """
        rows = sum([c.tokens for c in chunks]) + decodes
        kernels = exchanges = 0.0
        for stage, count in self.stages:
            for surface in (stage.prompt_tokens, stage.prompt_exchanges):
                with_drafts = surface.at(quantity, rows + decodes * self.tokens)
                extra = count * (with_drafts - surface.at(quantity, rows))
                if surface is stage.prompt_tokens:
                    kernels += extra
                else:
                    exchanges += extra
        return Parts(kernels, exchanges)

    def demand(self, tokens: int, budget: int, sequences: int) -> MemoryDemand:
        """Return the memory demand of the fullest rank, the drafter included."""
        target, drafter = (
            super().demand(tokens, budget, sequences),
            self.drafting.demand(tokens, budget, sequences),
        )
        # the model's prediction layer uses the embedding and the head of the model
        weights = drafter.weight_bytes - (self._lent_bytes if self.is_own else 0.0)
        return replace(
            target,
            weight_bytes=target.weight_bytes + weights,
            kv_bytes=target.kv_bytes + drafter.kv_bytes,
            state_bytes=target.state_bytes + drafter.state_bytes,
            caches=(*target.caches, *drafter.caches),
        )

    @property
    def _lent_bytes(self) -> float:
        """Return the bytes of embedding and head in the drafter's pass, which the model shares."""
        # a drafter is not split by pipeline parallelism: it has one stage
        program = self.drafting.stages[0][0].passes.decode
        lent = (".embedding.weight", ".head.weight")
        types = [v.type for v in program.module.graph.weights if v.name.endswith(lent)]
        return sum(
            float(evaluate(t.nbytes, {}))
            for t in types
            if isinstance(t, TensorType) and t.nbytes is not None
        )
