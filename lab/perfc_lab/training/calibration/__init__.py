"""Widths of intervals and places of machines, from rows that a fit did not see."""
