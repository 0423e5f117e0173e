"""Names of operators for one-hot columns, as many as TraPPM has (thesis, Figure 5.1).

An operator that is not among them is ``other``.
"""

from __future__ import annotations

from perfc.common.fitted import data_next_to

from .networks.node_features import OTHER

VOCABULARY: tuple[str, ...] = (*data_next_to(__file__)["operators"], OTHER)
"""|O| = 98, of our operators."""
