"""Fusion: which nodes a runtime runs as one kernel."""
