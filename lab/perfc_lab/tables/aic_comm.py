"""Collectives of aiconfigurator's tables: NCCL's, and the all-reduces of three frameworks.

They become rows of the class ``collective``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from perfc.analyzers.features.classes.collective import Operation
from perfc.analyzers.features.rows import Protocol
from perfc.ir.tensors.types import dtype_named

from ..data.rows import Rows
from . import TableSource, read_parquet, target_of

TARGETS = {
    "a100_sxm": "a100-sxm4-80gb",
    "b200_sxm": "b200-sxm-180gb",
    "b300_sxm": "b300-sxm-270gb",
    "b60": "arc-pro-b60",
    "h100_sxm": "h100-sxm5-80gb",
    "h200_sxm": "h200-sxm-141gb",
    "rtx_pro_6000_server": "rtx-pro-6000-server",
}
"""The systems of the source whose names are no target's."""
# collectives by the table's names
OPERATIONS = {
    "all_reduce": Operation.ALL_REDUCE,
    "all_gather": Operation.ALL_GATHER,
    "reduce_scatter": Operation.REDUCE_SCATTER,
    "alltoall": Operation.ALL_TO_ALL,
}


class AicComm(TableSource):
    """``aic_comm.parquet``: aiconfigurator's communication tables, Apache-2.0.

    NCCL's own test enqueues calls back to back, so its times are what a replayed graph takes, as
    are those of Intel's, which records none. Rows of NCCL that a framework measured are NCCL's.
    The L40S lost their way between more than two: eight sum 2 GB/s on the bus where two do 20,
    and eight RTX PRO 6000, on PCIe too, 24 where two do 38.
    """

    name: ClassVar[str] = "aic_comm"
    files: ClassVar[tuple[str, ...]] = ("aic_comm.parquet",)

    def rows(self, folder: Path) -> Iterator[Rows]:
        """Yield the blocks by system, library, way of launching and type."""
        frame = read_parquet(folder / self.files[0]).query("system != 'l40s' or num_gpus == 2")
        keys = ["system", "library", "kernel_source", "dtype"]
        for (system, library, kernel, dtype), block in frame.groupby(keys, observed=True):
            element = dtype_named(str(dtype))
            # a framework that calls NCCL measures NCCL
            if kernel == "NCCL":
                library = "nccl"
            yield Rows(
                "collective",
                target_of(TARGETS.get(str(system), str(system))),
                element.code,
                Protocol.EAGER if kernel.endswith("_eager") and system != "b60" else Protocol.GRAPH,
                library,
                {
                    "operation": block["op"].astype(str).map(OPERATIONS).to_numpy(np.float64),
                    "ranks": block["num_gpus"].to_numpy(np.float64),
                    "nbytes": element.bits // 8 * block["message_elements"].to_numpy(np.float64),
                },
                block["latency_us"].to_numpy(np.float64) * 1e-6,
            )
