"""Turn published rows into calls of ``perfc.llm``, and read the predictions of its reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from perfc.errors import PerfcError
from perfc.frontend.config import LanguageModel, WeightFormat
from perfc.frontend.config.precision import Quantization
from perfc.ir.record import frozen
from perfc.machine.parallel import ALONE
from perfc.serving import ServingReport, host, llm, offline, power, service
from perfc.serving.host import HostModel
from perfc.serving.power import BoardPower
from perfc_lab.data.fitted import as_toml

from ..command_line import command_line
from . import ServedRow, ServerSettings, ServingQuantity
from .aic import AIC
from .overviews import REQUESTS
from .replay import divided, engine_of_row, model_of, prefill_parallel
from .settings import ACCEPTANCE, generated
from .tables import ML_ENERGY, ML_ENERGY_VLLM, TRTLLM
from .weights import EXPERTS_NVFP4
from .workloads import cached, spread_of

if TYPE_CHECKING:
    from perfc.analyzers.features.process import Process


@frozen
class Question:
    """Call of ``perfc.llm`` for a published row, also as a command.

    Args:
        model: configuration of the published checkpoint.
        target: name of the machine.
        options: keyword arguments of ``perfc.llm``.
    """

    model: LanguageModel
    target: str
    options: Mapping[str, Any]

    @property
    def command(self) -> str:
        """Command line of the call."""
        words = "perfc", "llm", self.model.name, "-t", self.target
        return command_line(*words, options=self.options)


@frozen
class PrintedNumber:
    """A predicted number with its interval, as a report prints them.

    Args:
        value: predicted number, in the unit of its quantity.
        low: lower end of the interval.
        high: upper end; both ends are NaN where the report has no interval.
    """

    value: float
    low: float = math.nan
    high: float = math.nan


def question(row: ServedRow) -> Question:
    """Return the call of a row, with the options that its publisher gives.

    Raises:
        PerfcError: perfc ships no configuration of the model, or the degrees are invalid.
    """
    model = model_of(row.model)
    if model is None:
        raise PerfcError(f"no configuration of {row.model}")
    weights = row.weights
    if weights == EXPERTS_NVFP4:
        # a format of experts alone is no value of ``dtype``: the model gets it, as the config.json
        # of NVIDIA's checkpoint has it
        model = replace(
            model, quantization=Quantization(WeightFormat.HALF, experts=WeightFormat.NVFP4)
        )
        weights = ""
    parallel = divided(row, row.tensor, row.expert, row.attention_data)
    options = {
        "isl": row.isl,
        "osl": row.osl,
        "concurrency": row.concurrency,
        "dtype": weights,
        "parallel": replace(parallel, data=row.engines),
        "runtime": row.runtime,
        "runtime_version": _version(row),
        **_OF_TABLE[row.source](row),
    }
    return Question(model, row.target, {k: v for k, v in options.items() if v != ""})


def _version(row: ServedRow) -> str:
    """Return the version of the runtime; "" if the row has that of something else."""
    version = ML_ENERGY_VLLM if row.source == ML_ENERGY else row.release
    return "" if row.prefill or not version[:1].isdigit() else version


def _server(row: ServedRow) -> dict[str, Any]:
    """Return further options for a server of InferenceX or aiconfigurator."""
    options: dict[str, Any] = {"spread": spread_of(row)}
    # a row without settings ran with those of aiconfigurator's generator
    server = row.settings
    if server == ServerSettings():
        server = generated(row.runtime, row.version, row.isl, row.concurrency)
    for name in ("token_budget", "max_num_seqs", "recorded_tokens", "looks_every", "utilization"):
        if value := getattr(server, name):
            options[name] = value
    options["kv_dtype"] = row.cache
    if server.batching is not None:
        options["batching"] = server.batching.value
    if row.distinct_prompts:
        limits = engine_of_row(row).limits(row.isl, row.osl)
        options["cached_tokens"], options["cached_share"] = cached(row, limits)
    if row.drafted:
        options |= {"draft_tokens": row.drafted, "acceptance": ACCEPTANCE}
    if row.prefill:
        prompt_ranks, _, workers = row.prefill
        options["prefill_gpus"] = prompt_ranks * workers
        # only degrees that are not 1, or "tp=1": without degrees those of the whole engine would
        # count
        degrees = prefill_parallel(row).as_json().items() - ALONE.as_json().items()
        options["prefill_parallel"] = ",".join([f"{k}={n}" for k, n in sorted(degrees)]) or "tp=1"
    return options


def _offline(row: ServedRow) -> dict[str, Any]:
    """Return further options for TensorRT-LLM's benchmark, which sends all requests at once."""
    requests = row.concurrency if row.is_static else row.requests or REQUESTS
    return {
        "offline": True,
        "concurrency": requests,
        "requests": requests,
        "kv_dtype": row.cache,
    }


def _saturated(row: ServedRow) -> dict[str, Any]:
    """Return further options for ML.ENERGY's server, whose users take all of its sequences."""
    return {"max_num_seqs": row.concurrency}


# functions that return further options of a row, by table
_OF_TABLE = {AIC: _server, TRTLLM: _offline, ML_ENERGY: _saturated}


def answer(row: ServedRow) -> ServingReport:
    """Return the report of ``perfc.llm`` on a row.

    Raises:
        PerfcError: the call has no report, or the model does not fit.
    """
    call = question(row)
    report = llm(call.model, call.target, **call.options)
    if not report.fits:
        raise PerfcError("the model does not fit")
    return report


def predicted(report: ServingReport, row: ServedRow) -> dict[ServingQuantity, PrintedNumber]:
    """Return the predicted number of each quantity that was measured for a row."""
    assert report.latencies is not None
    assert report.throughput is not None
    assert report.ttft_band is not None
    assert report.tpot_band is not None
    first, later = report.ttft_band, report.tpot_band
    ttft, tpot, rate = (
        report.batch.time_s if report.batch is not None else report.latencies.ttft.mean,
        report.latencies.tpot.mean if report.latencies.tpot is not None else math.nan,
        report.throughput.output_tokens_per_s,
    )
    energy = report.expenses.energy_j_per_token if report.expenses is not None else None
    by_quantity = {
        ServingQuantity.TTFT_S: PrintedNumber(ttft, ttft * first.low, ttft * first.high),
        ServingQuantity.TPOT_S: PrintedNumber(tpot, tpot * later.low, tpot * later.high),
        # a rate is an inverse time: its lower end is that of the longest time
        ServingQuantity.TOKENS_PER_S: PrintedNumber(rate, rate / later.high, rate / later.low),
        ServingQuantity.ENERGY_J: PrintedNumber(math.nan if energy is None else energy),
    }
    return {quantity: by_quantity[quantity] for quantity in row.measured}


@contextmanager
def shipped(
    laws: Mapping[str, HostModel],
    boards: Mapping[str, BoardPower],
    processes: Mapping[str, Process],
) -> Iterator[None]:
    """Let perfc use other fitted values than those it comes with, as if its files had them."""
    contents: dict[Any, bytes] = {
        host: as_toml(laws, host.COMMENT).encode(),
        power: as_toml(boards, power.COMMENT).encode(),
        offline: offline.written(processes),
    }
    with TemporaryDirectory() as folder, ExitStack() as stack:
        # callbacks run in reverse: caches are cleared after the shipped files are restored
        stack.callback(_clear_caches)
        for module, content in contents.items():
            path = Path(folder) / module.FILE.name
            path.write_bytes(content)
            stack.enter_context(patch.object(module, "FILE", path))
        _clear_caches()
        yield


def _clear_caches() -> None:
    """Clear the caches of all that was read from the fitted files."""
    for cached_call in (host.host_models, power.boards, offline.processes, service.engine_for):
        cached_call.cache_clear()
