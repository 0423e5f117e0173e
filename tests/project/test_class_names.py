"""Names of classes that two modules define."""

from __future__ import annotations

import ast
from collections import Counter

from .sources import LABORATORY, PRODUCT, sources, tree_of

BUDGET = 9
"""Maximum number of such names. Only ever lowered."""
EXEMPT = frozenset(
    {
        # an operator, its problem and its class of kernels share the name of the operation
        "Attention",
        "Collective",
        "Elementwise",
        "Experts",
        "LatentAttention",
        "LinearAttention",
        "MixedAttention",
        "Normalization",
        "Softmax",
        # a rule of the linter is named after its class
        "OpaqueOperator",
        # a pass is named after its class
        "Backward",
    }
)


def repeated() -> dict[str, int]:
    """Return the names of classes at the top level of several modules, with their numbers."""
    trees = map(tree_of, sources(*PRODUCT, *LABORATORY))
    names = Counter(n.name for tree in trees for n in tree.body if isinstance(n, ast.ClassDef))
    return {name: n for name, n in names.items() if n > 1}


def test_class_names_are_unique_but_for_a_few() -> None:
    names = repeated().keys() - EXEMPT
    assert len(names) <= BUDGET, sorted(names)


def test_every_exemption_is_needed() -> None:
    assert repeated().keys() >= EXEMPT
