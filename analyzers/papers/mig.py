"""The slice of a GPU that a model fits into (DIPPM, Section 4.3.5)."""

from __future__ import annotations

from perfc.ir.record import frozen

GB = 1e9


@frozen
class MigProfile:
    """One multi-instance profile.

    Args:
        name: ``1g.5gb``.
        capacity_bytes: most memory that a process can use on it.
    """

    name: str
    capacity_bytes: float


A100_40GB = (
    MigProfile("1g.5gb", 5 * GB),
    MigProfile("2g.10gb", 10 * GB),
    MigProfile("3g.20gb", 20 * GB),
    MigProfile("7g.40gb", 40 * GB),
)
"""The four that the paper considers."""
A100_80GB = (
    MigProfile("1g.10gb", 10 * GB),
    MigProfile("2g.20gb", 20 * GB),
    MigProfile("3g.40gb", 40 * GB),
    MigProfile("7g.80gb", 80 * GB),
)
"""The same of the larger one (NVIDIA, Multi-Instance GPU User Guide)."""


def profiles(target: str) -> tuple[MigProfile, ...]:
    """Those of a target by its name; none where they are not known."""
    if not target.startswith("a100"):
        return ()
    return A100_80GB if target.endswith("80gb") else A100_40GB


def mig_profile(
    memory_bytes: float, profiles: tuple[MigProfile, ...] = A100_40GB
) -> MigProfile | None:
    """The smallest profile that holds a predicted memory; None where none does (Eq. 4.2).

    The equation is silent at its bounds: exactly 5 GB do not fit into 5 GB. A memory that is not
    positive was not predicted, so that no profile follows from it.

    Args:
        memory_bytes: as predicted on the whole GPU; on a slice a model takes slightly less, the
            paper finds (Figure 4.3).
        profiles: smallest first.

    >>> mig_profile(2.865e9).name
    '1g.5gb'
    """
    if not memory_bytes > 0:
        return None
    return next((p for p in profiles if memory_bytes < p.capacity_bytes), None)
