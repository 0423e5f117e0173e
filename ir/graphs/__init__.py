"""Work on graphs: rewriting, verification, numbering of equal values."""
