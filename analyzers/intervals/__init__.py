"""How far an estimate may be off: bands, mixtures, sums, and the few rows of a new machine."""
