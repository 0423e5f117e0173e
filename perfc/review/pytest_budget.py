"""Plug-in of pytest: a test fails if a model exceeds its budget."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from perfc.errors import PerfcError

if TYPE_CHECKING:
    from perfc.api import Report


def require_budget(model: Any, target: str | None = None, **given: Any) -> Report:
    """Analyze a model, and fail the test if it exceeds a budget.

    Limits are ``time_ms``, ``memory_mib`` and ``energy_mj``, other arguments those of
    ``perfc.analyze``. As in ``perfc check``, a limit within the prediction interval only warns.
    """
    from perfc.api import analyze
    from perfc.view.report.formats.screen import WIDEST, render

    names = ("time_ms", "memory_mib", "energy_mj")
    limits = [(name, given.pop(name, None)) for name in names]
    try:
        report = analyze(model, target, **given)
    except PerfcError as error:
        # a misspelled limit is an unknown keyword of the analysis
        is_keyword = any(repr(key) in str(error) for key in given)
        more = f"; limits are {', '.join(names)}" if is_keyword else ""
        pytest.fail(f"{error}{more}", pytrace=False)
    v, energy = report.verdict, report.verdict.energy
    memory = v.memory.total_bytes / 2**20
    # milliseconds, MiB and millijoules; without a power model no limit of energy can be exceeded
    joules = (energy.low * 1e3, energy.mid * 1e3) if energy else (0.0, 0.0)
    ends = ((v.expected.low * 1e3, v.time_s * 1e3), (memory, memory), joules)
    for (name, limit), (low, value) in zip(limits, ends, strict=True):
        if limit is not None and value > limit:
            message = f"{name} {value:.4g} exceeds the budget of {limit:g}"
            # the test fails only if the whole 90 % interval is above the limit
            if low > limit:
                pytest.fail(f"{message}\n{render(report.views, WIDEST)}", pytrace=False)
            warnings.warn(f"{message}, which is within the interval", stacklevel=2)
    return report


@pytest.fixture
def perfc_budget() -> Callable[..., Report]:
    """Return `require_budget`."""
    return require_budget
