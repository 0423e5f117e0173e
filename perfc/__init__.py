"""perfc: a compiler for performance."""

__version__ = "0.1.0"
