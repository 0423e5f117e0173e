"""Rates fitted to measured kernels: what a kernel takes on a machine under a runtime.

``perfc.measure.fit`` fits them, a target file keeps them under ``[efficiency."CLASS"]``.
"""

from .efficiencies import Efficiencies, of_machine

__all__ = ["Efficiencies", "of_machine"]
