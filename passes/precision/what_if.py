"""The transform that puts a model in a precision."""

from __future__ import annotations

from .. import Transform
from .retype import (
    AUTOCAST,
    Retype,
    precision_name,
)


def what_if(dtype: str, *, trained_by: str = "") -> Transform:
    """Return the transform that puts a model in a precision, given any spelling of its name.

    Args:
        dtype: name of the precision.
        trained_by: name of the eager fusion table of the framework that runs the training step,
            whose casts decide the types of saved tensors; "" for a forward pass.

    Raises:
        PassError: the precision is unknown.

    >>> what_if("amp-bf16")
    Mixed(dtype='bf16')
    """
    name = precision_name(dtype)
    narrow = AUTOCAST.get(name)
    if narrow is None:
        return Retype(name)
    from .casts import Casts
    from .mixed import Mixed

    return Casts(narrow, trained_by) if trained_by else Mixed(narrow)
