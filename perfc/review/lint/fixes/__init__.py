"""Fixes of findings, and proofs that they keep the results."""
