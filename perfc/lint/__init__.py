"""Linting: rules look at an analysed model; findings carry what mending them would gain."""
