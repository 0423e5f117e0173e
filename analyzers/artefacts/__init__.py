"""Files that training writes and estimators read: arrays of forests, and a card with metadata."""
