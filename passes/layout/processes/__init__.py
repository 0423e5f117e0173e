"""Resident memory of a process that runs a model on a processor, by runtime."""

from __future__ import annotations

from perfc.ir import record


@record
class ProcessMemory:
    """Resident memory that a process grows by, at its peak.

    Args:
        library_bytes: code and data of the runtime, and the graph.
        weight_bytes: stored tensors, where kernels read them.
        copy_bytes: places of earlier copies.
        run_bytes: pages of the arena, and inputs; 0 where loading takes more.
    """

    library_bytes: int
    weight_bytes: int
    copy_bytes: int
    run_bytes: int

    @property
    def grown_bytes(self) -> int:
        """Return all of it."""
        return self.library_bytes + self.weight_bytes + self.copy_bytes + self.run_bytes
