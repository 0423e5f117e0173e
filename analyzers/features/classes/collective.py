"""Kernel class of collectives among the GPUs of one or several nodes.

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` from the features here, in logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from perfc.common.fitted import FILE_NAME, read_constants
from perfc.machine import Cluster
from perfc.machine.cluster import UNKNOWN_LINK_BYTES_PER_S

from .. import networks, physics
from ..distance import vendor
from ..networks import EXCHANGES, Operation
from ..rows import Protocol
from ..sheet import Sheet
from . import Amounts, Array, Columns, KernelClass

_CONSTANTS = read_constants(Path(__file__).parents[1] / FILE_NAME)
LAW_LOW, LAW_HIGH = _CONSTANTS["network_law"].numbers
"""Interval of measured over expected time of collectives between nodes."""
INTEL_LAUNCH_S = _CONSTANTS["intel_launch_s"].number
"""Shortest kernel on Intel's GPUs, for which no engine records graphs."""


class Collective(KernelClass):
    """``operation`` on ``nbytes`` among ``ranks`` GPUs of the same kind.

    ``nbytes`` is the whole message of one rank: the summand of an all-reduce, the result of an
    all-gather, the operand of a reduce-scatter. ``joined`` is the number of ranks that the fast
    link (NVLink) connects, 0 for all; ``nodes`` is the number of nodes of the ranks.

    Collectives between nodes have a law (`networks`) instead of a forest. Leaves out the topology
    of PCIe switches and sockets, which no data sheet of a GPU states.
    """

    name = "collective"
    parameters = ("operation", "ranks", "nbytes")
    optional = {"joined": 0, "nodes": 1}

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Return the amounts: memory is read and written once; additions are not counted."""
        nothing = np.zeros_like(rows["nbytes"])
        return Amounts(nothing, nothing, nothing, nothing, rows["nbytes"], rows["nbytes"])

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Return the features: sizes and wire times, ranks, and the link."""
        log = np.log2
        wire_s = wire_bytes(rows) / link_bytes_per_s(rows, sheet)
        # a ring takes n - 1 steps to reduce and n - 1 to gather, all others one round of n - 1
        rounds = np.where(rows["operation"] == Operation.ALL_REDUCE, 2.0, 1.0)
        ring = rounds * (rows["ranks"] - 1)
        features = {
            "log_nbytes": log(rows["nbytes"]),
            "log_shard_bytes": log(rows["nbytes"] / rows["ranks"]),
            "log_wire_s": log(wire_s),
            "log_step_s": log(wire_s / ring),
            "ring_steps": ring,
            "ranks": rows["ranks"],
            "nodes": rows["nodes"],
            "fast": fast(rows, sheet).astype(float),
            "log_link": log(link_bytes_per_s(rows, sheet)),
            # bytes without a type (i8, u8), or 16-bit numbers; wider types were not measured
            "bits": np.full_like(wire_s, 8.0 if dtype in ("i8", "u8") else 16.0),
        }
        for operation in Operation:
            features[operation.name.lower()] = (rows["operation"] == operation).astype(float)
        return features

    def scale_s(self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol) -> Array:
        """Return the time of the bytes over the link plus a launch.

        Over PCIe an all-reduce is a ring, which sends ``2·(n − 1)/n`` of the message.
        """
        is_ring = (_direct(rows, sheet) == 0) & (rows["operation"] == Operation.ALL_REDUCE)
        ring_share = 2 * (rows["ranks"] - 1) / rows["ranks"]
        wire_s = wire_bytes(rows) * np.where(is_ring, ring_share, 1) / link_bytes_per_s(rows, sheet)
        # a launch in a recorded graph, or one by the host where graphs do not exist
        is_recorded = sheet.machine.vendor != "Intel"
        return wire_s + (physics.latency_s(protocol, sheet) if is_recorded else INTEL_LAUNCH_S)

    def place(self, sheet: Sheet, dtype: str) -> tuple[float, ...]:
        """Return coordinates by the rate of the link between ranks, and by the vendor.

        Distances are root mean squares over the two coordinates: with the factor √2, twice the rate
        is a distance of 1.
        """
        rate = sheet.machine.direct_bytes_per_s or _host(sheet) or UNKNOWN_LINK_BYTES_PER_S
        return math.sqrt(2) * math.log2(rate), vendor(sheet)

    def floor_s(self, rows: Columns, dtype: str, sheet: Sheet) -> Array:
        """Return the lower bound by a rank's fastest link in one direction; 0 if none is declared.

        A single rank sends nothing. Between nodes, all adapters of a node carry the bytes that must
        leave it.
        """
        declared = [rate for rate in (sheet.machine.direct_bytes_per_s, _host(sheet)) if rate]
        best = max(declared, default=np.inf)
        floor_s: Array = np.where(rows["ranks"] > 1, wire_bytes(rows) / best, 0.0)
        for at, message in _by_law(rows, sheet):
            floor_s[at] = max(floor_s[at], networks.least_s(message, Cluster.of(sheet.machine)))
        return floor_s

    def stated_s(self, rows: Columns, sheet: Sheet) -> tuple[Array, Array, Array] | None:
        """Return times by the law of links, for collectives between nodes and for send–receive.

        Too few of these were measured for a forest.
        """
        expected = np.full(len(rows["ranks"]), np.nan)
        for at, message in _by_law(rows, sheet):
            expected[at] = networks.time_s(message)
        if np.isnan(expected).all():
            return None
        # rows that are not NaN here bypass the forest
        return expected * LAW_LOW, expected, expected * LAW_HIGH


def _by_law(rows: Columns, sheet: Sheet) -> Iterator[tuple[int, networks.LinkExchange]]:
    """Yield index and message of each row whose time the law in `networks` gives."""
    is_pair = rows["operation"] == Operation.SEND_RECEIVE
    has_law = ((rows["nodes"] > 1) | is_pair) & (rows["ranks"] > 1)
    cluster = Cluster.of(sheet.machine)
    for index in np.flatnonzero(has_law):
        operation, nbytes, ranks, nodes = (
            rows[name][index] for name in ("operation", "nbytes", "ranks", "nodes")
        )
        exchange = EXCHANGES[Operation(int(operation))]
        yield (
            int(index),
            networks.LinkExchange.of(exchange, float(nbytes), int(ranks), int(nodes), cluster),
        )


def wire_bytes(rows: Columns) -> Array:
    """Return the least bytes that enter or leave one rank in one direction.

    In an all-reduce each rank sends its summand and receives the sum, even if switches add: the
    message once, less than the ``2·(n − 1)/n`` of a ring. A send needs the message once as well,
    all others ``(n − 1)/n`` of it.
    """
    is_whole = (rows["operation"] == Operation.ALL_REDUCE) | (
        rows["operation"] == Operation.SEND_RECEIVE
    )
    return rows["nbytes"] * np.where(is_whole, 1.0, (rows["ranks"] - 1) / rows["ranks"])


def fast(rows: Columns, sheet: Sheet) -> NDArray[np.bool_]:
    """Return True for rows whose ranks are all connected by NVLink or a mesh."""
    is_direct: NDArray[np.bool_] = _direct(rows, sheet) > 0
    return is_direct


def link_bytes_per_s(rows: Columns, sheet: Sheet) -> Array:
    """Return the rate in one direction of the link that joins all ranks."""
    direct = _direct(rows, sheet)
    return np.where(direct > 0, direct, _host(sheet) or UNKNOWN_LINK_BYTES_PER_S)


def _direct(rows: Columns, sheet: Sheet) -> Array:
    """Return the rate in one direction of direct links between all ranks; 0 without any."""
    # each number of ranks is looked up once: rows have few distinct ones
    counts, index = np.unique(rows["ranks"], return_inverse=True)
    rates = np.array([sheet.machine.joined_bytes_per_s(int(n)) for n in counts])
    # if direct links join fewer ranks than the exchange has, some pairs have PCIe only, which is
    # slower and so sets the pace
    within = (rows["joined"] == 0) | (rows["ranks"] <= rows["joined"])
    result: Array = np.where(within & (rows["nodes"] <= 1), rates[index.reshape(-1)], 0.0)
    return result


def _host(sheet: Sheet) -> float:
    """Return the rate of PCIe in one direction, 0 if not given."""
    host = sheet.machine.link("host")
    return host.value if host else 0.0
