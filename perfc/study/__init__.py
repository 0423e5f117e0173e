"""Questions about one or several models: compare, explain, sweep, fit, cost."""
