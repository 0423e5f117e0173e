"""Simulation of requests in an engine: arrivals, scheduling of steps, completion of tokens."""
