"""Requests through an engine: when they come, which of them a step takes, when their tokens end."""
