"""Tables and figures of the papers on rows that others measured, with the papers' numbers."""
