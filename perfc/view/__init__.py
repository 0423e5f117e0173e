"""What a person or a tool reads: reports, pages, charts, annotated models."""
