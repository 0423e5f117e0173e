"""Libraries that create models by name, with random weights; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

from perfc.common.fitted import data_next_to
from perfc.errors import ModelError, suggestion


def of_timm(name: str, kwargs: Mapping[str, Any]) -> Any:
    """Return a model of timm."""
    timm = import_module("timm")
    if not timm.is_model(name):
        hint = suggestion(name, timm.list_models(), "timm.list_models", count=3)
        raise ModelError(f"timm has no model {name}", hint=hint)
    return timm.create_model(name, **kwargs)


def of_torchvision(name: str, kwargs: Mapping[str, Any]) -> Any:
    """Return a model of torchvision."""
    models = import_module("torchvision.models")
    if name not in (known := models.list_models()):
        hint = suggestion(name, known, "torchvision.models.list_models", count=3)
        raise ModelError(f"torchvision has no model {name}", hint=hint)
    make = models.get_model_builder(name)
    no_weights = {
        key: None for key in ("weights", "weights_backbone") if key in parameters_of(make)
    }
    return make(**no_weights, **kwargs)


def of_transformers(name: str, kwargs: Mapping[str, Any]) -> Any:
    """Return a model of transformers."""
    transformers = import_module("transformers")
    # the configuration is that of a class of the library, of `KNOWN`, of the local cache of the
    # hub, or one that perfc ships
    plain, model_class = name.rpartition("/")[2], pretrained(name)
    if model_class is not None:
        config = model_class.config_class()
    elif plain in KNOWN:
        config = transformers.AutoConfig.for_model(**KNOWN[plain])
    else:
        try:
            config = transformers.AutoConfig.from_pretrained(
                name, local_files_only=True, trust_remote_code=False
            )
        except (OSError, ValueError):
            config = transformers.AutoConfig.for_model(**shipped(name))
    # with a cache, keys and values would be results of the model
    config.use_cache = False
    for key, value in kwargs.items():
        setattr(config, key, value)
    architectures = getattr(config, "architectures", None) or [name]
    model_class = pretrained(str(architectures[0]))
    if model_class is not None:
        return model_class(config)
    return transformers.AutoModel.from_config(config, trust_remote_code=False)


def parameters_of(function: Any) -> Mapping[str, Parameter]:
    """Return the parameters of a function by name, without ``*args`` and ``**kwargs``."""
    parameters = signature(function).parameters
    return {n: p for n, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}


def pretrained(name: str) -> Any:
    """Return the class of models in transformers with a name; None if there is none."""
    member = getattr(import_module("transformers"), name, None)
    return member if isinstance(member, type) and hasattr(member, "config_class") else None


def shipped(name: str) -> dict[str, Any]:
    """Return the configuration of a language model that perfc ships.

    Raises:
        ModelError: none has that name.
    """
    from ..formats import configurations

    content = configurations().shipped(name)
    if content is None:
        hint = "a configuration that perfc knows: perfc llm --help"
        raise ModelError(f"no configuration of {name} in the local cache", hint=hint)
    return {k: v for k, v in content.items() if k != "transformers_version"}


LOADED = ("cache_dir", "checkpoint", "pretrained", "weights")
"""Beginnings of the names of arguments with which catalogs load files of weights."""
KNOWN: dict[str, dict[str, Any]] = data_next_to(__file__)
"""Models whose configuration is the default of transformers but for these keys."""
CATALOGS: dict[str, Callable[[str, Mapping[str, Any]], Any]] = {
    "timm": of_timm,
    "torchvision": of_torchvision,
    "transformers": of_transformers,
}
"""Libraries that create models by name."""
