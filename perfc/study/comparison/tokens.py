"""Split rows of language models into input and output tokens, priced as `perfc llm` does."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from perfc.analyzers.estimate.interval import Interval
from perfc.errors import PerfcError
from perfc.view.report.sections.verdict import Item, Throughput
from perfc.view.report.units import plural

from .rows import Comparison, ModelSetting, Row, TokenKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfc.deployment.prices import Prices
    from perfc.machine import Machine
    from perfc.serving.options import ServingOptions
    from perfc.serving.output.report import ServingReport


def by_tokens(
    comparison: Comparison,
    settings: Sequence[ModelSetting],
    machines: Sequence[Machine],
    prices: Prices,
    osl: int | None,
) -> Comparison:
    """Return a comparison with two rows for each language model on a machine that serves it.

    ``--batch`` is the number of users, ``--seq`` the length of prompts. A language model that no
    engine serves has one row, of input tokens; rows of other models and of training stay as they
    are.

    Args:
        comparison: rows in the order of settings and machines.
        settings: models and their deployments.
        machines: machines.
        prices: prices by machine.
        osl: tokens of an answer; that of `perfc llm` by default.
    """
    rows: list[Row] = []
    for row, (setting, machine) in zip(comparison.rows, product(settings, machines), strict=True):
        # only training has a `step`
        if row.verdict.step is not None or not _generates(setting.model):
            rows.append(row)
            continue
        report = _served(setting, machine, prices, osl) if comparison.is_predicted else None
        token_rows = () if report is None else _rows(row, report)
        # without an engine that serves the model, only one pass over the prompt is known
        rows += token_rows or (replace(row, tokens=TokenKind.INPUT),)
    return replace(comparison, rows=tuple(rows))


def _generates(model: object) -> bool:
    """Return True if a model is the configuration of a language model that generates tokens."""
    from perfc.frontend import is_configuration
    from perfc.frontend.formats import configurations

    try:
        return is_configuration(model) and configurations().generates(os.fspath(model))  # type: ignore[call-overload]
    except PerfcError:
        return False


def _served(
    setting: ModelSetting, machine: Machine, prices: Prices, osl: int | None
) -> ServingReport | None:
    """Return the report of `perfc.llm` for a deployment; None if no engine runs so."""
    from perfc import llm

    how = setting.deployment.for_model(setting.model, setting.predictor)
    options: ServingOptions = {
        "runtime": how.runtime,
        "runtime_version": how.runtime_version,
        "dtype": how.dtype,
        "reserve": how.reserve,
        "prices": prices,
    }
    # sizes that are left out have the defaults of `llm`, not of ``perfc.analyze``
    if "batch" in how.dims:
        options["concurrency"] = how.dims["batch"]
    if "seq" in how.dims:
        options["isl"] = how.dims["seq"]
    if how.host_launch is not None:
        options["host_launch"] = how.host_launch
    if osl is not None:
        options["osl"] = osl
    try:
        return llm(setting.model, str(machine.path), **options)
    except PerfcError:
        return None


def _rows(row: Row, report: ServingReport) -> tuple[Row, ...]:
    """Return two rows whose run is one token: GPU seconds of an input and of an output token."""
    rate, band, spent = report.throughput, report.tpot_band, report.expenses
    prompt = report.prompt
    if rate is None or band is None or spent is None or prompt is None:
        return ()
    # engines process prompts at the same time: a prompt takes the GPUs of one engine
    input_gpu_s = prompt.time_s * report.gpus / report.engines / prompt.tokens
    # the interval is of kernels alone, without the host: its ends must enclose the prediction
    input_s = Interval(
        input_gpu_s * min(prompt.low_s / prompt.time_s, 1),
        input_gpu_s,
        input_gpu_s * max(prompt.high_s / prompt.time_s, 1),
    )
    output_gpu_s = 1 / rate.output_tokens_per_s_per_gpu
    output_s = Interval(output_gpu_s * band.low, output_gpu_s, output_gpu_s * band.high)
    input_j = None if prompt.energy_j is None else prompt.energy_j / prompt.tokens
    load = report.load
    users = plural(load.concurrency, "user")
    words = f"{load.isl:,} tokens in, {load.osl:,} out, {users}"
    return tuple(
        replace(
            row,
            tokens=tokens,
            load=words,
            flop=None,
            verdict=replace(
                row.verdict,
                expected=time_s,
                throughput=Throughput(Item.TOKEN, 1, 1 / time_s.mid),
                # as uncertain as the time
                energy=None if energy_j is None else time_s * (energy_j / time_s.mid),
            ),
        )
        for tokens, time_s, energy_j in (
            (TokenKind.INPUT, input_s, input_j),
            (TokenKind.OUTPUT, output_s, spent.energy_j_per_token),
        )
    )
