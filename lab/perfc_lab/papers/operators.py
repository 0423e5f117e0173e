"""Names of operators for one-hot columns, as many as in TraPPM (thesis, Figure 5.1).

Other operators have the column ``other``.
"""

from __future__ import annotations

from perfc.common.fitted import data_next_to

from .networks.node_features import OTHER

VOCABULARY: tuple[str, ...] = (*data_next_to(__file__)["operators"], OTHER)
"""The 98 names (|O| in the thesis), of perfc's operators."""
