"""Documentation pages of operators and targets, generated from their files."""
