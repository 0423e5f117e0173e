"""Formats of results, a module each: ``render`` returns a result in the format.

Text is escaped for terminals; files that escape names themselves are bytes.
"""

from __future__ import annotations

import os

RESULTS = ("text", *sorted({f[:-3] for f in os.listdir(__path__[0]) if f[0] != "_"} - {"text"}))
"""Formats of every result, the default first."""
