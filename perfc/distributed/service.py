"""What a program calls: a model on a cluster, divided as asked or as is best."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from perfc.deployment import Deployment
from perfc.errors import ParseError
from perfc.frontend.config import (
    Precision,
    WeightFormat,
    in_half,
    is_config,
    precision_of,
    read_config,
)
from perfc.frontend.config.parallel import ALONE, KEYS, Parallel
from perfc.machine import NOTHING, Reserve, load_machine
from perfc.passes.runtimes import CLUSTER_DEFAULT
from perfc.passes.training.implementation import Policy

from .law import USUAL as USUAL_LAW
from .law import RunLaw, law_of
from .plan import MICRO_BATCHES, PlanView
from .plan import plan as planned
from .scale import ScaleView, largest_micro_batch, micro_batches_of
from .scale import scale as scaled
from .step import cluster_of
from .training import CHECKPOINTINGS, Training
from .work import LanguageWork, Work

MOST_BATCH = 1 << 24


def work_of(
    model: Any, target: str, *, dtype: str = "", runtime: str = CLUSTER_DEFAULT, seq: int = 0
) -> Work:
    """The model on its machine: a configuration of a language model, or a graph.

    Args:
        model: as `plan` takes it.
        target: cluster, or GPU whose links are assumed.
        dtype: format of products; "" for 16 bits.
        runtime: fusion table.
        seq: tokens of a sample; 0 for as many as the file of a graph assumes.

    Raises:
        PerfcError: the model or the target cannot be read.
    """
    path = str(load_machine(target).path)
    if isinstance(model, str | os.PathLike) and is_config(os.fspath(model)):
        found = read_config(model)
        precision = trained_in(found.dtype, dtype)
        precision = in_half(precision, load_machine(target).takes)
        return LanguageWork(found, precision, runtime, path)
    from perfc.api import typed
    from perfc.deployment.extents import SEQUENCE, axis_of

    from .graph_work import GraphWork

    values: dict[str, object] = {"target": path, "runtime": runtime}
    if dtype:
        values["dtype"] = dtype
    module = typed(model)
    axis = axis_of(module, SEQUENCE)
    usual = axis.size or (module.defaults()[axis.keys[0]] if axis.keys else 1)
    tokens = seq if seq and axis.is_there else usual
    if tokens != usual:
        values["seq"] = tokens
    name = os.path.basename(os.fspath(model)) if isinstance(model, str | os.PathLike) else "model"
    return GraphWork(model, name, Deployment().with_values(values), seq=tokens)


def trained_in(stored: str, dtype: str) -> Precision:
    """The element types of a step.

    Args:
        stored: type that the configuration states.
        dtype: format of products; "" for 16 bits.

    Raises:
        ParseError: no such format, or weights of it have no gradient.
    """
    found = precision_of(stored, None, dtype)
    for form in (found.weights, found.of_experts):
        is_float = form.multiplied is not None and form.multiplied.is_float
        if form is not WeightFormat.HALF and not is_float:
            offer = ", ".join(
                f.value for f in WeightFormat if f.multiplied and f.multiplied.is_float
            )
            raise ParseError(
                f"nothing is trained in {form.value}", where="--dtype", hint=f"half, {offer}"
            )
    return found


def plan(
    model: Any, gpus: int, target: str = "dgx-h100", *, batch: int = 256, seq: int = 0,
    train: str = "adamw", dtype: str = "", runtime: str = CLUSTER_DEFAULT,
    parallel: Parallel | Mapping[str, object] = ALONE, checkpointing: str = "",
    micro_batch: int = 0, trained_by: str = USUAL_LAW, reserve: str | int | Reserve = NOTHING,
) -> PlanView:  # fmt: skip
    """The fastest way of training a model on so many devices, and the front of time and memory.

    Args:
        model: a configuration of a language model, or a graph as `perfc.analyze` takes it.
        gpus: devices.
        target: cluster, or GPU whose links are assumed.
        batch: samples of a step, of all devices.
        seq: tokens of each; 0 for 2,048, or as many as the model has positions for, or as the
            file of a graph assumes.
        train: optimiser.
        dtype: format of products; "" for 16 bits.
        runtime: fusion table.
        parallel: degrees that stay as they are: of a mapping all, of a `Parallel` those that
            differ from one GPU.
        checkpointing: none, selective or block; "" for what is best.
        micro_batch: samples that pass at once; 0 for what is best.
        trained_by: framework whose published runs correct the time.
        reserve: memory of each device to hold back, as "2GiB" or "5%".

    Raises:
        PerfcError: the model, the target or a number is none, or nothing divides so.
    """
    work = work_of(model, target, dtype=dtype, runtime=runtime, seq=seq)
    work.reserve = Reserve.parse(reserve)
    training = sizes(batch, work.tokens(seq), train)
    again = (named(checkpointing),) if checkpointing else CHECKPOINTINGS
    fixed = given_degrees(parallel)
    samples: Sequence[int] = (micro_batch,) if micro_batch else MICRO_BATCHES
    if fixed.get("micro_batches"):
        samples = (1,)  # their number says how large they are
    return planned(
        work, gpus, training, fixed=fixed, checkpointings=again, micro_batches=samples,
        law=law_on(work, trained_by),
    )  # fmt: skip


def given_degrees(parallel: Parallel | Mapping[str, object]) -> dict[str, int | str]:
    """Fields of a `Parallel` that are given, 1 and 0 among them where a mapping has them.

    Raises:
        ParseError: no such key, or no degree.
    """
    if isinstance(parallel, Parallel):
        return parallel.given()
    stated = ALONE.with_values(parallel)
    fields = [KEYS[key.replace("-", "_")] for key in parallel]
    return {name: getattr(stated, name) for name in fields}


def scale(
    model: Any, target: str = "dgx-h100", *, gpus: Sequence[int] = (), batch: int = 0,
    seq: int = 0, train: str = "adamw", dtype: str = "", runtime: str = CLUSTER_DEFAULT,
    parallel: Parallel | Mapping[str, object] = ALONE, checkpointing: str = "none",
    micro_batch: int = 0, is_weak: bool = True, trained_by: str = USUAL_LAW,
    reserve: str | int | Reserve = NOTHING,
) -> ScaleView:  # fmt: skip
    """A model on more and more devices; as `plan`, but divided as ``parallel`` says.

    Args:
        model: a configuration of a language model, or a graph.
        target: cluster, or GPU whose links are assumed.
        gpus: devices of each point; powers of two up to 1,024 by default.
        batch: samples of a step on the fewest devices; 0 for one micro-batch of each copy, and
            four for each stage of a pipeline.
        seq: tokens of each; 0 for 2,048, or as many as the model has positions for, or as the
            file of a graph assumes.
        train: optimiser.
        dtype: format of products; "" for 16 bits.
        runtime: fusion table.
        parallel: how one copy is divided.
        checkpointing: none, selective or block.
        micro_batch: samples that pass at once; 0 for the largest power of two that fits.
        is_weak: whether samples of a step grow with the devices.
        trained_by: framework whose published runs correct the time.
        reserve: memory of each device to hold back, as "2GiB" or "5%".

    Raises:
        PerfcError: as `plan`.
    """
    work = work_of(model, target, dtype=dtype, runtime=runtime, seq=seq)
    work.reserve = Reserve.parse(reserve)
    fixed = parallel if isinstance(parallel, Parallel) else ALONE.with_values(parallel)
    samples, again = batch or MOST_BATCH, named(checkpointing)
    training = sizes(samples, work.tokens(seq), train, micro_batch or 1, again)
    is_largest = not (micro_batch or fixed.micro_batches)
    if is_largest:
        samples = largest_micro_batch(work, fixed, training, gpus, is_weak=is_weak)
        training = replace(training, micro_batch=samples)
    if not batch:
        each = fixed.devices // fixed.data
        copies = max(min(gpus, default=each) // each, 1)
        count = micro_batches_of(fixed)
        training = replace(training, batch=copies * training.micro_batch * count)
    law = law_on(work, trained_by)
    return scaled(work, fixed, training, gpus=gpus, is_weak=is_weak, is_largest=is_largest, law=law)


def law_on(work: Work, framework: str) -> RunLaw:
    """The law of a framework on the machine of a model.

    Raises:
        ParseError: no law of such a framework.
    """
    return law_of(framework, cluster_of(work).machine.arch)


def sizes(
    batch: int, seq: int, train: str, micro_batch: int = 1,
    checkpointing: Policy = Policy.NONE,
) -> Training:  # fmt: skip
    """Checked sizes of a step.

    Raises:
        ParseError: a number that is none.
        PassError: no such optimiser.
    """
    from perfc.passes.training.optimizer import optimizer

    for name, value in (("batch", batch), ("seq", seq), ("micro-batch", micro_batch)):
        if not 1 <= value <= MOST_BATCH:
            raise ParseError(f"{name} = {value}", where=f"--{name}", hint="1 or more")
    return Training(seq, batch, micro_batch, optimizer(train).name, checkpointing)


def named(text: str) -> Policy:
    """What is computed again.

    Raises:
        ParseError: no such policy.
    """
    from perfc.common.choice import member

    found = member(Policy, text, "--checkpointing")
    if found not in CHECKPOINTINGS:
        hint = "`perfc plan` without it looks at none, selective and block"
        raise ParseError("one block is treated as all are", where="--checkpointing", hint=hint)
    return found
