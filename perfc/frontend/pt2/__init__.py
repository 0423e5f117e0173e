"""Reader of programs that ``torch.export.save`` writes, with the standard library alone."""
