"""``perfc llm``: latency, throughput, memory, energy and price of serving a language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from perfc.errors import ParseError
from perfc.machine.parallel import ALONE, Parallel
from perfc.passes.runtimes import SERVING_DEFAULT

from ..shared import names as _names
from ..shared.prelude import (
    DefaultGroup,
    DeploymentOptions,
    Names,
    by_default,
    color_option,
    deployment_options,
    examples,
    names_in,
    present,
    reads,
    result_options,
)
from ..shared.table import table_options
from ..shared.workers import dask_option, workers
from ._parallel import parallel_options
from ._step import option_value, rank_of

if TYPE_CHECKING:
    from perfc.serving.engine_args import EngineArgs

DOCUMENTS = {
    "llm": "perfc.serving.output.report:ServingReport",
    "llm-search": "perfc.serving.search:SearchResult",
    "llm-published": "perfc.serving.output.published:PublishedPrediction",
}
"""JSON documents of the command, and the types that define their schemas."""
TARGET, RUNTIME = "h100", SERVING_DEFAULT
"""Default machine and engine."""
KNOWN = {"runtime": _names.engines, "dtype": _names.weight_formats}
"""Valid names of two fields, by field; commands that analyze a model have other names for them."""
FINDINGS = 1
"""Exit code if the model does not fit, or no setting meets the SLO."""
"""Output formats, the default first."""


def usual() -> Mapping[str, str]:
    """Return the defaults, for help."""
    return {"target": TARGET, "runtime": RUNTIME, "dtype": "as published"}


def usual_of_search() -> Mapping[str, str]:
    """Return the defaults of a search, for help."""
    return {**usual(), "dtype": "as published, and narrower types that the target supports"}


class ModelOrSearch(DefaultGroup):
    """Group whose default subcommand is ``serve``."""

    default, usage = "serve", "perfc llm CONFIG"


@click.group(
    "llm",
    cls=ModelOrSearch,
    epilog=examples(
        "llm llama-3.1-8b -t h100 --isl 2048 --osl 256 --concurrency 64 --dtype fp8",
        "llm search llama-3.1-8b -t h100,b200,l40s --slo ttft=500ms,tpot=30ms",
    ),
)
def command() -> None:
    """Serve CONFIG: `perfc llm llama-3.1-8b -t h100 --concurrency 64`; `perfc llm serve --help`.

    CONFIG is a config.json as Hugging Face publishes it, a folder with one, a shipped name, or a
    GGUF file.
    """


@command.command(
    "serve",
    epilog=examples(
        "llm serve llama-3.1-8b -t h100 --isl 512 --osl 64 --concurrency 8",
        "llm serve qwen3-8b -t l40s --dtype fp8 --rate 2",
    ),
)
@click.argument("model", metavar="[CONFIG]", default="")
@table_options("llm")
@table_options("load")
@table_options("engine")
@table_options("grid")
@click.option(
    "--predictor",
    type=Names(_names.serving_predictors),
    metavar="NAME",
    default="",
    help="Published predictor instead of the simulation, also for encoders: trees.",
)
@by_default(usual)
@reads(
    "serving",
    "target",
    "runtime",
    "runtime_version",
    "dtype",
    "lora_rank",
    "host_launch",
    "reserve",
    instead={"batch": "--concurrency", "seq": "--isl", "threads": "--host-processor"},
    known=KNOWN,
)
@deployment_options
@parallel_options
@result_options
@color_option
def serve(
    options: DeploymentOptions,
    parallel: Parallel,
    /,
    model: str,
    engine_args: str,
    grid: str,
    predictor: str,
    sampling: str | None,
    form: str,
    output: Path | None,
    **load: Any,
) -> int:
    """Predict latency and throughput of serving CONFIG under a load."""
    from perfc.deployment.device import usual_engine
    from perfc.deployment.prices import region_named
    from perfc.serving import llm
    from perfc.serving.service import older_notes

    engine = engine_args_of(engine_args, model)
    if engine is not None:
        model = model or engine.model
        given: dict[str, Any] = parallel.given()
        parallel = replace(ALONE.with_values(engine.parallel), **given)
        load |= {k: v for k, v in engine.options.items() if is_default(k)}
    target = single_target(options)
    runtime = option_value(options, "runtime", engine.runtime if engine else usual_engine(model))
    region, version = region_named(grid, "--grid"), option_value(options, "runtime_version", "")
    dtype = option_value(options, "dtype", str(load.pop("dtype", "")))  # an engine's is in `load`
    rank = rank_of(options, is_typed=True) or load.pop("lora_rank", 0)
    if predictor:
        from ._published import show_published

        run = target, dtype, option_value(options, "runtime", ""), version
        return show_published(predictor, model, run, parallel, load, region, form, output)
    load |= {
        "runtime": runtime,
        "dtype": dtype,
        "runtime_version": version,
        "prices": options.prices,
        "grid": region,
        "parallel": parallel,
        "lora_rank": rank,
        "sampling": sampling or "",
        "host_launch": options.fields["host_launch"],
        "reserve": options.held_back,
    }
    report = llm(model, target, has_parts=True, **load)
    if not version:  # a named version is not compared with older versions
        report = replace(report, notes=(*report.notes, *older_notes(model, target, load)))
    if engine is not None:
        report = replace(report, notes=(*engine.notes, *report.notes))
    present(report, form, output)
    return 0 if report.fits else FINDINGS


def single_target(options: DeploymentOptions) -> str:
    """Return the target.

    Raises:
        ParseError: there are several.
    """
    target = option_value(options, "target", TARGET)
    if len(names_in(target)) > 1:
        hint = "`perfc llm search` compares several"
        raise ParseError("one target at a time", where="--target", hint=hint)
    return target


@command.command(
    "search",
    epilog=examples(
        "llm search llama-3.1-8b -t h100,l40s --slo ttft=500ms,tpot=30ms",
        "llm search qwen3-8b -t h100 --dtype bf16,fp8 --isl 1000 --osl 500",
    ),
)
@click.argument("model", metavar="CONFIG")
@table_options("llm-search")
@table_options("load")
@table_options("fleet")
@by_default(usual_of_search)
@reads("a search", "target", "runtime", "dtype", "reserve", instead={"seq": "--isl"}, known=KNOWN)
@deployment_options
@dask_option
@result_options
@color_option
def search(
    options: DeploymentOptions,
    /,
    model: str,
    slo: str,
    budgets: tuple[int, ...],
    expert_skew: float | None,
    dask: str,
    form: str,
    output: Path | None,
    **load: Any,
) -> int:
    """Find the cheapest machine, precision, parallelism and batch that serve CONFIG within limits.

    --target and --dtype take several names with commas.
    """
    from perfc.serving import Load
    from perfc.serving.additions import with_skew
    from perfc.serving.fleets import Slo
    from perfc.serving.search import search as find_cheapest
    from perfc.serving.service import decoder_of

    limits = {
        "ttft_p99_s": load.pop("ttft_p99"),
        "tpot_p99_s": load.pop("tpot_p99"),
        "gpus": load.pop("max_gpus"),
        "price_per_h": load.pop("max_usd_per_h"),
    }
    # a search finds the concurrency; 1 is a placeholder where no rate of arrivals is given
    requested = Load(concurrency=0 if load["rate"] else 1, **load).checked()
    machines = options.machines(option_value(options, "target", TARGET))
    with workers(dask) as each:
        result = find_cheapest(
            with_skew(decoder_of(model), expert_skew),
            machines,
            requested,
            replace(Slo.parse(slo), **limits),
            dtypes=names_in(option_value(options, "dtype", "")),
            budgets=budgets,
            runtime=option_value(options, "runtime", RUNTIME),
            prices=options.prices,
            reserve=options.held_back,
            each=each,
        )
    present(result, form, output)
    return FINDINGS if result.cheapest is None else 0


def engine_args_of(engine_args: str, model: str) -> EngineArgs | None:
    """Return the arguments of an engine; None without any.

    Raises:
        PerfcError: the arguments cannot be read.
        UsageError: neither a model nor arguments are given.
    """
    if engine_args:
        from perfc.serving.engine_args import read_engine_args

        return read_engine_args(engine_args)
    if not model:
        raise click.UsageError("Missing argument 'CONFIG'.")
    return None


def is_default(name: str) -> bool:
    """Return True if the command line does not set an option, so that an engine's value holds."""
    # no source: no option of this command sets it
    source = click.get_current_context().get_parameter_source(name)
    return source in (None, ParameterSource.DEFAULT)
