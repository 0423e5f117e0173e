"""Faults that are drawn, put into a copy of the tree one at a time, and looked for by the tests."""
