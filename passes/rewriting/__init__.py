"""Rewrites that keep what a model computes."""
