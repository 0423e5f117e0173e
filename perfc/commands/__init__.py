"""Commands by section, one file each: ``analysis/analyze.py`` is ``perfc analyze``."""
