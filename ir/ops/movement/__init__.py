"""Operators that move elements: views, slices, gathers, scatters, padding."""
