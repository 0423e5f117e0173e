"""Control flow, sequences and optionals."""
