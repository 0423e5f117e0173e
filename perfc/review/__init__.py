"""Review of a model change: diff, budgets and baselines, lint rules."""
