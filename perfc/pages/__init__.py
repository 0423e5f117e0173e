"""Operators and targets as pages: what their files say of them."""
