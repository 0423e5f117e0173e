"""Targets: rates and capacities of machines, with the source of every number."""

from __future__ import annotations

from .capacity import CONTEXT_BYTES, NOTHING, Capacity, Reserve, capacity_of
from .catalog import add, list_clusters, list_machines, load_machine, render_markdown, validate
from .cluster import Cluster
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
)
from .slices import Partition, SliceProfile, partition_of, partitions, split

__all__ = [
    "CONTEXT_BYTES",
    "HOST",
    "NOTHING",
    "UNCERTAIN",
    "Capacity",
    "Cluster",
    "Listing",
    "Machine",
    "MemoryLevel",
    "Partition",
    "Peak",
    "Rate",
    "Reserve",
    "SliceProfile",
    "Source",
    "Spread",
    "Unit",
    "add",
    "capacity_of",
    "list_clusters",
    "list_machines",
    "load_machine",
    "partition_of",
    "partitions",
    "render_markdown",
    "split",
    "validate",
]
