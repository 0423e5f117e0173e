"""``perfc measure``: run a model and compare predicted with measured times, kernel by kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfc.common.plain_text import say
from perfc.errors import ParseError, PerfcError
from perfc.machine import HOST, load_machine

from ..shared.options import module_options
from ..shared.prelude import (
    DeploymentOptions,
    deployment_options,
    grouped_command,
    parse_top,
    present,
    result_options,
)
from ..shared.progress import reading
from ..shared.table import table_options

if TYPE_CHECKING:
    from perfc.deployment import Deployment
    from perfc.measuring.measure.matching.compare import Measurement
    from perfc.measuring.measure.process import MeasurementProtocol
    from perfc.passes.runtimes import Framework


DOCUMENTS = {
    "measure": "perfc.measuring.measure.matching.compare:Measurement",
    "replay": "perfc.measuring.trace.analyses.replay:ReplayedOperator",
}
"""JSON documents of the command, and the types that define their schemas."""


@grouped_command("measure")
@click.argument("model", type=click.Path(), required=False)
@module_options
@deployment_options
@table_options("measure")
@result_options
def command(
    options: DeploymentOptions,
    model: str | None,
    device: str,
    repeat: int,
    min_time: float,
    limit: float,
    seed: int,
    profiles: tuple[str, ...],
    replay: str | None,
    dataset: Path | None,
    form: str,
    output: Path | None,
    top: str,
) -> int:
    """Run MODEL and compare every measured kernel with its lower bound and prediction.

    Without --target, a CPU is compared with `host`: this machine, measured once by a quick probe.
    For GPUs and for profiles from elsewhere only measurements are shown.
    Missing weights get random values. The runtime's fused kernels are traced back to the nodes of
    the model. Nothing is written before everything is measured.

    `perfc measure --replay trace.json#17` measures one operator of a trace, with random operands.
    """
    from perfc.measuring.measure.json_form import NO_TARGET
    from perfc.measuring.measure.session import measure
    from perfc.measuring.measure.tables import dataset as files

    limit_rows = parse_top(top)
    if (model is None) == (replay is None) or (replay and (profiles or dataset)):
        raise click.UsageError("give MODEL, or --replay TRACE#ROW alone")
    how = as_stored(options.replaced(threads=None))  # the protocol below has the threads
    numbers = {"repeat": repeat, "min_time_s": min_time, "limit_s": limit, "seed": seed}
    protocol = protocol_of(device, options.fields["threads"] or "all", numbers)
    is_stated = options.is_stated("target")
    if model is None:
        show_replay(str(replay), how.target if is_stated else "", protocol, form, output)
        return 0
    target = how.target if is_stated else usual_target(device, profiles)
    if target and not profiles and device.startswith("cpu"):
        machine = load_machine(target)
        # fewer threads than cores: the slice of the processor with that many cores
        if machine.kind == "cpu" and protocol.threads < machine.sm_count:
            target += f"/{protocol.threads}t"
    if dataset is not None:
        files.check_writable(dataset)
    if profiles:
        measurement = from_profiles(model, profiles, target, dict(how.dims))
    else:
        framework = executor(how, options.place("runtime"))
        table = "" if how.table.stands_for else how.table.name  # "": of the usual session
        protocol = replace(protocol, framework=framework, table=table, dtype=how.dtype)
        measurement = measure(options.named(model), target, dims=dict(how.dims), protocol=protocol)
    if dataset is not None:
        append(measurement, dataset)
    present(measurement, form, output, limit_rows)
    if form == "csv" and not measurement.has_target:
        say(NO_TARGET, is_error=True)
    return 0


def protocol_of(device: str, threads: str, numbers: Mapping[str, Any]) -> MeasurementProtocol:
    """Return the settings of a measurement, whose framework depends on the model.

    Raises:
        ParseError: an invalid device or number of threads.
    """
    from perfc.measuring.measure.process import MeasurementProtocol
    from perfc.measuring.measure.session import check_device, threads_of

    check_device(device)
    # however long a run takes, a case ends at three times its least time, or at 20 s, the default
    # of `MeasurementProtocol`, if that is later
    most_s = max(20.0, 3 * numbers["min_time_s"])
    return MeasurementProtocol(
        device=device, threads=threads_of(threads), max_time_s=most_s, **numbers
    )


def show_replay(
    place: str, target: str, protocol: MeasurementProtocol, form: str, output: Path | None
) -> None:
    """Measure one operator of a trace, and write the result."""
    from perfc.measuring.trace.analyses.replay import replayed

    with reading(place.rpartition("#")[0]):
        operator = replayed(place, load_machine(target) if target else None, protocol)
    present(operator, form, output)


def usual_target(device: str, profiles: tuple[str, ...]) -> str:
    """Return the target to compare measurements with; "" if nothing is known of the device."""
    if profiles or not device.startswith("cpu"):
        return ""
    try:
        load_machine(HOST)
    except PerfcError as error:
        say(f"note: this machine cannot be probed, so nothing is compared: {error}", is_error=True)
        return ""
    return HOST


def as_stored(options: DeploymentOptions) -> Deployment:
    """Return the deployment if the model can be measured under it.

    Raises:
        ParseError: the deployment differs from the stored model.
    """
    from dataclasses import fields

    from perfc.deployment import Deployment
    from perfc.passes.runtimes import Framework

    how, default = options.deployment(), Deployment()
    # fields that a measurement follows; any other one must have its default
    chosen = ["target", "runtime", "dims"]
    if how.table.framework in (Framework.TORCH, Framework.OPENVINO):
        chosen.append("dtype")
    for field in [f.name for f in fields(how) if f.name not in chosen]:
        if getattr(how, field) != getattr(default, field):
            place = options.place(field)
            hint = "leave it out" if place.startswith("--") else "--isolated leaves the file out"
            message = "a model is measured as it is stored, forward, on one stream"
            raise ParseError(message, where=place, hint=hint)
    if options.values:
        raise ParseError("inputs are random when a model is measured", where="--value")
    return how


def executor(how: Deployment, place: str) -> Framework:
    """Return the framework that executes the model.

    Raises:
        ParseError: no installed framework does.
    """
    from perfc.measuring.measure.process import PACKAGES
    from perfc.passes.runtimes import Steps, of_steps, tables

    # tables that stand for the sessions of a framework, and the table of compiled code, for which
    # no session stands by default
    compiled = of_steps(Steps.COMPILED)
    runnable = [
        t.name for t in tables() if t.framework in PACKAGES and (t.stands_for or t is compiled)
    ]
    if how.table.name not in runnable:
        hint = f"{', '.join(runnable)} can be, by their sessions"
        raise ParseError(f"{how.table.name} cannot be run here", where=place, hint=hint)
    return how.table.framework


def from_profiles(
    model: str, profiles: tuple[str, ...], target: str, dims: dict[str, int]
) -> Measurement:
    """Read one profile, or a TensorRT profile with its layer information.

    Raises:
        ParseError: too many files.
    """
    from perfc.measuring.measure.session import read_profile

    if not 1 <= len(profiles) <= 2:
        raise ParseError(
            f"{len(profiles)} files",
            where="--profile",
            hint="one, or TensorRT's profile and layers",
        )
    profile, *layers = profiles
    return read_profile(model, profile, target, dims=dims, layers=next(iter(layers), None))


def append(measurement: Measurement, dataset: Path) -> None:
    """Append the kernels of a measurement to a data set, and the model to the file next to it."""
    import datetime

    from perfc.measuring.measure.tables import dataset as files
    from perfc.measuring.measure.tables import rows

    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    files.append(dataset, rows.kernel_rows(measurement))
    files.append(files.models_file(dataset), [rows.model_row(measurement, date)])
