"""What training runs take beside what their kernels and links say, learned from published runs.

Each kind of kernel has a factor, and so has what is waited for. Factors above 1 are clocks under
sustained power, older kernels and kernels that no model states; nobody measured them one by one.
Every doubling of the nodes adds a share, as the slowest of all ranks is waited for.
`perfc train training` fits them, and `perfc eval training` tests them with models held out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from perfc.errors import ParseError
from perfc.ir.record import record

from .kinds import Loss
from .parts import Doing

FILE = Path(__file__).with_suffix(".toml")


@record
class RunLaw:
    """Fitted numbers of a framework on GPUs of one generation.

    Args:
        products: factor of the time of matrix products.
        attention: of attention and recurrences.
        experts: of grouped products of experts.
        pointwise: of all other kernels.
        exchanges: of what is waited for.
        contention: share of the time of hidden exchanges that kernels beside them lose.
        straggling: share of the computation that each doubling of nodes adds.
        micro_s: of each micro-batch, whatever its size.
        routing_s: of each layer with experts and micro-batch: launches that sort tokens.
        low: measured over expected time, 5 % of held-out rows left out.
        high: 95 % of them.
        rows: that it was fitted to.
        models: of them.
        source: who measured.
    """

    products: float = 1.2
    attention: float = 1.4
    experts: float = 1.3
    pointwise: float = 1.2
    exchanges: float = 1.0
    contention: float = 0.1
    straggling: float = 0.01
    micro_s: float = 0.0
    routing_s: float = 0.0005
    low: float = 0.7
    high: float = 1.5
    rows: int = 0
    models: tuple[str, ...] = ()
    source: str = ""

    @property
    def factors(self) -> dict[Doing, float]:
        """Of kernels by what they do."""
        return {work: getattr(self, work.value) for work in Doing}

    def waited_s(self, loss: Loss) -> float:
        """What an exchange adds to a step: what is waited for, and what hidden ones take."""
        hidden_s = max(loss.exchanged_s - loss.exposed_s, 0.0)
        return self.exchanges * loss.exposed_s + self.contention * hidden_s


LEARNED = (
    "products", "attention", "experts", "pointwise", "exchanges", "contention", "straggling",
    "micro_s", "routing_s",
)  # fmt: skip
"""Numbers that are fitted."""
USUAL = "any"
"""The law of runs of no framework that is known."""


@cache
def laws() -> Mapping[str, RunLaw]:
    """The laws that come with perfc, by framework."""
    if not FILE.exists():
        return {}
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))
    known = {f.name for f in fields(RunLaw)}
    return {
        name: RunLaw(**{k: _plain(v) for k, v in table.items() if k in known})
        for name, table in found.items()
        if isinstance(table, dict)
    }


def _plain(value: object) -> Any:
    return tuple(value) if isinstance(value, list) else value


def frameworks() -> tuple[str, ...]:
    """Those that laws were learned of, ``any`` first."""
    return tuple(sorted({name.partition(" ")[0] for name in laws()} | {USUAL}))


def law_of(framework: str = USUAL, arch: str = "") -> RunLaw:
    """The law of a framework on GPUs of a generation, else that of any on them, else of any.

    Raises:
        ParseError: no law of such a framework.
    """
    known = laws()
    if framework not in frameworks():
        hint = f"there are {', '.join(frameworks())}"
        raise ParseError(f"no runs of {framework[:32]!r}", where="--trained-by", hint=hint)
    names = (f"{framework} {arch}", f"{USUAL} {arch}", framework, USUAL)
    return next((known[name] for name in names if name in known), RunLaw())


def as_toml(found: Mapping[str, RunLaw]) -> str:
    """Laws as the file has them, four digits each."""
    from perfc.common.toml_file import written

    tree: dict[str, object] = {}
    for name, law in sorted(found.items()):
        values = {f.name: getattr(law, f.name) for f in fields(RunLaw)}
        tree[name] = {
            k: float(f"{v:.4g}") if isinstance(v, float) else list(v) if isinstance(v, tuple) else v
            for k, v in values.items()
        } | {"origin": "fitted"}
    return written(
        tree, "What training runs take beside kernels and links; `perfc train training` wrote it."
    )
