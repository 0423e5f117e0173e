"""The options of an analysis, for commands that show something else of it than the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import click

from ._options import parse_dims

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.passes.manager import Instrument

P = ParamSpec("P")
R = TypeVar("R")

_OPTIONS = (
    click.option(
        "-t", "--target", default="a100", show_default=True, help="Name or file of a target."
    ),
    click.option(
        "--value",
        "values",
        multiple=True,
        metavar="NAME=N,...",
        help="Content of an input that drives shapes, e.g. sizes=1,3,224,224; repeatable.",
    ),
    click.option(
        "--runtime",
        default="ort",
        show_default=True,
        help="eager, cudagraph, ort, tensorrt, inductor.",
    ),
    click.option(
        "--dtype", default="", help="What if: f16, bf16, tf32, i8, fp8; amp-f16, amp-bf16."
    ),
    click.option("--no-tf32", is_flag=True, help="f32 products do not use TF32."),
)


@dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """What was given, as it was typed."""

    target: str
    dims: tuple[str, ...]
    values: tuple[str, ...]
    runtime: str
    dtype: str
    no_tf32: bool

    def report(
        self,
        model: object,
        *,
        target: str = "",
        dims: Mapping[str, int] | None = None,
        predictor: str = "",
        instruments: Sequence[Instrument] = (),
    ) -> Report:
        """The analysis of ``model``; ``target`` and ``dims`` in the place of those given.

        Raises:
            PerfcError: as ``perfc.analyze``.
        """
        from perfc.api import analyze

        from ._report import parse_values

        return analyze(
            model,
            target or self.target,
            dims=parse_dims(self.dims) if dims is None else dims,
            values=parse_values(self.values),
            runtime=self.runtime,
            dtype=self.dtype,
            tf32=not self.no_tf32,
            predictor=predictor,
            instruments=instruments,
        )


def analysis_options(
    function: Callable[Concatenate[AnalysisOptions, P], R],
) -> Callable[P, R]:
    """Add the options; ``function`` gets them as its first argument. ``--dim`` is its own."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        taken = {name: kwargs.pop(name) for name in AnalysisOptions.__slots__}
        return function(AnalysisOptions(**taken), *args, **kwargs)  # type: ignore[arg-type]

    decorated: Callable[P, R] = wrapped
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated
