"""``perfc llm CONFIG --predictor NAME``: the prediction of a published predictor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..shared.document import present
from ..shared.output import deliver

if TYPE_CHECKING:
    from perfc.deployment.prices import Region
    from perfc.machine.parallel import Parallel


def show_published(
    predictor: str,
    model: str,
    given: tuple[str, ...],
    parallel: Parallel,
    load: Mapping[str, Any],
    grid: Region,
    form: str,
    output: Path | None,
) -> int:
    """Write the prediction of a published predictor.

    Args:
        predictor: its name.
        model: configuration of the model.
        given: target, format of the weights, runtime and its version, each "" for the default.
        parallel: degrees of parallelism.
        load: options of the load and the engine, by name.
        grid: electricity grid of the CO2.
        form: output format; HTML also has perfc's own answer.
        output: output file; standard output if None.
    """
    from perfc.frontend.config import read_config
    from perfc.machine import load_machine
    from perfc.serving.output.published import ModelRun, published

    target, weights, runtime, version = given
    run = ModelRun(
        read_config(model, load["like"]),
        load_machine(target).name,
        runtime=runtime,
        version=version,
        weights=weights,
        cache=load["kv_dtype"],
        # the predictor takes the degrees of one replica, and the number of replicas
        parallel=replace(parallel, data=1),
        engines=parallel.data,
        isl=load["isl"],
        osl=load["osl"],
        batch=load["concurrency"],
        is_offline=load["offline"],
    )
    if form == "html":
        from perfc.serving.output.published_page import published_page

        deliver(published_page(predictor, run, grid), output)
        return 0
    present(published(predictor, run), form, output, grid)
    return 0
