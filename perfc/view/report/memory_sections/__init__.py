"""Memory sections of the report."""
