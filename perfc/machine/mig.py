"""Choose the slice of a GPU (MIG profile) that has a model's memory (DIPPM, Section 4.3.5)."""

from __future__ import annotations

from perfc.ir import frozen
from perfc.machine import SliceProfile, load_machine, partition_of

GB = 1e9
"""Bytes of ``gb`` in the name of a profile."""


@frozen
class MigProfile:
    """One multi-instance profile.

    Args:
        name: name of the profile, such as ``1g.5gb``.
        capacity_bytes: memory by its name, in bytes.
    """

    name: str
    capacity_bytes: float


def profiles(target: str) -> tuple[MigProfile, ...]:
    """Return the profiles to choose from, from small to large; () without a file of slices.

    The paper has one profile per number of compute slices. Of several with one number, such as
    ``1g.5gb`` and ``1g.10gb``, the smallest counts that has more memory than all before.
    """
    partition = partition_of(load_machine(target))
    chosen: list[MigProfile] = []
    for profile in sorted(partition.profiles if partition else (), key=_size):
        capacity_bytes = int(profile.name.partition(".")[2].removesuffix("gb")) * GB
        # the first profile of each number of compute slices: ``1g`` is the part before the point
        has_new_slices = not chosen or not profile.name.startswith(
            chosen[-1].name.partition(".")[0]
        )
        if has_new_slices and (not chosen or capacity_bytes > chosen[-1].capacity_bytes):
            chosen.append(MigProfile(profile.name, capacity_bytes))
    return tuple(chosen)


def _size(profile: SliceProfile) -> tuple[int, int]:
    """Return the sort key of profiles: compute slices, then memory."""
    return profile.compute_slices, profile.capacity_bytes


def mig_profile(memory_bytes: float, target: str = "a100-sxm4-40gb") -> MigProfile | None:
    """Return the smallest profile that holds a predicted memory; None if none does (Eq. 4.2).

    The equation has no profile exactly at its bounds; here 5 GB do not fit into 5 GB. Memory that
    is not positive is no prediction, and has no profile.

    Args:
        memory_bytes: memory predicted on the whole GPU; on a slice it is slightly less (Figure
            4.3 of the paper).
        target: the card; by default that of the paper.

    >>> mig_profile(2.865e9).name
    '1g.5gb'
    """
    # negated, so that NaN has no profile either
    if not memory_bytes > 0:
        return None
    return next((p for p in profiles(target) if memory_bytes < p.capacity_bytes), None)
