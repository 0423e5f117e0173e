"""Read the table of served models (AIConfigurator), most of its rows runs of InferenceX.

Rows come from three exports that count GPUs differently and leave settings out; `inferencex` has
the publisher's lists of runs, from which the settings are completed.
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
# names of the table and those of perfc
SYSTEMS = {"b200_sxm": "b200", "h200_sxm": "h200", "h100_sxm": "h100", "gb200": "gb200"}
WEIGHTS = {"fp8_block": "f8-block", "fp8": "f8", "nvfp4": "nvfp4"}
STATED, UNSTATED = "workers stated", "workers not stated"
"""Notes on rows with disaggregated prefill: whether they give the number of workers. If not,
one worker is assumed."""
DRAFTS_UNSTATED = "drafts not stated"
"""Note on a run that lists with and without drafting contain; it is read as one without drafts."""
CONFIGURED = re.compile(r"_cfg\d+$")
"""End of the names of the newest export, which has no runs of lists that draft tokens."""
OWN = "_epnone_"
"""Part of the names of runs of aiconfigurator, which count each group of ranks once."""
DISAGGREGATED = "disagg"
"""Name of runs with disaggregated prefill in the table."""
MOST_OF_AN_EXPERT = {("MiniMaxAI", "fp8"): 4}
"""Maximum ranks that share an expert, by publisher and format, where fewer than usual: MiniMax has
1,536 columns in blocks of 128 (github.com/SemiAnalysisAI/InferenceX/pull/869: eight GPUs need
``--enable-expert-parallel``, which its rows leave out)."""
USUAL_OF_AN_EXPERT = 16
"""Maximum ranks that share an expert of other models, as of DeepSeek with 2,048 columns."""
Figures = tuple[float, float]
"""Measured TTFT and TPOT in ms: rows with equal ones are one run that was published twice."""


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
        """Return True if a run of lists with and without drafts drafts tokens; None if unknown.

        The newest export contains only runs without drafts. A run with the same key but other
        figures than there drafts tokens.
        """
        plain = self.plain.get(_key(row))
        return None if plain is None else _figures(row) not in plain


def _figures(row: Any) -> Figures:
    """Return the measured numbers by which rows of one run are recognized."""
    return float(row.ttft_ms), float(row.tpot_ms)


def _key(row: Any) -> tuple[object, ...]:
    """Return what rows of runs that differ in drafts alone have in common."""
    ranks: tuple[object, ...] = _ranks_of(row, "")
    if row.mode == DISAGGREGATED:
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
    """Yield ``aic_serving.parquet``: measured TTFT and TPOT of engines under a closed loop."""
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
        elif run.prompts:
            yield _unlisted(r)
        else:
            yield _together(r, run, drafts)


def _run(row: Any) -> ServedRun:
    """Return the run of a row, to search its lists."""
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
    """Return a row that no list has, or lists that do not agree: one worker of each kind."""
    prompt_ranks, share, _ = _ranks_of(row, "prefill_")
    return _served(row, _ranks_of(row, "decode_"), 1, (prompt_ranks, share, 1), 0, UNSTATED)


def _together(row: Any, run: ServedRun, drafts: bool | None) -> ServedRow:
    """Return a row whose prompts and answers are computed by the same GPUs."""
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
    """Build a row; ``parallel`` and ``prefill`` are the numbers of `_ranks_of`."""
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
        False,
        prefill,
        False,
        {ServingQuantity.TTFT_S: row.ttft_ms / 1e3, ServingQuantity.TPOT_S: row.tpot_ms / 1e3},
        dataset,
        drafted,
        settings,
        distinct_prompts=distinct_prompts(str(row.backend), version),
        measured_on=text(row.measured),
    )


def _stated_settings(row: Any, users: int, groups: int) -> tuple[ServerSettings, str]:
    """Return the settings of the servers of InferenceX, by the lengths of its requests."""
    run, model = _run(row), str(row.model_path)
    settings = generated(run.runtime, run.version, run.isl, users)
    if _has_few_seats(row):
        return replace(settings, max_num_seqs=users - 1), ""  # one seat fewer than users
    # requests of these lengths are those of InferenceMAX, whose servers have its settings
    if settings.token_budget or not {run.isl, run.osl} <= RANGE_RATIO:
        return settings, cache_of(model, run.runtime)
    return together(model, run, groups)


def _has_few_seats(row: Any) -> bool:
    """Return True for Llama under TensorRT-LLM 1.0.0rc3: one user waits for another's answer.

    From 8 to 64 users the mean wait for a first token grows with the answer's length by the time of
    an answer over the users. This is inferred from the rows; no document says it.
    """
    return bool(text(row.backend_version) == "1.0.0rc3" and "Llama" in row.model_path)


def _weights(row: Any) -> str:
    """Format of the weights of a row of aiconfigurator; if none is given they are 16 bits."""
    weights = WEIGHTS.get(text(row.gemm_quant_mode), "bf16")
    if weights == "f8" and str(row.backend) == "sglang":
        # the predictors know older block-scaled kernels of SGLang; newer ones are as fast as
        # kernels with one scale per tensor
        return weights
    return published(str(row.model_path), weights, str(row.backend), str(row.system))


def _ranks_of(row: Any, part: str) -> tuple[int, int, int]:
    """Return ranks of the engine of a part of a row, ranks that share experts, and groups.

    Groups of ranks have separate sequences (attention data parallelism).
    """
    names = ("tp_size", "moe_tp_size", "moe_ep_size", "attention_dp_size")
    tensor, moe_tensor, moe_expert, data = (number(getattr(row, part + n)) for n in names)
    if OWN in str(row.row_id):
        return _counted_once(max(1, tensor), max(1, moe_tensor), max(1, moe_expert), data)
    publisher = str(row.model_path).partition("/")[0]
    max_shared = MOST_OF_AN_EXPERT.get((publisher, text(row.gemm_quant_mode)), USUAL_OF_AN_EXPERT)
    return _ranks(max(1, tensor), max(1, moe_tensor), max(1, moe_expert), max(1, data), max_shared)


def _counted_once(tensor: int, moe_tensor: int, moe_expert: int, data: int) -> tuple[int, int, int]:
    """Count as aiconfigurator does: ranks of experts are those of attention, times its groups.

    Where a row has no number of groups, it is ranks of experts over ranks of attention.
    """
    groups = data or max(1, moe_tensor * moe_expert // tensor)
    ranks = tensor * groups
    return ranks, ranks if moe_expert > 1 else 1, groups


def _ranks(
    tensor: int, moe_tensor: int, moe_expert: int, data: int, most: int = USUAL_OF_AN_EXPERT
) -> tuple[int, int, int]:
    """Count as the exports of InferenceX do, some groups of ranks twice.

    Some rows have the same number as tensor and as expert parallel degree: it then is the number of
    ranks. Rows of vLLM with as many groups as tensor-parallel ranks, and their product as expert
    degree, ran ``--data-parallel-size=$TP --enable-expert-parallel``: as many ranks as groups, each
    with separate sequences.
    """
    if tensor > 8 and tensor & (tensor - 1):
        # degrees that are no power of two occur on racks (NVL72): data and expert parallel
        return tensor, tensor, tensor
    if tensor == data > 1 and (moe_tensor, moe_expert) == (1, tensor * data):
        return tensor, tensor, tensor
    # both degrees are the product of the group, which is counted once
    if moe_expert > 1 and moe_tensor * moe_expert == moe_expert**2:
        ranks = moe_expert
        return ranks, ranks, ranks if data > 1 else 1
    ranks = max(moe_tensor * moe_expert, tensor) if data == 1 else tensor * data
    groups = data if ranks % data == 0 and tensor == 1 else 1
    is_divided = moe_expert > 1 or moe_tensor > most
    return ranks, ranks if is_divided else 1, groups
