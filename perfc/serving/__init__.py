"""Language models served by an engine: memory, latencies, throughput, energy and money."""

from __future__ import annotations

from .load import Load
from .service import ServingReport, llm

__all__ = ["Load", "ServingReport", "llm"]
