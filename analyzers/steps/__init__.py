"""Whole steps of models: what a framework launches, and what all launches together take."""
