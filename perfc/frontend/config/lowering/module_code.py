"""Describe versions of the modules of transformers by what their code copies and casts."""

from __future__ import annotations

from perfc.ir import record


@record
class ModuleCode:
    """Code of a version of transformers, by its launches besides the operators of the model.

    Args:
        before: first version that has other code; None for the newest code.
        widens_scores: scores of tokens are cast to f32.
        copies_operands: queries, keys and values are copied in the order of their axes before
            attention.
        repeats_keys: keys and values are repeated for every head that shares them.
        joins_cache: the first keys and values are joined to an empty cache, which copies them.
    """

    before: tuple[int, int] | None = None
    widens_scores: bool = False
    copies_operands: bool = False
    repeats_keys: bool = False
    joins_cache: bool = False


CODES = (
    ModuleCode((4, 46), widens_scores=True, repeats_keys=True),
    ModuleCode((4, 48), repeats_keys=True),
    ModuleCode((4, 54), copies_operands=True, repeats_keys=True),
    ModuleCode((4, 56), copies_operands=True),
    ModuleCode(joins_cache=True),
)
"""Code of versions, the oldest first, so that the first fitting row counts.

Attention is ``scaled_dot_product_attention``, with no other mask than the causal one.

Source: transformers 4.44.2, 4.47.1, 4.52.4 to 4.57.6: models/qwen2/modeling_qwen2.py,
integrations/sdpa_attention.py, cache_utils.py.
"""


def code_of(version: tuple[int, int] | None) -> ModuleCode:
    """Return the code of a version, of the newest if none is given.

    >>> code_of((4, 52)).copies_operands, code_of(None).copies_operands
    (True, False)
    """
    return next(c for c in CODES if c.before is None or (version and version < c.before))
