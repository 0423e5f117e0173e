"""Bill of `perfc compare --price`: time, energy, carbon and price of many runs on each machine.

`bill_options` adds the options to a command, `show_bill` computes and writes the bill.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click

from perfc.common.choice import member
from perfc.ir import frozen

from ..shared.prelude import DeploymentOptions
from ..shared.table import table_options

if TYPE_CHECKING:
    from perfc.machine import Machine
    from perfc.study.comparison import ModelSetting
    from perfc.study.comparison.bills import Costs
    from perfc.study.tasks import Each

P = ParamSpec("P")
R = TypeVar("R")


@frozen
class BillOptions:
    """Options of a bill, as typed.

    Args:
        price: whether a bill is printed even without any other of these options.
        steps: number of runs or steps.
        items: number of images or tokens, in place of runs.
        osl: output sequence length, the tokens that a request generates.
        terms: terms of rental, "" for on-demand.
        cloud: provider, "" for any.
        pue: power usage effectiveness of the data center.
        host_power: power of the host in W, instead of an assumed range.
        power_limit: power limit of a device in W.
    """

    price: bool
    steps: float | None
    items: float | None
    osl: int | None
    terms: str
    cloud: str
    pue: float | None
    host_power: float | None
    power_limit: float | None

    @property
    def is_wanted(self) -> bool:
        """Return True if a bill is to be printed: one of its options is given."""
        return any(astuple(self))


def bill_options(function: Callable[P, R]) -> Callable[P, R]:
    """Add the options of a bill; the function receives them as ``bill``."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        # each field has the name of an option's parameter: `steps` is that of --runs and --steps
        kwargs["bill"] = BillOptions(**{n: kwargs.pop(n) for n in BillOptions.__match_args__})  # type: ignore[arg-type]
        return function(*args, **kwargs)

    return table_options("bill")(wrapped)


def billed(
    options: DeploymentOptions,
    settings: Sequence[ModelSetting],
    machines: tuple[Machine, ...],
    bill: BillOptions,
    region: str | None,
    *,
    predict: bool,
    each: Each,
) -> Costs:
    """Return the bill of all runs, with the price of each known offer.

    Raises:
        UsageError: runs and items are given.
    """
    from perfc.deployment.prices import RentalTerms, region_named
    from perfc.study.comparison import Order, compare
    from perfc.study.comparison.bill import HOST, Host
    from perfc.study.comparison.bills import BilledAmount, costs
    from perfc.study.comparison.tokens import by_tokens

    if bill.steps is not None and bill.items is not None:
        raise click.UsageError("--runs and --items say the same: give one of them")
    prices = replace(
        options.prices,
        terms=member(RentalTerms, bill.terms or "on-demand", "--terms"),
        cloud=bill.cloud,
    )
    # a given power of the host is exact: low, middle and high are the same
    host = HOST
    if bill.host_power is not None:
        host = Host(bill.host_power, bill.host_power, bill.host_power, "as given")
    where = region_named(region or "world")
    comparison = compare(
        settings,
        machines,
        order=Order.GIVEN,
        prices=prices,
        region=where,
        predict=predict,
        each=each,
    )
    # without --runs, a language model is billed by input and output tokens, also with --items
    if bill.steps is None:
        comparison = by_tokens(comparison, settings, machines, prices, bill.osl)
    return costs(
        comparison,
        machines,
        BilledAmount(bill.steps, bill.items),
        prices,
        host=host,
        pue=bill.pue,
        power_limit_w=math.inf if bill.power_limit is None else bill.power_limit,
    )
