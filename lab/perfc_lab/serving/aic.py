"""Read AIConfigurator's table of served models, whose rows are mostly runs of InferenceX.

Rows come from three exports of these runs, which count GPUs differently and leave settings out. The
missing settings are taken from the publisher's lists of runs, in `inferencex`. Where prefill is
disaggregated, separate workers compute prompts and answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from perfc.ir.record import frozen
from perfc.machine import load_machine
from perfc_lab.tables import number, read_parquet, text

from . import ServedRow, ServerSettings, ServingQuantity
from .inferencex import DisaggregatedRun, ServedRun, disaggregated_setting
from .settings import RANGE_RATIO, cache_of, distinct_prompts, drafted_tokens, generated, together
from .weights import published

AIC = "aic_serving"
# targets and weight formats of perfc by the names of the table
SYSTEMS = {"b200_sxm": "b200", "h200_sxm": "h200", "h100_sxm": "h100", "gb200": "gb200"}
WEIGHTS = {"fp8_block": "f8-block", "fp8": "f8", "nvfp4": "nvfp4"}
STATED, UNSTATED = "workers stated", "workers not stated"
"""Notes on rows with disaggregated prefill: whether they give the number of workers. If not,
one worker is assumed."""
DRAFTS_UNSTATED = "drafts not stated"
"""Note on a run that is in lists with draft tokens and in lists without; it is read as one
without."""
CONFIGURED = re.compile(r"_cfg\d+$")
"""End of the names of rows of the newest export, all of whose runs are without draft tokens."""
OWN = "_epnone_"
"""Text in the names of aiconfigurator's runs, which count each group of ranks once."""
DISAGGREGATED = "disagg"
"""Value of the column ``mode`` for runs with disaggregated prefill."""
MOST_OF_AN_EXPERT = {("MiniMaxAI", "fp8"): 4}
"""Maximum ranks that share one expert, by publisher and format, where it is less than usual.
MiniMax has 1,536 columns in blocks of 128, which eight ranks cannot share: they need
``--enable-expert-parallel`` (github.com/SemiAnalysisAI/InferenceX/pull/869), which the rows leave
out."""
USUAL_OF_AN_EXPERT = 16
"""Maximum ranks that share one expert of other models: the 2,048 columns of DeepSeek in blocks of
128."""
Figures = tuple[float, float]
"""Measured TTFT and TPOT in ms: rows with equal figures are one run that was published twice."""


@frozen
class Published:
    """Facts that one row leaves out and another row of the same run, or of an equal run, gives.

    Args:
        complete: rows that give the number of workers, by their figures.
        plain: figures of runs without drafts, by `_key`.
    """

    complete: Mapping[Figures, Any]
    plain: Mapping[tuple[object, ...], frozenset[Figures]]

    @classmethod
    def of(cls, table: Any) -> Published:
        """Return the facts of all rows of the table."""
        complete: dict[Figures, Any] = {}
        plain: dict[tuple[object, ...], frozenset[Figures]] = {}
        for row in table.itertuples():
            if row.mode == DISAGGREGATED and number(row.decode_num_workers):
                complete[_figures(row)] = row
            if CONFIGURED.search(str(row.row_id)):
                key = _key(row)
                plain[key] = plain.get(key, frozenset()) | {_figures(row)}
        return cls(complete, plain)

    def drafts(self, row: Any) -> bool | None:
        """Return whether a run drafts tokens; None if unknown.

        The newest export has only runs without drafts. A run with the key of one there, but with
        other figures, drafts tokens.
        """
        plain = self.plain.get(_key(row))
        return None if plain is None else _figures(row) not in plain


def _figures(row: Any) -> Figures:
    """Return the measured numbers by which rows of one run are recognized."""
    return float(row.ttft_ms), float(row.tpot_ms)


def _key(row: Any) -> tuple[object, ...]:
    """Return the fields that are equal in rows of two runs that differ in drafts alone."""
    ranks: tuple[object, ...] = _ranks_of(row, "")
    if row.mode == DISAGGREGATED:
        # exports count the groups of these workers differently, so that those are left out
        ranks = _ranks_of(row, "decode_")[:1], _ranks_of(row, "prefill_")[:2]
    return (
        row.system,
        row.backend,
        text(row.backend_version),
        text(row.precision),
        row.mode,
        text(row.measured),
        int(row.isl),
        int(row.osl),
        number(row.concurrency),
        ranks,
    )


def aic_serving(folder: Path) -> Iterator[ServedRow]:
    """Yield the rows of ``aic_serving.parquet``: TTFT and TPOT of engines under a closed loop.

    A row with disaggregated prefill is completed by another row of its run, else by a list of
    InferenceX, else by an assumption of one worker of each kind.
    """
    table = read_parquet(folder / f"{AIC}.parquet")
    others = Published.of(table)
    for r in table.itertuples():
        drafts = others.drafts(r)
        same = others.complete.get(_figures(r)) if r.mode == DISAGGREGATED else None
        if same is not None:
            yield _stated(r, same)
            continue
        run = _run(r)
        setting = disaggregated_setting(run, drafts)
        if setting is not None:
            yield _listed(r, setting)
        elif run.prompts:  # disaggregated, in no list
            yield _unlisted(r)
        else:
            yield _together(r, run, drafts)


def _run(row: Any) -> ServedRun:
    """Return the run of a row, by which lists of runs are searched."""
    is_disaggregated = row.mode == DISAGGREGATED
    part = "decode_" if is_disaggregated else ""
    ranks = max(number(getattr(row, f"{part}tp_size"), 1), _ranks_of(row, part)[0])
    return ServedRun(
        str(row.system),
        str(row.backend),
        text(row.precision),
        text(row.backend_version),
        text(row.measured),
        int(row.isl),
        int(row.osl),
        _users(row),
        ranks,
        _ranks_of(row, "prefill_")[:2] if is_disaggregated else (),
    )


def _users(row: Any) -> int:
    """Return the users of all workers; without a number, the sequences of their batches."""
    workers = max(1, number(row.decode_num_workers, 1))
    batch = number(row.batch_size) or number(row.decode_batch_size) * workers
    return number(row.concurrency) or batch


def _stated(row: Any, same: Any) -> ServedRow:
    """Return a row with disaggregated prefill whose workers another row of the same run gives."""
    ranks, expert, groups = _ranks_of(same, "decode_")
    prompt_ranks, share, _ = _ranks_of(same, "prefill_")
    prompts, workers = (
        max(1, number(v, 1)) for v in (same.prefill_num_workers, same.decode_num_workers)
    )
    # a list that agrees on the workers has their batch, and better numbers of ranks
    setting, batch = disaggregated_setting(_run(same), drafts=False), 0
    if setting is not None and (setting.prompt_workers, setting.token_workers) == (
        prompts,
        workers,
    ):
        prompt_ranks, share = setting.prompts or (prompt_ranks, share)
        batch = setting.batch
    return _served(
        row, (ranks, expert, groups), workers, (prompt_ranks, share, prompts), 0, STATED, batch
    )


def _listed(row: Any, setting: DisaggregatedRun) -> ServedRow:
    """Return a row whose workers a list of InferenceX gives."""
    prompt_ranks, share = setting.prompts or _ranks_of(row, "prefill_")[:2]
    groups = setting.ranks if setting.has_own_sequences else 1
    return _served(
        row,
        (setting.ranks, setting.expert, groups),
        setting.token_workers,
        (prompt_ranks, share, setting.prompt_workers),
        setting.drafted or 0,
        DRAFTS_UNSTATED if setting.drafted is None else STATED,
        setting.batch,
    )


def _unlisted(row: Any) -> ServedRow:
    """Return a row of a run in no list, or in lists that differ: one worker of each kind."""
    prompt_ranks, share, _ = _ranks_of(row, "prefill_")
    return _served(row, _ranks_of(row, "decode_"), 1, (prompt_ranks, share, 1), 0, UNSTATED)


def _together(row: Any, run: ServedRun, drafts: bool | None) -> ServedRow:
    """Return a row whose prompts and answers are computed by the same GPUs; it may draft tokens."""
    ranks, expert, groups = _ranks_of(row, "")
    drafted: int | None = 0
    if "DeepSeek" in str(row.model_path):
        drafted = drafted_tokens(run, groups, drafts)
    name = DRAFTS_UNSTATED if drafted is None else ""
    return _served(row, (ranks, expert, groups), 1, (), drafted or 0, name)


def _served(
    row: Any,
    parallel: tuple[int, int, int],
    workers: int,
    prefill: tuple[int, int, int] | tuple[()],
    drafted: int,
    dataset: str,
    batch: int = 0,
) -> ServedRow:
    """Return a row of perfc for a row of the table.

    Args:
        row: row of the table.
        parallel: ranks, ranks that share experts, and groups, as `_ranks_of` returns them.
        workers: number of equal engines that compute answers.
        prefill: ranks, ranks that share experts, and number of prefill workers; else empty.
        drafted: draft tokens of a step.
        dataset: note on how the row was read.
        batch: maximum sequences of an engine; 0 for its default.
    """
    ranks, expert, groups = parallel
    users, version = _users(row), text(row.backend_version)
    # lists of disaggregated runs have only the batch of all server settings
    of_list = ServerSettings(max_num_seqs=batch), ""
    settings, cache = of_list if prefill else _stated_settings(row, users, groups)
    return ServedRow(
        AIC,
        str(row.row_id),
        str(row.model_path),
        load_machine(SYSTEMS[str(row.system)]).name,
        str(row.backend),
        version,
        _weights(row),
        cache,
        ranks // groups,
        expert,
        groups,
        workers,
        int(row.isl),
        int(row.osl),
        users,
        is_static=False,
        prefill=prefill,
        is_eager=False,
        measured={
            ServingQuantity.TTFT_S: row.ttft_ms / 1e3,
            ServingQuantity.TPOT_S: row.tpot_ms / 1e3,
        },
        dataset=dataset,
        drafted=drafted,
        settings=settings,
        distinct_prompts=distinct_prompts(str(row.backend), version),
        measured_on=text(row.measured),
    )


def _stated_settings(row: Any, users: int, groups: int) -> tuple[ServerSettings, str]:
    """Return the settings of a server and its element type of cached keys and values.

    The type is "" for that of activations. Runs of InferenceX are recognized by the lengths of
    their requests.
    """
    run, model = _run(row), str(row.model_path)
    settings = generated(run.runtime, run.version, run.isl, users)
    if _has_few_seats(row):
        return replace(settings, max_num_seqs=users - 1), ""  # one seat fewer than users
    # requests of other lengths are not of InferenceX, whose settings `together` has
    if settings.token_budget or not {run.isl, run.osl} <= RANGE_RATIO:
        return settings, cache_of(model, run.runtime)
    return together(model, run, groups)


def _has_few_seats(row: Any) -> bool:
    """Return True for Llama under TensorRT-LLM 1.0.0rc3: one user waits for another's answer.

    From 8 to 64 users, the mean wait for a first token is longer by the time of an answer divided
    by the number of users. This is inferred from the rows; no document says it.
    """
    return bool(text(row.backend_version) == "1.0.0rc3" and "Llama" in row.model_path)


def _weights(row: Any) -> str:
    """Return the format of a row's weights; without one in the table they are 16 bits."""
    weights = WEIGHTS.get(text(row.gemm_quant_mode), "bf16")
    if weights == "f8" and str(row.backend) == "sglang":
        # predictors learned from older kernels of SGLang with scales per block; newer ones are as
        # fast as kernels with a scale per tensor, so that the row counts as those
        return weights
    return published(str(row.model_path), weights, str(row.backend), str(row.system))


def _ranks_of(row: Any, part: str) -> tuple[int, int, int]:
    """Return the ranks of an engine, the ranks that divide its experts, and its number of groups.

    ``part`` is the start of the columns: ``decode_``, ``prefill_`` or "". Groups of ranks have
    separate sequences (attention data parallelism).
    """
    names = ("tp_size", "moe_tp_size", "moe_ep_size", "attention_dp_size")
    tensor, moe_tensor, moe_expert, data = (number(getattr(row, part + n)) for n in names)
    if OWN in str(row.row_id):
        return _counted_once(max(1, tensor), max(1, moe_tensor), max(1, moe_expert), data)
    publisher = str(row.model_path).partition("/")[0]
    max_shared = MOST_OF_AN_EXPERT.get((publisher, text(row.gemm_quant_mode)), USUAL_OF_AN_EXPERT)
    return _ranks(max(1, tensor), max(1, moe_tensor), max(1, moe_expert), max(1, data), max_shared)


def _counted_once(tensor: int, moe_tensor: int, moe_expert: int, data: int) -> tuple[int, int, int]:
    """Return the numbers of `_ranks_of` for aiconfigurator's runs.

    There an engine has as many ranks for experts as for attention in all groups together. A row
    without a number of groups has as many as its ranks of experts over those of attention.
    """
    groups = data or max(1, moe_tensor * moe_expert // tensor)
    ranks = tensor * groups
    return ranks, ranks if moe_expert > 1 else 1, groups


def _ranks(
    tensor: int, moe_tensor: int, moe_expert: int, data: int, most: int = USUAL_OF_AN_EXPERT
) -> tuple[int, int, int]:
    """Return the numbers of `_ranks_of` for runs of InferenceX, which count some groups twice.

    If tensor-parallel and expert-parallel degree are one number, that is the number of ranks. Rows
    of vLLM with as many groups as tensor-parallel ranks, and the product of both as expert degree,
    ran ``--data-parallel-size=$TP --enable-expert-parallel``: as many ranks as groups, each with
    separate sequences. ``most`` is the maximum of ranks that share one expert.
    """
    if tensor > 8 and tensor & (tensor - 1):
        # degrees that are no power of two occur on racks (NVL72), with data and expert parallelism
        return tensor, tensor, tensor
    if tensor == data > 1 and (moe_tensor, moe_expert) == (1, tensor * data):
        return tensor, tensor, tensor
    # both degrees are the number of ranks, which is counted twice here
    if moe_tensor == moe_expert > 1:
        ranks = moe_expert
        return ranks, ranks, ranks if data > 1 else 1
    ranks = max(moe_tensor * moe_expert, tensor) if data == 1 else tensor * data
    groups = data if ranks % data == 0 and tensor == 1 else 1
    # more ranks than can share one expert divide the experts among them
    is_divided = moe_expert > 1 or moe_tensor > most
    return ranks, ranks if is_divided else 1, groups
