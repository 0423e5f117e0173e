"""How wide intervals are, and where machines stand: from rows that a fit did not see."""
