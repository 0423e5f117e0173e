"""Collectives of aiconfigurator's tables: NCCL's, and the all-reduces of three frameworks.

They become rows of the class ``collective``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from perfc.analyzers.features.networks import Operation
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
"""Target by the source's name of a system, where that is not the name of a target."""
# collectives by the table's names
OPERATIONS = {
    "all_reduce": Operation.ALL_REDUCE,
    "all_gather": Operation.ALL_GATHER,
    "reduce_scatter": Operation.REDUCE_SCATTER,
    "alltoall": Operation.ALL_TO_ALL,
}


class AicComm(TableSource):
    """``aic_comm.parquet``: aiconfigurator's communication tables, Apache-2.0.

    NCCL's test enqueues calls back to back, so that its times count as those of a replayed graph.
    So do times of Intel's GPU, which has no graphs. Rows of NCCL that a framework measured count as
    NCCL's. Rows of more than two L40S are left out as faulty: eight reach 2 GB/s on the bus where
    two reach 20, while eight RTX PRO 6000, on PCIe as well, reach 24 where two reach 38.
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
