"""Trees that ship: their rows, files and answers."""
