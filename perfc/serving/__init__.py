"""Language models served by an engine: memory, latencies, throughput, energy and money."""

from __future__ import annotations

from .service import Load, ServingReport, llm

__all__ = ["Load", "ServingReport", "llm"]
