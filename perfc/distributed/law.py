"""What training runs take beside what their kernels and links say, learned from published runs.

A step takes ``kernels · computation + exchanges · waits + step``. Factors above 1 are clocks under
sustained power, kernels between those that are known, and loading of data; nobody measured them one
by one. `perfc train training` fits them, and `perfc eval training` tests them with models held out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from perfc.ir.record import record

FILE = Path(__file__).with_suffix(".toml")


@record
class RunLaw:
    """Fitted numbers of a framework.

    Args:
        kernels: factor of the computation.
        exchanges: factor of what is waited for.
        micro_s: of each micro-batch, whatever its size.
        step_s: of every step.
        low: measured over expected time, 5 % of held-out rows left out.
        high: 95 % of them.
        rows: that it was fitted to.
        models: of them.
        source: who measured.
    """

    kernels: float = 1.25
    exchanges: float = 1.0
    micro_s: float = 0.0
    step_s: float = 0.0
    low: float = 0.7
    high: float = 1.5
    rows: int = 0
    models: tuple[str, ...] = ()
    source: str = ""


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


def law_of(framework: str = USUAL) -> RunLaw:
    """The law of a framework, else that of any."""
    known = laws()
    return known.get(framework) or known.get(USUAL) or RunLaw()


def as_toml(found: Mapping[str, RunLaw]) -> str:
    """Laws as the file has them, four digits each."""
    from perfc.toml_file import written

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
