"""Predicted step of a module, as tests ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from perfc.analyzers.artefacts import artefact
from perfc.analyzers.steps.columns import Columns, columns
from perfc.analyzers.steps.launches import Launch, launches
from perfc.analyzers.steps.predict import StepEstimate, estimate, weights_name
from perfc.analyzers.steps.setting import Setting
from perfc.ir.graph import Module
from perfc.machine import Machine
from perfc.passes.manager import Analyses
from perfc_lab.tables.training_step import step_launches


def predict_step(
    columns: Columns, setting: Setting, machine: Machine, *, folder: Path = artefact.SHIPPED
) -> StepEstimate:
    """Predict a step with the weights of its way of running in a folder."""
    weights = _loaded(folder / f"{weights_name(setting.mode)}.json")
    return estimate(weights, columns, setting, machine)


def predict_module(
    module: Module, env: Mapping[str, int], setting: Setting, machine: Machine
) -> tuple[list[Launch], StepEstimate]:
    """Return the launches of a canonical f32 module at given extents, and their predicted step.

    In training the module is canonical with its parameters kept.
    """
    launches_of = step_launches if setting.training else launches
    listed = launches_of(module, Analyses(), setting, [env])[1]
    return listed, predict_step(columns(listed), setting, machine)


_loaded = cache(artefact.load)
