"""Work of operators of a trace: operations and bytes from the arguments of their calls."""
