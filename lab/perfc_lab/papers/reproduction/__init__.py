"""Tables and figures of the papers on rows that others measured, beside the papers' own numbers."""
