"""The version of perfc."""

__version__ = "0.2.0"
