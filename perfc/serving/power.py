"""Compute the energy of a run on all its boards, its carbon emissions, and the price of its GPUs.

Two numbers per board are fitted by ``perfc train serving`` to servers with measured power.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from perfc.analyzers.runs.energy import idle_w, power_model
from perfc.common.fitted import read_records
from perfc.deployment.prices import HOUR_S, Offer, Prices, Region, region_named
from perfc.deployment.prices.regions import WORLD
from perfc.ir import record
from perfc.machine import Machine

from .engine import Engine
from .simulation.metrics import MILLION, LoadThroughput
from .simulation.simulate import SimulatedRun
from .simulation.steady_state import Steady

FILE = Path(__file__).with_suffix(".toml")
COMMENT = "What boards draw in servers; `perfc train serving` wrote this file."
"""First line of the file."""
ANY_BOARD = "any"
"""Entry for boards without measurements of power."""


@record
class BoardPower:
    """Fitted power of a board.

    Args:
        power: factor on the kernels' energy.
        waiting: power of a board that waits for its host, relative to an idle board.
        rows: number of measurements that both numbers were fitted to.
    """

    power: float = 1.0
    waiting: float = 1.0
    rows: int = 0

    def joules(self, kernels_j: float, idle_j: float) -> float:
        """Return the energy in joules, from the unscaled energy of kernels and of an idle board."""
        return self.power * kernels_j + self.waiting * idle_j


@cache
def boards() -> Mapping[str, BoardPower]:
    """Return the power numbers that come with perfc, by target."""
    return read_records(FILE, BoardPower)


def board_of(known: Mapping[str, BoardPower], target: str) -> BoardPower:
    """Return the power numbers of a board, or those of `ANY_BOARD` if it was not measured."""
    return known.get(target) or known.get(ANY_BOARD) or BoardPower()


@record
class Expenses:
    """Energy, carbon and price of output tokens.

    Args:
        energy_j_per_token: joules of all boards, prefill included; None if the power is unknown.
        carbon_g_per_million: grams of CO2 per million tokens; None without the energy.
        price_per_million: price of a million tokens; None if the project gives no price.
        currency: currency of the price.
        grid: electricity grid of the carbon figure.
        grid_source: source of its carbon intensity.
        grid_date: date of that source.
        price_source: source of the price.
        price_date: date of that source.
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


def run_energy_j(run: SimulatedRun, engine: Engine) -> float:
    """Return the energy of one rank group's boards in joules; NaN if the power is unknown.

    Kernels draw power by their utilization; the rest of a step and idle boards draw idle power.
    """
    cost, law = engine.cost, engine.law
    if not _has_power(engine.machine):
        return math.nan
    idle = idle_w(engine.machine, power_model())
    board = board_of(boards(), engine.machine.name)
    # between steps the board draws plain idle power; the factor `waiting` holds only within steps
    total = idle * max(run.time_s - run.busy_s, 0.0)
    for s in run.strides:
        parts = cost.parts("energy_j", s.chunks, s.decodes, s.context)
        times = cost.parts("time_s", s.chunks, s.decodes, s.context)
        has_prompts = bool(s.chunks)
        kernels_s = law.device(times.kernels, times.exchanges, has_prompts=has_prompts)
        # the board waits for the host for the time of the step that is not of kernels
        waiting_s = max(s.step_s - kernels_s, 0.0)
        drawn_j = law.device(parts.kernels, parts.exchanges, has_prompts=has_prompts)
        total += s.steps * board.joules(drawn_j, idle * waiting_s)
    # all boards of a group run the same steps
    return total * engine.parallel.tensor


def _has_power(machine: Machine) -> bool:
    """Return True for a board with a power limit, from which its power is modeled."""
    return machine.kind != "cpu" and machine.device("tdp_w") is not None


def energy_j_per_token(
    result: Steady, rate: LoadThroughput, engine: Engine, prefill_gpus: int = 0
) -> float | None:
    """Return the joules of all boards per output token, prefill included.

    Idle rank groups and the boards of disaggregated prefill draw idle power. None if the power is
    unknown.
    """
    if not _has_power(engine.machine) or rate.output_tokens_per_s <= 0:
        return None
    drawn_w = 0.0
    for share in result.shares:
        requests = share.run.served
        # joules of a request times requests per second are watts
        each_j = run_energy_j(share.run, engine) / len(requests)
        drawn_w += share.groups * share.requests_per_s * each_j
    idle_boards = result.idle * engine.parallel.tensor + prefill_gpus
    drawn_w += idle_boards * idle_w(engine.machine, power_model())
    return drawn_w / rate.output_tokens_per_s


def price_per_million(price: Offer, tokens_per_s: float) -> float:
    """Return the price of a million tokens that one GPU generates at this rate."""
    return price.per_hour / HOUR_S / tokens_per_s * MILLION


def expenses(
    each_j: float | None,
    rate: LoadThroughput,
    machine: Machine,
    prices: Prices,
    grid: Region | None,
) -> Expenses:
    """Return the energy, carbon and price of output tokens.

    Args:
        each_j: joules of all GPUs per token; None if the power is unknown.
        rate: throughput of all GPUs.
        machine: each GPU.
        prices: prices by machine.
        grid: electricity grid; the world average if None.
    """
    region = grid or region_named(WORLD)
    price = prices.of(machine)
    cost = None
    if price is not None and rate.output_tokens_per_s > 0:
        cost = price_per_million(price, rate.output_tokens_per_s_per_gpu)
    carbon = None if each_j is None else region.carbon_g(each_j * MILLION)
    return Expenses(
        energy_j_per_token=each_j,
        carbon_g_per_million=carbon,
        price_per_million=cost,
        currency="" if price is None else price.currency,
        grid=f"{region.name} {region.carbon_g_per_kwh:g} g/kWh",
        grid_source=region.source,
        grid_date=region.date,
        price_source="" if price is None else price.source,
        price_date="" if price is None else price.date,
    )
