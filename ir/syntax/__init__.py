"""The text form: printing, parsing, canonical names."""
