"""Query–key pairs that a causal mask or a window leaves, and the keys that any query sees."""

from __future__ import annotations

from ... import Dim, dim_max, dim_min


def triangle(n: Dim) -> Dim:
    """Return ``1 + 2 + … + n``."""
    return n * (n + 1) // 2


def capped_sum(n: Dim, cap: Dim) -> Dim:
    """Return the sum of ``min(i, cap)`` for i from 1 to ``n``; 0 for a negative ``n``."""
    n = dim_max(n, 0)
    low = dim_min(n, cap)
    return triangle(low) + (n - low) * cap


def unmasked_pairs(s: Dim, t: Dim, past: Dim, left: int | None, right: int | None) -> Dim:
    """Return the number of unmasked pairs of ``s`` queries and ``t`` keys.

    Query i is at position ``past + i`` and attends to keys from ``left`` positions before it to
    ``right`` positions after it; None does not limit that side. Causal is ``right = 0``.
    Source: ONNX Attention-25, left_window_size and right_window_size.
    """
    if left is None and right is None:
        return s * t
    if left is None and right == 0 and t - past == s:
        # the usual case in its shortest form: each query attends to the past and a triangle
        return s * past + triangle(s)
    seen: Dim = s * t
    if right is not None:
        # query i (from 0 to s - 1) sees the first past + i + right + 1 keys, at most t. The sum
        # over i runs from past + right + 1 to past + right + s: a difference of two sums from 1
        seen = capped_sum(past + s + right, t) - capped_sum(past + right, t)
    if left is not None:
        # of these keys query i does not see the first past + i - left, summed in the same way
        seen = seen - capped_sum(past + s - 1 - left, t) + capped_sum(past - 1 - left, t)
    return seen


def seen_keys(s: Dim, t: Dim, past: Dim, left: int | None, right: int | None) -> tuple[Dim, Dim]:
    """Return the first key that any query sees and the end of those seen, as `unmasked_pairs`."""
    first: Dim = 0 if left is None else dim_min(dim_max(past - left, 0), t)
    return first, t if right is None else dim_max(dim_min(past + s + right, t), first)
