"""Files, formats, units and other helpers without knowledge of models."""
