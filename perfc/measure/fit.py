"""Fitted efficiencies (placeholder to be filled)."""
from __future__ import annotations
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from perfc.machine import Machine
from perfc.passes.roofline import KernelBound
if TYPE_CHECKING:
    from perfc.api import Report

@dataclass(frozen=True)
class Efficiencies:
    host_s: float = 0.0
    def predict(self, bound: KernelBound, env: Mapping[str, int]) -> float:
        return bound.time_s
    def total(self, report: Report) -> float:
        return report.roofline.time_s

def of_machine(machine: Machine) -> Efficiencies | None:
    return None
