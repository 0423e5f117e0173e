"""Slices of a card (NVIDIA multi-instance GPU): targets derived from the card and a profile.

A profile has a share of the multiprocessors, and one of L2, memory and their bandwidth. Numbers of
one multiprocessor stay. Files of ``targets/slices`` list the profiles of some cards; the user's are
in a folder of that name in the folder of the user's targets. Some cores of a processor are a slice
as well, named by threads (``xeon/4t``): they share its memory, and their sustained rates are
between those of one core and of all cores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import cast

from perfc.common.toml_file import parse, read_text
from perfc.errors import ParseError, TargetError
from perfc.ir import Origin, record

from .folders import SHIPPED, files_in, user_folder
from .machine import Machine, MemoryLevel, Peak, Rate, Source

FOLDER = "slices"
"""Folder of the files of profiles, within a folder of targets."""
PROFILE = r"(\d{1,2})g\.(\d{1,4})gb"
"""Pattern of the name of a profile: compute slices, and memory in GB."""
CORES = r"(\d{1,4})t"
"""Pattern of the name of some cores of a processor: number of threads that run kernels."""
SOURCE = "slices"
"""Name of the source of a profile's numbers, in addition to the sources of the card."""
_WHOLE = ("sm_count", "memory_slices", "capacity_bytes", "instances")
"""Keys of a profile that are whole numbers."""


@record
class SliceProfile:
    """A way of cutting one slice.

    Args:
        name: name of the profile, such as ``3g.20gb``.
        sm_count: number of multiprocessors.
        compute_slices: number of the card's compute slices.
        compute_share: share of the card's compute slices.
        memory_share: share of the card's memory, L2 and bandwidth of both.
        capacity_bytes: memory that a process can use.
        instances: number of such slices that fit on one card.
        note: parts that the vendor does not document.
    """

    name: str
    sm_count: int
    compute_slices: int
    compute_share: float
    memory_share: float
    capacity_bytes: int
    instances: int
    note: str = ""

    @property
    def card_share(self) -> float:
        """Return the share of the card that others cannot use: the larger of the two."""
        return max(self.compute_share, self.memory_share)


@record
class Partition:
    """Profiles into which some cards can be divided.

    Args:
        cards: names of targets.
        profiles: profiles, smallest memory first.
        source: source of the profiles.
        path: file of the profiles.
    """

    cards: tuple[str, ...]
    profiles: tuple[SliceProfile, ...]
    source: Source
    path: Path


def partition_of(machine: Machine) -> Partition | None:
    """Return the profiles of a card; None if no file lists them.

    Raises:
        TargetError: an invalid file.
    """
    return next((p for p in partitions() if machine.name in p.cards), None)


def partitions() -> Iterator[Partition]:
    """Yield the profiles of all files, the user's first.

    Raises:
        TargetError: an invalid file.
    """
    for folder in (user_folder(), SHIPPED):
        yield from map(read_partition, files_in(folder / FOLDER))


@cache
def read_partition(path: Path) -> Partition:
    """Return the profiles in a file.

    Raises:
        TargetError: the file is invalid.
    """
    try:
        tree = parse(read_text(path, 131_072), path)
    except ParseError as error:
        raise TargetError(error.message, where=str(path)) from None
    # numbers of a whole card, of which profiles have shares
    cards, source = tree.get("cards"), tree.get("source")
    of = {key: _whole(tree, key, path) for key in ("compute_slices", "memory_slices")}
    tables = tree.get("profile")
    named = isinstance(cards, list) and all(isinstance(c, str) for c in cards)
    if tree.get("schema") != 1 or not named or not isinstance(tables, list):
        raise TargetError("needs schema = 1, cards = [...] and [[profile]]", where=str(path))
    if not isinstance(source, dict) or not isinstance(source.get("title"), str):
        raise TargetError("needs [source] with a title", where=str(path))
    texts = {k: str(source.get(k, "")) for k in ("title", "date", "note")}
    origin = {o.name.lower(): o for o in (Origin.VENDOR, Origin.MEASURED)}.get(
        str(source.get("origin")), Origin.ASSUMED
    )
    profiles = tuple(_profile(t, of, path) for t in tables)
    return Partition(
        tuple(cast("list[str]", cards)),
        tuple(sorted(profiles, key=lambda p: (p.capacity_bytes, p.sm_count))),
        Source(SOURCE, origin, texts["title"], texts["date"], texts["note"]),
        path,
    )


def _profile(table: object, of: Mapping[str, int], path: Path) -> SliceProfile:
    """Return the profile of a table; ``of`` has the numbers of slices of the whole card."""
    name = table.get("name") if isinstance(table, dict) else None
    match = re.fullmatch(PROFILE, name) if isinstance(name, str) else None
    if match is None or not isinstance(table, dict):
        raise TargetError(f"no name of a profile: {str(name)[:32]!r}", where=str(path))
    n = {key: _whole(table, key, path) for key in _WHOLE}
    compute = int(match[1])
    if compute > of["compute_slices"] or n["memory_slices"] > of["memory_slices"]:
        raise TargetError(f"{match[0]} is larger than its card", where=str(path))
    return SliceProfile(
        match[0],
        n["sm_count"],
        compute,
        compute / of["compute_slices"],
        n["memory_slices"] / of["memory_slices"],
        n["capacity_bytes"],
        n["instances"],
        str(table.get("note", ""))[:200],
    )


def _whole(table: Mapping[str, object], key: str, path: Path) -> int:
    """Return a positive integer of a table."""
    value = table.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 1 << 50:
        raise TargetError(f"{key} must be a whole number above zero", where=str(path))
    return value


def split(text: str) -> tuple[str, str]:
    """Return card and profile of a name such as ``a100/3g.20gb``; "" without a profile.

    >>> split("a100-40gb/3g.20gb"), split("host/1t"), split("folder/a100.toml")
    (('a100-40gb', '3g.20gb'), ('host', '1t'), ('folder/a100.toml', ''))
    """
    card, _, name = text.rpartition("/")
    return (card, name) if card and re.fullmatch(f"{PROFILE}|{CORES}", name) else (text, "")


def sliced(card: Machine, name: str) -> Machine:
    """Return the slice of a card as a separate machine.

    Raises:
        TargetError: the card has no profile of that name.
    """
    # a processor has no file of profiles: any number of its cores is one
    partition = cores_of(card) if card.kind == "cpu" else partition_of(card)
    if partition is None:
        known = ", ".join(c for p in partitions() for c in p.cards)
        raise TargetError(f"no known slices of {card.name}", hint=f"there are those of {known}")
    profile = next((p for p in partition.profiles if p.name == name), None)
    if profile is None:
        hint = f"there are {', '.join(p.name for p in partition.profiles)}"
        raise TargetError(f"{card.name} has no slice {name!r}", hint=hint)
    return _Cut(card, profile, partition).machine()


def cores_of(card: Machine) -> Partition:
    """Return the numbers of a processor's cores as profiles."""
    cores, capacity = card.sm_count, card.memory[-1].capacity_bytes
    profiles = [
        SliceProfile(
            f"{n}t",
            sm_count=n,
            compute_slices=n,
            compute_share=n / cores,
            memory_share=1.0,
            capacity_bytes=capacity,
            instances=cores // n,
        )
        for n in range(1, cores + 1)
    ]
    source = Source(SOURCE, Origin.ASSUMED, "between one core and all")
    return Partition((card.name,), tuple(profiles), source, card.path)


@record
class _Cut:
    """Derivation of a slice's numbers from those of its card and its profile."""

    card: Machine
    profile: SliceProfile
    partition: Partition

    def machine(self) -> Machine:
        """Return the slice."""
        card, profile = self.card, self.profile
        facts = {k: self.fact(k, r) for k, r in card.facts.items() if self.has(k)}
        memory = tuple(self.level(m) for m in card.memory)
        share = profile.sm_count / card.sm_count
        return replace(
            card,
            name=f"{card.name}/{profile.name}",
            aliases=(),
            description=f"{card.description.partition(' (')[0]} slice {profile.name}",
            sources={**card.sources, SOURCE: self.partition.source},
            compute={key: self.peak(p, share) for key, p in card.compute.items()},
            memory=memory,
            facts=facts,
            path=card.path / profile.name,
            slice=profile,
        )

    def has(self, key: str) -> bool:
        """Return True if a slice has a number of the card.

        Slices are not connected over NVLink, and fits to kernels of the whole card do not apply.
        """
        return self.card.kind == "cpu" or not key.startswith(("link.nvlink", "adaptation."))

    def share(self, key: str) -> float:
        """Return the share of a card's number that the slice has."""
        # measured with one core and with all cores: the number of cores interpolates
        one = self.card.facts.get(key.replace("sustained", "one_core"))
        if one is not None and "sustained" in key:
            alone = min(one.value / self.card.facts[key].value, 1.0)
            # one core reaches more than its share of all, as cores share memory and power
            others = (self.profile.sm_count - 1) / max(self.card.sm_count - 1, 1)
            return alone + (1 - alone) * others
        # rates of L2 and memory are divided, the latency of one access is not
        if key.startswith(("memory.l2", "memory.device")):
            return 1.0 if key.endswith("latency_s") else self.profile.memory_share
        if key.startswith("price.") or key.endswith("_w"):
            return self.profile.card_share
        # a clock, a size per multiprocessor, a latency or an energy is the same in a slice
        is_each = key.startswith(("link.", "device.")) or "one_core" in key
        if is_each or key.endswith(("_per_sm", "latency_s", "_j")):
            return 1.0
        return self.profile.sm_count / self.card.sm_count

    def fact(self, key: str, rate: Rate) -> Rate:
        """Return a number of the slice."""
        match key:
            case "device.sm_count":
                return self.given(rate, self.profile.sm_count)
            case "memory.device.capacity_bytes" | "memory.device.usable_bytes":
                return self.given(rate, self.profile.capacity_bytes)
            case _:
                return self.part(rate, self.share(key))

    def given(self, rate: Rate, value: float) -> Rate:
        """Return a number of the profile itself, in place of a share of the card's.

        It is assumed if the vendor does not document all of the profile.
        """
        origin = Origin.ASSUMED if self.profile.note else self.partition.source.origin
        return replace(rate, value=value, origin=origin, source=SOURCE, note=self.profile.note)

    def part(self, rate: Rate, share: float) -> Rate:
        """Return a rate times ``share``; a share of a measured rate is an assumed one."""
        if share == 1:
            return rate
        is_measured = rate.origin is Origin.MEASURED
        # the weaker of the two origins, which are in order of certainty
        origin = Origin.ASSUMED if is_measured else max(rate.origin, self.partition.source.origin)
        source = "+".join(dict.fromkeys((*rate.source.split("+"), SOURCE)))
        note = f"{share:.4g} of the card's"
        return replace(
            rate, value=rate.value * share, origin=origin, source=source, note=note, spread=None
        )

    def peak(self, peak: Peak, share: float) -> Peak:
        """Return the rates of a unit of the slice."""
        measured = peak.sustained
        sustained = None if measured is None else self.fact(measured.key, measured)
        return Peak(self.part(peak.peak, share), self.part(peak.nominal, share), sustained)

    def level(self, level: MemoryLevel) -> MemoryLevel:
        """Return a memory level of the slice."""
        profile, card = self.profile, self.card
        # L2 and memory are divided by memory slices, L1 belongs to multiprocessors
        by_memory = level.name in ("l2", "device")
        share = profile.memory_share if by_memory else profile.sm_count / card.sm_count
        is_device = level.name == "device"
        capacity = profile.capacity_bytes if is_device else int(level.capacity_bytes * share)
        measured = level.sustained
        sustained = None if measured is None else self.fact(measured.key, measured)
        usable = None if level.usable is None else self.given(level.usable, capacity)
        return MemoryLevel(
            level.name,
            capacity,
            self.part(level.bandwidth, share),
            self.part(level.nominal, share),
            sustained,
            usable,
        )
