"""Commands: measure models and machines."""
