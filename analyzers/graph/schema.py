"""Ordered columns of a table, with a digest that must be equal in weights and code."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property

from perfc.ir import frozen


@frozen
class Schema:
    """Names of the columns of a table of nodes, of edges, or of whole graphs.

    Args:
        name: name of the table, such as ``pmgns nodes``.
        columns: names of the columns, in order.
    """

    name: str
    columns: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def digest(self) -> str:
        """Return the digest of the names and their order: 64 bits of SHA-256, as text."""
        text = json.dumps([self.name, list(self.columns)])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def index(self, column: str) -> int:
        """Return the position of a column."""
        return self.columns.index(column)
