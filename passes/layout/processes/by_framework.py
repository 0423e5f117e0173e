"""Growth of a process by its framework, with its libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from perfc.common.fitted import read_records
from perfc.ir import Env, record

from ...fusion.kernel import Kernel
from ...memory.storage import StorageTable
from ...runtimes import Framework
from . import ProcessMemory
from .openvino import grown_by_openvino
from .ort import grown_by_ort
from .torch import grown_by_torch

FILE = Path(__file__).with_suffix(".toml")
"""Measured `LibraryBytes` by framework."""


@record
class LibraryBytes:
    """Pages that loading and running touch: of the libraries, and in addition for each kernel."""

    library_bytes: float
    kernel_bytes: float

    def bytes_of(self, kernels: int) -> int:
        """Return the bytes of a process with ``kernels`` kernels."""
        return int(self.library_bytes + self.kernel_bytes * kernels)


GROWN: Mapping[Framework, Callable[[Sequence[Kernel], StorageTable, Env], ProcessMemory]] = {
    Framework.ORT: grown_by_ort,
    Framework.OPENVINO: grown_by_openvino,
    Framework.TORCH: grown_by_torch,
}
"""Growth of a process by framework, without libraries."""


def process_of(
    framework: Framework, kernels: Sequence[Kernel], table: StorageTable, env: Env
) -> ProcessMemory:
    """Return the growth of a process that loads a model and runs it several times.

    Args:
        framework: framework that runs the model, one of ``GROWN``.
        kernels: kernels of the model.
        table: buffers of a run.
        env: values of the model's symbols.
    """
    library = read_records(FILE, LibraryBytes)[framework.value].bytes_of(len(kernels))
    return replace(GROWN[framework](kernels, table, env), library_bytes=library)
