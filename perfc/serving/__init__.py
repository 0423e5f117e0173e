"""Language models served by an engine: memory, latencies, throughput, energy and money."""

from __future__ import annotations

from .output.report import ServingReport
from .service import llm
from .simulation.load import Load

__all__ = ["Load", "ServingReport", "llm"]
