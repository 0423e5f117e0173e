"""Classical machine learning, strings and signals."""
