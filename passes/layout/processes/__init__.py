"""Resident memory of a process that runs a model on a processor, by runtime."""

from __future__ import annotations

from perfc.ir import record


@record
class ProcessMemory:
    """Resident memory that a process grows by, at its peak.

    Args:
        library_bytes: code and data of the runtime, and the graph; 0 until
            `by_framework.process_of` adds them.
        weight_bytes: stored tensors, in the form in which kernels read them.
        copy_bytes: copies of stored tensors, and memory that earlier copies leave in the heap.
        run_bytes: buffers of runs, and inputs; 0 if loading takes more.
    """

    library_bytes: int
    weight_bytes: int
    copy_bytes: int
    run_bytes: int

    @property
    def grown_bytes(self) -> int:
        """Return the growth in total."""
        return self.library_bytes + self.weight_bytes + self.copy_bytes + self.run_bytes
