"""What a whole run of a model takes, from its graph: an ONNX model or a PyTorch module."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from perfc.analyzers.graph.rows import Quantity
from perfc.analyzers.steps.setting import Setting
from perfc.analyzers.whole_runs.estimate import Estimate, at_sizes, estimate
from perfc.analyzers.whole_runs.shipped import known_name, named, newest
from perfc.analyzers.whole_runs.whole_run import batch_symbol, element
from perfc.api import located, read
from perfc.choice import member
from perfc.deployment import Deployment, DeploymentKeywords, of_whole_runs
from perfc.extents import sized
from perfc.former_names import Former
from perfc.frontend.torch_module import check_example, exported, is_torch_module
from perfc.ir.graph import Module
from perfc.ir.rewrite import with_defaults


class PredictKeywords(DeploymentKeywords, total=False):
    """The fields of a deployment, and what some were called before the next release."""

    precision: str
    compiled: bool
    channels_last: bool
    training: bool
    version: tuple[int, int] | None


def predict(
    model: Any,
    target: str | int | None = None,
    input: Sequence[int] | None = None,
    device: str | None = None,
    *,
    values: Mapping[str, Any] | None = None,
    predictor: str = "",
    quantity: str = "time_s",
    deployment: Deployment | None = None,
    **keywords: Unpack[PredictKeywords],
) -> Estimate:
    """Predict a whole run of a model in PyTorch, by weights learned from measured ones.

    Args:
        model: a path, a serialized model, an ``onnx.ModelProto``, a ``torch.nn.Module`` or a
            module of the IR.
        target: name or file of a target; ``rtx4090`` by default. A number is an old ``batch``.
        input: extents of one example, ``(3, 224, 224)``, or ``(128,)`` of a sequence of tokens; a
            module cannot do without.
        device: the old name of ``target``.
        values: contents of inputs that drive shapes, nested lists or arrays.
        predictor: name of weights that come with perfc, or the card of others.
        quantity: ``time_s``, ``memory_bytes``, ``energy_j`` or ``power_w``.
        deployment: how the model is run, as one value; by default in PyTorch, eager, under
            autocast to f16.
        keywords: the fields of a ``Deployment``, over those of ``deployment``: ``runtime``,
            ``framework``, ``runtime_version``, ``dtype``, ``tf32``, ``layout``, ``streams``,
            ``mode``, ``host_launch``, ``dims``.
            ``batch`` and ``seq`` are short for ``dims={"batch": …}`` and ``dims={"seq": …}``.

    Raises:
        PerfcError: the model cannot be read, sizes contradict it, target or predictor is not known,
            or no whole runs were measured in such a way.
        MissingExtraError: a module without PyTorch's exporter.

    >>> found = predict("examples/models/resnet50.onnx.gz", "rtx4090", dims={"batch": 8})
    >>> found.floor_s <= found.low <= found.value <= found.high
    True
    """
    typed: dict[str, Any] = {**keywords}
    if device is not None:
        typed["device"] = device
    if isinstance(target, str):
        typed["target"] = target
    elif target is not None:
        typed["batch"] = target
    former = Former.of(typed)
    if note := former.note(lambda name, value: f"{name}={value!r}", str):
        warnings.warn(note, DeprecationWarning, stacklevel=2)
    how = (deployment or of_whole_runs()).stated(former.values)
    return predict_as(
        model, how, example=input, values=values, predictor=predictor, quantity=quantity
    )


def predict_as(
    model: Any,
    deployment: Deployment,
    *,
    example: Sequence[int] | None = None,
    values: Mapping[str, Any] | None = None,
    predictor: str = "",
    quantity: str = "time_s",
) -> Estimate:
    """Predict a whole run of a model under a deployment; see `predict`.

    Args:
        model: as of `predict`.
        deployment: how it is run.
        example: extents of one example.
        values: contents of inputs that drive shapes.
        predictor: name of weights, or the card of others.
        quantity: that is predicted.

    Raises:
        PerfcError: as `predict`.
    """
    wanted = member(Quantity, quantity, "quantity")
    card = named(predictor, wanted) if predictor else None
    with located(model):
        module, given = module_of(model, example, deployment.dims, values)
        setting = Setting.of(deployment, element(module))
        name = known_name(deployment.target)
        setting = newest(card, name, setting, wanted, deployment.version)
        symbol = batch_symbol(module)
        batch = given.pop(symbol, None) if symbol is not None else None
        module = at_sizes(module, batch, given)
    return estimate(module, card, deployment.target, setting, batch, given, quantity=wanted)


def module_of(
    model: Any,
    example: Sequence[int] | None,
    dims: Mapping[str, int],
    values: Mapping[str, Any] | None = None,
) -> tuple[Module, dict[str, int]]:
    """The module of a model, exported first where it is PyTorch's, and the sizes of its symbols.

    Raises:
        ModelError: its input has other extents.
        ParseError: a size or a content is none of its own.
    """
    if isinstance(model, Module):
        return sized(model, dims)
    if is_torch_module(model):
        return sized(exported(model, example), dims)
    module, given = read(model, dims, values)
    module = with_defaults(module, given)
    if example is not None:
        check_example(module, example)
    return module, given
