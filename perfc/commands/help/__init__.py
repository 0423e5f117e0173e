"""Commands: help and shell completion."""
