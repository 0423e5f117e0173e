"""Target files: one TOML per machine, every number with its source."""
