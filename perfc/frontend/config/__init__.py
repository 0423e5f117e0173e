"""Read language models from the configuration that Hugging Face publishes with their weights.

`read_config` returns a description, a `LanguageModel`; `lower` turns it into a graph of operators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from perfc.ir import ModelOrigin, Module
from perfc.machine.parallel import Parallel as Parallel

from ..checkpoints.sources import is_config as is_config
from ..checkpoints.sources import read_source
from ..checkpoints.sources import shipped as shipped
from .adapters import adapted as adapted
from .drafting import token_predictor as token_predictor
from .drafting import verifying as verifying
from .images import with_images as with_images
from .lowering import lower as lower
from .lowering import lower_images as lower_images
from .lowering import usual_sequence as usual_sequence
from .lowering.module_code import ModuleCode as ModuleCode
from .lowering.module_code import code_of as code_of
from .lowering.step import ForwardStep as ForwardStep
from .model import OF_IMAGES as OF_IMAGES
from .model import Adapters as Adapters
from .model import LanguageModel as LanguageModel
from .model import Sampling as Sampling
from .precision import ServingPrecision as ServingPrecision
from .precision import WeightFormat as WeightFormat
from .precision import in_half as in_half
from .precision import precision_of as precision_of
from .precision import runnable as runnable
from .precision import weight_format as weight_format
from .reader import model_of
from .reader import read_config as read_config


def load_config(
    source: str,
    dims: Mapping[str, int],
    *,
    is_trained: bool = False,
    code: ModuleCode | None = None,
    trained_in: ServingPrecision | None = None,
) -> Module:
    """Return the first pass over prompts, or over inputs, of a configuration's model.

    Args:
        source: path, folder or shipped name.
        dims: values for the symbols; they become their defaults.
        is_trained: whether a training step is made of it: the scores of every token, no caches.
        code: code of the modules of transformers that run, which training steps ignore; None for
            kernels of serving engines.
        trained_in: element types of a step that runs as trainers' kernels; None for other steps.

    Raises:
        ModelError: as `read_config` and `lower`.
    """
    from perfc.ir.graphs.rewrite import with_defaults

    step = ForwardStep.TRAINING if is_trained else ForwardStep.PREFILL
    given = read_source(source)
    model = model_of(given)
    module = lower(
        model, step, trained_in, code=None if is_trained else code, writes_out=trained_in is None
    )
    module = replace(module, origin=ModelOrigin(source, given.digest, assumed=model.assumption))
    # a size of a symbol that this model lacks is ignored
    declared = {s.name for s in module.symbols}
    return with_defaults(module, {n: v for n, v in dims.items() if n in declared})
