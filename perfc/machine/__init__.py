"""Targets: what a machine can do, with the source of every number."""

from __future__ import annotations

from .machine import (
    HOST,
    UNCERTAIN,
    Listing,
    Machine,
    MemoryLevel,
    Peak,
    Rate,
    Source,
    Spread,
    Unit,
    add,
    list_machines,
    load_machine,
    render_markdown,
    validate,
)
from .slices import Partition, Profile, partition_of, partitions, split

__all__ = [
    "HOST",
    "UNCERTAIN",
    "Listing",
    "Machine",
    "MemoryLevel",
    "Partition",
    "Peak",
    "Profile",
    "Rate",
    "Source",
    "Spread",
    "Unit",
    "add",
    "list_machines",
    "load_machine",
    "partition_of",
    "partitions",
    "render_markdown",
    "split",
    "validate",
]
