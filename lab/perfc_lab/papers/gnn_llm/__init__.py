"""Graphs and language models together (Panner Selvam, thesis, Chapter 7)."""
