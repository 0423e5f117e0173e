"""Linter: rules check an analyzed model; findings carry the gain of their fix."""
