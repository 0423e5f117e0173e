"""Inputs of networks in addition to the graph: batch size, data sheet of the machine, setting.

The papers train a network for each machine. Here one network is trained for all machines, so that
its head reads these numbers. They have of a machine its data sheet alone, so that a machine without
any measured row needs only a target file.
"""

from __future__ import annotations

from math import log2

from perfc.analyzers.graph.dataset import sheet
from perfc.analyzers.graph.rows import GraphRow, Measurements
from perfc.analyzers.graph.schema import Schema

# columns whose names begin with "is" are not standardised
ROW = Schema(
    "row",
    (
        "log_batch",
        "log_rate",
        "log_bandwidth",
        "log_l2",
        "log_sm_count",
        "log_clock",
        "is_channels_last",
        "is_compiled",
        "is_training",
        "version",
        "is_bf16",
        "is_mixed",
    ),
)


def row_features(data: Measurements, row: GraphRow) -> list[float]:
    """Return the numbers of `ROW`."""
    del data  # the interface of a row encoder
    machine, setting = sheet(row.target), row.setting
    return [
        log2(row.batch),
        log2(machine.matrix_flop_per_s(setting.precision.dtype)),
        log2(machine.device_bytes_per_s),
        # at least 1, as a data sheet may lack these two
        log2(max(machine.l2_bytes, 1.0)),
        log2(max(machine.sm_count, 1)),
        log2(machine.clock_hz),
        float(setting.channels_last),
        float(setting.compiled),
        float(setting.training),
        setting.version[0] + setting.version[1] / 100,  # so that 2.9 comes before 2.10
        float(setting.precision.dtype == "bf16"),
        float(setting.precision.is_mixed),
    ]
