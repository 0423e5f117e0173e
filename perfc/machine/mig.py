"""The slice of a GPU that a model fits into (DIPPM, Section 4.3.5)."""

from __future__ import annotations

from perfc.ir import frozen
from perfc.machine import SliceProfile, load_machine, partition_of

GB = 1e9
"""Bytes of a ``gb`` in the name of a profile."""


@frozen
class MigProfile:
    """One multi-instance profile.

    Args:
        name: ``1g.5gb``.
        capacity_bytes: most memory that a process can use on it.
    """

    name: str
    capacity_bytes: float


def profiles(target: str) -> tuple[MigProfile, ...]:
    """Return the profiles to choose from, from small to large; () without a file of slices.

    The paper has one profile per number of compute slices. Where a number has several, as
    ``1g.5gb`` and ``1g.10gb``, it is the smallest that has more memory than all profiles before.
    """
    partition = partition_of(load_machine(target))
    chosen: list[MigProfile] = []
    for profile in sorted(partition.profiles if partition else (), key=_size):
        capacity_bytes = int(profile.name.partition(".")[2].removesuffix("gb")) * GB
        has_new_slices = not chosen or not profile.name.startswith(
            chosen[-1].name.partition(".")[0]
        )
        if has_new_slices and (not chosen or capacity_bytes > chosen[-1].capacity_bytes):
            chosen.append(MigProfile(profile.name, capacity_bytes))
    return tuple(chosen)


def _size(profile: SliceProfile) -> tuple[int, int]:
    return profile.compute_slices, profile.capacity_bytes


def mig_profile(memory_bytes: float, target: str = "a100-sxm4-40gb") -> MigProfile | None:
    """Return the smallest profile that holds a predicted memory; None if none does (Eq. 4.2).

    The equation has none at its bounds; here 5 GB do not fit into 5 GB. A memory that is not
    positive was not predicted, so that no profile follows from it.

    Args:
        memory_bytes: as predicted on the whole GPU; on a slice a model takes slightly less, the
            paper finds (Figure 4.3).
        target: the card; by default that of the paper.

    >>> mig_profile(2.865e9).name
    '1g.5gb'
    """
    if not memory_bytes > 0:
        return None
    return next((p for p in profiles(target) if memory_bytes < p.capacity_bytes), None)
