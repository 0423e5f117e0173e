"""Language models served by an engine: memory, latencies, throughput, energy and money."""

from __future__ import annotations

from .service import ServingReport, llm
from .simulation.load import Load

__all__ = ["Load", "ServingReport", "llm"]
