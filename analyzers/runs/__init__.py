"""From kernels to a run: copies, launches, hosts, streams, energy, and predictors of whole runs."""
