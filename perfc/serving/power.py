"""Energy of a run on all its boards, the carbon of that energy, and what its hours cost.

Two numbers of a board are fitted to servers whose power was watched, by ``perfc train serving``.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from perfc.analyzers.runs.energy import idle_w, power_model
from perfc.expenses import HOUR_S, Offer, Prices, Region, region_named
from perfc.expenses.regions import WORLD
from perfc.ir.record import record
from perfc.machine import Machine

from .engine import Engine
from .simulation.metrics import MILLION, Throughput
from .simulation.simulate import Run
from .simulation.steady_state import Steady

FILE = Path(__file__).with_suffix(".toml")
ANY_BOARD = "any"
"""In place of the name of a board that nobody watched."""


@record
class BoardPower:
    """Fitted numbers of a board.

    Args:
        power: factor of the kernels' energy.
        waiting: power of a board that waits for its host, over that of an idle one.
        rows: that they were fitted to.
    """

    power: float = 1.0
    waiting: float = 1.0
    rows: int = 0

    def joules(self, kernels_j: float, idle_j: float) -> float:
        """Energy of kernels and of waiting, of what kernels alone and an idle board would draw."""
        return self.power * kernels_j + self.waiting * idle_j


@cache
def boards() -> Mapping[str, BoardPower]:
    """The numbers that come with perfc, by target."""
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: BoardPower(table["power"], table["waiting"], table["rows"])
        for name, table in found.items()
    }


def board_of(known: Mapping[str, BoardPower], target: str) -> BoardPower:
    """The numbers of a board; those of any where nobody watched it."""
    return known.get(target) or known.get(ANY_BOARD) or BoardPower()


def as_toml(known: Mapping[str, BoardPower]) -> str:
    """Numbers of boards as the file has them."""
    from perfc.toml_file import written

    tree: dict[str, object] = {
        name: {"power": b.power, "waiting": b.waiting, "rows": b.rows, "origin": "fitted"}
        for name, b in sorted(known.items())
    }
    return written(tree, "What boards draw in servers; `perfc train serving` wrote this file.")


@record
class Expenses:
    """What output tokens cost.

    Args:
        energy_j_per_token: of all boards, prompts included; None where no power is known.
        carbon_g_per_million: tokens; None without the energy.
        price_per_million: tokens; None where nobody states a price.
        currency: of the price.
        grid: whose carbon it is.
        grid_source: who says how much that is a kWh.
        grid_date: of that.
        price_source: who states the price.
        price_date: of that.
    """

    energy_j_per_token: float | None
    carbon_g_per_million: float | None
    price_per_million: float | None
    currency: str
    grid: str
    grid_source: str
    grid_date: str
    price_source: str
    price_date: str


def run_energy_j(run: Run, engine: Engine) -> float:
    """Energy of the boards of one group of ranks; not a number where no power is known.

    Kernels draw what utilisation says, the rest of a step and idle boards what an idle one does.
    """
    cost, law = engine.cost, engine.law
    if not _has_power(engine.machine):
        return math.nan
    idle = idle_w(engine.machine, power_model())
    board = board_of(boards(), engine.machine.name)
    total = 0.0
    busy_s = 0.0
    for s in run.strides:
        parts = cost.parts("energy_j", s.chunks, s.decodes, s.context)
        times = cost.parts("time_s", s.chunks, s.decodes, s.context)
        has_prompts = bool(s.chunks)
        kernels_s = law.device(times.kernels, times.exchanges, has_prompts=has_prompts)
        waiting_s = max(s.step_s - kernels_s, 0.0)
        drawn_j = law.device(parts.kernels, parts.exchanges, has_prompts=has_prompts)
        total += s.steps * board.joules(drawn_j, idle * waiting_s)
        busy_s += s.steps * s.step_s
    total += idle * max(run.time_s - busy_s, 0.0)
    return total * engine.parallel.tensor


def _has_power(machine: Machine) -> bool:
    return machine.kind != "cpu" and machine.device("tdp_w") is not None


def energy_j_per_token(
    found: Steady, rate: Throughput, engine: Engine, prefill_gpus: int = 0
) -> float | None:
    """Returns joules of all boards for each output token, prompts included.

    Groups of ranks without a user, and the boards that compute prompts apart, draw what idle ones
    do. None where no power is known.
    """
    if not _has_power(engine.machine) or rate.output_tokens_per_s <= 0:
        return None
    drawn_w = 0.0
    for share in found.shares:
        requests = share.run.served
        each_j = run_energy_j(share.run, engine) / len(requests)
        drawn_w += share.groups * share.requests_per_s * each_j
    idle = found.idle * engine.parallel.tensor + prefill_gpus
    drawn_w += idle * idle_w(engine.machine, power_model())
    return drawn_w / rate.output_tokens_per_s


def price_per_million(price: Offer, tokens_per_s: float) -> float:
    """Of tokens that one GPU writes at such a rate."""
    return price.per_hour / HOUR_S / tokens_per_s * MILLION


def expenses(
    each_j: float | None, rate: Throughput, machine: Machine, prices: Prices, grid: Region | None
) -> Expenses:
    """What output tokens cost.

    Args:
        each_j: joules of all GPUs for each token; None where no power is known.
        rate: of all GPUs.
        machine: each GPU.
        prices: that a project states.
        grid: carbon of electricity; the world's average where it is None.
    """
    known = grid or region_named(WORLD)
    price = prices.of(machine)
    cost = None
    if price is not None and rate.output_tokens_per_s > 0:
        cost = price_per_million(price, rate.output_tokens_per_s_per_gpu)
    carbon = None if each_j is None else known.carbon_g(each_j * MILLION)
    return Expenses(
        each_j, carbon, cost, "" if price is None else price.currency,
        f"{known.name} {known.carbon_g_per_kwh:g} g/kWh", known.source, known.date,
        "" if price is None else price.source, "" if price is None else price.date,
    )  # fmt: skip
