"""Energy of a run on all its boards, the carbon of that energy, and what its hours cost."""

from __future__ import annotations

import math
import tomllib
from functools import cache
from pathlib import Path

from perfc.analyzers.runs.energy import idle_w, power_model
from perfc.comparison.prices import HOUR_S, HourlyPrice, Prices
from perfc.ir.record import record
from perfc.machine import Machine

from .engine import Engine
from .metrics import MILLION, Throughput
from .simulate import Run

J_PER_KWH = 3.6e6
TABLES = Path(__file__).with_name("expenses.toml")


@record
class Grid:
    """Carbon of electricity.

    Args:
        name: of the grid.
        carbon_g_per_kwh: grams of CO2 equivalent.
        source: who says so.
        date: of that.
    """

    name: str
    carbon_g_per_kwh: float
    source: str
    date: str


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


@cache
def tables() -> tuple[dict[str, Grid], dict[str, HourlyPrice]]:
    """The dated tables that come with perfc: grids by name, prices by target."""
    tree = tomllib.loads(TABLES.read_text(encoding="utf-8"))
    grids = {
        name: Grid(name, float(t["carbon_g_per_kwh"]), t["source"], str(t["date"]))
        for name, t in tree["grid"].items()
    }
    about = tree["price"]
    prices = {
        name: HourlyPrice(float(value), about["currency"], about["source"], str(about["date"]))
        for name, value in about["per_hour"].items()
    }
    return grids, prices


def grid_named(name: str) -> Grid:
    """A grid of the table.

    Raises:
        ParseError: there is none of that name.
    """
    from perfc.errors import ParseError

    grids = tables()[0]
    if name not in grids:
        hint = f"there are {', '.join(grids)}; or a number of grams a kWh"
        raise ParseError(f"no grid {name[:32]!r}", where="--grid", hint=hint)
    return grids[name]


def run_energy_j(run: Run, engine: Engine, prefill_gpus: int = 0) -> float:
    """Energy of the boards of one engine; not a number where no power is known.

    Kernels draw what utilisation says, the rest of a step and idle boards what an idle one does.
    """
    cost, law = engine.cost, engine.law
    if engine.machine.kind == "cpu" or engine.machine.device("tdp_w") is None:
        return math.nan
    idle = idle_w(engine.machine, power_model())
    total = 0.0
    busy_s = 0.0
    for s in run.strides:
        parts = cost.parts("energy_j", s.chunks, s.decodes, s.context)
        times = cost.parts("time_s", s.chunks, s.decodes, s.context)
        has_prompts = bool(s.chunks)
        kernels_s = law.device(times.kernels, times.exchanges, has_prompts=has_prompts)
        waiting_s = max(s.step_s - kernels_s, 0.0)
        drawn_j = law.device(parts.kernels, parts.exchanges, has_prompts=has_prompts)
        total += s.steps * (law.power * drawn_j + law.waiting * idle * waiting_s)
        busy_s += s.steps * s.step_s
    total += idle * max(run.time_s - busy_s, 0.0)
    ranks = engine.parallel.tensor
    return total * ranks + idle * prefill_gpus * run.time_s


def price_of(machine: Machine, prices: Prices) -> HourlyPrice | None:
    """What a project or the target's file states, else the dated table; None where nobody does."""
    return prices.of(machine) or tables()[1].get(machine.name)


def price_per_million(price: HourlyPrice, tokens_per_s: float) -> float:
    """Of tokens that one GPU writes at such a rate."""
    return price.per_hour / HOUR_S / tokens_per_s * MILLION


def expenses(
    energy_j: float, rate: Throughput, run: Run, machine: Machine, prices: Prices, grid: Grid | None
) -> Expenses:
    """What the tokens of a run cost.

    Args:
        energy_j: of the GPUs that made the run's tokens.
        rate: of all GPUs.
        run: as simulated.
        machine: each GPU.
        prices: that a project states.
        grid: carbon of electricity; the world's average where it is None.
    """
    tokens = sum(s.request.output_tokens for s in run.served)
    each_j = energy_j / tokens if tokens and not math.isnan(energy_j) else None
    known = grid or tables()[0]["world"]
    price = price_of(machine, prices)
    cost = None
    if price is not None and rate.output_tokens_per_s > 0:
        cost = price_per_million(price, rate.output_tokens_per_s_per_gpu)
    carbon = None if each_j is None else each_j * MILLION / J_PER_KWH * known.carbon_g_per_kwh
    return Expenses(
        each_j, carbon, cost, "" if price is None else price.currency,
        f"{known.name} {known.carbon_g_per_kwh:g} g/kWh", known.source, known.date,
        "" if price is None else price.source, "" if price is None else price.date,
    )  # fmt: skip
