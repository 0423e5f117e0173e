"""Commands: review a model change."""
