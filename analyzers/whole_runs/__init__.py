"""Whole runs from their graphs: what ships, and the baselines that it must beat."""
