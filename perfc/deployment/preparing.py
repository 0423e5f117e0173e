"""Prepare a typed module for execution in a deployment."""

from __future__ import annotations

from perfc.deployment import Deployment
from perfc.ir import Module
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize


def prepared(source: Module, how: Deployment, am: Analyses) -> Module:
    """Fold a typed module, apply its precision and, for training, build the step.

    Raises:
        PassError: an unknown precision, or an operator without a gradient.
    """
    module = am.apply(
        Canonicalize(keeps_parameters=how.runs_parameters, exports=how.table.takes_exports), source
    )
    if how.train:
        # exporters store equal parameters of several modules once; training updates each parameter
        from perfc.passes.rewriting.untie import Untie

        module = am.apply(Untie(), module)
    if dtype := how.executed(source):
        from perfc.passes.precision.what_if import what_if

        module = am.apply(what_if(dtype, trained_by=how.trained_by), module)
    recipe = how.recipe
    return module if recipe is None else am.apply(recipe, module)
