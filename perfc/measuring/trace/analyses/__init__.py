"""Analyses of a trace: each module of this folder is one, with its section of the document."""
