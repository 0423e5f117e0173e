"""Python interface to training on a cluster: `plan` and `scale`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from perfc.analyzers.runs.run_law import NO_LAWS, framework_laws, law_on
from perfc.analyzers.runs.run_law import USUAL as USUAL_LAW
from perfc.deployment import Deployment
from perfc.errors import ParseError
from perfc.frontend import is_configuration
from perfc.frontend.config import WeightFormat, read_config, weight_format
from perfc.frontend.config.precision import (
    SINGLE_TYPES,
    is_packed,
    training_precision,
    type_named,
    usual_type,
)
from perfc.frontend.pytorch import graph_of
from perfc.ir import evaluate
from perfc.machine import NOTHING, Machine, Reserve, load_machine
from perfc.machine.parallel import ALONE, KEYS, Parallel
from perfc.passes.precision.retype import precision_name
from perfc.passes.runtimes import TRAINER, Tf32
from perfc.passes.training.implementation import RecomputePolicy

from .costs.work import LanguageWork, TrainingWork
from .plan import MICRO_BATCHES, TrainingPlan
from .plan import plan as planned
from .recipe import MIXED, TrainingTypes, autocast, recipe_of
from .scale import ScalingCurve, largest_micro_batch, micro_batches_of
from .scale import scale as scaled
from .step import cluster_of
from .training import CHECKPOINTINGS, Training

if TYPE_CHECKING:
    from perfc.study.tasks import Each

MOST_BATCH = 1 << 24
"""Maximum batch, sequence length and micro-batch; no training has more samples or tokens."""


def work_of(
    model: Any, target: str, *, dtype: str = "", runtime: str = "", seq: int = 0, lora_rank: int = 0
) -> TrainingWork:
    """Return the model on its machine: a language model's configuration or a graph.

    Args:
        model: as `plan` takes it.
        target: cluster, or GPU with assumed links.
        dtype: type of matrix multiplications; "" for the 16 bits that the machine multiplies.
        runtime: fusion rules; "" for the rules of published runs.
        seq: tokens per sample; 0 for the length in the graph's file.
        lora_rank: rank of the adapters that alone are trained; 0 if all parameters are.

    Raises:
        PerfcError: the model or the target cannot be read, or a graph is trained with adapters.
    """
    machine = load_machine(target)
    path, usual_dtype = str(machine.path), usual_type(machine.takes)
    name = type_named(dtype)
    if isinstance(model, str | os.PathLike) and is_configuration(model):
        return language_work(model, machine, name or usual_dtype, runtime or TRAINER, lora_rank)
    if lora_rank:
        hint = "perfc analyze --train adamw --lora-rank R on one device"
        raise ParseError("a graph is trained as a whole here", where="--lora-rank", hint=hint)
    from perfc.api import typed
    from perfc.deployment.extents import SEQUENCE, axis_of

    from .costs.graph_work import GraphWork

    # a model in memory has no file name
    title = os.path.basename(os.fspath(model)) if isinstance(model, str | os.PathLike) else "model"
    model = graph_of(model, dims={"seq": seq} if seq else {})
    module = typed(model)
    axis = axis_of(module, SEQUENCE)
    name = precision_name(name or (usual_dtype if axis.is_there else autocast(usual_dtype)))
    values: dict[str, object] = {"target": path, "dtype": name}
    if runtime:
        values["runtime"] = runtime
    # tokens of a sample in the file: the size of the sequence axis, else the default of a symbol of
    # this axis, else 1
    size = axis.size or next((evaluate(d, module.defaults()) for d in axis.extents.values()), 1)
    tokens = seq if seq and axis.is_there else size
    if tokens != size:
        values["seq"] = tokens
    work = GraphWork(model, title, Deployment().with_values(values), seq=tokens)
    work.recipe = recipe_of(name)
    return work


def language_work(
    model: str | os.PathLike[str], machine: Machine, dtype: str, runtime: str, lora_rank: int
) -> LanguageWork:
    """Return the configuration of a language model on a machine; arguments as for `work_of`.

    Raises:
        PerfcError: the model cannot be read, or is not trained in such a type.
    """
    config = read_config(model)
    # QLoRA: products are in 16 bits, whatever the stored weights have
    is_frozen = lora_rank > 0 and dtype not in SINGLE_TYPES and is_packed(dtype)
    name = usual_type(machine.takes) if is_frozen else dtype
    precision = training_precision(name, machine.takes)
    # 16-bit products leave it to the runtime which f32 products use TF32
    tf32 = {"tf32": Tf32.ALL, "f32": Tf32.NONE}.get(name)
    frozen = weight_format(dtype) if is_frozen else WeightFormat.HALF
    work = LanguageWork(
        config,
        precision,
        runtime,
        str(machine.path),
        tf32=tf32,
        lora_rank=lora_rank,
        frozen=frozen,
    )
    work.recipe = recipe_of(name)
    return work


def plan(
    model: Any,
    gpus: int,
    target: str = "dgx-h100",
    *,
    batch: int = 256,
    seq: int = 0,
    train: str = "adamw",
    dtype: str = "",
    runtime: str = "",
    parallel: Parallel | Mapping[str, object] = ALONE,
    checkpointing: str = "",
    micro_batch: int = 0,
    trained_by: str = USUAL_LAW,
    reserve: str | int | Reserve = NOTHING,
    lora_rank: int = 0,
    each: Each = map,
) -> TrainingPlan:
    """Return the fastest training setting on ``gpus`` devices, and the Pareto front.

    Args:
        model: configuration of a language model, or a graph as `perfc.analyze` takes it.
        gpus: number of devices.
        target: cluster, or GPU with assumed links.
        batch: samples per step, over all devices.
        seq: tokens per sample; 0 for 2,048, or the model's positions if fewer, or the length in
            the graph's file.
        train: optimizer.
        dtype: type of matrix multiplications; "" for 16 bits of the machine, by autocast if
            samples are no sequences. Weights of 16 bits or fewer have f32 master copies; with
            ``f32``, ``tf32`` and autocast they are f32 themselves.
        runtime: fusion rules; "" for the rules of published runs.
        parallel: fixed degrees: all in a mapping, or the fields of a `Parallel` other than 1.
        checkpointing: none, selective or block; "" to search for the best.
        micro_batch: samples per micro-batch; 0 to search for the best.
        trained_by: framework whose published runs correct the time.
        reserve: memory of each device to hold back, as "2GiB" or "5%".
        lora_rank: rank of adapters that alone are trained, or 0; ``dtype="nf4"`` for QLoRA then.
        each: applies a function to all settings: `map`, or elsewhere.

    Raises:
        PerfcError: the model, the target or a value is invalid, or no setting is possible.
    """
    options = {"dtype": dtype, "runtime": runtime, "seq": seq, "lora_rank": lora_rank}
    work, laws = _trained_work(model, target, reserve, trained_by, **options)
    training = sizes(batch, work.tokens(seq), train, recipe=work.recipe)
    policies = (named(checkpointing),) if checkpointing else CHECKPOINTINGS
    fixed = given_degrees(parallel)
    # a given number of micro-batches determines their size: `step_cost` replaces the 1
    size = 1 if fixed.get("micro_batches") else micro_batch
    return planned(
        work,
        gpus,
        training,
        fixed=fixed,
        checkpointings=policies,
        micro_batches=(size,) if size else MICRO_BATCHES,
        **laws,
        each=each,
    )


def _trained_work(
    model: Any, target: str, reserve: str | int | Reserve, trained_by: str, **options: Any
) -> tuple[TrainingWork, dict[str, Any]]:
    """Return the work of `work_of` with the types of a trainer and memory held back, and its laws.

    The laws are the fitted run overhead, and the fits of single frameworks.
    """
    work = work_of(model, target, **options)
    work.reserve = Reserve.parse(reserve)
    work.recipe = work.recipe.of_trainer(trained_by)
    machine, others = cluster_of(work).machine, NO_LAWS
    # if one framework is named, its law alone counts
    if trained_by == USUAL_LAW:
        others = framework_laws(machine.arch, is_f32=work.recipe.dtype in SINGLE_TYPES)
    return work, {"law": law_on(machine, work.recipe.dtype, trained_by), "others": others}


def given_degrees(parallel: Parallel | Mapping[str, object]) -> dict[str, int | str]:
    """Return the given fields of a `Parallel`; from a mapping also fields that are 1 or 0.

    Raises:
        ParseError: an unknown key or an invalid degree.
    """
    if isinstance(parallel, Parallel):
        return parallel.given()
    values = ALONE.with_values(parallel)
    fields = [KEYS[key.replace("-", "_")] for key in parallel]
    return {name: getattr(values, name) for name in fields}


def scale(
    model: Any,
    target: str = "dgx-h100",
    *,
    gpus: Sequence[int] = (),
    batch: int = 0,
    seq: int = 0,
    train: str = "adamw",
    dtype: str = "",
    runtime: str = "",
    parallel: Parallel | Mapping[str, object] = ALONE,
    checkpointing: str = "none",
    micro_batch: int = 0,
    is_weak: bool = True,
    trained_by: str = USUAL_LAW,
    reserve: str | int | Reserve = NOTHING,
    lora_rank: int = 0,
) -> ScalingCurve:
    """Return the scaling curve of a model whose copies are divided by ``parallel``.

    Args:
        model: configuration of a language model, or a graph.
        target: cluster, or GPU with assumed links.
        gpus: devices of each point; by default powers of two up to 1,024.
        batch: samples per step on the fewest devices; 0 for a few micro-batches per copy.
        seq: tokens per sample, as for `plan`.
        train: optimizer.
        dtype: type of matrix multiplications, as for `plan`.
        runtime: fusion rules; "" for the rules of published runs.
        parallel: degrees of one copy.
        checkpointing: none, selective or block.
        micro_batch: samples per micro-batch; 0 for the largest power of two that fits.
        is_weak: True for weak scaling, where the samples of a step grow with the devices.
        trained_by: framework whose published runs correct the time.
        reserve: memory of each device to hold back, as for `plan`.
        lora_rank: as for `plan`.

    Raises:
        PerfcError: as `plan`.
    """
    options = {"dtype": dtype, "runtime": runtime, "seq": seq, "lora_rank": lora_rank}
    work, laws = _trained_work(model, target, reserve, trained_by, **options)
    fixed = parallel if isinstance(parallel, Parallel) else ALONE.with_values(parallel)
    policy, tokens = named(checkpointing), work.tokens(seq)
    training = sizes(batch or 1, tokens, train, micro_batch or 1, policy, work.recipe)
    if is_largest := not (micro_batch or fixed.micro_batches):
        given = replace(training, batch=batch)  # 0 samples are divided by any micro-batch
        largest = largest_micro_batch(work, fixed, given, gpus, is_weak=is_weak)
        training = replace(training, micro_batch=largest)
    training = replace(training, batch=batch or _fewest_samples(fixed, training, gpus))
    return scaled(
        work,
        fixed,
        training,
        gpus=gpus,
        is_weak=is_weak,
        is_largest=is_largest,
        **laws,
    )


def _fewest_samples(fixed: Parallel, training: Training, gpus: Sequence[int]) -> int:
    """Return the samples of a step on the fewest devices: a few micro-batches per copy."""
    copy_gpus = fixed.devices // fixed.data
    copies = max(min(gpus, default=copy_gpus) // copy_gpus, 1)
    return copies * training.micro_batch * micro_batches_of(fixed)


def sizes(
    batch: int,
    seq: int,
    train: str,
    micro_batch: int = 1,
    checkpointing: RecomputePolicy = RecomputePolicy.NONE,
    recipe: TrainingTypes = MIXED,
) -> Training:
    """Return the checked sizes of a step.

    Raises:
        ParseError: a number is out of range.
        PassError: an unknown optimizer.
    """
    from perfc.passes.training.optimizer import optimizer

    for name, value in (("batch", batch), ("seq", seq), ("micro-batch", micro_batch)):
        if not 1 <= value <= MOST_BATCH:
            raise ParseError(f"{name} = {value}", where=f"--{name}", hint="1 or more")
    return Training(seq, batch, micro_batch, optimizer(train).name, checkpointing, recipe=recipe)


def named(text: str) -> RecomputePolicy:
    """Return a checkpointing policy by name.

    Raises:
        ParseError: an unknown policy.
    """
    from perfc.common.choice import member

    # the other policies of `RecomputePolicy` choose single blocks or operators, on one device
    policy = member(RecomputePolicy, text, "--checkpointing")
    if policy not in CHECKPOINTINGS:
        hint = "`perfc plan` without it looks at none, selective and block"
        raise ParseError("one block is treated as all are", where="--checkpointing", hint=hint)
    return policy
