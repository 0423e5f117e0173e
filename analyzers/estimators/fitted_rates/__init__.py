"""Rates fitted to measured kernels: what a kernel takes on a machine under a runtime.

``perfc.measuring.measure.fitting.fit`` fits them, a target file keeps them under
``[efficiency."CLASS"]``.
"""

from .efficiencies import Efficiencies, FittedTime, Ratios, of_machine
from .host import host_nodes

__all__ = ["Efficiencies", "FittedTime", "Ratios", "host_nodes", "of_machine"]
