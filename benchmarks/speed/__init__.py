"""How fast perfc itself is: against other tools, against budgets, and from commit to commit."""
