"""The version of perfc."""

__version__ = "0.1.0"
