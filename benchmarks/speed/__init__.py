"""Speed of perfc itself: against other tools, against budgets, and from commit to commit."""
