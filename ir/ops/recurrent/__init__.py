"""Layers with a state: recurrent cells, linear attention, state spaces, causal convolutions."""
